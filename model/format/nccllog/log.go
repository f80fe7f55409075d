// Package nccllog reads what NCCL and RCCL say of the rings and trees that they chose, in their logs
// (NCCL_DEBUG=INFO) and in the dump of their graphs (NCCL_GRAPH_DUMP_FILE), and makes of it the
// schedules that they run: rings, and double binary trees (Sanders, Speck and Träff, "Two-tree algorithms
// for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009), over the channels
// that were chosen, chunked as NCCL cuts a buffer.
//
// Logs hold the lines of several ranks, in any order, with what launchers put before them, and are
// often cut off: what is missing is named.
package nccllog

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Tool is the name of those who write such files.
const Tool = "NCCL"

// Log is what a log says of the largest communicator in it.
type Log struct {
	Version  string
	Ranks    int
	Channels int // the largest number of a channel, plus one
	// NVLSChannels is how many channels NVLS has; 0: not stated.
	NVLSChannels int
	Rings        map[int][]int    // by channel: the ranks in their order
	Trees        map[int][]Member // by channel and rank
	Choices      []Choice         // of the tuner
	Heads        [][]int          // of NVLS, by part of the buffer: a rank on each host; none: not stated
	Adds         bool             // sums in switches and multicast (NVLS) are supported or used
	CollNet      bool             // in-network reduction between hosts is used
	Dump         bool             // it is a dump of graphs: device numbers are ranks
	Notes        model.Notes
}

// Member is a rank's place in a tree.
type Member struct {
	Known bool // a line of the rank states it
	Up    int  // -1: it is the root
	Down  []int
}

// Choice is what the tuner chose for a call.
type Choice struct {
	Collective string
	Bytes      int64
	Algorithm  string
	Protocol   string
	Micros     string // that it expects
}

// Algorithms and protocols by NCCL's numbers.
var (
	algorithms = []string{"tree", "ring", "collnet-direct", "collnet-chain", "nvls", "nvls-tree", "pat"}
	protocols  = []string{"LL", "LL128", "Simple"}
)

var (
	colour   = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	info     = regexp.MustCompile(`(?:NCCL|RCCL) INFO (.*)$`)
	version  = regexp.MustCompile(`(?:NCCL|RCCL) version ([0-9][0-9A-Za-z.+-]*)`)
	channel  = regexp.MustCompile(`^Channel ([0-9]{2,3})/([0-9]{2,3}) : +([0-9][0-9 ]*)$`)
	ringOf   = regexp.MustCompile(`^Ring ([0-9]{1,3}) : ([0-9]+) -> ([0-9]+) -> ([0-9]+)`)
	treesOf  = regexp.MustCompile(`^Trees `)
	treeOf   = regexp.MustCompile(`\[([0-9]{1,3})\] (-?[0-9]+)/(-?[0-9]+)(?:/(-?[0-9]+))?->([0-9]+)->(-?[0-9]+)`)
	oldTree  = regexp.MustCompile(`\[([0-9]{1,3})\] (-?[0-9]+)->([0-9]+)->(-?[0-9]+)/(-?[0-9]+)(?:/(-?[0-9]+))?`)
	headOf   = regexp.MustCompile(`^NVLS Head +([0-9]{1,4}): +([0-9][0-9 ]*)$`)
	wideOf   = regexp.MustCompile(`([0-9]{1,3}) nvls channels`)
	ranksOf  = regexp.MustCompile(`rank ([0-9]{1,7}) (?i:nranks) ([0-9]{1,7})`)
	choiceOf = regexp.MustCompile(`^([A-Z][A-Za-z]+): ([0-9]+) Bytes -> Algo ([0-9]+) proto ([0-9]+) time ([0-9.]+)`)
	chosen   = regexp.MustCompile(`^([A-Z][A-Za-z]+): ([0-9]+) Bytes -> Algo ([A-Z_0-9]+) proto ([A-Z0-9]+)`)
)

// shownRanks is how many ranks of a ring NCCL shows in its line of a channel, up to 2.8.
const shownRanks = 20

// maxLine and maxChannels limit what is read.
const (
	maxLine     = 16 << 20
	maxChannels = 256
	maxRanks    = 1 << 16
	maxMembers  = 1 << 20 // of all trees
)

// Read reads a log, or a dump of graphs, which is XML.
func Read(ctx context.Context, file string, in io.Reader) (*Log, error) {
	r := bufio.NewReaderSize(in, 1<<16)
	head, _ := r.Peek(512)
	if text := strings.TrimLeft(string(head), "\ufeff \t\r\n"); strings.HasPrefix(text, "<") {
		l, err := readGraphs(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return l, nil
	}
	p := &parser{rings: map[int]map[int][]int{}, next: map[int]map[int]int{}, trees: map[int]map[int]Member{}, heads: map[int][]int{}}
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<16), maxLine)
	for n := 0; s.Scan(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", file, ctx.Err())
		}
		p.line(s.Text())
	}
	if err := s.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	l, err := p.log()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

// parser gathers what the lines say.
type parser struct {
	version   string
	lines     int                    // of NCCL
	ranks     int                    // that a communicator is said to have
	rings     map[int]map[int][]int  // by ranks, and channel
	next      map[int]map[int]int    // by channel, and rank: from the lines of each rank
	trees     map[int]map[int]Member // by channel, and rank
	choices   []Choice
	heads     map[int][]int // of NVLS, the longest list that is stated of each
	nvlsWide  int           // channels
	nvls      bool
	collnet   bool
	garbled   int
	malformed int
}

// line reads a line.
func (p *parser) line(text string) {
	if m := version.FindStringSubmatch(text); m != nil {
		p.version = m[1]
	}
	if strings.Count(text, " INFO ") > 1 && (strings.Contains(text, "Trees [") || strings.Contains(text, "Channel ")) {
		p.garbled++
		return
	}
	m := info.FindStringSubmatch(strings.TrimSpace(colour.ReplaceAllString(text, "")))
	if m == nil {
		return
	}
	p.lines++
	said := strings.TrimSpace(m[1])
	switch {
	case strings.HasPrefix(said, "Channel "):
		if m := channel.FindStringSubmatch(said); m != nil {
			p.ring(m)
		}
	case strings.HasPrefix(said, "Ring "):
		if m := ringOf.FindStringSubmatch(said); m != nil {
			c, at, to := number(m[1]), number(m[3]), number(m[4])
			if c < maxChannels && at < maxRanks && to < maxRanks {
				if p.next[c] == nil {
					p.next[c] = map[int]int{}
				}
				p.next[c][at] = to
			}
		}
	case treesOf.MatchString(said):
		p.tree(said)
	case headOf.MatchString(said):
		p.head(headOf.FindStringSubmatch(said))
	case strings.Contains(said, "NVLS multicast support is available") || strings.HasPrefix(said, "Connected NVLS"):
		p.nvls = true
	case strings.HasPrefix(said, "CollNet ") && strings.Contains(said, "channel"), strings.HasPrefix(said, "Connected collnet"):
		p.collnet = true
	default:
		p.other(said)
	}
}

// other reads lines about ranks and choices.
func (p *parser) other(said string) {
	if m := ranksOf.FindStringSubmatch(said); m != nil && number(m[2]) <= maxRanks {
		p.ranks = max(p.ranks, number(m[2]))
	}
	if m := wideOf.FindStringSubmatch(said); m != nil {
		p.nvlsWide = max(p.nvlsWide, number(m[1]))
	}
	c := Choice{}
	if m := choiceOf.FindStringSubmatch(said); m != nil {
		c = Choice{Collective: m[1], Algorithm: named(algorithms, number(m[3])), Protocol: named(protocols, number(m[4])), Micros: m[5]}
		c.Bytes, _ = strconv.ParseInt(m[2], 10, 64)
	} else if m := chosen.FindStringSubmatch(said); m != nil {
		c = Choice{Collective: m[1], Algorithm: strings.ToLower(m[3]), Protocol: m[4]}
		c.Bytes, _ = strconv.ParseInt(m[2], 10, 64)
	}
	if c.Collective != "" && len(p.choices) < 1<<16 && !slices.Contains(p.choices, c) {
		p.choices = append(p.choices, c)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1 << 30
	}
	return n
}

func named(list []string, i int) string {
	if i >= 0 && i < len(list) {
		return list[i]
	}
	return fmt.Sprint(i)
}

// ring reads the order of a channel's ring, which rank 0 states.
func (p *parser) ring(m []string) {
	c := number(m[1])
	var order []int
	seen := map[int]bool{}
	for _, f := range strings.Fields(m[3]) {
		r := number(f)
		if r >= maxRanks || seen[r] {
			p.malformed++
			return
		}
		seen[r] = true
		order = append(order, r)
	}
	for r := range order {
		if !seen[r] {
			p.malformed++ // a line that is cut off
			return
		}
	}
	if c >= maxChannels {
		p.malformed++
		return
	}
	if p.rings[len(order)] == nil {
		p.rings[len(order)] = map[int][]int{}
	}
	p.rings[len(order)][c] = order
}

// head reads the ranks that have a part of the buffer with NVLS, one on each host.
func (p *parser) head(m []string) {
	p.nvls = true
	var ranks []int
	for _, f := range strings.Fields(m[2]) {
		if r := number(f); r < maxRanks && !slices.Contains(ranks, r) {
			ranks = append(ranks, r)
		}
	}
	if h := number(m[1]); h < maxChannels && len(ranks) > len(p.heads[h]) && len(ranks) < 1<<12 {
		p.heads[h] = ranks
	}
}

// headsOf returns the heads of NVLS among n ranks; none, if what is stated is not of all of them.
func (p *parser) headsOf(n int) (heads [][]int) {
	for h := range len(p.heads) {
		list := p.heads[h]
		if len(list) == 0 || len(list) != len(p.heads[0]) || slices.Max(list) >= n {
			p.malformed++
			return nil
		}
		heads = append(heads, list)
	}
	return heads
}

// tree reads the places of a rank.
func (p *parser) tree(said string) {
	add := func(c, rank, up int, down ...string) {
		if c >= maxChannels || rank >= maxRanks || up >= maxRanks {
			p.malformed++
			return
		}
		x := Member{Known: true, Up: up}
		for _, d := range down {
			if n := number(d); d != "" && n >= 0 && n < maxRanks {
				x.Down = append(x.Down, n)
			}
		}
		if p.trees[c] == nil {
			p.trees[c] = map[int]Member{}
		}
		p.trees[c][rank] = x
	}
	found := treeOf.FindAllStringSubmatch(said, -1)
	for _, m := range found {
		add(number(m[1]), number(m[5]), number(m[6]), m[2], m[3], m[4])
	}
	if len(found) == 0 { // NCCL 2.4: up->rank->down/down/down
		for _, m := range oldTree.FindAllStringSubmatch(said, -1) {
			add(number(m[1]), number(m[3]), number(m[2]), m[4], m[5], m[6])
		}
	}
}

// log puts together what the lines say of the largest communicator.
func (p *parser) log() (*Log, error) {
	if p.lines == 0 {
		return nil, errors.New("no line of NCCL or RCCL (NCCL INFO) in it: NCCL_DEBUG=INFO writes them")
	}
	l := &Log{Version: p.version, Choices: p.choices, Adds: p.nvls, NVLSChannels: p.nvlsWide, CollNet: p.collnet, Rings: map[int][]int{}, Trees: map[int][]Member{}, Ranks: p.ranks}
	for n := range p.rings {
		l.Ranks = max(l.Ranks, n)
	}
	for _, tree := range p.trees {
		for r := range tree {
			l.Ranks = max(l.Ranks, r+1)
		}
	}
	for _, next := range p.next {
		for r := range next {
			l.Ranks = max(l.Ranks, r+1)
		}
	}
	l.Heads = p.headsOf(l.Ranks)
	maps.Copy(l.Rings, p.rings[l.Ranks])
	for c, next := range p.next {
		if order := cycle(next, l.Ranks); order != nil && l.Rings[c] == nil {
			l.Rings[c] = order
		}
	}
	if l.Ranks > shownRanks { // older ones cut the lines of channels off
		p.malformed += len(p.rings[shownRanks])
		delete(p.rings, shownRanks)
	}
	for n := range p.rings {
		if n < l.Ranks {
			l.Notes.Add(model.LeftOut, "the rings of a communicator of %d ranks", n)
		}
	}
	if len(p.trees)*l.Ranks > maxMembers {
		l.Notes.Add(model.LeftOut, "trees over %d channels of %d ranks: want %d places at most", len(p.trees), l.Ranks, maxMembers)
		p.trees = nil
	}
	for c, tree := range p.trees {
		list := make([]Member, l.Ranks)
		for r, m := range tree {
			list[r] = m
		}
		l.Trees[c] = list
	}
	for c := range l.Rings {
		l.Channels = max(l.Channels, c+1)
	}
	for c := range l.Trees {
		l.Channels = max(l.Channels, c+1)
	}
	if p.garbled+p.malformed > 0 {
		l.Notes.Add(model.LeftOut, "%d lines that are cut off or mixed with others", p.garbled+p.malformed)
	}
	if len(l.Rings) == 0 && len(l.Trees) == 0 && len(l.Heads) == 0 {
		return nil, errors.New("neither rings (Channel 00/08 : 0 1 2 …) nor trees (Trees [0] …) in it: NCCL_DEBUG=INFO writes them when a communicator is made, with NCCL_DEBUG_SUBSYS=INIT,GRAPH if subsystems are chosen")
	}
	return l, nil
}

// cycle follows the ring of the lines of all ranks, nil if it is not one of n ranks. The line of one rank may be
// missing: it goes to the one that no other one goes to.
func cycle(next map[int]int, n int) []int {
	if len(next) == n-1 {
		from, to := 0, n*(n-1)/2
		for ; from < n; from++ {
			if _, ok := next[from]; !ok {
				break
			}
		}
		for _, v := range next {
			to -= v
		}
		next = maps.Clone(next)
		next[from] = to
	}
	order := []int{0}
	for at := 0; len(order) <= n; {
		to, ok := next[at]
		if !ok {
			return nil
		}
		if to == 0 {
			break
		}
		order, at = append(order, to), to
	}
	if len(order) != n {
		return nil
	}
	return order
}

// graphs is a dump of NCCL's graphs.
type graphs struct {
	XMLName xml.Name `xml:"graphs"`
	Graphs  []struct {
		ID       int    `xml:"id,attr"`
		Pattern  int    `xml:"pattern,attr"`
		Speed    string `xml:"speedinter,attr"`
		Channels []struct {
			Nets []struct {
				Dev string `xml:"dev,attr"`
			} `xml:"net"`
			GPUs []struct {
				Dev  *int `xml:"dev,attr"`
				Rank *int `xml:"rank,attr"`
			} `xml:"gpu"`
		} `xml:"channel"`
	} `xml:"graph"`
}

// readGraphs reads a dump of graphs. It has the channels of one node: those of several are joined
// by NCCL at run time, which the dump does not show.
func readGraphs(r io.Reader) (*Log, error) {
	var g graphs
	if err := xml.NewDecoder(io.LimitReader(r, 1<<28)).Decode(&g); err != nil {
		return nil, fmt.Errorf("no dump of graphs (<graphs>): %w", err)
	}
	l := &Log{Dump: true, Rings: map[int][]int{}, Trees: map[int][]Member{}}
	nets := false
	for _, graph := range g.Graphs {
		if graph.ID != 0 || graph.Pattern != 4 { // 4: a ring
			continue
		}
		for c, ch := range graph.Channels {
			if c >= maxChannels {
				break
			}
			nets = nets || len(ch.Nets) > 0
			var order []int
			seen := map[int]bool{}
			for _, gpu := range ch.GPUs {
				dev := gpu.Dev
				if dev == nil {
					dev = gpu.Rank
				}
				if dev == nil || *dev < 0 || *dev >= maxRanks || seen[*dev] {
					return nil, fmt.Errorf("graph 0, channel %d: want GPUs with different numbers", c)
				}
				seen[*dev] = true
				order = append(order, *dev)
			}
			l.Rings[c] = order
			l.Ranks, l.Channels = max(l.Ranks, len(order)), c+1
		}
	}
	if len(l.Rings) == 0 {
		return nil, errors.New("no ring in the dump: want a graph with id 0 and pattern 4")
	}
	if nets {
		l.Notes.Add(model.Assumed, "one node: the dump has the rings of one, and not how NCCL joins those of several")
	}
	return l, nil
}
