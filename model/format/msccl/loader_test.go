package msccl

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A loader as the runtimes have one, at work on bytes, for one rank: it shares nothing with
// Read and Load. Its arrays have ends, and a write behind one is a crash.

// outcome is how a loader stops before it is done.
type outcome struct{ why string }

func refuses(format string, args ...any) { panic(outcome{fmt.Sprintf(format, args...)}) }

func crashes(format string, args ...any) { panic(outcome{"crash: " + fmt.Sprintf(format, args...)}) }

// node is an element with the attributes that a loader sees.
type node struct {
	name   string
	keys   [17]string
	values [17]string
	n      int
	kind   tagKind
	single bool
	subs   []*node
}

type loaderAtWork struct {
	text    []byte
	runtime Runtime
	rank    int
	nodes   int
}

// loads returns "" if the first ranks of this many load the text, or why one does not.
func loads(text []byte, r Runtime, first, ranks int) (why string) {
	defer func() {
		if o, stopped := recover().(outcome); stopped {
			why = o.why
		}
	}()
	for rank := range first {
		l := &loaderAtWork{text: text, runtime: r, rank: rank}
		top := &node{}
		l.sub(top, 0)
		if len(top.subs) == 0 {
			crashes("no <algo>")
		}
		l.algo(top.subs[0], ranks)
	}
	return ""
}

func (l *loaderAtWork) next() byte {
	if len(l.text) == 0 {
		refuses("the end")
	}
	c := l.text[0]
	l.text = l.text[1:]
	return c
}

// token reads a name, and a value if there is one.
func (l *loaderAtWork) token(values bool) (name, value string, last byte) {
	var b []byte
	for {
		c := l.next()
		if c == '=' {
			if !values {
				refuses("a value after %s", b)
			}
			if q := l.next(); q != '"' && q != '\'' {
				refuses("no quotation mark")
			}
			i := bytes.IndexByte(l.text, '"')
			if i < 0 {
				refuses("the end")
			}
			if i > 255 {
				crashes("a value of %d bytes", i)
			}
			value = string(l.text[:i])
			l.text = l.text[i+1:]
			return string(b), value, l.next()
		}
		if len(b) == 254 {
			refuses("a long name")
		}
		b = append(b, c)
		if strings.IndexByte(" >/\n\r", c) >= 0 {
			return string(b[:len(b)-1]), "", c
		}
	}
}

// node reads the next tag; nil: there is none.
func (l *loaderAtWork) node() *node {
	for {
		l.text = bytes.TrimLeft(l.text, " \n\r")
		if len(l.text) == 0 {
			return nil
		}
		if l.next() != '<' {
			refuses("want <")
		}
		name, _, c := l.token(false)
		if !strings.HasPrefix(name, "!--") {
			return l.tag(name, c)
		}
		end := "..." + name[3:] + string(c)
		for !strings.HasSuffix(end, "-->") {
			end = end[len(end)-2:] + string(l.next())
		}
	}
}

func (l *loaderAtWork) tag(name string, c byte) *node {
	n := &node{name: name, kind: opened}
	if name == "" && c == '/' {
		n.kind = closed
		if n.name, _, c = l.token(false); c != '>' {
			refuses("want > after </%s", n.name)
		}
		return n
	}
	for c == ' ' {
		n.keys[n.n], n.values[n.n], c = l.token(true)
		n.n = min(n.n+1, 16)
	}
	if c == '/' {
		n.single = true
		_, _, c = l.token(false)
	}
	if c != '>' {
		refuses("want > in <%s", n.name)
	}
	return n
}

var levels = []string{"algo", "gpu", "tb", "step"}

// sub reads what is in an element of a level: 0 is outside of <algo>; 5 is what is ignored.
func (l *loaderAtWork) sub(head *node, level int) {
	if head.single {
		return
	}
	for {
		if l.nodes == 4096 {
			refuses("4096 elements")
		}
		n := l.node()
		switch {
		case n == nil && level > 0:
			refuses("the end in <%s>", head.name)
		case n == nil:
			return
		case level > 0 && n.kind == closed:
			if level < 5 && n.name != head.name {
				refuses("</%s> of <%s>", n.name, head.name)
			}
			return
		case level == 4:
			crashes("<%s> in a step", n.name)
		case level < 4 && n.name == levels[level]:
			if len(head.subs) == 1024 {
				crashes("1025 elements in <%s>", head.name)
			}
			head.subs = append(head.subs, n)
			l.nodes++
			deeper := level + 1
			if level == 1 && n.number("id") != l.rank {
				deeper = 5
			}
			l.sub(n, deeper)
		default:
			l.sub(n, 5)
		}
	}
}

func (n *node) get(key string) string {
	for i := range n.n {
		if n.keys[i] == key {
			return n.values[i]
		}
	}
	refuses("<%s> has no %s", n.name, key)
	return ""
}

func (n *node) has(key string) bool {
	for i := range n.n {
		if n.keys[i] == key {
			return true
		}
	}
	return false
}

// number is what strtol makes of a value.
func (n *node) number(key string) int {
	s := strings.TrimLeft(n.get(key), " \t\n\v\f\r")
	sign := 1
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	base := 10
	switch {
	case len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'):
		base, s = 16, s[2:]
	case len(s) > 1 && s[0] == '0':
		base = 8
	}
	v := 0
	for _, c := range strings.ToLower(s) {
		d := strings.IndexRune("0123456789abcdef"[:base], c)
		if d < 0 || v > 1<<58 {
			break
		}
		v = v*base + d
	}
	return int(int32(sign * v))
}

// lists are the peers of the channels, one behind the other in memory: of each channel 32
// entries for what it sends to, how many they are, 32 for what it receives from, how many
// they are. An entry is a peer, how many messages of each count there are, and which counts.
type lists struct {
	memory map[int]int
	first  int // count with an entry
	counts int
}

func listsOf(r Runtime) *lists {
	if r == MSCCL {
		return &lists{memory: map[int]int{}, first: 1, counts: 72}
	}
	return &lists{memory: map[int]int{}, counts: 73}
}

func (s *lists) entry() int   { return 2 + 2*s.counts }
func (s *lists) channel() int { return 2 * (32*s.entry() + 1) }

// taken returns where a channel has how many peers there are in a direction, and the free
// entry.
func (s *lists) taken(channel, direction int) (n, free int) {
	from := channel*s.channel() + direction*(32*s.entry()+1)
	n = from + 32*s.entry()
	return n, from + s.memory[n]*s.entry()
}

// message counts a message of a threadblock.
func (s *lists) message(channel, direction, count int) {
	n, free := s.taken(channel, direction)
	if s.memory[n] >= 32 {
		refuses("32 peers")
	}
	if count < s.first {
		crashes("a message of %d chunks", count)
	}
	s.memory[free+1+count-s.first]++
}

// finish lists the counts of a threadblock, and its peers.
func (s *lists) finish(channel int, peers [2]int) {
	for direction := range 2 {
		n, free := s.taken(channel, direction)
		for i := range s.counts {
			if s.memory[free+1+i] > 0 {
				if s.memory[n] >= 32 {
					crashes("counts behind the list")
				}
				s.memory[free+1+s.counts+s.memory[free+1+2*s.counts]] = i
				s.memory[free+1+2*s.counts]++
			}
		}
	}
	for direction, peer := range peers {
		if n, free := s.taken(channel, direction); peer >= 0 {
			if s.memory[n] >= 32 {
				crashes("a peer behind the list")
			}
			s.memory[free] = peer
			s.memory[n]++
		}
	}
}

func (l *loaderAtWork) algo(n *node, ranks int) {
	room := map[Runtime][3]int{MSCCL: {216, 256, 32}, RCCL: {64, 64, 128}, Azure: {1024, 64, 32}}[l.runtime]
	needed := []string{"ngpus", "nchunksperloop", "nchannels", "proto", "coll", "inplace"}
	if l.runtime == MSCCL {
		needed = append(needed, "name")
	} else {
		needed = append(needed, "minBytes", "maxBytes", "outofplace")
	}
	for _, key := range needed {
		n.get(key)
	}
	if p := n.get("proto"); p != "Simple" && p != "LL" && p != "LL128" {
		refuses("protocol %s", p)
	}
	in, out := 1, 1
	switch coll := n.get("coll"); {
	case coll == "allreduce" || coll == "broadcast" || coll == "reduce" || coll == "alltoall":
	case coll == "allgather":
		in = ranks
	case coll == "reduce_scatter" && l.runtime == MSCCL:
		out = ranks
	case coll == "custom" && l.runtime == MSCCL:
	case strings.Contains(" reducescatter send recv gather scatter alltoallv ", " "+coll+" ") && l.runtime != MSCCL:
	default:
		refuses("collective %s", coll)
	}
	if l.runtime == MSCCL {
		least, most := 0, 1<<27
		if n.has("minBytes") {
			least = n.number("minBytes")
		}
		if n.has("maxBytes") {
			most = n.number("maxBytes")
		}
		if least > most || least < 0 {
			refuses("bytes")
		}
		if n.has("nthreads") && n.number("nthreads")%32 != 0 {
			refuses("threads")
		}
	}
	for _, g := range n.subs {
		if g.number("id") != l.rank {
			continue
		}
		chunks := []int{g.number("i_chunks"), g.number("o_chunks"), g.number("s_chunks")}
		loop := n.number("nchunksperloop")
		if chunks[2] < 0 || l.runtime == MSCCL && (chunks[0] > 0 && chunks[0]*in != loop || chunks[1] > 0 && chunks[1]*out != loop) {
			refuses("chunks")
		}
		exists, most := map[int]bool{}, -1
		peers := listsOf(l.runtime)
		for _, t := range g.subs {
			id := t.number("id")
			if id < 0 || id >= room[0] || exists[id] {
				refuses("threadblock %d", id)
			}
			exists[id], most = true, max(most, id)
			l.threadblock(n, t, chunks, room, peers)
		}
		if most >= len(exists) {
			refuses("threadblocks are missing")
		}
	}
}

func (l *loaderAtWork) threadblock(top, t *node, chunks []int, room [3]int, peers *lists) {
	send, recv, channel := t.number("send"), t.number("recv"), t.number("chan")
	for _, key := range []string{"rtype", "stype"} {
		if l.runtime == MSCCL && top.has(key) && t.get(key) != "nic" {
			refuses("%s", key)
		}
	}
	if send == l.rank || recv == l.rank || send < -1 || recv < -1 || l.runtime == MSCCL && max(send, recv) >= top.number("ngpus") {
		refuses("peers %d and %d", send, recv)
	}
	if channel < 0 || channel > room[2] {
		refuses("channel %d", channel)
	}
	if channel == room[2] {
		crashes("channel %d", channel)
	}
	waits, old, instructions, reductions := 0, 0, 0, 0
	open := "" // what a further re must have
	for _, s := range t.subs {
		if n := s.number("s"); n < 0 || n >= room[1] {
			refuses("step %d", n)
		}
		kind, count, depid, hasdep := s.get("type"), s.number("cnt"), s.number("depid"), s.number("hasdep")
		s.get("deps")
		places := [2]string{s.get("srcbuf"), s.get("dstbuf")}
		for _, p := range places {
			if len(p) != 1 || !strings.Contains("ios", p) {
				refuses("buffer %s", p)
			}
		}
		offsets := [2]int{s.number("srcoff"), s.number("dstoff")}
		does, known := map[string]string{"s": "s0", "r": "r1", "rcs": "rs1", "rrs": "rs0", "rrc": "r", "rrcs": "rs01", "cpy": "01", "re": "01", "nop": ""}[kind]
		if !known {
			refuses("type %s", kind)
		}
		if depid >= 0 {
			if waits == room[1] {
				crashes("%d dependencies", waits+1)
			}
			waits++
		}
		if kind == "nop" {
			continue
		}
		same := fmt.Sprint(places, offsets[1])
		joined := kind == "re" && open == same && depid == -1
		if joined {
			instructions--
		}
		if instructions == room[1] {
			crashes("%d instructions", instructions+1)
		}
		if count < 0 || count >= 72 {
			refuses("count %d", count)
		}
		if strings.Contains(does, "s") {
			if send < 0 {
				refuses("nobody to send to")
			}
			peers.message(channel, 0, count)
		}
		if strings.Contains(does, "r") {
			if recv < 0 {
				refuses("nobody to receive from")
			}
			peers.message(channel, 1, count)
		}
		for i, p := range places {
			if strings.Contains(does, fmt.Sprint(i)) && (offsets[i] < -1 || offsets[i] >= chunks[strings.Index("ios", p)]) {
				refuses("offset %d", offsets[i])
			}
		}
		if !joined {
			if waits > old && depid < 0 {
				refuses("a chain of dependencies")
			}
			old = waits
		}
		open = ""
		if kind == "re" {
			if reductions == room[1] {
				crashes("%d re", reductions+1)
			}
			if reductions++; hasdep == 0 && reductions != 16 {
				open = same
			}
		}
		if hasdep != 0 && hasdep != 1 {
			refuses("hasdep %d", hasdep)
		}
		instructions++
	}
	peers.finish(channel, [2]int{send, recv})
}

// stricter are the refusals that only Load has, with the reason; what else it refuses, one
// of the runtimes refuses or crashes on.
var stricter = []struct{ what, why string }{
	{"again, first in line", "which of two descriptions of a rank is carried out is not what anyone means"},
	{"want ranks below", "connecting the ranks fails, later"},
	{"ngpus=", "no communicator has as many ranks, or none"},
	{"nchunksperloop=", "the runtimes divide by it"},
	{"does not fit the runtime's", "it becomes another number"},
	{"re in a chain", "the interpreter, later, reads past the end of an array"},
	{"of which 32 have a peer", "that what lies behind a list is zero is luck"},
	{"single blanks there", "a tab makes an attribute's name another one, which may be one that nobody reads"},
	{"stops", "of elements that are ignored, or of attributes that nobody reads"},
	{"the runtimes do not find the attribute", "of elements that are ignored, or of attributes that nobody reads"},
	{"end a value at", "a value with a quotation mark at its end may be the last of the element"},
	{"rtype or stype", "of threadblocks that all have it, with the only value that is taken"},
}

// addsInScratch is a file in which ranks receive from all others, and add after nops.
func addsInScratch(ranks int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<algo name="adds" proto="LL" nchannels="2" nchunksperloop="%d" ngpus="%[1]d" coll="allreduce" inplace="1" outofplace="0" minBytes="0" maxBytes="0" nthreads="64">`+"\n", ranks)
	step := func(s int, kind, src string, from int, dst string, to, depid, deps, hasdep int) {
		fmt.Fprintf(&b, `<step s="%d" type="%s" srcbuf="%s" srcoff="%d" dstbuf="%s" dstoff="%d" cnt="1" depid="%d" deps="%d" hasdep="%d"/>`+"\n", s, kind, src, from, dst, to, depid, deps, hasdep)
	}
	for r := range ranks {
		fmt.Fprintf(&b, `<gpu id="%d" i_chunks="%d" o_chunks="0" s_chunks="%d">`+"\n", r, ranks, ranks)
		for d := 1; d < ranks; d++ {
			fmt.Fprintf(&b, `<tb id="%d" send="%d" recv="%d" chan="0">`+"\n", d-1, (r+d)%ranks, (r+ranks-d)%ranks)
			step(0, "s", "i", (r+d)%ranks, "s", r, -1, -1, 0)
			step(1, "r", "s", 0, "s", d-1, -1, -1, 1)
			b.WriteString("</tb>\n")
		}
		fmt.Fprintf(&b, `<tb id="%d" send="-1" recv="-1" chan="1">`+"\n", ranks-1)
		for d := 2; d < ranks; d++ {
			step(d-2, "nop", "i", 0, "i", 0, d-1, 1, 0)
		}
		for d := 1; d < ranks; d++ {
			depid := -1
			if d == 1 {
				depid = 0
			}
			step(ranks+d-3, "re", "s", d-1, "i", r, depid, depid*2+1, 0)
		}
		b.WriteString("</tb>\n</gpu>\n")
	}
	b.WriteString("</algo>\n")
	return []byte(b.String())
}

// unread reports whether a file describes a rank that there is not.
func unread(a *Algo) bool {
	return slices.ContainsFunc(a.GPUs, func(g GPU) bool { return g.ID < 0 || g.ID >= a.Ranks })
}

// shortened is a text for a message.
func shortened(b []byte) string {
	if len(b) > 3000 {
		return fmt.Sprintf("%s\n...\n%s", b[:1500], b[len(b)-1500:])
	}
	return string(b)
}

var loaderMutants = flag.Int("mutants", 1500, "how many files TestLoaders makes")

// TestLoaders changes files in random places and asks both: what Load says is loaded, is
// loaded by every rank; what it refuses is refused, unless there is a reason. A file that
// Read cannot read may be anything.
func TestLoaders(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 12))
	exchange, err := os.ReadFile("testdata/exchange.xml")
	require.NoError(t, err)
	bases := [][]byte{exchange, addsInScratch(3), addsInScratch(4)}
	if dir := os.Getenv("ORACCL_DATA"); dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "msccl", "*.xml"))
		require.NoError(t, err)
		for _, file := range files {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			if len(b) < 1<<14 {
				bases = append(bases, b)
			}
		}
	}
	loaded, refused, broken, strict := 0, 0, 0, map[string]int{}
	for range *loaderMutants {
		b := bases[rng.IntN(len(bases))]
		if len(b) > 1<<13 && rng.IntN(8) > 0 {
			continue
		}
		for range rng.IntN(3) {
			b = mutateText(rng, b)
		}
		a, err := Read("mutant", bytes.NewReader(b))
		if err != nil {
			broken++
			continue
		}
		for _, r := range Runtimes() {
			l := a.Load(r)
			if a.Ranks > 64 {
				continue
			}
			why := loads(b, r, a.Ranks, a.Ranks)
			if len(l.Refusals) == 0 {
				require.Empty(t, why, "%v loads it, we say:\n%s", r, shortened(b))
				loaded++
				continue
			}
			if refused++; why != "" {
				continue
			}
			reason := ""
			if unread(a) {
				reason = "a rank that there is not"
			}
			for _, s := range stricter {
				for _, x := range l.Refusals {
					if strings.Contains(x.Message, s.what) {
						reason = s.what
					}
				}
			}
			require.NotEmpty(t, reason, "%v does not load it, we say: %v\n%s", r, l.Refusals, shortened(b))
			strict[reason]++
		}
	}
	t.Log("loaded", loaded, "refused", refused, "not readable", broken, "stricter", strict)
	require.Greater(t, loaded, *loaderMutants/4)
	require.Greater(t, refused, *loaderMutants/4)
}

// mutateText makes one change to a text.
func mutateText(rng *rand.Rand, b []byte) []byte {
	s := string(b)
	at := func(what string) int { // a random occurrence
		var all []int
		for i := 0; ; i++ {
			j := strings.Index(s[i:], what)
			if j < 0 {
				break
			}
			i += j
			all = append(all, i)
		}
		if len(all) == 0 {
			return -1
		}
		return all[rng.IntN(len(all))]
	}
	insert := func(i int, text string) []byte {
		if i < 0 {
			return b
		}
		return []byte(s[:i] + text + s[i:])
	}
	value := func() (from, to int) { // of a random attribute
		i := at(`="`)
		if i < 0 {
			return 0, 0
		}
		return i + 2, i + 2 + max(0, strings.IndexByte(s[i+2:], '"'))
	}
	numbers := []string{"-2147483648", "-2", "-1", "0", "1", "2", "16", "17", "31", "32", "33", "63", "64", "71", "72", "127", "128", "255", "256", "32767", "32768", "010", "0x10", " 1", "+1"}
	switch rng.IntN(18) {
	case 0, 1, 2: // a number becomes another one
		from, to := value()
		if from == to || strings.IndexByte("-0123456789", s[from]) < 0 {
			return b
		}
		return []byte(s[:from] + numbers[rng.IntN(len(numbers))] + s[to:])
	case 3: // a value becomes longer, at its end or at its beginning
		_, to := value()
		return insert(to, strings.Repeat(" ", []int{1, 200, 254, 255, 256, 300}[rng.IntN(6)]))
	case 4: // a value becomes empty
		from, to := value()
		return []byte(s[:from] + s[to:])
	case 5: // an attribute is lost
		i := at(` `)
		j := strings.IndexByte(s[max(i, 0)+1:], ' ')
		if i < 0 || j < 0 || !strings.Contains(s[i+1:i+1+j], `="`) {
			return b
		}
		return []byte(s[:i] + s[i+1+j:])
	case 6: // attributes are added
		i := at(" ")
		if i < 0 || !strings.Contains(s[i:min(i+20, len(s))], "=") {
			return b
		}
		text := ""
		for k := range 1 + rng.IntN(12) {
			text += fmt.Sprintf(` x%d="%d"`, k, k)
		}
		return insert(i, text)
	case 7: // blanks are
		return insert(at(" "), strings.Repeat(" ", 1+rng.IntN(12)))
	case 8: // something between elements
		text := []string{"<!-- a=b -->", "<!--a=b-->", "<!--" + strings.Repeat("x", 245+rng.IntN(10)) + " -->", "<x/>", "<x><y a=\"1\"/></x>", "\t", "\n\n", "<step/>",
			"<" + strings.Repeat("x", 250+rng.IntN(6)) + "/>", `<x ` + strings.Repeat("k", 252+rng.IntN(5)) + `="1"/>`}[rng.IntN(10)]
		return insert(at("<"), text)
	case 9: // a step has something in it
		i := at("/>")
		if i < 0 {
			return b
		}
		inside := []string{"", "<x/>", "<!-- x -->", "\n"}[rng.IntN(4)]
		name := s[strings.LastIndexByte(s[:i], '<')+1:]
		name = name[:strings.IndexAny(name, " />")]
		return []byte(s[:i] + ">" + inside + "</" + name + ">" + s[i+2:])
	case 10: // an element is repeated
		i := at("<step")
		if i < 0 {
			return b
		}
		j := i + strings.Index(s[i:], "/>") + 2
		if j < i+2 {
			return b
		}
		return insert(j, strings.Repeat(s[i:j], []int{1, 15, 16, 17, 63, 64, 255, 256, 1100}[rng.IntN(9)]))
	case 11: // a step becomes a nop that is repeated, with or without a dependency
		i := at("<step")
		if i < 0 {
			return b
		}
		j := i + strings.Index(s[i:], "/>") + 2
		nop := fmt.Sprintf(`<step s="0" type="nop" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="0" depid="%d" deps="0" hasdep="0"/>`, rng.IntN(2)-1)
		return insert(max(i, min(j, len(s))), strings.Repeat(nop, []int{1, 2, 63, 64, 65, 255, 257, 1023, 1025}[rng.IntN(9)]))
	case 12: // another type
		i := at(`type="`)
		if i < 0 {
			return b
		}
		j := i + 6 + strings.IndexByte(s[i+6:], '"')
		return []byte(s[:i+6] + typeNames[rng.IntN(len(typeNames))] + s[j:])
	case 13: // threadblocks are added, behind the others or before them
		i := at("</gpu>")
		if rng.IntN(4) == 0 {
			i = at("<tb")
		}
		first := 0
		if i >= 0 {
			if gpu := strings.LastIndex(s[:i], "<gpu"); gpu >= 0 {
				first = strings.Count(s[gpu:i], "<tb")
			}
		}
		text := ""
		for k := range []int{1, 31, 32, 33, 64}[rng.IntN(5)] {
			text += fmt.Sprintf(`<tb id="%d" send="%d" recv="%d" chan="%d"/>`, first+k, rng.IntN(3)-1, rng.IntN(3)-1, rng.IntN(2))
		}
		return insert(i, text)
	case 14: // gpus are added
		text := ""
		for k := range []int{1, 30, 1021, 1022, 1023, 1024}[rng.IntN(6)] {
			text += fmt.Sprintf(`<gpu id="%d" i_chunks="1" o_chunks="1" s_chunks="0"/>`, 100+k)
		}
		return insert(at("</algo>"), text)
	case 15: // another collective, or protocol
		i := at(`coll="`)
		if i < 0 {
			return b
		}
		j := i + 6 + strings.IndexByte(s[i+6:], '"')
		return []byte(s[:i+6] + []string{"allgather", "reduce_scatter", "reducescatter", "alltoall", "custom", "gather", "", "x"}[rng.IntN(8)] + s[j:])
	case 16: // an attribute that a runtime reads or needs
		return insert(at(" nchannels"), []string{` nthreads="32"`, ` nthreads="33"`, ` rtype="p2p"`, ` outofplace="1"`, ` minBytes="7"`}[rng.IntN(5)])
	}
	i := rng.IntN(len(s)) // any byte
	return []byte(s[:i] + string(" \t\n=\"'</>x0-"[rng.IntN(12)]) + s[i+1:])
}
