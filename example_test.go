package oraccl_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/oraccl/oraccl"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/format/nccllog"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/deploy"
)

// Every method that is named, beside the bound, for an all-gather on a DGX-1.
func ExampleGap() {
	p, err := oraccl.NewProblem("dgx1", "allgather", 8<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := oraccl.Gap(context.Background(), p, oraccl.Options{Methods: []string{"tacos", "direct", "ring"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("bound %v by %s\n", report.Bound.Bound, report.Bound.Witness.Kind())
	for _, r := range report.Rows {
		fmt.Printf("%-6s %v in %v, %v above the bound\n", r.Method, r.Outcome(), r.Makespan, r.Gap())
	}
	// Output:
	// bound 49.633547us by ingress
	// tacos  proved in 49.6336us, 0.0001% above the bound
	// direct proved in 210.4152us, 323.9% above the bound
	// ring   proved in 298.50128us, 501.4% above the bound
}

// The best schedule, written to a file that "oraccl verify" and oraccl-check read.
func ExampleSolve() {
	p, err := oraccl.NewProblem("ring:4", "allgather", 4<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	best, err := oraccl.Solve(context.Background(), p, oraccl.Options{Methods: []string{"ring-bidirectional", "ring", "bruck"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(best.Method, best.Makespan, best.Verdict.Basis())
	var file bytes.Buffer
	solution := &model.Solution{Problem: best.Result.Problem, Schedule: best.Result.Schedule}
	if err := native.WriteSolution(&file, solution); err != nil {
		fmt.Println(err)
		return
	}
	again, err := native.ReadSolution("best.json", &file)
	fmt.Println(len(again.Schedule.Transfers), "transfers", err)
	// Output:
	// ring-bidirectional 40.0625us proved by replay, smt
	// 12 transfers <nil>
}

// A schedule made by hand: two ranks exchange what they have. Then one with a fault.
func ExampleVerify() {
	p, err := oraccl.NewProblem("full:2", "allgather", 2000)
	if err != nil {
		fmt.Println(err)
		return
	}
	p = p.WithChunks(2)
	took := p.Topology.Duration([]int{0}, 1000)
	s := &model.Schedule{Form: model.Timed, Routes: [][]int{{0}, {1}}, Transfers: []model.Transfer{
		{Chunk: 0, Src: 0, Dst: 1, Route: 0, Op: model.Copy, Start: 0, End: took},
		{Chunk: 1, Src: 1, Dst: 0, Route: 1, Op: model.Copy, Start: 0, End: took},
	}}
	v, err := oraccl.Verify(context.Background(), p, s)
	fmt.Println(v.Outcome, v.Claim, err)

	s.Transfers = s.Transfers[:1]
	v, err = oraccl.Verify(context.Background(), p, s)
	fmt.Println(v.Outcome, v.Violations[0], err)
	// Output:
	// proved performs allgather of 2000 B in 2 chunks, 2 ranks, on full:2, pipelined <nil>
	// refuted missing-contribution: rank 0, chunk 1: ends with undefined, want x1: nothing was ever written there <nil>
}

// A schedule of a file, which holds its problem.
func ExampleVerify_file() {
	const name = "testdata/schedules/accept/ring4-allreduce-pipelined.json"
	f, err := os.Open(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	solution, err := native.ReadSolution(name, f)
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := oraccl.Verify(context.Background(), solution.Problem, solution.Schedule)
	fmt.Println(v.Outcome, v.Makespan, err)
	// Output: proved 1.443us <nil>
}

// A schedule that has an order and no times: rank 1 passes on what rank 0 sends. Timed gives it
// the times at which it can run.
func ExampleVerify_order() {
	p, err := oraccl.NewProblem("line:3", "broadcast", 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	p = p.WithChunks(1)
	s := &model.Schedule{Form: model.Ordered, Routes: [][]int{{0}, {2}}, Transfers: []model.Transfer{
		{Src: 0, Dst: 1, Route: 0, Op: model.Copy},
		{Src: 1, Dst: 2, Route: 1, Op: model.Copy},
	}, After: [][]int32{nil, {0}}} // the second one waits for the first
	v, err := oraccl.Verify(context.Background(), p, s)
	fmt.Println(v.Outcome, err)
	timed, err := certify.Timed(context.Background(), p, s, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range timed.Transfers {
		fmt.Printf("rank %d to %d from %v to %v\n", t.Src, t.Dst, t.Start, t.End)
	}
	// Output:
	// proved <nil>
	// rank 0 to 1 from 0s to 518.627ns
	// rank 1 to 2 from 518.627ns to 1.037254us
}

// A grid of sizes and methods. The verb sweep does this for files of grids, in parallel, and
// resumes what was interrupted.
func ExampleGap_grid() {
	for size := int64(1 << 10); size <= 1<<30; size <<= 10 {
		p, err := oraccl.NewProblem("switch:8", "allreduce", size)
		if err != nil {
			fmt.Println(err)
			return
		}
		report, err := oraccl.Gap(context.Background(), p, oraccl.Options{Methods: []string{"mixed", "rhd", "ring"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, r := range report.Rows {
			fmt.Printf("%d B: %s %v, %v above the bound\n", size, r.Method, r.Makespan, r.Gap())
		}
	}
	// Output:
	// 1024 B: mixed 633.518ns, 0.0005% above the bound
	// 1024 B: rhd 3.021465us, 376.9% above the bound
	// 1024 B: ring 7.03339us, 1010.2% above the bound
	// 1048576 B: mixed 34.679698us, 0.00003% above the bound
	// 1048576 B: rhd 37.621105us, 8.5% above the bound
	// 1048576 B: ring 41.179698us, 18.7% above the bound
	// 1073741824 B: mixed 35.0005ms, 0% above the bound
	// 1073741824 B: ring 35.007ms, 0.02% above the bound
	// 1073741824 B: rhd 37.501ms, 7.1% above the bound
}

// An MSCCL-IR file: what it performs, whatever order its threadblocks run in, and which runtimes
// load it. Here rank 1 never sends.
func ExampleVerify_msccl() {
	const file = `<algo name="exchange" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="1" outofplace="0">
  <gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>`
	algo, err := msccl.Read("exchange.xml", strings.NewReader(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := deploy.Check(context.Background(), algo.Deployable(), deploy.Options{})
	fmt.Println(report.Verdict.Outcome, err)
	fmt.Println(report.Findings[0].Code, "in line", report.Findings[0].Line)
	// Output:
	// refuted <nil>
	// deadlock in line 5
}

// A lower bound, with evidence that someone else can check.
func ExampleBound() {
	p, err := oraccl.NewProblem("switch:4", "allreduce", 1<<30)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := oraccl.Bound(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := native.WriteCertificate(&file, c); err != nil {
		fmt.Println(err)
		return
	}
	read, err := native.ReadCertificate("bound.json", &file)
	if err != nil {
		fmt.Println(err)
		return
	}
	v := cert.Check(context.Background(), read)
	fmt.Println(v.Outcome, v.Claim)
	// Output: proved no schedule of allreduce of 1 GiB, 4 ranks, on switch:4, pipelined, however it is cut into chunks, ends before 30.0005ms
}

// star is a method of one's own: the root sends the whole buffer to one rank after another.
type star struct{}

func (star) Name() string { return "star" }

func (star) About() solve.About {
	return solve.About{Serves: "broadcast on complete graphs", Guarantee: "none", Source: "this example", NeedsCut: solve.AlwaysNeedsCut}
}

func (star) Serves(p *model.Problem) error {
	if p.Collective.Kind != model.Broadcast {
		return solve.NotServed("serves broadcast, not %v", p.Collective.Kind)
	}
	return nil
}

func (s star) Solve(_ context.Context, p *model.Problem, _ solve.Options) (solve.Result, error) {
	if err := s.Serves(p); err != nil {
		return solve.Result{}, err
	}
	schedule := &model.Schedule{Form: model.Timed}
	at := model.Time(0)
	for i, l := range p.Topology.Links {
		if l.Src != p.Collective.Root {
			continue
		}
		took := p.Topology.Duration([]int{i}, p.Size)
		schedule.Transfers = append(schedule.Transfers, model.Transfer{Src: int32(l.Src), Dst: int32(l.Dst),
			Route: int32(len(schedule.Routes)), Op: model.Copy, Start: at, End: at + took})
		schedule.Routes = append(schedule.Routes, []int{i})
		at += took
	}
	return solve.Result{Problem: p.WithChunks(1), Schedule: schedule, Stop: solve.Done}, nil
}

// A method of one's own in the table, verified and measured like all others.
func ExampleGap_solver() {
	t, err := topo.Parse("full:4", topo.Options{Alpha: []model.Time{model.Microsecond}, Bandwidth: []int64{10e9}})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.Broadcast}, Size: 1e6, Cost: model.Blocking}
	report, err := oraccl.Gap(context.Background(), p, oraccl.Options{Methods: []string{"direct"}, Solvers: []solve.Solver{star{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Rows {
		fmt.Println(r.Method, r.Outcome(), r.Makespan, r.Gap())
	}
	// Output:
	// direct proved 101us 188.6%
	// star proved 303us 765.7%
}

// What NCCL would run on a machine, and the schedule of a file, beside what the methods find. Where there
// is a log of NCCL (NCCL_DEBUG=INFO), nccllog.Read takes the place of nccllog.Guess.
func ExampleGap_given() {
	p, err := oraccl.NewProblem("mi300x", "allgather", 64<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	log, err := nccllog.Guess(p.Topology)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := log.Ring(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	given := []certify.Given{{Name: "nccl-ring", Problem: plan.Problem, Schedule: plan.Schedule, Order: plan.Order}}

	var file strings.Builder // every GPU sends its part to all others
	fmt.Fprint(&file, `<algo name="direct" proto="Simple" nchannels="1" nchunksperloop="8" ngpus="8" coll="allgather" inplace="1" outofplace="0">`)
	for r := range 8 {
		fmt.Fprintf(&file, `<gpu id="%d" i_chunks="1" o_chunks="8" s_chunks="0">`, r)
		for t := range 7 {
			peer := (r + 1 + t) % 8
			fmt.Fprintf(&file, `<tb id="%d" send="%d" recv="%d" chan="0">`, t, peer, peer)
			for s, step := range []struct {
				kind  string
				chunk int
			}{{"s", r}, {"r", peer}} {
				fmt.Fprintf(&file, `<step s="%d" type="%s" srcbuf="o" srcoff="%d" dstbuf="o" dstoff="%d" cnt="1" depid="-1" deps="-1" hasdep="0"/>`, s, step.kind, step.chunk, step.chunk)
			}
			fmt.Fprint(&file, `</tb>`)
		}
		fmt.Fprint(&file, `</gpu>`)
	}
	fmt.Fprint(&file, `</algo>`)
	algo, err := msccl.Read("direct.xml", strings.NewReader(file.String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	verdict, err := deploy.Check(context.Background(), algo.Deployable(), deploy.Options{Size: p.Size})
	if err != nil {
		fmt.Println(err)
		return
	}
	mine, err := algo.Import(model.Meaning{Collective: "allgather", InPlace: true}, p.Topology, p.Size)
	if err != nil {
		fmt.Println(err)
		return
	}
	given = append(given, certify.Given{Name: "direct.xml", Problem: mine.Problem, Schedule: mine.Schedule, Order: mine.Order,
		Before: map[string]verify.Verdict{"order": verdict.Verdict}}) // with its threadblocks, slots and deadlocks

	report, err := oraccl.Gap(context.Background(), p, oraccl.Options{Methods: []string{"ring"}, Given: given})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Rows {
		fmt.Println(r.Method, r.Outcome(), r.Makespan, r.Gap())
	}
	fmt.Println("more than 5% above the bound:", report.Beyond(0.05))
	// Output:
	// direct.xml proved 131.772us 0%
	// nccl-ring proved 153.617408us 16.6%
	// ring proved 922.404us 600.0%
	// more than 5% above the bound: [nccl-ring]
}
