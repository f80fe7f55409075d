package foreign

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/teccl"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/epoch"
)

// readFlows brings a schedule of TE-CCL into our terms.
func readFlows(ctx context.Context, t *Truth, asked *model.Problem, file string, b []byte) (*Imported, error) {
	f, err := teccl.Read(file, b)
	if err != nil {
		return nil, err
	}
	var by teccl.Truth
	if by.Topology, by.Collective, by.Size, err = t.judged(ctx, asked); err != nil {
		return nil, err
	}
	by.Chunks = t.Chunks
	note := ""
	if by.Topology == nil {
		if by.Topology, note, err = guessTECCL(f); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	m, plan, err := f.Import(by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if note != "" {
		m.Notes.Add(model.Assumed, "%s", note)
	}
	whole := new(big.Rat).Mul(plan.Epoch, big.NewRat(int64(plan.Epochs), 1))
	lasts, _ := new(big.Float).SetRat(whole).Int64()
	claims := func(ctx context.Context) ([]verify.Violation, error) { return tooGood(ctx, m, plan) }
	return &Imported{m, func(ctx context.Context) verify.Verdict {
		ordered, kept, v := epochs(ctx, m, plan)
		for i, violation := range v.Violations { // named here, by the numbers before some are left out
			if at, ok := violation.Transfer(); ok {
				violation.Message += "; in the file " + m.Source(at)
				v.Violations[i] = violation.AtTransfer(-1)
			}
		}
		if n := len(m.Schedule.Transfers) - len(kept); n > 0 {
			m.Notes.Add(model.Fact, "%d flows bring what is there already", n)
		}
		m.Schedule = ordered
		source := m.Source
		m.Source = func(i int) string { return source(kept[i]) }
		return v
	}, claims, model.Time(lasts)}, nil
}

// epochs asks whether the schedule is feasible in epochs. TE-CCL has its switches copy
// unless told otherwise; a schedule that is not feasible without that is judged on a
// topology whose switches do, which the verdict then names.
func epochs(ctx context.Context, m *model.Imported, plan *teccl.Plan) (*model.Schedule, []int, verify.Verdict) {
	in := epoch.Plan{Epoch: plan.Epoch, Bytes: plan.Bytes, Epochs: plan.Epochs, Start: plan.Start, Volume: plan.Volume}
	ordered, kept, v := epoch.Check(ctx, m.Problem, m.Schedule, in)
	t := m.Problem.Topology
	stiff := slices.ContainsFunc(t.Switches, func(s model.Switch) bool { return !s.Copies })
	if v.Outcome == verify.Proved || !stiff {
		return ordered, kept, v
	}
	copying := *t
	copying.Name += " with switches that copy"
	copying.Switches = slices.Clone(t.Switches)
	for i := range copying.Switches {
		copying.Switches[i].Copies = true
	}
	p := *m.Problem
	p.Topology = &copying
	o, k, w := epoch.Check(ctx, &p, m.Schedule, in)
	m.Problem = &p
	m.Notes.Add(model.Assumed, "switches that copy, as TE-CCL has them; those of %s do not", t.Name)
	if w.Outcome == verify.Proved {
		m.Notes.Add(model.Fact, "only where switches copy what several flows share on their way in; without that, %s", v.Violations[0].Message)
	}
	return o, k, w // what is wrong though switches copy is the better reason
}

// tooGood returns a violation where the time that the file claims is less than a certified
// bound, and else notes how far it is from that. Latencies that an epoch's rules leave out
// are left out of the bound too.
func tooGood(ctx context.Context, m *model.Imported, plan *teccl.Plan) ([]verify.Violation, error) {
	p := m.Problem
	t := *p.Topology
	t.Links = slices.Clone(t.Links)
	for i := range t.Links {
		if ratio := new(big.Rat).Quo(big.NewRat(int64(t.Links[i].Alpha), 1), plan.Epoch); ratio.Cmp(epoch.Threshold) <= 0 {
			t.Links[i].Alpha = 0
		}
	}
	q := *p
	q.Topology, q.Chunks = &t, nil
	c, err := certify.Bound(ctx, &q)
	if err != nil || c == nil {
		return nil, err
	}
	claimed := new(big.Rat).Mul(plan.Epoch, big.NewRat(int64(plan.Epochs), 1))
	if limit := new(big.Rat).Mul(claimed, epoch.Slack); limit.Cmp(big.NewRat(int64(c.Bound), 1)) >= 0 {
		if len(m.Objections) > 0 {
			return nil, nil
		}
		gap, _ := new(big.Rat).Quo(claimed, big.NewRat(int64(c.Bound), 1)).Float64()
		m.Notes.Add(model.Fact, "no schedule takes less than %s us, by %s, certified: the gap of the time that the file states is %.1f%%", report.Micros(c.Bound), c.Witness.Kind(), max(0, 100*(gap-1)))
		return nil, nil
	}
	micro := new(big.Rat).Quo(claimed, big.NewRat(1e6, 1)).FloatString(3)
	message := fmt.Sprintf("%d epochs are %s us, less than the %s us that no schedule beats: %s", plan.Epochs, micro, report.Micros(c.Bound), report.Describe(c))
	return []verify.Violation{verify.Wrong(verify.TooFast, "3-Epochs_Required", message)}, nil
}

// theirMI250 returns the node of MI250 with the dies numbered as TE-CCL and ForestColl do:
// their die i is die i xor 4 of the model in RCCL, which ours follows.
func theirMI250() (*model.Topology, error) {
	t, err := topo.MI250()
	if err != nil {
		return nil, err
	}
	for i, l := range t.Links {
		t.Links[i].Src, t.Links[i].Dst = l.Src^4, l.Dst^4
	}
	t.Name = "mi250, renumbered"
	return t, nil
}

// guessTECCL returns, of the topologies that TE-CCL has names for, the one with as many
// nodes as the file in which the fewest flows go over links that do not exist.
func guessTECCL(f *teccl.File) (*model.Topology, string, error) {
	type candidate struct {
		name string
		o    topo.Options
	}
	var list []candidate
	for _, name := range []string{"ndv2:2", "ndv2:4", "dgx2:2", "dgx1", "mi250"} {
		list = append(list, candidate{name: name})
	}
	if side := int(math.Sqrt(float64(f.Nodes()))); side > 1 && side*side == f.Nodes() && side < 1024 {
		list = append(list, candidate{fmt.Sprintf("mesh:%dx%d", side, side), topo.Options{Alpha: []model.Time{0}, Bandwidth: []int64{100e9}}})
	}
	var best *model.Topology
	least := len(f.Flows)
	var names []string
	for _, c := range list {
		t, err := topo.Parse(c.name, c.o)
		if c.name == "mi250" {
			t, err = theirMI250()
		}
		if err != nil {
			return nil, "", err
		}
		if n := f.Misfits(t); n < least || n == 0 && best == nil {
			best, least = t, n
		}
		if t.Nodes() == f.Nodes() {
			names = append(names, c.name)
		}
	}
	if best == nil {
		return nil, "", exit.Hint(fmt.Errorf("has %d nodes, and no topology of TE-CCL that is known here has", f.Nodes()), "--topology states what it is for")
	}
	note := fmt.Sprintf("%s: the file does not name its topology; %d of its %d flows have links there", best.Name, len(f.Flows)-least, len(f.Flows))
	if len(names) > 1 {
		note += ", the most among " + strings.Join(names, ", ")
	}
	return best, note, nil
}
