package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/solve/assign"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/smt/concurrent"
	"github.com/oraccl/oraccl/verify/smt/z3"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSoakPrograms sets order, and package concurrent for small ones, against an interpreter
// of MSCCL-IR files that lets threadblocks take turns at random: files that solve/assign makes
// of random schedules, rings and exchanges written here, those of the test data, and five
// that come of each by random changes. Tiny ones go through every interleaving.
func TestSoakPrograms(t *testing.T) {
	often := map[string]float64{"proved": 0.7, "refuted": 1, "stuck": 0.3, "raced": 0.2, "wrong": 0.1, "slots": 0.3, "every interleaving": 0.05, "by formulas": 0.1}
	soak(t, 400, often, func(c *trial) error {
		a, root, ok, err := drawAlgo(c.Rand)
		if err != nil || !ok {
			return err
		}
		if err := programAgrees(c, a, root); err != nil {
			return err
		}
		for range 5 {
			b := cloneAlgo(a)
			for range 1 + c.IntN(2) {
				changeAlgo(c.Rand, b)
			}
			if err := programAgrees(c, b, root); err != nil {
				return err
			}
		}
		return nil
	})
}

// programAgrees returns an error if an engine does not decide about a file as the interpreter
// does about its text.
func programAgrees(c *trial, a *msccl.Algo, root int) error {
	var b bytes.Buffer
	if err := a.Write(&b); err != nil {
		return err
	}
	text := b.String()
	read, err := msccl.Read("drawn.xml", strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("what is written cannot be read: %w\n%s", err, text)
	}
	inPlace := c.IntN(2) == 0
	p, err := read.Program(model.Meaning{InPlace: inPlace, Root: root})
	if err != nil {
		c.count("no program")
		return nil
	}
	m, known, err := newMachine(text, inPlace, root)
	if err != nil || !known {
		return err
	}
	at := func() string { return fmt.Sprintf("in place %t, root %d\n%s", inPlace, root, text) }
	x, err := m.decide(c.Rand, 2+c.IntN(2))
	if err != nil {
		return fmt.Errorf("%w: %s", err, at())
	}
	r := order.Check(context.Background(), p)
	want := verify.Refuted
	if x.right {
		want = verify.Proved
	}
	c.count(want.String())
	if r.Verdict.Outcome != want {
		return fmt.Errorf("order: %v %s %v, want %v: stuck %t, raced %t, shared %t, found %v: %s", r.Verdict.Outcome, r.Verdict.Reason, r.Verdict.Violations, want, x.stuck, x.raced, x.shared, x.found, at())
	}
	if x.shared {
		c.count("shared")
		if r.Ownership != verify.Refuted {
			return fmt.Errorf("order: a connection is shared, but ownership is %v: %s", r.Ownership, at())
		}
		return nil
	}
	if (r.Deadlock == verify.Proved) == x.stuck {
		return fmt.Errorf("order: deadlock %v, stuck %t: %s", r.Deadlock, x.stuck, at())
	}
	for _, code := range []verify.Code{verify.OutOfBounds, verify.CountMismatch, verify.UnmatchedSend} {
		if (r.Counts[code] > 0) != x.found[code] {
			return fmt.Errorf("order: %d times %s, want it %t: %s", r.Counts[code], code, x.found[code], at())
		}
	}
	if races := r.Counts[verify.ReadWriteRace]+r.Counts[verify.WriteWriteRace] > 0; races != x.raced {
		return fmt.Errorf("order: races %t, want %t: %s", races, x.raced, at())
	}
	switch {
	case x.stuck:
		c.count("stuck")
	case x.raced:
		c.count("raced")
	case !x.right:
		c.count("wrong")
	}
	if err := everyInterleaving(c, m, x); err != nil {
		return fmt.Errorf("%w: %s", err, at())
	}
	if err := slots(c, m, r); err != nil {
		return fmt.Errorf("%w: %s", err, at())
	}
	if err := byFormulas(c, p, r, x); err != nil {
		return fmt.Errorf("%w: %s", err, at())
	}
	return nil
}

// everyInterleaving checks the interpreter itself, and what section 12.8 of the specification
// argues: there is a race if and only if in some execution two steps that conflict can be
// next, and without one all executions end alike.
func everyInterleaving(c *trial, m *machine, x *told) error {
	steps := 0
	for _, b := range m.blocks {
		steps += len(b.tb.Steps)
	}
	if steps > 12 || len(x.found) > 0 {
		return nil
	}
	differ, meet, done := m.explore(3000)
	if !done {
		return nil
	}
	c.count("every interleaving")
	if meet != x.raced {
		return fmt.Errorf("raced %t, but that conflicting steps can be next to each other is %t", x.raced, meet)
	}
	if differ && !x.raced {
		return fmt.Errorf("executions without a race end differently")
	}
	return nil
}

// slots compares how many transfers a channel must hold.
func slots(c *trial, m *machine, r *order.Report) error {
	if r.Deadlock != verify.Proved || r.Matching != verify.Proved || r.Bounds != verify.Proved {
		return nil
	}
	per := c.IntN(3)
	least := r.Slots(per)
	if least < 1 {
		return fmt.Errorf("order: %d slots of %d chunks are enough, want 1 or more", least, per)
	}
	c.count("slots")
	if least > 1 {
		c.count("more than one slot")
	}
	for s := max(1, least-1); s <= least+1; s++ {
		if ends := m.completes(s, per); ends != (s >= least) || ends != r.Completes(s, per) {
			return fmt.Errorf("order: %d slots of %d chunks are enough, and Completes(%d) is %t; want %t", least, per, s, r.Completes(s, per), ends)
		}
	}
	return nil
}

// byFormulas asks the solver about small programs.
func byFormulas(c *trial, p *model.Program, r *order.Report, x *told) error {
	if p.Steps() > 30 || c.IntN(4) > 0 {
		return nil
	}
	v := concurrent.Check(context.Background(), p, z3.New(), concurrent.Options{})
	if len(x.found) > 0 && v.Verdict.Outcome == verify.Unknown { // structure is not its business
		return nil
	}
	c.count("by formulas")
	if (v.Deadlock == verify.Proved) == x.stuck {
		return fmt.Errorf("concurrent: deadlock %v %s, stuck %t", v.Deadlock, v.Verdict.Reason, x.stuck)
	}
	if x.stuck {
		return nil
	}
	if least := r.Slots(0); v.Slots != least {
		return fmt.Errorf("concurrent: %d slots, order %d", v.Slots, least)
	}
	if within := x.found[verify.ReadWriteRace]; within { // a step that races with itself is structure too
		return nil
	}
	if (v.Races == verify.Proved) == x.raced {
		return fmt.Errorf("concurrent: races %v, raced %t", v.Races, x.raced)
	}
	if !x.raced && (v.Verdict.Outcome == verify.Proved) != x.right {
		return fmt.Errorf("concurrent: %v %v, right %t", v.Verdict.Outcome, v.Verdict.Violations, x.right)
	}
	return nil
}

// mostSteps is how many steps a file may have.
const mostSteps = 250

// dataFiles returns the files of the test data, and small ones of other people where the
// environment names them.
var dataFiles = sync.OnceValues(func() ([]*msccl.Algo, error) {
	names, err := filepath.Glob("../../model/format/msccl/testdata/*.xml")
	if err != nil {
		return nil, err
	}
	if data := os.Getenv("ORACCL_DATA"); data != "" {
		more, err := filepath.Glob(filepath.Join(data, "msccl", "*.xml"))
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	var files []*msccl.Algo
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		a, err := msccl.Read(name, f)
		f.Close()
		if err != nil || a.Ranks*a.ChunksPerLoop > 400 {
			continue // what cannot be read is not for this test
		}
		steps := 0
		for _, g := range a.GPUs {
			for _, t := range g.TBs {
				steps += len(t.Steps)
			}
		}
		if steps <= mostSteps {
			files = append(files, a)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no files in ../../model/format/msccl/testdata")
	}
	return files, nil
})

// drawAlgo returns a file that is right, or comes from the test data, and the root that it
// is meant for.
func drawAlgo(r *rand.Rand) (*msccl.Algo, int, bool, error) {
	switch r.IntN(8) {
	case 0:
		files, err := dataFiles()
		if err != nil {
			return nil, 0, false, err
		}
		return cloneAlgo(files[r.IntN(len(files))]), 0, true, nil
	case 1:
		return ringAlgo(r), 0, true, nil
	case 2:
		return exchangeAlgo(r), 0, true, nil
	}
	p := &model.Problem{Topology: verifytest.DrawTopology(r), Cost: model.CostModel(1 + r.IntN(4))}
	p.Collective = verifytest.DrawCollective(r, p.Topology.Ranks)
	p.Collective.Group = nil
	k := p.Collective.Kind
	if k == model.Gather || k == model.Scatter {
		k = model.AllReduce
	}
	p.Collective.Kind = k
	if !k.Rooted() {
		p.Collective.Root = 0
	} else {
		p.Collective.Root = r.IntN(p.Topology.Ranks)
	}
	n := int64(p.Topology.Ranks)
	p.Size = 4 * n
	if k == model.AllToAll {
		p.Size = n
	}
	p = p.WithChunks(p.DefaultChunks(1 + r.IntN(2)))
	if p.Validate() != nil {
		return nil, 0, false, nil
	}
	s, ok := verifytest.Attempt(r, p)
	if !ok {
		return nil, 0, false, nil
	}
	l := msccl.LimitsOf(msccl.Runtimes()...)
	in := k != model.AllToAll && r.IntN(2) == 0
	program, err := assign.Assign(p, s, assign.Options{InPlace: in, OutOfPlace: !in, Limits: assign.Limits{
		Threadblocks: l.Threadblocks, Steps: l.Steps, Channels: l.Channels, Peers: l.Peers, Elements: l.Elements, Chunks: l.Chunks, Count: l.Count}})
	if err != nil || program.Steps() > mostSteps {
		return nil, 0, false, nil // outsiders take part, for instance
	}
	a, err := msccl.FromProgram(program, msccl.Header{Name: "drawn", Proto: "Simple", Coll: msccl.CollName(k, msccl.RCCL), InPlace: in, OutPlace: !in, MaxBytes: 1 << 30})
	if err != nil {
		return nil, 0, false, fmt.Errorf("a program that has no file: %w", err)
	}
	return a, p.Collective.Root, true, nil
}

// ringAlgo returns an allreduce around a ring, with steps that receive and send at once, or
// with a threadblock that sends and one that receives, which wait for each other.
func ringAlgo(r *rand.Rand) *msccl.Algo {
	n := 2 + r.IntN(3)
	a := &msccl.Algo{Name: "ring", Proto: "Simple", Coll: "allreduce", Channels: 1, ChunksPerLoop: n, Ranks: n, InPlace: true, MaxBytes: 1 << 30}
	split := r.IntN(2) == 0
	for g := range n {
		next, before := (g+1)%n, (g+n-1)%n
		chunk := func(i int) int32 { return int32(((g-i)%n + n) % n) }
		st := func(t msccl.Type, k int32) msccl.Step {
			return msccl.Step{Type: t, Src: msccl.Input, Dst: msccl.Input, SrcOff: k, DstOff: k, Count: 1, DepID: -1, Deps: -1}
		}
		gpu := msccl.GPU{ID: g, Input: n, Output: n}
		if split {
			send, recv := msccl.TB{ID: 0, Send: next, Recv: -1}, msccl.TB{ID: 1, Send: -1, Recv: before}
			for i := range 2 * (n - 1) {
				s := st(msccl.Send, chunk(i))
				if i > 0 {
					s.DepID, s.Deps = 1, int32(i-1)
				}
				x := st(msccl.RecvReduceCopy, chunk(i+1))
				if i >= n-1 { // waits until what it overwrites has been sent
					x.Type = msccl.Recv
				}
				x.HasDep = 1
				s.HasDep = 1
				if i >= n-1 {
					x.DepID, x.Deps = 0, int32(i-n+1)
				}
				send.Steps, recv.Steps = append(send.Steps, s), append(recv.Steps, x)
			}
			gpu.TBs = []msccl.TB{send, recv}
		} else {
			tb := msccl.TB{ID: 0, Send: next, Recv: before, Steps: []msccl.Step{st(msccl.Send, chunk(0))}}
			for i := 1; i < 2*(n-1); i++ {
				kind := msccl.RecvReduceSend
				if i == n-1 {
					kind = msccl.RecvReduceCopySend
				} else if i >= n {
					kind = msccl.RecvCopySend
				}
				tb.Steps = append(tb.Steps, st(kind, chunk(i)))
			}
			last := msccl.Recv
			if n == 2 {
				tb.Steps = []msccl.Step{st(msccl.Send, chunk(0)), st(msccl.RecvReduceCopySend, chunk(1))}
			}
			tb.Steps = append(tb.Steps, st(last, chunk(2*(n-1))))
			gpu.TBs = []msccl.TB{tb}
		}
		a.GPUs = append(a.GPUs, gpu)
	}
	return a
}

// exchangeAlgo returns an allreduce in which every rank sends all to every other and adds
// what comes, in one threadblock a pair and a last one that adds up, in steps that wait one
// by one or in a chain; or an allgather.
func exchangeAlgo(r *rand.Rand) *msccl.Algo {
	n, gather, chain := 2+r.IntN(3), r.IntN(2) == 0, r.IntN(2) == 0
	a := &msccl.Algo{Name: "exchange", Proto: "LL", Coll: "allreduce", Channels: 1, ChunksPerLoop: 1 + r.IntN(2), Ranks: n, InPlace: true, MaxBytes: 1 << 30}
	if gather {
		a.Coll, a.ChunksPerLoop = "allgather", n
	}
	cnt := int32(a.ChunksPerLoop)
	if gather {
		cnt = 1
	}
	for g := range n {
		gpu := msccl.GPU{ID: g, Input: a.ChunksPerLoop, Output: a.ChunksPerLoop, Scratch: n * int(cnt)}
		none := msccl.Step{Count: cnt, DepID: -1, Deps: -1}
		sum := msccl.TB{ID: n - 1, Send: -1, Recv: -1}
		for h := range n {
			if h == g {
				continue
			}
			send, recv := none, none
			send.Type, send.Src, send.Dst, send.HasDep = msccl.Send, msccl.Input, msccl.Scratch, 1
			recv.Type, recv.Dst, recv.DstOff, recv.HasDep = msccl.Recv, msccl.Scratch, int32(h)*cnt, 1
			if gather {
				recv.Dst, recv.DstOff = msccl.Output, int32(h)
			}
			id := len(gpu.TBs)
			gpu.TBs = append(gpu.TBs, msccl.TB{ID: id, Send: h, Recv: h, Steps: []msccl.Step{send, recv}})
			add := none
			add.Type, add.Src, add.SrcOff, add.Dst, add.DepID, add.Deps = msccl.Reduce, msccl.Scratch, int32(h)*cnt, msccl.Input, int32(id), 1
			sum.Steps = append(sum.Steps, add)
		}
		if chain { // the first waits for all, and the others are joined with it
			var waits []msccl.Step
			for i := range sum.Steps {
				s := &sum.Steps[i]
				if i+1 < len(sum.Steps) {
					waits = append(waits, msccl.Step{Type: msccl.Nop, DepID: s.DepID, Deps: s.Deps})
				} else {
					sum.Steps[0].DepID, sum.Steps[0].Deps = s.DepID, s.Deps
				}
				if i > 0 {
					s.DepID, s.Deps = -1, -1
				}
			}
			sum.Steps = append(waits, sum.Steps...)
		}
		if !gather {
			gpu.TBs = append(gpu.TBs, sum)
		}
		number(&gpu)
		a.GPUs = append(a.GPUs, gpu)
	}
	return a
}

// number numbers steps.
func number(g *msccl.GPU) {
	for j := range g.TBs {
		for i := range g.TBs[j].Steps {
			g.TBs[j].Steps[i].S = int32(i)
		}
	}
}

func cloneAlgo(a *msccl.Algo) *msccl.Algo {
	b := *a
	b.GPUs = slices.Clone(a.GPUs)
	for i := range b.GPUs {
		b.GPUs[i].TBs = slices.Clone(b.GPUs[i].TBs)
		for j := range b.GPUs[i].TBs {
			b.GPUs[i].TBs[j].Steps = slices.Clone(b.GPUs[i].TBs[j].Steps)
		}
	}
	return &b
}

// changeAlgo makes one random change. What nops are for is left as it is.
func changeAlgo(r *rand.Rand, a *msccl.Algo) {
	if len(a.GPUs) == 0 {
		return
	}
	g := &a.GPUs[r.IntN(len(a.GPUs))]
	if len(g.TBs) == 0 {
		return
	}
	t := &g.TBs[r.IntN(len(g.TBs))]
	defer number(g)
	near := func(n int32) int32 { return max(0, n+int32(r.IntN(3)-1)) }
	switch r.IntN(24) {
	case 0:
		t.Channel = 1 - min(1, t.Channel)
		return
	case 1:
		t.Send, t.Recv = t.Recv, t.Send
		return
	case 2:
		if t.Send >= 0 {
			t.Send = (t.Send + 1) % a.Ranks
		}
		return
	case 3:
		g.Scratch = max(0, g.Scratch+r.IntN(3)-1)
		return
	case 4:
		if r.IntN(4) == 0 {
			a.ChunksPerLoop = max(1, a.ChunksPerLoop+r.IntN(3)-1)
		}
		return
	}
	if len(t.Steps) == 0 {
		return
	}
	i := r.IntN(len(t.Steps))
	s := &t.Steps[i]
	if s.Type == msccl.Nop {
		return
	}
	switch r.IntN(19) {
	case 0:
		if s.DepID >= 0 && (i == 0 || t.Steps[i-1].Type != msccl.Nop) {
			s.DepID, s.Deps = -1, -1
		}
	case 1:
		if s.DepID >= 0 {
			s.Deps = near(s.Deps)
		}
	case 2:
		if s.DepID >= 0 {
			s.DepID = int32(g.TBs[r.IntN(len(g.TBs))].ID)
		}
	case 3:
		o := g.TBs[r.IntN(len(g.TBs))]
		if s.DepID < 0 && o.ID != t.ID {
			s.DepID, s.Deps = int32(o.ID), int32(r.IntN(len(o.Steps)+1))
		}
	case 4, 5:
		s.HasDep = 1 - s.HasDep
	case 6:
		if s.DepID < 0 || i == 0 || t.Steps[i-1].Type != msccl.Nop {
			t.Steps = slices.Delete(t.Steps, i, i+1)
		}
	case 7:
		t.Steps = slices.Insert(t.Steps, i, *s)
	case 8, 9:
		if j := r.IntN(len(t.Steps)); t.Steps[j].Type != msccl.Nop {
			t.Steps[i], t.Steps[j] = t.Steps[j], t.Steps[i]
		}
	case 10, 11:
		s.SrcOff = near(s.SrcOff)
	case 12, 13:
		s.DstOff = near(s.DstOff)
	case 14:
		s.Count = max(1, near(s.Count))
	case 15:
		s.Src = msccl.Buf(r.IntN(3))
	case 16:
		s.Dst = msccl.Buf(r.IntN(3))
	default:
		// another type that needs no other peer
		for _, k := range r.Perm(8) {
			if k := msccl.Send + msccl.Type(k); k != s.Type && (!k.Sends() || t.Send >= 0) && (!k.Receives() || t.Recv >= 0) {
				s.Type = k
				return
			}
		}
	}
}
