package export

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/streams"
)

// Chrome writes a schedule as trace events: a process for each rank, with a row for what it
// sends to and receives from each other (more rows where several are under way at a time),
// an arrow from each send to its receive, and a process with a row for each link in use,
// which shows when it is busy. Times are in microseconds, exact to the picosecond. The
// schedule begins at Origin, since viewers take a time of 0 for none.
func Chrome(w io.Writer, p *model.Problem, s *model.Schedule) error {
	g, err := newProgram(p, s)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	c := &chrome{program: g, w: b}
	name, _ := json.Marshal(fmt.Sprint(p))
	fmt.Fprintf(b, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"schedule\":%s,\"begins_at_us\":%d},\"traceEvents\":[", name, Origin/model.Microsecond)
	for r := range p.Topology.Ranks {
		c.process(r, fmt.Sprintf("rank %d", r))
		c.rank(r)
	}
	c.links()
	fmt.Fprint(b, "\n]}\n")
	return b.Flush()
}

// Origin is the time of trace events at which a schedule begins.
const Origin = model.Microsecond

type chrome struct {
	*program
	w     *bufio.Writer
	begun bool
}

func (c *chrome) event(format string, args ...any) {
	if c.begun {
		fmt.Fprint(c.w, ",")
	}
	c.begun = true
	fmt.Fprintf(c.w, "\n"+format, args...)
}

// micro writes a length of time in microseconds.
func micro(t model.Time) string { return fmt.Sprintf("%d.%06d", t/1e6, t%1e6) }

// instant writes a time of the schedule as that of an event.
func instant(t model.Time) string { return micro(Origin.Add(t)) }

func (c *chrome) process(pid int, name string) {
	text, _ := json.Marshal(name)
	c.event(`{"name":"process_name","ph":"M","pid":%d,"args":{"name":%s}}`, pid, text)
	c.event(`{"name":"process_sort_index","ph":"M","pid":%d,"args":{"sort_index":%d}}`, pid, pid)
}

func (c *chrome) row(pid, tid int, name string) {
	text, _ := json.Marshal(name)
	c.event(`{"name":"thread_name","ph":"M","pid":%d,"tid":%d,"args":{"name":%s}}`, pid, tid, text)
	c.event(`{"name":"thread_sort_index","ph":"M","pid":%d,"tid":%d,"args":{"sort_index":%d}}`, pid, tid, tid)
}

// rank writes what a rank sends and receives.
func (c *chrome) rank(r int) {
	type row struct {
		peer  int32
		sends bool
	}
	byRow := map[row][]int32{}
	var rows []row
	for _, i := range c.ranks[r] {
		t := &c.s.Transfers[i]
		key := row{t.Src, false}
		if int(t.Src) == r {
			key = row{t.Dst, true}
		}
		if byRow[key] == nil {
			rows = append(rows, key)
		}
		byRow[key] = append(byRow[key], i)
	}
	slices.SortFunc(rows, func(a, b row) int {
		if a.sends != b.sends {
			return map[bool]int{true: -1, false: 1}[a.sends]
		}
		return cmp.Compare(a.peer, b.peer)
	})
	tid := 0
	for _, key := range rows {
		name := fmt.Sprintf("from rank %d", key.peer)
		if key.sends {
			name = fmt.Sprintf("to rank %d", key.peer)
		}
		list := byRow[key]
		slices.SortFunc(list, func(i, j int32) int { return cmp.Or(cmp.Compare(c.from[i], c.from[j]), cmp.Compare(i, j)) })
		var until []model.Time // of each row for this peer
		for _, i := range list {
			lane := slices.IndexFunc(until, func(t model.Time) bool { return t <= c.from[i] })
			if lane < 0 {
				lane = len(until)
				until = append(until, 0)
				c.row(r, tid+lane, name)
			}
			until[lane] = c.to[i]
			c.transfer(i, r, tid+lane, key.sends)
		}
		tid += len(until)
	}
}

// transfer writes one end of a transfer, and that of its arrow.
func (c *chrome) transfer(i int32, pid, tid int, sends bool) {
	t := &c.s.Transfers[i]
	arrow, at, end := `"f","bp":"e"`, c.to[i]-1, "receive"
	if sends {
		arrow, at, end = `"s"`, c.from[i], "send"
	}
	c.event(`{"name":"%v chunk %d","cat":"%s","ph":"X","ts":%s,"dur":%s,"pid":%d,"tid":%d,"args":{"transfer":%d,"chunk":%d,"src":%d,"dst":%d,"op":"%v","bytes":%d}}`,
		t.Op, t.Chunk, end, instant(c.from[i]), micro(c.to[i]-c.from[i]), pid, tid, i, t.Chunk, t.Src, t.Dst, t.Op, c.p.Chunks[t.Chunk].Size)
	c.event(`{"name":"transfer","cat":"transfer","id":%d,"ph":%s,"ts":%s,"pid":%d,"tid":%d}`, i, arrow, instant(max(at, 0)), pid, tid)
}

// links writes when links are busy: with transfers that pass alone, or with several that switches
// take for one.
func (c *chrome) links() {
	pid := c.p.Topology.Ranks
	c.process(pid, "links")
	for l, list := range streams.Find(c.p, c.s, c.from, c.to).Uses() {
		if len(list) == 0 {
			continue
		}
		link := c.p.Topology.Links[l]
		c.row(pid, l, fmt.Sprintf("link %d, %s to %s", l, c.p.Topology.NodeName(link.Src), c.p.Topology.NodeName(link.Dst)))
		for _, u := range list {
			t := &c.s.Transfers[u.Transfers[0]]
			name := fmt.Sprintf("chunk %d", t.Chunk)
			if u.Stream != nil && u.Stream.Sum() {
				name = "sum of " + name
			} else if u.Stream != nil {
				name = "multicast of " + name
			}
			c.event(`{"name":"%s","cat":"link","ph":"X","ts":%s,"dur":%s,"pid":%d,"tid":%d,"args":{"transfer":%d,"src":%d,"dst":%d}}`,
				name, instant(u.From), micro(u.To-u.From), pid, l, u.Transfers[0], t.Src, t.Dst)
		}
	}
}
