package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Limits on what Validate accepts.
const (
	MaxOps        = 1 << 16
	MaxEdges      = 1 << 18
	MaxIterations = 1 << 16
	MaxHeight     = 1 << 16
	MaxDepth      = 16      // of a goal's values
	MaxWork       = 1 << 30 // operations and edges times nodes and links
)

// wrong returns an error about one place of a workload.
func wrong(place, format string, args ...any) error {
	return &model.Error{Place: place, Err: fmt.Errorf(format, args...)}
}

// names keeps names apart.
type names map[string]bool

func (n names) add(place, name, what string) error {
	if err := model.CheckName(name); err != nil {
		return &model.Error{Place: place, Err: err}
	}
	switch {
	case name == "":
		return wrong(place, "empty, want a name")
	case n[name]:
		return wrong(place, "%s %s is there twice, want it once", what, model.Quote(name))
	}
	n[name] = true
	return nil
}

// Validate reports the first thing that makes w meaningless. A cycle of edges whose heights
// sum to 0 is a deadlock, and the error names the operations on it. It takes O(ops·topology +
// edges) time.
func (w *Workload) Validate() error {
	if w.Topology == nil {
		return wrong("topology", "missing")
	}
	if err := w.Topology.Validate(); err != nil {
		return model.Within("topology", err)
	}
	if w.Cost != model.Blocking && w.Cost != model.Pipelined {
		return wrong("cost", "%v, want blocking or pipelined: a workload has computations, which rounds do not", w.Cost)
	}
	for i, s := range w.Topology.Switches {
		if s.Reduces != model.NoReducing {
			return wrong(model.Element("topology.switches", i), "it adds, which workloads do not serve, want one that forwards")
		}
	}
	n := w.Topology.Ranks
	if w.Release != nil && len(w.Release) != n {
		return wrong("release_ps", "%d times, want one for each of %d ranks", len(w.Release), n)
	}
	for r, t := range w.Release {
		if t < 0 || t > model.MaxRelease {
			return wrong(model.Element("release_ps", r), "%d ps, want 0 to %d", int64(t), int64(model.MaxRelease))
		}
	}
	if w.Memory != nil && len(w.Memory) != n {
		return wrong("memory_bytes", "%d sizes, want one for each of %d ranks", len(w.Memory), n)
	}
	for r, b := range w.Memory {
		if b < 0 || b > model.MaxSize {
			return wrong(model.Element("memory_bytes", r), "%d bytes, want 0 to %d", b, int64(model.MaxSize))
		}
	}
	for _, part := range []func() error{w.validateOperators, w.validateGroups, w.validateJobs, w.validateOps, w.validateEdges, w.validateGoal} {
		if err := part(); err != nil {
			return err
		}
	}
	if c := w.Deadlock(); c != nil {
		return wrong("edges", "%s: each waits for the one before in the same iteration, so that none can begin; want a height of 1 or more on every cycle", w.path(c))
	}
	return nil
}

// path names operations in a row: "A, B, A".
func (w *Workload) path(ops []int) string {
	var all []string
	for _, i := range ops {
		all = append(all, w.Ops[i].ID)
	}
	return strings.Join(all, " -> ")
}

func (w *Workload) validateOperators() error {
	seen := names{}
	for i, o := range w.Operators {
		at := model.Element("operators", i)
		if err := seen.add(at, o.Name, "operator"); err != nil {
			return err
		}
		if _, err := model.ParseOperator(o.Name); err == nil {
			return wrong(at, "%s is built in, want another name", o.Name)
		}
		switch o.Tree {
		case AnyTree, Same, Balanced, Chain:
		default:
			return wrong(at, "tree %s, want %s, %s or %s", model.Quote(string(o.Tree)), Same, Balanced, Chain)
		}
		if o.Tree == Same && !o.Elementwise {
			return wrong(at, "tree %s, want %s or %s: %s is not elementwise, so that one tree is needed for all of a tensor", Same, Balanced, Chain, o.Name)
		}
		if o.Tree == AnyTree && (!o.Associative || !o.Elementwise) {
			return wrong(at, "%s is not associative, or not elementwise, and has no tree, want one: else its result is not defined", o.Name)
		}
	}
	return nil
}

func (w *Workload) validateGroups() error {
	seen := names{}
	for i, g := range w.Groups {
		at := model.Element("groups", i)
		if err := seen.add(at, g.Name, "group"); err != nil {
			return err
		}
		if len(g.Ranks) == 0 {
			return wrong(at, "empty, want at least one rank")
		}
		there := map[int]bool{}
		for k, r := range g.Ranks {
			if r < 0 || r >= w.Topology.Ranks {
				return wrong(model.Element(at, k), "rank %d does not exist, want 0 to %d", r, w.Topology.Ranks-1)
			}
			if there[r] {
				return wrong(model.Element(at, k), "rank %d is named twice, want it once", r)
			}
			there[r] = true
		}
	}
	return nil
}

func (w *Workload) validateJobs() error {
	seen := names{}
	for i, j := range w.Jobs {
		at := model.Element("jobs", i)
		if err := seen.add(at, j.Name, "job"); err != nil {
			return err
		}
		if j.Iterations < 1 || j.Iterations > MaxIterations {
			return wrong(at, "%d iterations, want 1 to %d", j.Iterations, MaxIterations)
		}
		if j.Resident < 0 || j.Resident > model.MaxSize {
			return wrong(at, "%d bytes resident, want 0 to %d", j.Resident, int64(model.MaxSize))
		}
	}
	return nil
}

// group returns an error if there is no group of a name.
func (w *Workload) group(at, name string) error {
	if name != "" && !slices.ContainsFunc(w.Groups, func(g Group) bool { return g.Name == name }) {
		return wrong(at, "group %s does not exist", model.Quote(name))
	}
	return nil
}

func (w *Workload) validateOps() error {
	if len(w.Ops) == 0 || len(w.Ops) > MaxOps {
		return wrong("ops", "%d operations, want 1 to %d", len(w.Ops), MaxOps)
	}
	if work := int64(len(w.Ops)+len(w.Edges)) * int64(w.Topology.Nodes()+len(w.Topology.Links)); work > MaxWork {
		return wrong("ops", "%d operations and %d edges on %d nodes and links: %w", len(w.Ops), len(w.Edges), w.Topology.Nodes()+len(w.Topology.Links), model.ErrTooLarge)
	}
	seen := names{}
	for i := range w.Ops {
		op, at := &w.Ops[i], model.Element("ops", i)
		if err := seen.add(at, op.ID, "operation"); err != nil {
			return err
		}
		if err := w.group(at, op.Group); err != nil {
			return err
		}
		if op.Job != "" && !slices.ContainsFunc(w.Jobs, func(j Job) bool { return j.Name == op.Job }) {
			return wrong(at, "job %s does not exist", model.Quote(op.Job))
		}
		for r, t := range op.Release {
			if !slices.Contains(w.Members(op.Group), r) {
				return wrong(at, "release of rank %d, which is not in the group", r)
			}
			if t < 0 || t > model.MaxRelease {
				return wrong(at, "release of rank %d at %d ps, want 0 to %d", r, int64(t), int64(model.MaxRelease))
			}
		}
		if _, ok := w.OperatorOf(op.Operator); !ok {
			return wrong(at, "operator %s does not exist", model.Quote(op.Operator))
		}
		var err error
		switch op.Kind {
		case Compute:
			err = w.validateCompute(op)
		case Barrier:
			if op.Size != 0 || op.Duration != nil || op.Reads != nil || op.Writes != nil || op.Buffer.Buffer != "" {
				err = fmt.Errorf("a barrier has no size, duration or buffers")
			}
		default:
			err = w.validateCollective(i)
		}
		if err != nil {
			return model.Within(at, err)
		}
	}
	return nil
}

func region(place string, r Region, size int64) error {
	if err := model.CheckName(r.Buffer); err != nil {
		return &model.Error{Place: place, Err: err}
	}
	if r.Offset < 0 || r.Offset > model.MaxSize || size < 1 || size > model.MaxSize {
		return wrong(place, "%d bytes at %d, want at least one, and both at most %d", size, r.Offset, int64(model.MaxSize))
	}
	return nil
}

func (w *Workload) validateCollective(i int) error {
	op := &w.Ops[i]
	if _, ok := op.Kind.Collective(); !ok {
		return wrong("kind", "%s, want a collective, sendrecv, compute or barrier", model.Quote(string(op.Kind)))
	}
	if op.Duration != nil || op.Reads != nil || op.Writes != nil || op.Function != "" || op.Bytes != 0 {
		return wrong("duration_ps", "%s has none, nor reads, writes, a function or memory: those are a computation's", op.Kind)
	}
	if op.Kind == SendRecv && len(w.Members(op.Group)) != 2 {
		return wrong("group", "%d ranks, want two for a sendrecv", len(w.Members(op.Group)))
	}
	if op.Into.Buffer != "" && op.Kind != SendRecv && op.Kind != Kind(model.Broadcast.String()) {
		return wrong("into", "%s has none, want it with broadcast or sendrecv only", op.Kind)
	}
	p := w.Problem(i)
	if err := p.Validate(); err != nil {
		return err
	}
	if o, _ := w.OperatorOf(op.Operator); !p.Collective.Reduces() && op.Operator != "" {
		return wrong("operator", "%s does not reduce, want no operator", op.Kind)
	} else if o.Tree == Balanced && len(p.Members())&(len(p.Members())-1) != 0 {
		return wrong("operator", "%s has a balanced tree, which needs a power of two of ranks, not %d", o.Name, len(p.Members()))
	}
	if p.Collective.Kind == model.Custom {
		for k, c := range p.Collective.Pre {
			if r, single := c.Value.Single(); !single || r != c.Rank {
				return wrong(model.Element("custom.pre", k), "rank %d begins with something else than its own, want what its buffer holds", c.Rank)
			}
		}
	}
	if err := region("buffer", op.Buffer, p.Space()); err != nil {
		return err
	}
	if err := region("into", op.Into, p.Space()); err != nil {
		return err
	}
	if op.Given != nil {
		if op.Given.Form != model.Timed {
			return wrong("schedule", "in the form %v, want timed", op.Given.Form)
		}
		return model.Within("schedule", op.Given.Validate(p))
	}
	return nil
}

func (w *Workload) validateCompute(op *Op) error {
	n := len(w.Members(op.Group))
	if len(op.Duration) != 1 && len(op.Duration) != n {
		return wrong("duration_ps", "%d times, want one, or one for each of %d ranks", len(op.Duration), n)
	}
	for m, d := range op.Duration {
		if d < 1 || d > model.MaxRelease {
			return wrong("duration_ps", "%d ps, want 1 to %d", int64(op.Duration[m]), int64(model.MaxRelease))
		}
	}
	if op.Size != 0 || op.Chunks != nil || op.Given != nil || op.Buffer.Buffer != "" || op.Into.Buffer != "" || op.Root != 0 {
		return wrong("size_bytes", "a computation has none, nor chunks, a schedule, a root or a buffer: it has reads and writes")
	}
	if op.Bytes < 0 || op.Bytes > model.MaxSize {
		return wrong("memory_bytes", "%d, want 0 to %d", op.Bytes, int64(model.MaxSize))
	}
	for what, list := range map[string][]Access{"reads": op.Reads, "writes": op.Writes} {
		for k, a := range list {
			place := model.Element(what, k)
			if err := region(place, a.Region, a.Size); err != nil {
				return err
			}
			if a.Buffer == "" {
				return wrong(place, "no buffer, want its name")
			}
			if a.Until < 0 || a.Until > slices.Min(op.Duration) {
				return wrong(place, "until %d ps, want 0 to the shortest duration, %d", int64(a.Until), int64(slices.Min(op.Duration)))
			}
		}
	}
	for k, a := range op.Writes {
		for _, b := range op.Writes[:k] {
			if a.Buffer == b.Buffer && a.Offset < b.Offset+b.Size && b.Offset < a.Offset+a.Size {
				return wrong(model.Element("writes", k), "overlaps another region of %s that it writes", model.Quote(a.Buffer))
			}
		}
	}
	o, _ := w.OperatorOf(op.Operator)
	sizes := func(list []Access) (all []int64) {
		for _, a := range list {
			all = append(all, a.Size)
		}
		return all
	}
	switch {
	case op.Function == Scalars:
		if o.Elementwise {
			return wrong("function", "%s are those of an operator that is not elementwise, want its name as operator", Scalars)
		}
		if len(op.Reads) != 2 || op.Reads[0].Size != op.Reads[1].Size || len(op.Writes) != 1 {
			return wrong("reads", "want two operands of one size, and one region for their scalars in writes")
		}
	case !o.Elementwise:
		if op.Function != "" || len(op.Reads) != 2 || len(op.Writes) != 1 || op.Reads[0].Size != op.Writes[0].Size {
			return wrong("reads", "want the other operand and the scalars, and an operand of the same size in writes, for %s", o.Name)
		}
	case op.Function == "" && (len(op.Reads) > 0 || op.Operator != "") && !slices.Equal(sizes(op.Reads), sizes(op.Writes)):
		return wrong("reads", "want regions of the same sizes as writes where there is no function")
	}
	return nil
}

func (w *Workload) validateEdges() error {
	if len(w.Edges) > MaxEdges {
		return wrong("edges", "%d, want at most %d", len(w.Edges), MaxEdges)
	}
	for i, e := range w.Edges {
		at := model.Element("edges", i)
		if e.From < 0 || e.From >= len(w.Ops) || e.To < 0 || e.To >= len(w.Ops) {
			return wrong(at, "an operation does not exist")
		}
		from, to := &w.Ops[e.From], &w.Ops[e.To]
		if e.Height < 0 || e.Height > MaxHeight {
			return wrong(at, "height %d, want 0 to %d", e.Height, MaxHeight)
		}
		if int(e.Scope) >= len(scopeNames) {
			return wrong(at, "scope %d does not exist", e.Scope)
		}
		if w.Iterations(e.From) != w.Iterations(e.To) || (from.Job != to.Job && e.Height > 0) {
			return wrong(at, "from %s to %s, of jobs with iterations of their own, want one job, or one rate and height 0", from.ID, to.ID)
		}
		if e.FromStart {
			if from.Kind != Compute {
				return wrong(at, "an offset from the start of %s, want one of a computation only", from.ID)
			}
			if e.Offset < 0 || e.Offset > slices.Min(from.Duration) {
				return wrong(at, "offset %d ps, want 0 to the shortest duration of %s, %d", int64(e.Offset), from.ID, int64(slices.Min(from.Duration)))
			}
		} else if e.Offset != 0 {
			return wrong(at, "an offset that does not count from the start")
		}
		if e.Scope == ByChunk {
			_, a := from.Kind.Collective()
			_, b := to.Kind.Collective()
			if !a || !b {
				return wrong(at, "scope chunk from %s to %s, want two collectives", from.ID, to.ID)
			}
			if from.Buffer.Buffer == "" || from.Buffer.Buffer != to.Buffer.Buffer || from.Into.Buffer != "" || to.Into.Buffer != "" {
				return wrong(at, "scope chunk from %s to %s, want both in one buffer: chunks correspond by their place", from.ID, to.ID)
			}
		}
		if e.Scope == ByRank && !meet(w.Members(from.Group), w.Members(to.Group)) {
			return wrong(at, "from %s to %s, which have no rank in common, want scope all", from.ID, to.ID)
		}
	}
	return nil
}

// meet reports whether two lists have an element in common, in O(their lengths).
func meet(a, b []int) bool {
	if a[0] == b[0] {
		return true
	}
	in := make(map[int]bool, len(a))
	for _, r := range a {
		in[r] = true
	}
	return slices.ContainsFunc(b, func(r int) bool { return in[r] })
}

func (w *Workload) validateGoal() error {
	if w.Periodic && len(w.Goal) > 0 {
		return wrong("goal", "a periodic workload has no end, want none")
	}
	for i, g := range w.Goal {
		at := model.Element("goal", i)
		if err := region(at, g.Region, g.Size); err != nil {
			return err
		}
		if err := w.group(at, g.Group); err != nil {
			return err
		}
		if err := w.validateValue(&g.Value, 0); err != nil {
			return model.Within(at, err)
		}
	}
	return nil
}

func (w *Workload) validateValue(v *Value, depth int) error {
	forms := 0
	for _, is := range []bool{v.Input != nil, v.Operator != "", v.Function != ""} {
		if is {
			forms++
		}
	}
	switch {
	case depth > MaxDepth:
		return wrong("value", "nested deeper than %d", MaxDepth)
	case forms != 1:
		return wrong("value", "want one of input, operator and function")
	case v.Input != nil:
		if v.Rank < -1 || v.Rank >= w.Topology.Ranks {
			return wrong("value", "rank %d does not exist, want 0 to %d, or none", v.Rank, w.Topology.Ranks-1)
		}
		if v.Input.Offset < 0 || v.Input.Offset > model.MaxSize || len(v.Of) > 0 {
			return wrong("value", "input at %d bytes, want 0 to %d, and no operands", v.Input.Offset, int64(model.MaxSize))
		}
		return nil
	case v.Function != "" && len(v.Bytes) != len(v.Of):
		return wrong("value", "%d arguments and %d sizes, want as many", len(v.Of), len(v.Bytes))
	case v.Operator != "" && v.Over != "" && len(v.Of) != 1, v.Operator != "" && len(v.Of) == 0:
		return wrong("value", "%d operands, want one over a group, else at least one", len(v.Of))
	}
	if v.Operator != "" {
		if _, ok := w.OperatorOf(v.Operator); !ok {
			return wrong("value", "operator %s does not exist", model.Quote(v.Operator))
		}
	}
	if err := w.group("value", v.Over); err != nil {
		return err
	}
	for i := range v.Of {
		if v.Function != "" && (v.Bytes[i] < 1 || v.Bytes[i] > model.MaxSize) {
			return wrong("value", "argument of %d bytes, want 1 to %d", v.Bytes[i], int64(model.MaxSize))
		}
		if err := w.validateValue(&v.Of[i], depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Deadlock returns a cycle of operations each of which waits for the one before it in the
// same iteration, its first one named again at the end; nil if there is none. The edges must
// exist. It takes O(ops + edges) time.
func (w *Workload) Deadlock() []int {
	next := make([][]int, len(w.Ops))
	for _, e := range w.Edges {
		if e.Height == 0 {
			next[e.From] = append(next[e.From], e.To)
		}
	}
	state := make([]uint8, len(w.Ops)) // 1: on the path, 2: done
	tried := make([]int, len(w.Ops))
	for root := range w.Ops {
		if state[root] != 0 {
			continue
		}
		path := []int{root}
		state[root] = 1
		for len(path) > 0 {
			u := path[len(path)-1]
			if tried[u] == len(next[u]) {
				state[u] = 2
				path = path[:len(path)-1]
				continue
			}
			v := next[u][tried[u]]
			tried[u]++
			switch state[v] {
			case 1:
				return append(slices.Clone(path[slices.Index(path, v):]), v)
			case 0:
				state[v] = 1
				path = append(path, v)
			}
		}
	}
	return nil
}

// Order returns the operations so that each comes after those that it waits for in its
// iteration; w must be valid. It takes O(ops·log(ops) + edges) time.
func (w *Workload) Order() []int {
	left := make([]int, len(w.Ops))
	next := make([][]int, len(w.Ops))
	for _, e := range w.Edges {
		if e.Height == 0 {
			left[e.To]++
			next[e.From] = append(next[e.From], e.To)
		}
	}
	var order []int
	for i := range w.Ops {
		if left[i] == 0 {
			order = append(order, i)
		}
	}
	for k := 0; k < len(order); k++ {
		for _, v := range next[order[k]] {
			if left[v]--; left[v] == 0 {
				order = append(order, v)
			}
		}
	}
	return order
}

// Validate reports the first thing that makes s meaningless: a workload that is, an
// operation that is not placed once for each iteration, a program that does not fit, a time
// that is out of range. Whether s is right is for package verify/workload.
func (s *Schedule) Validate() error {
	w := s.Workload
	if w == nil {
		return wrong("workload", "missing")
	}
	if err := w.Validate(); err != nil {
		return model.Within("workload", err)
	}
	if w.Periodic != (s.Period > 0) || s.Period < 0 || s.Period > model.MaxEnd {
		return wrong("period_ps", "%d, want 1 to %d for a periodic workload, and none for another", int64(s.Period), int64(model.MaxEnd))
	}
	type instance struct{ op, iteration int }
	seen := map[instance]bool{}
	fits := map[[2]int]bool{}
	for i, p := range s.Placed {
		at := model.Element("placed", i)
		if p.Op < 0 || p.Op >= len(w.Ops) {
			return wrong(at, "operation %d does not exist", p.Op)
		}
		op := &w.Ops[p.Op]
		if p.Iteration < 0 || p.Iteration >= w.Iterations(p.Op) {
			return wrong(at, "iteration %d of %s, want 0 to %d", p.Iteration, op.ID, w.Iterations(p.Op)-1)
		}
		if seen[instance{p.Op, p.Iteration}] {
			return wrong(at, "iteration %d of %s is placed twice, want it once", p.Iteration, op.ID)
		}
		seen[instance{p.Op, p.Iteration}] = true
		for _, t := range append([]model.Time{p.At}, p.Starts...) {
			if t < 0 || t > model.MaxEnd/2 {
				return wrong(at, "%s at %d ps, want 0 to %d", op.ID, int64(t), int64(model.MaxEnd/2))
			}
		}
		if _, collective := op.Kind.Collective(); !collective {
			members := len(w.Members(op.Group))
			if op.Kind == Barrier {
				members = 0
			}
			if p.Program != -1 || len(p.Starts) != members {
				return wrong(at, "%s has %d starts, want %d, and no program", op.ID, len(p.Starts), members)
			}
			continue
		}
		if p.Program < 0 || p.Program >= len(s.Programs) || p.Starts != nil {
			return wrong(at, "%s has the program %d, want 0 to %d, and no starts", op.ID, p.Program, len(s.Programs)-1)
		}
		if op.Chunks == nil {
			return wrong(at, "%s has no chunks, want its cut in the workload", op.ID)
		}
		if fits[[2]int{p.Op, p.Program}] {
			continue
		}
		if s.Programs[p.Program].Form != model.Timed {
			return wrong(model.Element("programs", p.Program), "in the form %v, want timed", s.Programs[p.Program].Form)
		}
		if err := s.Programs[p.Program].Validate(w.Problem(p.Op)); err != nil {
			return model.Within(model.Element("programs", p.Program), err)
		}
		fits[[2]int{p.Op, p.Program}] = true
	}
	for i := range w.Ops {
		for k := range w.Iterations(i) {
			if !seen[instance{i, k}] {
				return wrong("placed", "iteration %d of %s is missing", k, w.Ops[i].ID)
			}
		}
	}
	return nil
}
