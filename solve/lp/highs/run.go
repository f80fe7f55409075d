package highs

// #cgo pkg-config: highs
// #cgo CXXFLAGS: -std=c++11
// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"time"
	"unsafe"

	lanl "github.com/lanl/highs"

	"github.com/oraccl/oraccl/solve/lp"
)

// Available returns nil: this build has HiGHS.
func Available() error { return nil }

// Solve runs HiGHS on m until it is done, a limit of o is reached or ctx is
// done. Infeasible, unbounded and stopped models are results, not errors: an
// error means that the question could not be asked (an option out of range, a
// coefficient that HiGHS would silently drop or refuse) or that the solver
// failed; an incumbent found before such a failure is in the result all the same.
//
// HiGHS does not look at the clock or at ctx in every part of its work, as in
// the first linear relaxation of a MIP. If it does not come back within two
// seconds of the deadline or of the cancellation, Solve returns with the
// incumbent and the bound known by then, and leaves the solver to end on its
// own in the background, where it goes on to take up memory and a core.
//
// When the status is TimeLimit because of ctx, ctx is done.
//
// Solve may be called from many goroutines at the same time, also on the same
// model. It takes about 28 bytes of memory per nonzero beside the solver's own.
func Solve(ctx context.Context, m *lp.Model, o Options) (Result, error) {
	begin := time.Now()
	if err := o.validate(m); err != nil {
		return Result{}, fmt.Errorf("highs: %w", err)
	}
	a, err := newArrays(m, o)
	if err != nil {
		return Result{}, fmt.Errorf("highs: %w", err)
	}
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
	}
	var res Result
	switch {
	case ctx.Err() != nil:
		res = Result{Status: Interrupted, RawStatus: "not started", DualBound: math.NaN()}
	case a.empty != "":
		res = Result{Status: Infeasible, RawStatus: "not started: " + a.empty}
	case len(a.cost) == 0:
		res = Result{Status: Optimal, RawStatus: "not started: no columns", HasSolution: true,
			Objective: a.offset, Values: []float64{}, DualBound: a.offset}
		if !a.integer {
			res.RowDuals, res.ReducedCosts = make([]float64, m.NumRows()), []float64{}
		}
	default:
		res, err = run(ctx, a, o)
		if err != nil {
			err = fmt.Errorf("highs: %w", err)
		}
	}
	a.finish(&res, o)
	if _, limited := ctx.Deadline(); limited && res.Status == TimeLimit {
		<-ctx.Done() // HiGHS's clock is ahead of the context's by a moment
	}
	if res.Status == Interrupted && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		res.Status = TimeLimit
	}
	res.Rounded = a.rounded
	res.Elapsed = time.Since(begin)
	return res, err
}

// poll is the time between two looks at a running solver.
const poll = 100 * time.Millisecond

// grace is the time that a solver is given to stop before it is left alone.
// Only tests change it.
var grace = 300 * time.Millisecond

// Version returns the version of the HiGHS library, as in "1.10.0".
func Version() string { return C.GoString(C.hx_version()) }

// PrintToStderr has what C libraries print to standard output printed to standard error, for the whole process: HiGHS prints a line now and
// then that no option turns off. It is for programs whose output others read. It does nothing where the C library is not glibc.
func PrintToStderr() { C.hx_print_to_stderr() }

// pointer reads the solver's address, which the binding keeps in an unexported
// field. reflect finds the field by name, so that a changed layout panics rather
// than hands garbage to C.
func pointer(raw *lanl.RawModel) unsafe.Pointer {
	return reflect.ValueOf(raw).Elem().FieldByName("obj").UnsafePointer()
}

// solver is a HiGHS object with a model in it.
type solver struct {
	raw *lanl.RawModel // kept alive: its finalizer frees h
	h   unsafe.Pointer
	ctl *C.hx_ctl
}

// outcome is what a run on the solver's own OS thread gives.
type outcome struct {
	r    C.hx_result
	text string // of a C++ exception
}

// failed reports whether HiGHS, or a C++ exception, says that there is no answer.
func (o *outcome) failed() bool { return o.text != "" || o.r.run_status == -1 }

// load makes a solver of a. It must be closed.
func load(a *arrays, o Options) (*solver, error) {
	if C.hx_other_version() != 0 { // its structures may be laid out in another way
		return nil, fmt.Errorf("built with the header of another version than HiGHS %s: run go clean -cache and build again", Version())
	}
	raw := lanl.NewRawModel()
	s := &solver{raw: raw, h: pointer(raw)}
	if s.h == nil {
		return nil, errors.New("HiGHS could not create a solver")
	}
	if err := setOptions(raw, o); err != nil {
		return nil, err
	}
	if err := s.attach(len(a.cost), o.Log != nil); err != nil { // before anything is logged
		return nil, err
	}
	sense := C.int(1)
	if a.sense == lp.Maximise {
		sense = -1
	}
	if C.hx_pass(s.h, C.int32_t(len(a.cost)), C.int32_t(len(a.rowL)), C.int32_t(len(a.index)), sense, C.double(a.offset),
		doubles(a.cost), doubles(a.colL), doubles(a.colU), doubles(a.rowL), doubles(a.rowU),
		ints(a.begin), ints(a.index), doubles(a.value), ints(a.kinds)) == -1 {
		s.close()
		return nil, errors.New("HiGHS refused the model")
	}
	if a.start != nil && C.hx_set_solution(s.h, doubles(a.start)) == -1 {
		s.close()
		return nil, errors.New("HiGHS refused the start vector")
	}
	return s, nil
}

// attach makes the solver ready to be watched and closed.
func (s *solver) attach(columns int, logging bool) error {
	n := C.int(0)
	if logging {
		n = 1
	}
	if s.ctl = C.hx_attach(s.h, C.int32_t(columns), n); s.ctl == nil {
		return errors.New("out of memory")
	}
	return nil
}

// start runs the solver on an OS thread of its own.
func (s *solver) start() <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		runtime.LockOSThread() // see hx_run
		defer runtime.UnlockOSThread()
		var out outcome
		text := (*C.char)(C.calloc(256, 1))
		defer C.free(unsafe.Pointer(text))
		C.hx_run(s.h, &out.r, text, 256)
		out.text = C.GoString(text)
		done <- out
	}()
	return done
}

// close gives the solver's memory back now. The binding waits for a finalizer,
// and Go's collector does not see how much C memory hangs on it.
func (s *solver) close() {
	C.hx_detach(s.h, s.ctl)
	C.hx_clear(s.h)
	runtime.KeepAlive(s.raw)
}

func setOptions(raw *lanl.RawModel, o Options) error {
	method := o.Method
	if method == "" {
		method = "choose"
	}
	errs := []error{
		raw.SetBoolOption("output_flag", o.Log != nil),
		raw.SetIntOption("threads", max(1, o.Threads)),
		raw.SetIntOption("random_seed", int(o.Seed%(math.MaxInt32+1))),
		raw.SetFloat64Option("mip_rel_gap", o.MIPGap),
		raw.SetStringOption("solver", method),
	}
	if o.NodeLimit > 0 {
		errs = append(errs, raw.SetIntOption("mip_max_nodes", o.NodeLimit))
	}
	return errors.Join(errs...)
}

func doubles(s []float64) *C.double { return (*C.double)(unsafe.SliceData(s)) }
func ints(s []int32) *C.int32_t     { return (*C.int32_t)(unsafe.SliceData(s)) }

// run solves a and watches the solver from this goroutine.
func run(ctx context.Context, a *arrays, o Options) (Result, error) {
	begin := time.Now()
	s, err := load(a, o)
	if err != nil {
		return Result{}, err
	}
	if o.Target != nil {
		// HiGHS stops when the incumbent is better than this, not when it is as good.
		slack := 1e-9 * max(1, math.Abs(*o.Target))
		if a.sense == lp.Maximise {
			slack = -slack
		}
		err = s.raw.SetFloat64Option("objective_target", *o.Target+slack)
	}
	if deadline, ok := ctx.Deadline(); ok {
		// Not all of HiGHS asks whether it should stop; more of it looks at the clock.
		err = errors.Join(err, s.raw.SetFloat64Option("time_limit", max(0, time.Until(deadline).Seconds())))
	}
	if err != nil {
		s.close()
		return Result{}, err
	}

	done := s.start()
	var tick <-chan time.Time
	if o.Progress != nil || o.Log != nil {
		t := time.NewTicker(poll)
		defer t.Stop()
		tick = t.C
	}
	stop, abandon := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case out := <-done:
			s.copyLog(o)
			defer s.close()
			if out.failed() && ended(ctx) { // its interior point method takes the end of its time for a failure
				res := s.interim(a)
				res.RawStatus = "failed when its time was over"
				if ctx.Err() == nil {
					res.Status = TimeLimit
				}
				return res, nil
			}
			return s.result(a, out)
		case <-stop:
			C.hx_stop(s.ctl)
			stop, abandon = nil, time.After(grace)
		case <-abandon:
			s.copyLog(o)
			res := s.interim(a)
			go func() {
				<-done
				s.close()
			}()
			return res, nil
		case <-tick:
			s.copyLog(o)
			if o.Progress != nil {
				o.Progress(s.progress(a, time.Since(begin)))
			}
		}
	}
}

// ended reports whether ctx is done, or is as good as done: HiGHS may look at the clock a little sooner.
func ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(deadline) < poll
}

// copyLog hands what HiGHS has printed since to o.Log.
func (s *solver) copyLog(o Options) {
	if o.Log == nil {
		return
	}
	buf := make([]byte, 1<<14)
	for {
		n := C.hx_log(s.ctl, (*C.char)(unsafe.Pointer(&buf[0])), C.int64_t(len(buf)))
		if n == 0 {
			return
		}
		_, _ = o.Log.Write(buf[:n]) // as documented: a log that fails does not stop a run
	}
}

// incumbent returns the latest improving solution of a MIP, or nil.
func (s *solver) incumbent(a *arrays) []float64 {
	x := make([]float64, len(a.cost))
	if C.hx_incumbent(s.ctl, doubles(x), C.int32_t(len(x))) == 0 {
		return nil
	}
	return x
}

func (s *solver) progress(a *arrays, elapsed time.Duration) Progress {
	var c C.hx_progress
	C.hx_progress_get(s.ctl, &c)
	p := Progress{Elapsed: elapsed, Incumbents: int(c.incumbents), DualBound: math.Inf(-1), Nodes: int64(c.nodes), LPIterations: int64(c.lp_iterations)}
	if a.sense == lp.Maximise {
		p.DualBound = math.Inf(1)
	}
	if b := float64(c.dual_bound); c.has_bound != 0 && math.Abs(b) < infinite {
		p.DualBound = b
	}
	if x := s.incumbent(a); p.Incumbents > 0 && x != nil {
		p.Objective = a.objective(x)
	}
	return p
}

// interim returns what is known of a run that has not come back, or has without an answer for want of time.
func (s *solver) interim(a *arrays) Result {
	p := s.progress(a, 0)
	res := Result{Status: Interrupted, RawStatus: "still running when it was left alone",
		DualBound: p.DualBound, Nodes: p.Nodes, LPIterations: p.LPIterations}
	if x := s.incumbent(a); x != nil {
		res.HasSolution, res.Values, res.Objective = true, x, a.objective(x)
	}
	return res
}

// result returns what a run that has come back found.
func (s *solver) result(a *arrays, out outcome) (Result, error) {
	st := lookUpStatus(int(out.r.model_status))
	if out.failed() {
		res := s.interim(a)
		res.Status, res.RawStatus = Unknown, st.name
		if out.text == "" {
			return res, fmt.Errorf("HiGHS failed: %s", st.name)
		}
		return res, fmt.Errorf("HiGHS failed: %s", out.text)
	}
	const feasible = 2 // kHighsSolutionStatusFeasible
	res := Result{Status: st.status, RawStatus: st.name, HasSolution: out.r.primal_status == feasible && st.status != Infeasible,
		Objective: float64(out.r.objective), DualBound: float64(out.r.dual_bound),
		Nodes: int64(out.r.nodes), LPIterations: int64(out.r.lp_iterations)}
	if !res.HasSolution {
		return res, nil
	}
	res.Values = make([]float64, len(a.cost))
	reduced := make([]float64, len(a.cost))
	rows, duals := make([]float64, len(a.rowL)), make([]float64, len(a.rowL))
	if C.hx_solution(s.h, doubles(res.Values), doubles(reduced), doubles(rows), doubles(duals)) == -1 {
		return Result{}, errors.New("HiGHS gave no solution though it reported one")
	}
	if !a.integer && out.r.dual_status == feasible && len(a.rowL) == a.rows {
		res.RowDuals, res.ReducedCosts = duals, reduced
	}
	return res, nil
}
