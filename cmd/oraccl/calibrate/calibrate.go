// Package calibrate gives the links of a topology the latencies and bandwidths that benchmarks show. It
// groups measurements by the kinds of links on their route, fits each group (package model/fit), and
// gives every link of a kind the figures found: the bandwidth to the slowest kind on the route, the latency
// to all kinds on it in the proportion that they had.
package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/fit"
	"github.com/oraccl/oraccl/model/format/measured"
	"github.com/oraccl/oraccl/model/ways"
)

// Group is what was found of the routes over some kinds of links.
type Group struct {
	Route   string // the kinds of links, in words
	Sources []string
	Fit     *fit.Fit // nil: only latency and bandwidth are known, without a line
	Alpha   float64  // seconds; NaN: not measured
	Rate    float64  // bytes per second
	Spread  float64  // largest relative distance of a pair's bandwidth from Rate, where Fit is nil
	Samples int

	kinds []kind
}

// kind is what links are told apart by.
type kind struct {
	alpha     model.Time
	bandwidth int64
}

func (k kind) String() string {
	return fmt.Sprintf("%.4g GB/s, %v", float64(k.bandwidth)/1e9, k.alpha)
}

// Result is a topology with measured figures.
type Result struct {
	Topology *model.Topology
	Groups   []Group
}

// calibration gathers measurements.
type calibration struct {
	t        *model.Topology
	shortest *ways.Shortest
	groups   map[string]*gathered
	order    []string
	notes    model.Notes
}

type gathered struct {
	kinds     []kind
	points    []fit.Point
	latency   []float64 // seconds, of messages without bytes
	bandwidth []float64 // bytes per second, latency hidden
	sources   []string
}

// Read reads the tables in files.
func Read(ctx context.Context, names []string) ([]*measured.Table, error) {
	var all []*measured.Table
	for _, name := range names {
		f, err := files.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		t, err := measured.Read(name, f)
		f.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// Topology fits tables, and returns t with what was found. Where a table names no pair of ranks it
// is of pair, or of a ring of all ranks if it is of a collective. A fit that does not explain
// its data is an error.
func Topology(t *model.Topology, tables []*measured.Table, pair [2]int) (*Result, error) {
	c := &calibration{t: t, shortest: ways.NewShortest(t), groups: map[string]*gathered{}}
	for _, table := range tables {
		if err := c.add(table, pair); err != nil {
			return nil, fmt.Errorf("%s: %w", table.File, err)
		}
	}
	r := &Result{}
	for _, name := range c.order {
		g, err := c.groups[name].fit(name)
		if err != nil {
			return nil, fmt.Errorf("%s: routes over %s: %w", strings.Join(c.groups[name].sources, ", "), name, err)
		}
		r.Groups = append(r.Groups, *g)
	}
	r.Topology = c.apply(r.Groups)
	return r, nil
}

// group returns the group of the route from a rank to another one.
func (c *calibration) group(u, v int, source string) (*gathered, error) {
	if max(u, v) >= c.t.Ranks || min(u, v) < 0 || u == v {
		return nil, fmt.Errorf("ranks %d and %d: %s has ranks 0 to %d", u, v, c.t.Name, c.t.Ranks-1)
	}
	route := c.shortest.Route(u, v)
	if route == nil {
		return nil, fmt.Errorf("%s has no link and no way over switches from rank %d to rank %d", c.t.Name, u, v)
	}
	var kinds []kind
	var words []string
	for _, l := range route {
		k := kind{c.t.Links[l].Alpha, c.t.Links[l].Bandwidth}
		kinds, words = append(kinds, k), append(words, k.String())
	}
	name := strings.Join(words, " + ")
	g := c.groups[name]
	if g == nil {
		g = &gathered{kinds: kinds}
		c.groups[name] = g
		c.order = append(c.order, name)
	}
	if !slices.Contains(g.sources, source) {
		g.sources = append(g.sources, source)
	}
	return g, nil
}

// add takes a table in.
func (c *calibration) add(t *measured.Table, pair [2]int) error {
	source := fmt.Sprintf("%s (%s)", t.File, t.Tool)
	steps, factor := 1.0, 1.0
	if t.Factor > 0 {
		var err error
		if steps, factor, pair, err = c.ring(t); err != nil {
			return err
		}
	}
	for _, s := range t.Samples {
		u, v := s.Src, s.Dst
		if u < 0 {
			u, v = pair[0], pair[1]
		}
		g, err := c.group(u, v, source)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Where, err)
		}
		switch {
		case s.Bytes == 0:
			g.latency = append(g.latency, s.Seconds)
		case t.What == "bandwidth" || t.Tool == "p2pBandwidthLatencyTest":
			g.bandwidth = append(g.bandwidth, s.Bytes/s.Seconds)
		default:
			g.points = append(g.points, fit.Point{Bytes: s.Bytes * factor / steps, Seconds: s.Seconds / steps, Name: fmt.Sprintf("%s, %s", t.File, s.Where)})
		}
	}
	if t.What == "bandwidth" { // of messages in flight: the largest rate counts
		for _, name := range c.order {
			if g := c.groups[name]; len(g.bandwidth) > 0 && g.sources[len(g.sources)-1] == source {
				g.bandwidth = []float64{slices.Max(g.bandwidth)}
			}
		}
	}
	return nil
}

// ring returns how a collective loads the slowest neighbours of a ring of all ranks: in how many steps,
// and how many times its size it sends over a link in all, which is busbw over algbw. The program that wrote the table
// tells the collective, where it is named, or else that factor.
func (c *calibration) ring(t *measured.Table) (steps, factor float64, pair [2]int, err error) {
	n := float64(c.t.Ranks)
	if n < 2 {
		return 0, 0, pair, errors.New("one rank")
	}
	type load struct{ steps, factor float64 }
	allreduce, gather, message := load{2 * (n - 1), 2 * (n - 1) / n}, load{n - 1, (n - 1) / n}, load{1, 1}
	near := func(x load) bool { return math.Abs(t.Factor/x.factor-1) < 0.03 }
	of := map[string]load{"all_reduce": allreduce, "all_gather": gather, "reduce_scatter": gather, "alltoall": gather, "sendrecv": message, "broadcast": message, "reduce": message}
	x, named := of[t.Collective]
	switch {
	case t.Collective != "" && !named:
		return 0, 0, pair, fmt.Errorf("%s_perf tells no link's figures", t.Collective)
	case strings.HasPrefix(t.Tool, "OSU"):
		x = allreduce
	case named && near(x):
	case !named && near(allreduce):
		if x = allreduce; near(message) {
			c.notes.Add(model.Assumed, "%s is of an allreduce: it names no program, and among two ranks a message has as many bytes", t.File)
		}
	case !named && near(gather):
		x = gather
	case !named && near(message):
		x = message
	default:
		return 0, 0, pair, fmt.Errorf("busbw is %.3f times algbw, which no collective of %d ranks has: an allreduce has %.3f, an allgather or reducescatter %.3f, sendrecv 1", t.Factor, c.t.Ranks, allreduce.factor, gather.factor)
	}
	steps, factor = x.steps, x.factor
	worst := model.Time(-1)
	for r := range c.t.Ranks {
		v := (r + 1) % c.t.Ranks
		route := c.shortest.Route(r, v)
		if route == nil {
			return 0, 0, pair, fmt.Errorf("%s has no link and no way over switches from rank %d to rank %d", c.t.Name, r, v)
		}
		if d := c.t.Duration(route, 1<<20); d > worst {
			worst, pair = d, [2]int{r, v}
		}
	}
	return steps, factor, pair, nil
}

// fit finds the figures of a group.
func (g *gathered) fit(name string) (*Group, error) {
	out := &Group{Route: name, Sources: g.sources, Alpha: math.NaN(), kinds: g.kinds, Samples: len(g.points) + len(g.latency) + len(g.bandwidth)}
	if len(g.points) > 0 {
		f, err := fit.Points(g.points)
		if err != nil {
			return nil, err
		}
		out.Fit, out.Alpha, out.Rate = f, f.Alpha(), 1/f.Line.Beta
	}
	if len(g.latency) > 0 {
		slices.Sort(g.latency)
		out.Alpha = g.latency[(len(g.latency)-1)/2]
	}
	if len(g.bandwidth) > 0 {
		slices.Sort(g.bandwidth)
		out.Rate = g.bandwidth[(len(g.bandwidth)-1)/2]
		for _, b := range g.bandwidth {
			out.Spread = max(out.Spread, math.Abs(b/out.Rate-1))
		}
		if out.Spread > 0.5 {
			return nil, fmt.Errorf("bandwidths from %.4g to %.4g GB/s on routes that the topology takes for equal: they are not of one kind", g.bandwidth[0]/1e9, g.bandwidth[len(g.bandwidth)-1]/1e9)
		}
	}
	switch {
	case out.Rate == 0:
		return nil, errors.New("only latencies were measured, want bandwidths, too")
	case out.Rate < 1 || out.Rate > 1e15:
		return nil, fmt.Errorf("%.3g bytes per second: no bandwidth", out.Rate)
	case out.Alpha*1e12 > float64(model.MaxAlpha):
		return nil, fmt.Errorf("%.3g s: no latency", out.Alpha)
	}
	return out, nil
}

// apply returns the topology with the figures of groups. Groups over fewer links come first, and what
// they tell stands.
func (c *calibration) apply(groups []Group) *model.Topology {
	t := *c.t
	t.Name += ", measured"
	t.Links, t.Notes = slices.Clone(c.t.Links), append(slices.Clone(c.t.Notes), c.notes...)
	groups = slices.Clone(groups)
	slices.SortStableFunc(groups, func(a, b Group) int { return len(a.kinds) - len(b.kinds) })
	rate, alpha := map[kind]int64{}, map[kind]model.Time{}
	for _, g := range groups {
		slowest := slices.MinFunc(g.kinds, func(a, b kind) int { return int(min(max(a.bandwidth-b.bandwidth, -1), 1)) }).bandwidth
		for _, k := range g.kinds {
			if _, known := rate[k]; !known && (k.bandwidth == slowest || k.bandwidth < int64(g.Rate)) {
				rate[k] = int64(g.Rate)
			}
		}
		if math.IsNaN(g.Alpha) {
			continue
		}
		left, sum, open := model.Time(g.Alpha*1e12), model.Time(0), 0
		for _, k := range g.kinds {
			if a, known := alpha[k]; known {
				left -= a
			} else {
				sum += k.alpha
				open++
			}
		}
		left = max(0, left)
		share := map[kind]model.Time{}
		for _, k := range g.kinds {
			switch _, known := alpha[k]; {
			case known:
			case sum > 0:
				share[k] = model.Time(float64(left) * float64(k.alpha) / float64(sum))
			default:
				share[k] = left / model.Time(open)
			}
		}
		for k, a := range share {
			alpha[k] = a
		}
	}
	changed := 0
	for i := range t.Links {
		k := kind{t.Links[i].Alpha, t.Links[i].Bandwidth}
		if b, ok := rate[k]; ok {
			t.Links[i].Bandwidth = b
			changed++
		}
		if a, ok := alpha[k]; ok {
			t.Links[i].Alpha = a
		}
	}
	for _, g := range groups {
		t.Notes.Add(model.Fact, "%s", g.Words())
	}
	if rest := len(t.Links) - changed; rest > 0 {
		t.Notes.Add(model.Assumed, "%d of %d links as before: nothing was measured that tells their bandwidth", rest, len(t.Links))
	}
	return &t
}

// Words states what was found of a group, and where it is from.
func (g *Group) Words() string {
	text := fmt.Sprintf("routes over %s: ", g.Route)
	if f := g.Fit; f != nil {
		low, high := f.Line.Beta-f.Line.BetaOff, f.Line.Beta+f.Line.BetaOff
		text += fmt.Sprintf("%.4g GB/s (%.4g to %s), %.4g us", g.Rate/1e9, 1e-9/high, upper(low), g.Alpha*1e6)
	} else if text += fmt.Sprintf("%.4g GB/s within %.0f %%", g.Rate/1e9, 100*g.Spread); !math.IsNaN(g.Alpha) {
		text += fmt.Sprintf(", %.4g us", g.Alpha*1e6)
	} else {
		text += ", latency as before"
	}
	return text + fmt.Sprintf(", from %s, %d measurements", strings.Join(g.Sources, ", "), g.Samples)
}

func upper(beta float64) string {
	if beta <= 0 {
		return "any"
	}
	return fmt.Sprintf("%.4g", 1e-9/beta)
}
