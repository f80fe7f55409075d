package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model/instance"
)

// codeRun is an all-gather that the authors' code was run on: Number is the time that it
// says the collective takes, in microseconds.
type codeRun struct {
	*repro.Published
	network     network
	least, most float64 // seconds that it was at work; of several runs, else equal
}

// codeRunOf returns the run on a network, or nil.
func codeRunOf(all []*codeRun, n network) *codeRun {
	for _, c := range all {
		if c.network == n {
			return c
		}
	}
	return nil
}

// fill reads what is published, compares, and draws the figures.
func (x *tacosStudy) fill(ctx context.Context, r *repro.Report) error {
	tests, err := repro.Load(x.tables, "tacos/tests.csv", "topology", "bandwidth", "alpha", "chunks:int", "mib:int", "value:number")
	if err != nil {
		return err
	}
	lines, err := repro.Load(x.tables, "tacos/code.csv", "topology", "bandwidth", "npus:int", "least_s:number", "most_s:number", "value:number")
	if err != nil {
		return err
	}
	claims, err := repro.Load(x.tables, "tacos/claims.csv", "topology", "bandwidth", "achieved:number", "value:number")
	if err != nil {
		return err
	}
	papers, err := repro.Load(x.tables, "tacos/paper.csv", "collective", "network", "npus", "quantity", "value:number")
	if err != nil {
		return err
	}
	var code []*codeRun
	for _, p := range lines {
		n := network{p.Text("topology"), p.Text("bandwidth")}
		if n.Bandwidth == x.bandwidth {
			n.Bandwidth = ""
		}
		if p.Value != "" && p.Float("least_s") > 0 {
			code = append(code, &codeRun{p, n, p.Float("least_s"), p.Float("most_s")})
		}
	}
	expected, err := x.expected(ctx, tests)
	if err != nil {
		return err
	}
	claimed, err := x.claimed(ctx, claims)
	if err != nil {
		return err
	}
	growths, err := x.scale(ctx, code)
	if err != nil {
		return err
	}
	contests, err := x.contests(ctx)
	if err != nil {
		return err
	}
	r.Sections = []*repro.Section{expected, claimed, x.run(growths), x.paper(papers, growths), x.baselines(contests)}
	if err := x.collectivesFigure(contests, code).into(r); err != nil {
		return err
	}
	return scaleFigure(growths, papers).into(r)
}

// gather solves an all-gather of this many bytes in all and chunks per rank.
func (x *tacosStudy) gather(ctx context.Context, n network, alpha string, bytes int64, chunks int) (*contest, error) {
	key := fmt.Sprintf("tacos allgather on %v, %s, %d bytes, %d chunks", n, alpha, bytes, chunks)
	return keep(x.bench, key, func() (*contest, error) {
		y := *x
		y.alpha, y.cost = alpha, "blocking"
		t, err := instance.Generated(n.Topology, alpha, n.Bandwidth)
		if err != nil {
			return nil, err
		}
		share := (bytes + int64(t.Ranks) - 1) / int64(t.Ranks)
		p, err := y.problem(n, "allgather", strconv.FormatInt(share, 10), chunks)
		if err != nil {
			return nil, err
		}
		c := &contest{Network: n, NPUs: t.Ranks, Collective: "allgather"}
		if c.Bound, c.Kind, err = certifiedTime(ctx, p); err != nil {
			return nil, err
		}
		if c.Greedy, err = x.contend(ctx, methodOf("tacos"), p, c.Bound, c.Kind, x.Options.Tries, x.Options.Effort); err == nil && c.Greedy == nil {
			err = fmt.Errorf("tacos: does not serve %v", p)
		}
		return c, err
	})
}

// times sets ours and the bound, in microseconds.
func (c *contest) times(r *repro.Row) {
	r.Ours, r.Bound, r.Certificate = report.Micros(c.Greedy.Makespan), report.Micros(c.Bound), c.Kind
	c.Greedy.into(r)
}

// expected sets what the tests of the authors' code expect beside ours.
func (x *tacosStudy) expected(ctx context.Context, tests []*repro.Published) (*repro.Section, error) {
	s := &repro.Section{Name: "tests", Title: "What the tests of the authors' code expect", Table: x.table("tacos/tests.csv"),
		About: "All-gathers, microseconds. The tests accept 1 %; what they expect has two decimals, and rounds a chunk of a fraction of a byte down, ours up."}
	for _, p := range tests {
		n := network{p.Text("topology"), p.Text("bandwidth")}
		c, err := x.gather(ctx, n, p.Text("alpha"), int64(p.Int("mib"))<<20, p.Int("chunks"))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
		}
		r := p.Row(fmt.Sprintf("%v, %s, %d MiB, %d a rank", n, p.Text("alpha"), p.Int("mib"), p.Int("chunks")), "us")
		c.times(r)
		if p.Value != "" {
			x.judge(r, p, c, repro.HalfDigit(p.Value)+.005)
		}
		s.Rows = append(s.Rows, r)
	}
	return s, nil
}

// judge compares times in microseconds.
func (x *tacosStudy) judge(r *repro.Row, p *repro.Published, c *contest, tolerance float64) {
	ours := float64(c.Greedy.Makespan) / 1e6
	r.Verdict = repro.Judge(p.Number, ours, tolerance, repro.Less)
	switch {
	case r.Verdict == repro.Better:
		r.Why = fmt.Sprintf("Theirs takes %s longer.", percent(p.Number, ours))
	case r.Verdict == repro.Worse:
		r.Why = fmt.Sprintf("Ours takes %s longer.", percent(ours, p.Number))
	}
	if c.Greedy.Makespan == c.Bound {
		if r.Why != "" {
			r.Why += " "
		}
		r.Why += "No schedule takes less than ours."
	}
}

// claimed sets beside ours what the authors' code says of networks of two rates.
func (x *tacosStudy) claimed(ctx context.Context, claims []*repro.Published) (*repro.Section, error) {
	s := &repro.Section{Name: "claims", Title: "Meshes of two rates: what is said and what can be achieved", Table: x.table("tacos/claims.csv"),
		About: "All-gathers of 1 GiB, 500 ns, microseconds. Where a chunk arrives that the receiver has by then, the authors' code replaces it by any chunk that the sender has by then, though the sender may not have had it when the transfer began. As said: the time that the code prints. As sent: when the sends that it made end if each waits for its data."}
	for _, p := range claims {
		n := network{p.Text("topology"), p.Text("bandwidth")}
		c, err := x.gather(ctx, n, "500ns", 1<<30, 1)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
		}
		said := p.Row(n.String()+", as said", "us")
		c.times(said)
		if p.Value == "" {
			s.Rows = append(s.Rows, said)
			continue
		}
		x.judge(said, p, c, repro.HalfDigit(p.Value))
		if said.Verdict == repro.Agrees {
			said.Why = "Theirs is a time without a schedule that has it; ours is a schedule that is proved."
		}
		sent := p.Row(n.String()+", as sent", "us")
		c.times(sent)
		sent.Published = p.Text("achieved")
		ours := float64(c.Greedy.Makespan) / 1e6
		sent.Verdict = repro.Judge(p.Float("achieved"), ours, .5, repro.Less)
		if sent.Verdict != repro.Agrees {
			sent.Why = fmt.Sprintf("Of the authors' own sends, in their order, the last ends %s later than ours.", percent(p.Float("achieved"), ours))
		}
		s.Rows = append(s.Rows, said, sent)
	}
	return s, nil
}

// run sets what the authors' code said when it was run beside ours.
func (x *tacosStudy) run(growths []*growth) *repro.Section {
	s := &repro.Section{Name: "code", Title: "The authors' code, as it was run", Table: x.table("tacos/code.csv"),
		About: fmt.Sprintf("All-gathers of 1 MiB and one chunk per rank, 500 ns, 50 GiB/s where none is named: what the collective takes, in microseconds, and how long the synthesis took, on another machine. Ours is one try, without repairs. Schedules of more than %d transfers are proved by replay alone.", x.smtTo)}
	for _, g := range growths {
		for _, q := range g.points {
			if q.code == nil {
				continue
			}
			r := q.code.Row(q.Network.String(), "us")
			r.Ours = report.Micros(q.Ours.Makespan)
			if q.Bound > 0 {
				r.Bound, r.Certificate = report.Micros(q.Bound), q.Kind
			}
			q.Ours.into(r)
			x.judge(r, q.code.Published, &contest{Greedy: q.Ours, Bound: q.Bound}, repro.HalfDigit(q.code.Value))
			t := q.code.Row(q.Network.String(), "s of synthesis")
			t.Published, t.Ours = fmt.Sprint(q.code.least), fmt.Sprintf("%.4f", q.Ours.Solving.Seconds())
			if q.code.most != q.code.least {
				t.Published += fmt.Sprintf(" to %v", q.code.most)
			}
			t.By, t.Verdict = q.Ours.Method, repro.NotComparable
			t.Why = fmt.Sprintf("Another machine, at another time: theirs is %.0f times ours.", q.code.least/q.Ours.Solving.Seconds())
			s.Rows = append(s.Rows, r, t)
		}
	}
	return s
}

// paper sets what the abstract says beside the time of a synthesis of as many NPUs.
func (x *tacosStudy) paper(lines []*repro.Published, growths []*growth) *repro.Section {
	s := &repro.Section{Name: "paper", Title: "The abstract", Table: x.table("tacos/paper.csv"), About: "Seconds of synthesis. Ours are on heterogeneous meshes, one try, without repairs."}
	for _, p := range lines {
		r := p.Row(fmt.Sprintf("%s, %s, %s NPUs", p.Text("collective"), p.Text("network"), p.Text("npus")), p.Text("quantity"))
		s.Rows = append(s.Rows, r)
		if p.Value == "" {
			continue
		}
		r.Verdict, r.Why = repro.NotComparable, "The paper does not say of which instance."
		if p.Text("quantity") != "synthesis" {
			continue
		}
		r.Quantity, r.Why = "s of synthesis", "None of ours has as many NPUs in this setting."
		for _, g := range growths {
			for _, q := range g.points {
				if q.Network.Bandwidth == "" || g.collective != p.Text("collective") || strconv.Itoa(q.NPUs) != p.Text("npus") {
					continue
				}
				r.Ours = fmt.Sprintf("%.4f", q.Ours.Solving.Seconds())
				q.Ours.into(r)
				r.Why = fmt.Sprintf("Another machine, and the paper does not say which network; ours is %v.", q.Network)
			}
		}
	}
	return s
}

func (x *tacosStudy) contests(ctx context.Context) ([]*contest, error) {
	var all []*contest
	for _, collective := range x.collectives {
		for _, npus := range x.npus {
			for _, n := range tacosNetworks[npus] {
				key := fmt.Sprintf("tacos and baselines, %s of %s a rank on %v, %s, %s, %d by smt", collective, x.share, n, x.alpha, x.cost, x.smtTo)
				c, err := keep(x.bench, key, func() (*contest, error) { return x.contest(ctx, n, collective) })
				if err != nil {
					return nil, err
				}
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// baselines has the greedy method's time and the best baseline's over it.
func (x *tacosStudy) baselines(all []*contest) *repro.Section {
	s := &repro.Section{Name: "baselines", Title: "Beside baselines", About: "Microseconds of the greedy method, and of the best of ring, bidirectional ring, direct, recursive halving and doubling, and double binary tree, whose times the figure has."}
	const reason = "the paper's are bars of figures whose numbers could not be read; the network is ours"
	for _, c := range all {
		r := &repro.Row{Instance: fmt.Sprintf("%v %s", c.Network, c.Collective), Quantity: "us", Verdict: repro.NotPublished}
		c.times(r)
		r.Why = reason
		if b := c.quickest(); b != nil {
			r.Why += fmt.Sprintf("; the best baseline, %s, takes %.2f times ours", b.Method, float64(b.Makespan)/float64(c.Greedy.Makespan))
		}
		s.Rows = append(s.Rows, r)
	}
	return s
}
