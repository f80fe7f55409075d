package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/solve/assign"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
)

// planLimits are what assign may use for plans, whose writer has limits of its own.
var planLimits = assign.Limits{Threadblocks: 1 << 10, Steps: 1 << 14, Channels: 1 << 10, Peers: 1 << 10, Elements: 1 << 22, Chunks: 1 << 14, Count: 1 << 10}

// smallMessage is up to how many bytes of a message ranks exchange packets if nothing is said of it: they
// take twice the bytes, and save a signal, a wait and what stands around them.
const smallMessage = 64 << 10

// leastIteration is how many bytes an iteration of a pipeline has at least: there are at most 65535.
const leastIteration = 4 << 10

// plan makes an execution plan of MSCCL++ of a schedule, which must be right for p, if what was
// written, read again, is proved, without a warning, for messages from the smallest that
// divides on.
func (d *MSCCL) plan(ctx context.Context, p *model.Problem, s *model.Schedule) (m certify.Loaded, err error) {
	if d.Runtime != "" && d.Runtime != mscclpp.Head {
		return m, fmt.Errorf("--runtime %q: plans are written for %s", d.Runtime, mscclpp.Head)
	}
	kind := p.Collective.Kind
	inPlace := kind != model.AllToAll
	switch d.InPlace {
	case "", "yes", "no":
		inPlace = d.InPlace == "yes" || d.InPlace == "" && inPlace
	default:
		return m, fmt.Errorf("--inplace %q: a plan is for one, want yes or no", d.InPlace)
	}
	if !slices.Contains([]string{"", "Simple", "LL"}, d.Proto) {
		return m, fmt.Errorf("--proto %q: of plans, want Simple or LL", d.Proto)
	}
	if !slices.Contains(mscclpp.Collectives(), kind.String()) {
		return m, fmt.Errorf("MSCCL++ has no %v, want allreduce, allgather, reducescatter or alltoall", kind)
	}
	members, machines := p.Members(), machinesOf(p)
	h := mscclpp.Header{Name: fmt.Sprintf("oraccl_%v_%d", kind, len(members)), Collective: kind.String(), InPlace: inPlace, LL: d.Proto == "LL", Machines: machines,
		Unit: max(leastIteration, p.Size/int64(max(1, len(p.Chunks)))/16*16), Iterate: d.iterate}
	tries := []mscclpp.Header{h, h} // of which the second has a fence, that some schedules need for the next launch
	tries[1].Fence = true
	var compose func(mscclpp.Header) (*mscclpp.Written, error)
	_, multimem := p.InNetwork(s)
	if multimem {
		shares, err := sharesOf(p, s)
		if err != nil {
			return m, err
		}
		machines = nil
		compose = func(h mscclpp.Header) (*mscclpp.Written, error) { return mscclpp.FromShares(*shares, h) }
	} else {
		if d.Proto == "" && p.Size <= smallMessage {
			packets := h
			packets.LL = true
			tries = append([]mscclpp.Header{packets}, tries...)
		}
		o := assign.Options{InPlace: inPlace, OutOfPlace: !inPlace, Limits: planLimits}
		program, blocks, least, err := fastestPlan(ctx, p, s, o, tries[0])
		if err != nil {
			return m, err
		}
		m = least
		for i := range tries {
			tries[i].Threadblocks = blocks
		}
		compose = func(h mscclpp.Header) (*mscclpp.Written, error) { return mscclpp.FromProgram(program, h) }
	}
	var b bytes.Buffer
	var written *mscclpp.Written
	var r *deploy.Report
	try := 0
	for try, h = range tries {
		if written, err = compose(h); err == nil {
			b.Reset()
			r, err = provePlan(ctx, &b, written)
		}
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	var limit *mscclpp.NotServedError
	switch {
	case errors.As(err, &limit):
		return m, err
	case err != nil:
		return m, fmt.Errorf("what was made of the schedule is not right, and is not written: %w", err)
	}
	blocks, ops, scratch, iterated := written.Describe()
	signals := "with signals"
	if h.LL {
		signals = "with packets (LL)"
	}
	note := fmt.Sprintf("%v on %d gpus, %s, %s: %d chunks and %d of scratch, up to %d threadblocks of up to %d operations; proved for %s, multiples of %s",
		kind, len(members), map[bool]string{true: "in place", false: "out of place"}[inPlace], signals, r.Schedule.Chunks, scratch, blocks, ops, r.Plan.Range(), model.FormatBytes(r.Plan.Unit))
	if iterated > 0 {
		note += fmt.Sprintf("\npipelines move %s an iteration", model.FormatBytes(iterated))
	}
	if multimem {
		note += "\nthe switch adds and copies (multimem): it takes GPUs and a driver with NVLink SHARP, and no data of 8 bits"
	}
	if n := slices.Max(append(machines, 0)) + 1; n > 1 {
		note += fmt.Sprintf("\nthe ranks are taken to be %d machines, by the bandwidth of their links: ports lead between them", n)
	}
	if m.Lasts == 0 || try > 0 {
		m = lasts(ctx, p, math.MaxInt, func() (*model.Imported, error) { return importPlan(ctx, b.Bytes(), p) })
	}
	if m.Lasts > 0 {
		m.Note = "the best times for its threadblocks, joins and signals"
	}
	m.File, m.About = b.Bytes(), note+describeMembers(p)
	return m, nil
}

// manyBlocks is how many threadblocks a rank has in a plan where the usual number, half of it, takes longer.
const manyBlocks = 64

// fastestPlan returns, of the programs that perform a schedule, the one whose plan takes least, and with how many threadblocks at most.
func fastestPlan(ctx context.Context, p *model.Problem, s *model.Schedule, o assign.Options, h mscclpp.Header) (best *model.Program, blocks int, least certify.Loaded, err error) {
	for _, most := range []int{manyBlocks / 2, manyBlocks} {
		h.Threadblocks = most
		program, l, err := fastest(ctx, p, s, o, mostPlanned, func(program *model.Program) (*model.Program, error) { return program, nil }, func(program *model.Program) (*model.Imported, error) {
			var b bytes.Buffer
			written, err := mscclpp.FromProgram(program, h)
			if err == nil {
				err = written.Write(&b, 0)
			}
			if err != nil {
				return nil, err
			}
			return importPlan(ctx, b.Bytes(), p)
		})
		switch {
		case best == nil && err != nil:
			return nil, 0, l, err
		case best == nil || err == nil && l.Lasts > 0 && (least.Lasts == 0 || l.Lasts < least.Lasts):
			best, blocks, least = program, most, l
		}
		if ctx.Err() != nil || isFast(least, p, s) {
			break
		}
	}
	return best, blocks, least, nil
}

// importPlan reads what a plan does with a buffer of the size of p.
func importPlan(ctx context.Context, b []byte, p *model.Problem) (*model.Imported, error) {
	f, err := mscclpp.Read("plan", bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return f.Import(ctx, p.Topology, p.Size)
}

// provePlan writes a plan for all messages for which it is proved.
func provePlan(ctx context.Context, b *bytes.Buffer, made *mscclpp.Written) (r *deploy.Report, err error) {
	high := int64(0) // for any message first, to find up to which it is proved
	for range 2 {
		b.Reset()
		if err := made.Write(b, high); err != nil {
			return nil, err
		}
		if r, err = confirmPlan(ctx, b.Bytes()); err != nil {
			return nil, err
		}
		high = r.Plan.High
	}
	return r, nil
}

// confirmPlan reads a plan and returns what is decided about it, if it is right in every respect.
func confirmPlan(ctx context.Context, b []byte) (*deploy.Report, error) {
	f, err := mscclpp.Read("plan", bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	r, err := deploy.CheckPlan(ctx, f.Plan(), deploy.Options{Runtime: mscclpp.Head})
	if err != nil {
		return nil, err
	}
	switch v := r.Verdict; {
	case v.Outcome == verify.Proved:
	case len(v.Violations) > 0:
		return nil, errors.New(v.Violations[0].String())
	default:
		return nil, errors.New(v.Reason)
	}
	if len(r.Plan.Warnings) > 0 {
		return nil, errors.New(r.Plan.Warnings[0].String())
	}
	return r, nil
}

// machinesOf numbers the machines of p's members: ranks that links of at least half the largest
// bandwidth connect, through switches or other ranks, are in one.
func machinesOf(p *model.Problem) []int {
	t := p.Topology
	most := int64(0)
	for _, l := range t.Links {
		most = max(most, l.Bandwidth)
	}
	joined := model.NewSets(t.Nodes())
	for _, l := range t.Links {
		if l.Bandwidth >= most/2 {
			joined.Join(l.Src, l.Dst)
		}
	}
	of, _ := joined.Numbers()
	number := map[int]int{}
	var all []int
	for _, r := range p.Members() {
		if _, ok := number[of[r]]; !ok {
			number[of[r]] = len(number)
		}
		all = append(all, number[of[r]])
	}
	return all
}

// IsPlan reports whether solve is to write an execution plan: the name ends in "plan.json".
func IsPlan(out string) bool { return strings.HasSuffix(out, "plan.json") }
