package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/smt/concurrent"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

// deployment holds the flags of verify that say how a deployable schedule
// (MSCCL-IR) is to be read.
type deployment struct {
	collective string // what it must perform; empty: what the file says
	root       int
	inPlace    string // "yes", "no", or empty: whatever the file declares
	runtime    string // a runtime that must load it; empty: any
	size       int64  // bytes of the larger buffer that it must serve; 0: no such question
	formulas   bool   // whether the smt engine is asked too
	limit      time.Duration
}

// runtimes returns the runtimes that are asked about.
func (d *deployment) runtimes() ([]msccl.Runtime, error) {
	if d.runtime == "" {
		return msccl.Runtimes(), nil
	}
	r, err := msccl.ParseRuntime(d.runtime)
	return []msccl.Runtime{r}, err
}

// deployed is what is found out about a deployable schedule.
type deployed struct {
	file    string
	algo    *msccl.Algo // nil if the file is malformed
	syntax  *msccl.SyntaxError
	loads   []msccl.Loading
	modes   []mode
	meaning error // why the file has no program

	outcome    verify.Outcome
	kind       string // in a word, see JSON.md
	reason     string
	bad        []verify.Violation
	collective string // that it was judged by
	guessed    string // how that was guessed, if it was
	asked      int64  // the size that was asked about, or 0
	named      bool   // a runtime was named, as it is built
	steps      int    // in the file
	defect     error  // two engines contradict each other, so that there is no outcome
}

// mode is a file as it is called: in place or not.
type mode struct {
	inPlace bool
	report  *order.Report
	sizes   *sizes
	smt     *concurrent.Report // nil: not asked
}

func (m mode) String() string {
	if m.inPlace {
		return "in place"
	}
	return "out of place"
}

// judgeDeployed reads and verifies a file. An error means that it could not be
// opened; a file that is no MSCCL-IR is malformed.
func judgeDeployed(ctx context.Context, file string, by deployment) (*deployed, error) {
	runtimes, err := by.runtimes()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := &deployed{file: file, asked: by.size}
	if d.algo, err = msccl.Read(file, bufio.NewReader(f)); err != nil {
		if !errors.As(err, &d.syntax) || d.syntax.Err != nil {
			return nil, err
		}
		d.outcome, d.kind = verify.Refuted, "reject"
		d.bad = []verify.Violation{{Code: verify.Malformed, Where: fmt.Sprintf("line %d", d.syntax.Line), Message: d.syntax.Message, Transfer: -1, Rank: -1, Chunk: -1}}
		return d, nil
	}
	if n := d.algo.Ranks; by.root != 0 && (by.root < 0 || by.root >= n) {
		return nil, fmt.Errorf("--root %d: %s has ranks 0 to %d", by.root, file, n-1)
	}
	if d.judge(ctx, by, runtimes); d.defect != nil {
		return nil, fmt.Errorf("%s: %w", file, d.defect)
	}
	return d, nil
}

// judge verifies a file that was read.
func (d *deployed) judge(ctx context.Context, by deployment, runtimes []msccl.Runtime) {
	d.named = by.runtime != ""
	for _, g := range d.algo.GPUs {
		for _, tb := range g.TBs {
			d.steps += len(tb.Steps)
		}
	}
	for _, r := range runtimes {
		d.loads = append(d.loads, d.algo.Load(r))
	}
	if d.collective = by.collective; d.collective == "" {
		d.collective = d.guess(ctx, by.root)
	}
	for _, in := range d.algoModes(by) {
		p, err := d.algo.Program(msccl.Meaning{Collective: d.collective, InPlace: in, Root: by.root})
		if err != nil {
			d.meaning = err
			break
		}
		m := mode{inPlace: in, report: order.Check(ctx, p)}
		m.sizes = d.sizesOf(m)
		if by.formulas {
			r := concurrent.Check(ctx, p, z3.New(), concurrent.Options{Timeout: by.limit})
			m.smt = &r
		}
		d.modes = append(d.modes, m)
	}
	d.conclude()
}

// release forgets what is in proportion to the file, so that many can be verified at a
// time: what is left is for printing.
func (d *deployed) release() {
	if d.algo != nil {
		d.algo.GPUs = nil
	}
	for _, m := range d.modes {
		m.report.Release()
	}
}

// customs are the collectives that a file with coll=custom may be one of.
var customs = []string{"alltonext", "alltonextbackward", "allreduce", "alltoall", "broadcast", "reduce"}

// guess returns the collective that a file which says custom comes close to: in
// place or out of place, its canonical execution is right for more than half of the
// cells. What such a guess refutes alone is not refuted.
func (d *deployed) guess(ctx context.Context, root int) string {
	if d.algo.Coll != "custom" {
		return ""
	}
	best, most := "", 0.5
	for _, coll := range customs {
		for _, m := range []mode{{inPlace: false}, {inPlace: true}} {
			p, err := d.algo.Program(msccl.Meaning{Collective: coll, InPlace: m.inPlace, Root: root})
			if err != nil {
				return ""
			}
			right, wanted := performs(ctx, p)
			if share := float64(right) / float64(max(wanted, 1)); share > most {
				best, most = coll, share
				d.guessed = fmt.Sprintf("coll=custom: judged as %s, which it performs for %d of %d chunks %v; --collective says otherwise", coll, right, wanted, m)
			}
		}
	}
	return best
}

// performs returns for how many cells a program does what it should, and for how many
// it should do something.
func performs(ctx context.Context, p *model.Program) (right, wanted int) {
	r := order.Check(ctx, p)
	if r.Result == verify.Unknown {
		return 0, 0
	}
	for _, post := range p.Post {
		for _, w := range post {
			if w >= 0 {
				wanted++
			}
		}
	}
	right = wanted
	for _, c := range []verify.Code{verify.MissingContribution, verify.DoubleContribution, verify.WrongValue} {
		right -= r.Counts[c]
	}
	return right, wanted
}

// algoModes returns the ways of calling that the file declares, or that are asked.
func (d *deployed) algoModes(by deployment) []bool {
	switch by.inPlace {
	case "yes":
		return []bool{true}
	case "no":
		return []bool{false}
	}
	var modes []bool
	if d.algo.InPlace {
		modes = append(modes, true)
	}
	if d.algo.OutPlace || !d.algo.InPlace {
		modes = append(modes, false)
	}
	return modes
}

// refusals returns the first reason of each runtime if all of them refuse the file; of
// several with the same one, one.
func (d *deployed) refusals() []verify.Violation {
	var reasons []msccl.Remark
	who := map[msccl.Remark][]string{}
	for _, l := range d.loads {
		if len(l.Refusals) == 0 {
			return nil
		}
		first := l.Refusals[0]
		if who[first] = append(who[first], l.Runtime.String()); len(who[first]) == 1 {
			reasons = append(reasons, first)
		}
	}
	var all []verify.Violation
	for _, r := range reasons {
		text := listed(who[r]) + " refuse it: "
		switch len(who[r]) {
		case 1:
			text = who[r][0] + " refuses it: "
		case len(msccl.Runtimes()):
			text = "no runtime loads it: "
		}
		all = append(all, verify.Violation{Code: verify.WouldNotLoad, Where: fmt.Sprintf("line %d", r.Line), Transfer: -1, Rank: -1, Chunk: -1, Message: text + r.Message})
	}
	return all
}

// grade is how far the runtime that is nearest to it is from loading the file. One
// that was named must load it as it is built; else it may be built with more room.
func (d *deployed) grade() msccl.Grade {
	nearest := msccl.Unreadable
	for _, l := range d.loads {
		nearest = min(nearest, l.Grade)
	}
	if d.named && nearest == msccl.NoRoom {
		nearest = msccl.Refused
	}
	return nearest
}

// conclude is the one place that accepts: every mode is proved, and a runtime loads
// the file, or would if it were built with more room.
func (d *deployed) conclude() {
	grade := d.grade()
	d.tooFew()
	d.kind = "pass"
	d.outcome = verify.Proved
	for _, m := range d.modes {
		v, err := m.joined()
		if err != nil {
			d.outcome, d.kind, d.bad, d.defect = verify.Unknown, "unknown", nil, err
			return
		}
		if d.guessed != "" && m.report.Kind() == "wrong" {
			v.Outcome, v.Reason = verify.Unknown, "coll=custom: what is wrong may be what is meant"
		}
		if v.Outcome == verify.Refuted && d.outcome != verify.Refuted || v.Outcome == verify.Unknown && d.outcome == verify.Proved {
			d.outcome, d.kind, d.reason = v.Outcome, m.report.Kind(), v.Reason
			if v.Outcome == verify.Unknown {
				d.kind = v.Outcome.String()
			}
		} else if v.Outcome == verify.Proved && v.Reason != "" && d.outcome == verify.Proved {
			d.reason = v.Basis()
		}
		for _, x := range v.Violations {
			if len(d.modes) > 1 {
				x.Where += ", " + m.String()
			}
			d.bad = append(d.bad, x)
		}
	}
	switch {
	case grade >= msccl.Refused:
		if d.outcome != verify.Refuted || grade == msccl.Unreadable {
			d.kind, d.reason = "reject", ""
		}
		d.outcome = verify.Refuted
		d.bad = append(d.bad, d.refusals()...)
	case len(d.bad) > 0 && d.outcome == verify.Proved: // too few slots for the size that was asked about
		d.outcome, d.kind = verify.Refuted, "deadlock"
	case errors.Is(d.meaning, msccl.ErrTooLarge):
		d.outcome, d.kind, d.reason = verify.Unknown, "unknown", d.meaning.Error()
	case d.meaning != nil:
		d.outcome, d.kind = verify.Refuted, "reject"
		d.bad = append(d.bad, verify.Violation{Code: verify.WouldNotLoad, Where: d.file, Message: strings.TrimPrefix(d.meaning.Error(), d.file+":"), Transfer: -1, Rank: -1, Chunk: -1})
	}
}

// joined is the verdict of both engines, if both were asked.
func (m mode) joined() (verify.Verdict, error) {
	if m.smt == nil {
		return verify.Combine(m.report.Verdict)
	}
	if a, b := m.sizes.step, m.smt.Slots; a > 0 && b > 0 && a != b {
		return verify.Verdict{}, &verify.Contradiction{What: fmt.Sprintf("order needs %d slots, smt %d", a, b)}
	}
	v, err := verify.Combine(m.report.Verdict, m.smt.Verdict)
	if first := m.report.Verdict.Violations; len(first) > 0 && err == nil {
		v.Violations = first // smt finds the same
	}
	return v, err
}

// emitFormulas writes the formulas about a file, as it is called first.
func emitFormulas(file, emit string, by deployment) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	d := &deployed{file: file}
	if d.algo, err = msccl.Read(file, bufio.NewReader(f)); err != nil {
		return err
	}
	p, err := d.algo.Program(msccl.Meaning{Collective: by.collective, InPlace: d.algoModes(by)[0], Root: by.root})
	if err != nil {
		return err
	}
	text, err := concurrent.Script(p)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return writeFile(emit, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
