package msccl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

func exchangeText(t *testing.T, changes ...string) string {
	b, err := os.ReadFile("testdata/exchange.xml")
	require.NoError(t, err)
	text := string(b)
	for i := 0; i+1 < len(changes); i += 2 {
		require.Contains(t, text, changes[i])
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	return text
}

func exchange(t *testing.T, changes ...string) *Algo {
	a, err := Read("exchange.xml", strings.NewReader(exchangeText(t, changes...)))
	require.NoError(t, err)
	return a
}

// refusal is what the message of each runtime's first refusal must have; "" for one that
// loads the file.
type refusal struct{ msccl, rccl, azure string }

func allRefuse(want string) refusal { return refusal{want, want, want} }

func (want refusal) check(t *testing.T, a *Algo, line int, grade model.Grade, where string) {
	t.Helper()
	for r, message := range []string{want.msccl, want.rccl, want.azure} {
		l := a.Load(Runtime(r))
		at := fmt.Sprintf("%s: %v", where, Runtime(r))
		if message == "" {
			require.Empty(t, l.Refusals, at)
			require.Equal(t, model.Loads, l.Grade, at)
			continue
		}
		require.NotEmpty(t, l.Refusals, at)
		require.Contains(t, l.Refusals[0].Message, message, at)
		require.Equal(t, line, l.Refusals[0].Line, at)
		if grade != model.Loads {
			require.Equal(t, grade, l.Grade, at)
		}
	}
}

// TestLoad changes a file that all runtimes load, and names who refuses the change,
// in which line and why.
func TestLoad(t *testing.T) {
	for _, r := range Runtimes() {
		require.Empty(t, exchange(t).Load(r).Refusals)
		require.Empty(t, exchange(t).Load(r).Notes)
		back, err := ParseRuntime(r.String())
		require.NoError(t, err)
		require.Equal(t, r, back)
	}
	_, err := ParseRuntime("nccl")
	require.Error(t, err)
	for _, c := range []struct {
		from, to string
		line     int
		want     refusal
	}{
		{` outofplace="0"`, ``, 1, refusal{"", "no attribute outofplace", "no attribute outofplace"}},
		{` minBytes="0"`, ``, 1, refusal{"", "no attribute minBytes", "no attribute minBytes"}},
		{` maxBytes="1048576"`, ``, 1, refusal{"", "no attribute maxBytes", "no attribute maxBytes"}},
		{` coll="allreduce"`, ``, 1, allRefuse("no attribute coll")},
		{` inplace="1"`, ``, 1, allRefuse("no attribute inplace")},
		{` depid="-1"`, ``, 4, allRefuse("no attribute depid")},
		{`"allreduce"`, `"custom"`, 1, refusal{"", "want one of [", "want one of ["}},
		{`"allreduce"`, `"reduce_scatter"`, 1, refusal{"", "want one of [", "want one of ["}},
		{`"allreduce"`, `"reducescatter"`, 1, refusal{"want one of [", "", ""}},
		{`"allreduce"`, `"allgather"`, 2, refusal{"do not fit nchunksperloop", "", ""}},
		{`i_chunks="1"`, `i_chunks="2"`, 2, refusal{"do not fit nchunksperloop", "", ""}},
		{`i_chunks="1"`, `i_chunks="0"`, 4, allRefuse("declared with 0 chunks")},
		{`s_chunks="0"`, `s_chunks="-1"`, 2, allRefuse("none below 0")},
		{`"Simple"`, `"simple"`, 1, allRefuse("want Simple, LL or LL128")},
		{`ngpus="2"`, `ngpus="0"`, 1, allRefuse("at least 1")},
		{`ngpus="2"`, `ngpus="32768"`, 1, allRefuse("at most 32767")},
		{`ngpus="2"`, `ngpus="1"`, 3, allRefuse("ranks below 1")},
		{`nchunksperloop="1"`, `nchunksperloop="0"`, 1, allRefuse("at least 1")},
		{`minBytes="0"`, `minBytes="2000000"`, 1, refusal{"above maxBytes", "", ""}},
		{`minBytes="0"`, `minBytes="-1"`, 1, refusal{"below 0", "", ""}},
		{` minBytes`, ` nthreads="100" minBytes`, 1, refusal{"multiple of 32", "", ""}},
		{`gpu id="1"`, `gpu id="0"`, 8, allRefuse("gpu 0 again")},
		{`tb id="0"`, `tb id="1"`, 2, allRefuse("none with id 0")},
		{`tb id="0"`, `tb id="1024"`, 3, refusal{"id=1024, want 0 to 215", "id=1024, want 0 to 63", "id=1024, want 0 to 1023"}},
		{`send="1"`, `send="0"`, 3, allRefuse("its own peer")},
		{`send="1"`, `send="-2"`, 3, allRefuse("want a rank or -1")},
		{`send="1"`, `send="-1"`, 4, allRefuse("no peer to send to")},
		{`recv="1"`, `recv="-1"`, 5, allRefuse("no peer to receive from")},
		{`chan="0"`, `chan="32"`, 3, refusal{"want 0 to 31", "", "want 0 to 31"}},
		{`step s="0"`, `step s="64"`, 4, refusal{"", "s=64, want 0 to 63", "s=64, want 0 to 63"}},
		{`step s="0"`, `step s="256"`, 4, allRefuse("s=256")},
		{`cnt="1"`, `cnt="72"`, 4, allRefuse("cnt=72")},
		{`hasdep="0"`, `hasdep="2"`, 4, allRefuse("want 0 or 1")},
		{`depid="-1"`, `depid="128"`, 4, allRefuse("8 bits")},
		{`srcoff="0"`, `srcoff="1"`, 4, allRefuse("declared with 1 chunks")},
		{`srcoff="0"`, `srcoff="-2"`, 4, allRefuse("declared with 1 chunks")},
		{`type="s" srcbuf="i"`, `type="s" srcbuf="s"`, 4, allRefuse("in s, which is declared with 0")},
		{`type="s"`, `type="nop"`, 0, allRefuse("")},
		{`type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1"`, `type="nop" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="0" deps="0"`, 5, allRefuse("after a nop with a dependency")},
		{"    <tb", "\t<tb", 3, allRefuse("a tab between elements")},
		{"<algo", "<?xml version=\"1.0\"?>\n<algo", 1, allRefuse("XML declaration")},
		{`chan="0"`, `chan='0'`, 3, allRefuse(`end a value at '"'`)},
		{`<tb id`, "<tb\n id", 4, allRefuse("a line break or tab inside <tb>")},
		{`</tb>`, "</tb >", 6, allRefuse("a blank in </tb >")},
		{`chan="0"`, `chan ="0"`, 3, allRefuse("a blank before '='")},
		{`chan="0"`, `chan= "0"`, 3, allRefuse("a blank after '='")},
		{` name="exchange"`, ``, 1, refusal{"no attribute name", "", ""}},
		{`proto="Simple"`, `proto=""`, 1, allRefuse("want Simple, LL or LL128")},
		{`coll="allreduce"`, `coll=""`, 1, allRefuse(`coll="", want one of`)},
		{` proto="Simple"`, ``, 1, allRefuse("no attribute proto")},
		{`chan="0"`, `chan="128"`, 3, refusal{"want 0 to 31", "want 0 to 127", "want 0 to 31"}},
		{`cnt="1"`, `cnt="0"`, 4, refusal{"cnt=0 of a step that sends or receives", "", ""}},
		{`type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1"`, `type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="0"`, 5, refusal{"cnt=0 of a step that sends or receives", "", ""}},
		{`type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1"`, `type="cpy" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="0"`, 0, refusal{}},
		{` minBytes`, ` rtype="p2p" minBytes`, 1, refusal{"rtype or stype", "", ""}},
		{` minBytes`, ` stype="nic" minBytes`, 1, refusal{"rtype or stype", "", ""}},
		{`hasdep="0"/>`, `hasdep="0"><why/></step>`, 4, allRefuse("an element inside a step")},
		{`hasdep="0"/>`, "hasdep=\"0\">\n<!-- why -->\n</step>", 0, refusal{}},
		{`<tb id`, "<tb \n id", 4, allRefuse("a line break or tab inside <tb>")},
		{`<tb id`, "<tb \tid", 3, allRefuse("a line break or tab inside <tb>")},
		{`    <tb`, `<!-- a=b --><tb`, 0, refusal{}},
		{`    <tb`, `<!--a=b--><tb`, 3, allRefuse("'=' in the first word of a comment")},
		{`    <tb`, `<!--a>b=c--><tb`, 0, refusal{}},

		// 16 attributes are seen; the needed ones first, or behind them
		{` minBytes`, ` a="" b="" c="" d="" e="" f="" minBytes`, 0, refusal{}},
		{`>`, ` a="" b="" c="" d="" e="" f="" g="" h="">`, 0, refusal{}},
		{` minBytes`, ` a="" b="" c="" d="" e="" f="" g="" minBytes`, 1, refusal{"", "no attribute maxBytes", "no attribute maxBytes"}},
		{` coll`, strings.Repeat(" ", 11) + `coll`, 1, allRefuse("no attribute inplace among the first 16")},
	} {
		c.want.check(t, exchange(t, c.from, c.to), c.line, model.Loads, c.from+" -> "+c.to)
	}
}

// TestRoom: as much as the runtimes have room for, and one more. What is too much would be
// loaded if constants of their source were larger.
func TestRoom(t *testing.T) {
	lengthened := func(format string, from string) func(n int) string {
		return func(n int) string { return exchangeText(t, from, fmt.Sprintf(format, strings.Repeat("x", n))) }
	}
	// block is a threadblock that does nothing, of gpu 0
	block := func(id, send, recv, channel int) string {
		return fmt.Sprintf(`<tb id="%d" send="%d" recv="%d" chan="%d"></tb>`+"\n", id, send, recv, channel)
	}
	step := func(kind string, i, deps, dst int) string {
		return fmt.Sprintf(`<step s="%d" type="%s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="%d" cnt="1" depid="%d" deps="0" hasdep="0"/>`, i%64, kind, dst, deps)
	}
	steps := func(n int, one func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(one(i))
		}
		return b.String()
	}
	// with has more threadblocks on gpu 0
	with := func(blocks string) string {
		return exchangeText(t, "</tb>", "</tb>"+blocks, `ngpus="2"`, `ngpus="40"`, `nchannels="1"`, `nchannels="2"`)
	}
	// crowd has n threadblocks with peers, one of them gpu 0's own, and a further one
	crowd := func(further func(id int) string) func(n int) string {
		return func(n int) string {
			blocks := ""
			for i := 1; i < n; i++ {
				blocks += block(i, i+1, -1, 0)
			}
			return with(blocks + further(n))
		}
	}
	for _, c := range []struct {
		what string
		make func(n int) string
		most int
		want refusal
	}{
		{"gpus", func(n int) string {
			gpus := ""
			for i := 2; i < n; i++ {
				gpus += fmt.Sprintf(`<gpu id="%d" i_chunks="1" o_chunks="0" s_chunks="0"/>`, i)
			}
			return exchangeText(t, "</algo>", gpus+"</algo>", `ngpus="2"`, fmt.Sprintf(`ngpus="%d"`, n))
		}, 1024, allRefuse("algo has 1025 elements <gpu>, want at most 1024")},
		{"steps of a threadblock that are dropped", func(n int) string {
			return with(`<tb id="1" send="-1" recv="-1" chan="1">` + steps(n, func(i int) string { return step("nop", i, -1, 0) }) + `</tb>`)
		}, 1024, allRefuse("gpu 0 tb 1 has 1025 elements <step>, want at most 1024")},
		{"dependencies through nops", func(n int) string {
			return with(`<tb id="1" send="-1" recv="-1" chan="1">` + steps(n-1, func(i int) string { return step("nop", i, 0, 0) }) + step("cpy", 0, 0, 0) + `</tb>`)
		}, 64, refusal{"", "65 dependencies, want at most 64", "65 dependencies, want at most 64"}},
		{"dependencies through nops", func(n int) string {
			return with(`<tb id="1" send="-1" recv="-1" chan="1">` + steps(n-1, func(i int) string { return step("nop", i, 0, 0) }) + step("cpy", 0, 0, 0) + `</tb>`)
		}, 256, refusal{"257 dependencies, want at most 256", "", ""}},
		{"re, joined", func(n int) string { // 16 and 17 and one alone, and so on; a copy of nothing in between
			return with(`<tb id="1" send="-1" recv="-1" chan="1">` + steps(n, func(i int) string {
				if i%16 == 0 && i > 0 {
					return step("cpy", i, -1, 0) + step("re", i, -1, 0)
				}
				return step("re", i, -1, 0)
			}) + `</tb>`)
		}, 64, refusal{"", "65 steps of type re, want at most 64", "65 steps of type re, want at most 64"}},
		{"peers, and a threadblock that names one", crowd(func(id int) string { return block(id, 1, -1, 0) }), 31, allRefuse("more than 32 threadblocks are on channel 0")},
		{"peers, and a threadblock that receives", crowd(func(id int) string { return block(id, -1, 1, 0) }), 31, allRefuse("of which 32 have a peer")},
		{"peers, and a threadblock that names none", crowd(func(id int) string { return block(id, -1, -1, 0) }), 31, allRefuse("of which 32 have a peer")},
		{"receivers on the last channel, and a sender", func(n int) string {
			blocks := ""
			for i := 1; i < n; i++ {
				blocks += block(i, -1, i+1, 31)
			}
			return with(blocks + block(n, 1, -1, 31))
		}, 32, refusal{"of which 32 have a peer", "", "of which 32 have a peer"}},
		{"receivers, and a sender behind one on the next channel", func(n int) string {
			blocks := block(1, 1, -1, 1)
			for i := 2; i < n; i++ {
				blocks += block(i, -1, i+1, 0)
			}
			return with(blocks + block(n, 1, -1, 0))
		}, 32, allRefuse("of which 32 have a peer")},
		{"threadblocks", func(n int) string {
			blocks := ""
			for i := 1; i < n; i++ {
				blocks += block(i, -1, -1, 1)
			}
			return with(blocks)
		}, 64, refusal{"", "id=64, want 0 to 63", ""}},
		{"threadblocks", func(n int) string {
			blocks := ""
			for i := 1; i < n; i++ {
				blocks += block(i, -1, -1, 1)
			}
			return with(blocks)
		}, 1024, refusal{"", "", "1025 elements <tb>, want at most 1024"}},
		{"value", lengthened(`why="%s" minBytes`, "minBytes"), 255, allRefuse("the value of why of 256 bytes in <algo>, and the runtimes have room for 255")},
		{"value of a name", lengthened(`name="%s"`, `name="exchange"`), 255, allRefuse("of 256 bytes")},
		{"value of another rank's", lengthened(`<gpu why="%s" id="1"`, `<gpu id="1"`), 255, allRefuse("of 256 bytes")},
		{"name of an attribute", lengthened(`%s="" minBytes`, "minBytes"), 254, allRefuse("the name of an attribute of 255 bytes")},
		{"name of an element", lengthened("<%s/></algo>", "</algo>"), 253, allRefuse("an element's name of 254 bytes")},
		{"first word of a comment", lengthened("<!--%s --></algo>", "</algo>"), 250, allRefuse("a comment that begins with a word of more than 250 bytes")},
	} {
		for n := c.most - 1; n <= c.most+1; n++ {
			text := c.make(n)
			a, err := Read("exchange.xml", strings.NewReader(text))
			require.NoError(t, err)
			for r, message := range []string{c.want.msccl, c.want.rccl, c.want.azure} {
				l, where := a.Load(Runtime(r)), fmt.Sprintf("%d %s: %v", n, c.what, Runtime(r))
				why := loads([]byte(text), Runtime(r), 2, a.Ranks)
				if n <= c.most && message != "" {
					require.Empty(t, l.Refusals, where)
				}
				if len(l.Refusals) == 0 {
					require.Empty(t, why, where)
				}
				if n > c.most && message != "" {
					require.NotEmpty(t, l.Refusals, where)
					require.Contains(t, l.Refusals[0].Message, message, where)
					require.Equal(t, model.NoRoom, l.Grade, where)
					require.True(t, why != "" || strings.Contains(c.what, "last channel"), where) // zeros lie behind it here
				}
			}
		}
	}
	require.Equal(t, []Limits{
		{Threadblocks: 128, Steps: 256, Channels: 32, Ranks: 1024, Peers: 32, Elements: 4096, Chunks: 32767, Count: 71},
		{Threadblocks: 64, Steps: 64, Channels: 128, Ranks: 1024, Peers: 32, Elements: 4096, Chunks: 32767, Count: 71},
		{Threadblocks: 128, Steps: 64, Channels: 32, Ranks: 1024, Peers: 32, Elements: 4096, Chunks: 32767, Count: 71},
		{Threadblocks: 64, Steps: 64, Channels: 32, Ranks: 1024, Peers: 32, Elements: 4096, Chunks: 32767, Count: 71},
	}, []Limits{LimitsOf(MSCCL), LimitsOf(RCCL), LimitsOf(Azure), LimitsOf(Runtimes()...)})
}

// TestPeersInOrder: as many senders on a channel as there is room for, behind as many
// receivers, are what the loaders have room for.
func TestPeersInOrder(t *testing.T) {
	blocks := ""
	for i := range 64 {
		send, recv := i-32, -1
		if i < 32 {
			send, recv = -1, i
		}
		blocks += fmt.Sprintf(`<tb id="%d" send="%d" recv="%d" chan="0"/>`, i, send, recv)
	}
	a := exchange(t, "</algo>", `<gpu id="39" i_chunks="1" o_chunks="0" s_chunks="0">`+blocks+"</gpu></algo>", `ngpus="2"`, `ngpus="40"`)
	for _, r := range Runtimes() {
		require.Empty(t, a.Load(r).Refusals)
	}
}

// TestManyFaults: what is found is cut off, the grade is that of the worst.
func TestManyFaults(t *testing.T) {
	long := fmt.Sprintf(`<x a="%s"/>`, strings.Repeat("y", 300))
	a := exchange(t, "    <tb", strings.Repeat(long, 50)+"\t<tb")
	for _, r := range Runtimes() {
		l := a.Load(r)
		require.Len(t, l.Refusals, maxFaults)
		require.Equal(t, model.Unreadable, l.Grade)
		require.Contains(t, l.Refusals[0].Message, "a tab between elements")
	}
	a = exchange(t, "    <tb", strings.Repeat("<x"+strings.Repeat(` `, 20)+`a="1"/>`, 50)+"\t<tb")
	require.Equal(t, model.Unreadable, a.Load(RCCL).Grade)
	require.Contains(t, a.Load(RCCL).Notes[0].Message, "more than 16 attributes")
	a = exchange(t, "    <tb", "<x"+strings.Repeat(" ", 20)+"/><tb")
	require.Empty(t, a.Load(RCCL).Refusals)
	require.Len(t, a.Load(RCCL).Notes, 1)
	require.Contains(t, a.Load(RCCL).Notes[0].Message, "no runtime knows")
}

// TestNotes are what runtimes load and read otherwise than it may be meant.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		from, to string
		line     int
		want     string
	}{
		{`gpu id="1"`, `gpu id="7"`, 8, "is ignored"},
		{`nchannels="1"`, `nchannels="0"`, 3, "connects channels below"},
		{`nchannels="1"`, `nchannels="129"`, 1, "at most"},
		{`    <tb`, `    <copy i_off="0" o_off="0"/><tb`, 3, "copies nothing"},
		{`type="s"`, `type="nop"`, 4, "a nop without a dependency"},
		{`type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1"`, `type="nop" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="0"`, 5, "is lost"},
	} {
		for _, r := range Runtimes() {
			if c.want == "at most" && r == MSCCL {
				continue // has a message of its own
			}
			l := exchange(t, c.from, c.to).Load(r)
			require.NotEmpty(t, l.Notes, c.to)
			require.Contains(t, l.Notes[0].Message, c.want)
			require.Equal(t, c.line, l.Notes[0].Line, c.to)
		}
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		changes     []string
		msccl, rccl string // and azure
	}{
		{nil, "in place, 0 to 1048575 bytes, elements a multiple of 1", "in place, 0 to 1048576 bytes, elements a multiple of 1"},
		{[]string{`maxBytes="1048576"`, `maxBytes="0"`}, "never: no size", "in place, any size, elements a multiple of 1"},
		{[]string{` maxBytes="1048576"`, ``}, "in place, 0 to 134217727 bytes", "in place, any size"},
		{[]string{`minBytes="0" maxBytes="1048576"`, `minBytes="4" maxBytes="0"`}, "in place", "4 bytes and more"},
		{[]string{`inplace="1"`, `inplace="0"`}, "out of place, 0 to", "never: inplace and outofplace"},
		{[]string{`outofplace="0"`, `outofplace="1"`}, "in place, 0", "in place and out of place, 0"},
		{[]string{`allreduce`, `alltoall`}, "never: alltoall", "a multiple of 2"},
	} {
		a := exchange(t, c.changes...)
		if c.changes != nil && strings.Contains(c.changes[0], "minBytes") {
			require.NotEmpty(t, a.Load(MSCCL).Refusals)
		} else {
			require.Contains(t, a.Selection(MSCCL).String(), c.msccl)
		}
		require.Contains(t, a.Selection(RCCL).String(), c.rccl)
		require.Equal(t, a.Selection(RCCL), a.Selection(Azure))
	}
}

// TestFold numbers steps as the runtimes do.
func TestFold(t *testing.T) {
	re := func(off int32, dep int32, has int32) Step {
		return Step{Type: Reduce, Src: Scratch, SrcOff: off, Dst: Input, Count: 1, DepID: dep, Deps: dep, HasDep: has}
	}
	nop := func(dep int32) Step { return Step{Type: Nop, DepID: dep, Deps: 3} }
	for _, c := range []struct {
		name  string
		steps []Step
		want  string // the sources of each instruction, its waits, * where it signals
	}{
		{"a chain", []Step{re(0, -1, 0), re(1, -1, 0), re(2, -1, 1)}, "0+1+2*"},
		{"ends where others wait", []Step{re(0, -1, 1), re(1, -1, 0)}, "0* 1"},
		{"ends at a dependency", []Step{re(0, -1, 0), re(1, 5, 0)}, "0 1<5"},
		{"another destination", []Step{re(0, -1, 0), {Type: Reduce, Src: Scratch, SrcOff: 1, Dst: Input, DstOff: 1, DepID: -1, Count: 1}}, "0 1"},
		{"a copy between", []Step{re(0, -1, 0), {Type: Copy, DepID: -1}, re(1, -1, 0)}, "0 0 1"},
		{"nops gather", []Step{nop(1), nop(2), re(0, 3, 0)}, "0<123"},
		{"a nop between", []Step{re(0, -1, 0), nop(1), re(1, -1, 0), re(2, 4, 0)}, "0+1 2<14"},
		{"a lost nop", []Step{re(0, -1, 0), nop(1)}, "0"},
	} {
		var got []string
		f := fold(&TB{Steps: c.steps})
		for _, in := range f.steps {
			s := string(rune('0' + in.Src.Offset))
			for _, m := range in.More {
				s += "+" + string(rune('0'+m))
			}
			for i, w := range in.Waits {
				if i == 0 {
					s += "<"
				}
				s += string(rune('0' + w.Process))
			}
			if in.Signals {
				s += "*"
			}
			got = append(got, s)
		}
		require.Equal(t, c.want, strings.Join(got, " "), c.name)
		require.Empty(t, f.refusals, c.name)
	}
	var long []Step
	for range 20 {
		long = append(long, re(0, -1, 0))
	}
	require.Len(t, fold(&TB{Steps: long}).steps, 2, "at most 16 are joined")
	require.Empty(t, fold(&TB{Steps: long}).refusals)
	require.NotEmpty(t, fold(&TB{Steps: append(long[:1], append([]Step{{Type: Copy, DepID: -1}}, append(long, long...)...)...)}).refusals,
		"the bound counts all re of the threadblock, so that a later chain has none")
}

// TestProgram looks at how buffers alias and what must be in them.
func TestProgram(t *testing.T) {
	buffers := func(coll string, in bool) (*model.Program, [][]model.Buffer) {
		a := exchange(t, `nchunksperloop="1"`, `nchunksperloop="6"`)
		p, err := a.Program(model.Meaning{Collective: coll, InPlace: in})
		require.NoError(t, err)
		return p, p.Buffers
	}
	p, b := buffers("allreduce", true)
	require.Equal(t, []model.Buffer{{Name: "i", Cells: 6}, {Name: "o", Cells: 6}, {Name: "s", Base: 6}}, b[1])
	require.Equal(t, []int32{2, 8}, p.Wants[p.Post[0][2]])
	require.Nil(t, p.Kept[0])
	p, b = buffers("allreduce", false)
	require.Equal(t, []model.Buffer{{Name: "i", Cells: 6}, {Name: "o", Base: 6, Cells: 6}, {Name: "s", Base: 12}}, b[1])
	require.EqualValues(t, -1, p.Post[0][0])
	require.True(t, p.Kept[0][5])
	require.False(t, p.Kept[0][6])
	p, b = buffers("allgather", true)
	require.Equal(t, model.Buffer{Name: "i", Base: 3, Cells: 3}, b[1][0])
	require.Equal(t, []int32{3, 4, 5}, p.Pre[1][3:])
	require.Equal(t, []int32{4}, p.Wants[p.Post[0][4]])
	p, b = buffers("reduce_scatter", true)
	require.Equal(t, model.Buffer{Name: "o", Base: 3, Cells: 3}, b[1][1])
	require.EqualValues(t, -1, p.Post[1][2])
	require.Equal(t, []int32{3, 9}, p.Wants[p.Post[1][3]])
	p, _ = buffers("alltoall", false)
	require.Equal(t, []int32{9}, p.Wants[p.Post[1][6+3]])
	require.Equal(t, []int32{3}, p.Wants[p.Post[1][6]])
	p, _ = buffers("broadcast", false)
	require.EqualValues(t, -1, p.Pre[1][0])
	require.Equal(t, []int32{5}, p.Wants[p.Post[0][11]])
	p, _ = buffers("alltonext", false)
	require.EqualValues(t, -1, p.Post[0][6])
	require.Equal(t, []int32{5}, p.Wants[p.Post[1][11]])
	p, b = buffers("gather", true)
	require.Equal(t, []int{12, 12}, p.Memory)
	require.Equal(t, model.Buffer{Name: "i", Base: 6, Cells: 6}, b[1][0])
	require.Equal(t, []int32{6}, p.Wants[p.Post[0][6]])
	p, _ = buffers("scatter", false)
	require.Equal(t, []int32{6}, p.Wants[p.Post[1][12]])
	p, _ = buffers("custom", false)
	require.Empty(t, p.Wants)

	a := exchange(t, `nchunksperloop="1"`, `nchunksperloop="3"`) // halves of chunks
	p, err := a.Program(model.Meaning{Collective: "allgather", InPlace: true})
	require.NoError(t, err)
	require.Equal(t, 2, p.Grain)
	require.Equal(t, model.Buffer{Name: "i", Base: 3, Cells: 3}, p.Buffers[1][0])

	for _, coll := range Collectives() {
		for _, in := range []bool{false, true} {
			p, err := exchange(t).Program(model.Meaning{Collective: coll, InPlace: in})
			require.NoError(t, err, coll)
			require.Equal(t, coll == "custom", len(p.Wants) == 0, coll)
		}
	}
	_, err = exchange(t).Program(model.Meaning{Collective: "allsum"})
	require.Error(t, err)
	_, err = exchange(t).Program(model.Meaning{Root: 2})
	require.Error(t, err)
	_, err = exchange(t, ` coll="allreduce"`, ``).Program(model.Meaning{})
	require.ErrorContains(t, err, "no attribute coll")
	_, err = exchange(t, ` coll="allreduce"`, ``).Program(model.Meaning{Collective: "allreduce"})
	require.NoError(t, err)
	_, err = exchange(t, ` cnt="1"`, ``).Program(model.Meaning{Collective: "allreduce"})
	require.ErrorContains(t, err, "no attribute cnt")
	_, err = exchange(t, `nchunksperloop="1"`, `nchunksperloop="999999999"`).Program(model.Meaning{})
	require.ErrorIs(t, err, model.ErrTooLarge)
	_, err = exchange(t, `s_chunks="0"`, `s_chunks="2147483647"`).Program(model.Meaning{})
	require.ErrorIs(t, err, model.ErrTooLarge)
}

// TestLoadDeployed tells which deployed files no runtime loads.
func TestLoadDeployed(t *testing.T) {
	for _, file := range sharedData(t) {
		f, err := os.Open(file)
		require.NoError(t, err)
		a, err := Read(file, f)
		f.Close()
		if err != nil {
			continue
		}
		m, r := a.Load(MSCCL), a.Load(RCCL)
		if len(m.Refusals) > 0 && len(r.Refusals) > 0 {
			t.Log(filepath.Base(file), "msccl:", m.Refusals[0], "rccl:", r.Refusals[0])
		}
		p, err := a.Program(model.Meaning{InPlace: a.InPlace})
		if err != nil {
			require.NotEmpty(t, m.Refusals)
			require.NotEmpty(t, r.Refusals)
			continue
		}
		require.LessOrEqual(t, p.Steps(), steps(a))
	}
}
