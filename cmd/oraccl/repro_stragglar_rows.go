package main

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/stragglar"
)

// fill reads what is published, compares, and draws the figures.
func (x *study) fill(ctx context.Context, r *repro.Report) error {
	printed, err := repro.Load(x.tables, "stragglar/simulation.csv", "ranks:int", "quantity:rounds|speedup|rhd|direct", "value:number")
	if err != nil {
		return err
	}
	theorem, err := repro.Load(x.tables, "stragglar/theorem.csv", "ranks:int", "quantity:rounds|beta", "value:number")
	if err != nil {
		return err
	}
	claims, err := repro.Load(x.tables, "stragglar/claims.csv", "id", "quantity", "by:model|machine", "value:number")
	if err != nil {
		return err
	}
	s := &repro.Section{Name: "simulation", Title: "The analytical comparison", Table: x.table("stragglar/simulation.csv"),
		About: "Speed-ups are over the ring once the late rank is there. m is the number of chunks."}
	known := map[int]*compared{}
	papers := map[int]float64{}
	var all []*compared
	var rounds int
	for _, p := range printed {
		n := p.Int("ranks")
		if n < 3 || n > 1024 {
			return fmt.Errorf("%s:%d: %d ranks: want 3 to 1024", p.File, p.Line, n)
		}
		c := known[n]
		if c == nil {
			if c, err = keep(x.bench, fmt.Sprintf("stragglar, %d ranks", n), func() (*compared, error) { return x.compare(ctx, n) }); err != nil {
				return err
			}
			known[n], all = c, append(all, c)
		}
		switch p.Text("quantity") {
		case "rounds":
			rounds = int(p.Number)
		case "speedup":
			papers[n] = p.Number
		}
		rows, err := c.rows(p, rounds)
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, rows...)
	}
	proofs, err := x.theorem(ctx, theorem, known)
	if err != nil {
		return err
	}
	r.Sections = []*repro.Section{s, proofs, x.claims(claims, all)}
	if err := x.speedups(all, papers).into(r); err != nil {
		return err
	}
	return x.figures(ctx, r)
}

// figures draws what needs schedules of its own.
func (x *study) figures(ctx context.Context, r *repro.Report) error {
	delays, err := keepFigure(x.bench, fmt.Sprintf("stragglar delays, %d ranks", x.at), func() (*figure, error) { return x.delays(ctx) })
	if err != nil {
		return err
	}
	if err := delays.into(r); err != nil {
		return err
	}
	rounds, err := keepFigure(x.bench, fmt.Sprintf("stragglar rounds to %d", x.roundsTo), func() (*figure, error) { return x.rounds(ctx) })
	if err != nil {
		return err
	}
	return rounds.into(r)
}

// rows sets a line of the authors' script beside ours; rounds are those that it reckons
// with.
func (c *compared) rows(p *repro.Published, rounds int) ([]*repro.Row, error) {
	instance := fmt.Sprintf("%d ranks", c.Ranks)
	power := c.Ranks&(c.Ranks-1) == 0
	bound := func(r *repro.Row, text string) {
		r.Bound, r.Certificate = text, c.Kind
	}
	by := func(r *repro.Row, o outcome, method string) {
		r.By, r.Proved, r.Seconds = method, o.Proved, o.Seconds
	}
	const ties = "The authors' rounds for numbers that are no powers of two come from a heuristic; ours are the fewest that there can be."
	switch p.Text("quantity") {
	case "rounds":
		r := p.Row(instance+", m = n-1", "rounds")
		r.Ours = fmt.Sprint(c.Same.Rounds)
		bound(r, fmt.Sprint(c.Least))
		by(r, c.Same, "stragglar")
		r.Verdict = repro.Judge(p.Number, float64(c.Same.Rounds), 0, repro.Less)
		switch {
		case r.Verdict == repro.Better:
			r.Why = ties
		case r.Verdict == repro.Worse:
			r.Why = "Ours needs more rounds than are published."
		case c.Same.Rounds == c.Least:
			r.Why = "None has fewer."
		}
		return []*repro.Row{r}, nil
	case "speedup":
		same := p.Row(instance+", m = n-1", "speed-up")
		ours := c.speedup(c.Same.After)
		same.Ours = fmt.Sprintf("%.3f", ours)
		by(same, c.Same, "stragglar")
		same.Verdict = repro.Judge(p.Number, ours, repro.HalfDigit(p.Value), repro.More)
		if same.Verdict != repro.Agrees {
			same.Why = fmt.Sprintf("%d rounds in place of %d.", c.Same.Rounds, rounds)
		}
		best := p.Row(instance+", best m", "speed-up")
		ours = c.speedup(c.Best.After)
		best.Ours = fmt.Sprintf("%.3f", ours)
		bound(best, fmt.Sprintf("%.3f", c.speedup(c.Bound)))
		by(best, c.Best, "stragglar")
		best.Verdict = repro.Judge(p.Number, ours, repro.HalfDigit(p.Value), repro.More)
		if best.Verdict != repro.Agrees {
			best.Why = fmt.Sprintf("%d chunks in place of %d: smaller ones spread sooner, fewer ones take fewer latencies.", c.Best.Chunks, c.Ranks-1)
		}
		rows := []*repro.Row{same, best}
		if c.Published != nil {
			made := p.Row(instance+", as published", "speed-up")
			ours = c.speedup(c.Published.After)
			made.Ours = fmt.Sprintf("%.3f", ours)
			by(made, *c.Published, c.Method)
			made.Verdict = repro.Judge(p.Number, ours, repro.HalfDigit(p.Value), repro.More)
			if made.Verdict != repro.Agrees {
				if power {
					return nil, fmt.Errorf("%s:%d: the published schedule of %d ranks comes to %.4f here, not to %s", p.File, p.Line, c.Ranks, ours, p.Value)
				}
				made.Why = fmt.Sprintf("The heuristic leaves ties open: broken as here it takes %d rounds, as by the authors %d.", c.Published.Rounds, rounds)
			}
			rows = append([]*repro.Row{made}, rows...)
		}
		return rows, nil
	}
	r := p.Row(instance, map[string]string{"rhd": "speed-up of RHD", "direct": "speed-up of direct"}[p.Text("quantity")])
	ours := map[string]float64{"rhd": c.RHD, "direct": c.Direct}[p.Text("quantity")]
	r.Ours, r.By = fmt.Sprintf("%.3f", ours), "formula"
	r.Verdict = repro.Judge(p.Number, ours, repro.HalfDigit(p.Value), repro.More)
	if r.Verdict != repro.Agrees {
		return nil, fmt.Errorf("%s:%d: %s of %d ranks comes to %.4f here, not to %s", p.File, p.Line, r.Quantity, c.Ranks, ours, p.Value)
	}
	return []*repro.Row{r}, nil
}

// theorem counts the rounds of schedules that are proved; for numbers that the theorem
// does not cover, those of ours.
func (x *study) theorem(ctx context.Context, lines []*repro.Published, known map[int]*compared) (*repro.Section, error) {
	s := &repro.Section{Name: "theorem", Title: "Theorem 1", Table: x.table("stragglar/theorem.csv"),
		About: "Rounds after the arrival with n-1 chunks, and times that the buffer takes over a link. Every schedule is of this many rounds, and proved; that no schedule has fewer follows from how quickly the last chunk of the late rank can spread."}
	for _, p := range lines {
		n := p.Int("ranks")
		if n < 3 || n > 1024 {
			return nil, fmt.Errorf("%s:%d: %d ranks: want 3 to 1024", p.File, p.Line, n)
		}
		c, err := x.counted(ctx, n, known)
		if err != nil {
			return nil, err
		}
		r := p.Row(fmt.Sprintf("%d ranks", n), "rounds")
		r.By, r.Proved, r.Seconds = c.Method, c.Outcome.Proved, c.Outcome.Seconds
		ours, least := float64(c.Outcome.Rounds), float64(c.Least)
		r.Ours, r.Bound, r.Certificate = fmt.Sprint(c.Outcome.Rounds), fmt.Sprint(c.Least), model.Spread{}.Kind()
		tolerance := 0.0
		if p.Text("quantity") == "beta" {
			ours, least, tolerance = ours/float64(n-1), least/float64(n-1), repro.HalfDigit(p.Value)
			r.Quantity, r.Ours, r.Bound = "times of the buffer", fmt.Sprintf("%.3f", ours), fmt.Sprintf("%.3f", least)
		}
		if p.Value == "" {
			r.Why += fmt.Sprintf("; ours has n - 2 + ceil(log2 n) = %d", n-2+bits.Len(uint(n-1)))
			s.Rows = append(s.Rows, r)
			continue
		}
		if r.Verdict = repro.Judge(p.Number, ours, tolerance, repro.Less); r.Verdict != repro.Agrees {
			return nil, fmt.Errorf("%s:%d: %d ranks: the proved schedule has %v, not %s", p.File, p.Line, n, ours, p.Value)
		}
		if c.Outcome.Rounds == c.Least {
			r.Why = "None has fewer."
		}
		s.Rows = append(s.Rows, r)
	}
	return s, nil
}

// counted is a schedule of n-1 chunks, with the fewest rounds that there can be.
type counted struct {
	Outcome outcome
	Method  string
	Least   int
}

// counted takes the published schedule where there is one, for powers of two, else ours.
func (x *study) counted(ctx context.Context, n int, known map[int]*compared) (*counted, error) {
	power := n&(n-1) == 0
	if c := known[n]; c != nil && power && c.Published != nil {
		return &counted{*c.Published, c.Method, c.Least}, nil
	}
	return keep(x.bench, fmt.Sprintf("stragglar theorem, %d ranks", n), func() (*counted, error) {
		p, err := x.problem(n, 100*model.Second)
		if err != nil {
			return nil, err
		}
		p = p.WithChunks(n - 1)
		m := stragglar.New()
		if power {
			m = stragglar.NewPublished()
		}
		c := &counted{Method: m.Name()}
		if c.Outcome, err = x.solved(ctx, m, p); err != nil {
			return nil, err
		}
		c.Least, err = leastAfterArrival(ctx, p)
		return c, err
	})
}

// claims sets the abstract's claim beside the most ranks that were compared.
func (x *study) claims(lines []*repro.Published, all []*compared) *repro.Section {
	s := &repro.Section{Name: "claims", Title: "The abstract", Table: x.table("stragglar/claims.csv")}
	most := all[0]
	for _, c := range all {
		if c.Ranks > most.Ranks {
			most = c
		}
	}
	for _, p := range lines {
		r := p.Row(p.Text("id"), p.Text("quantity"))
		s.Rows = append(s.Rows, r)
		if p.Value == "" {
			continue
		}
		if r.Verdict = repro.NotComparable; p.Text("by") == "machine" {
			r.Why = "Measured on a machine."
			continue
		}
		r.Ours, r.Bound, r.Certificate = fmt.Sprintf("%.3f", most.speedup(most.Best.After)), fmt.Sprintf("%.3f", most.speedup(most.Bound)), most.Kind
		r.By, r.Proved = "stragglar", most.Best.Proved
		r.Why = fmt.Sprintf("A limit for many ranks, of times without latencies: 2(n-1)/n over (n + log2 n - 2)/(n-1). With those of the setting and %d ranks ours is as given", most.Ranks)
		if most.Published != nil {
			r.Why += fmt.Sprintf(", theirs %.3f", most.speedup(most.Published.After))
		}
		r.Why += "."
	}
	return s
}
