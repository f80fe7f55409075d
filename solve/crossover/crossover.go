// Package crossover schedules training jobs that share all GPUs and one network in turns: one
// job computes while another communicates (Luo, Qu, Miao, Cheng and Xiong, "CrossoverScheduler:
// Overlapping multiple distributed training applications in a crossover manner",
// arXiv:2103.07974, 2021). Of that system the abstract is known; the model here is our own.
//
// # The model
//
// A job iterates: it computes on the GPUs for Compute, and its k-th bucket is ready Ready after
// that began, and then takes Time on the network. One job computes at a time, and one bucket is
// carried at a time. The next iteration computes when all buckets have been carried.
//
// # Periods
//
// If each job does one iteration in each period, the least period is T* = max(Σ compute, Σ
// network, max alone), and every order of the jobs attains it (Periodic). With unequal rates
// it is strongly NP-hard to find, and T* of all iterations is a bound that need not be attained
// (BoundRates).
package crossover

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Bucket is a part of a job's gradients, which is carried as a whole.
type Bucket struct {
	Ready model.Time // after the start of the computation; at most its end
	Time  model.Time // on the network
	Size  int64      // bytes, which take Time on a network; 0: not known
}

// Job is one of the jobs that share.
type Job struct {
	Name    string
	Compute model.Time // of an iteration, with what it costs to switch to it
	Buckets []Bucket   // by ascending Ready
	Rate    int        // iterations in a period, or in all
}

// Coarse returns a job whose whole communication is ready when it has computed.
func Coarse(name string, compute, network model.Time) Job {
	return Job{Name: name, Compute: compute, Buckets: []Bucket{{Ready: compute, Time: network}}, Rate: 1}
}

// Network returns how long the network is busy with an iteration.
func (j *Job) Network() model.Time {
	sum := model.Time(0)
	for _, b := range j.Buckets {
		sum = sum.Add(b.Time)
	}
	return sum
}

// Alone returns how long an iteration takes if the job has GPUs and network for itself.
func (j *Job) Alone() model.Time {
	at := model.Time(0)
	for _, b := range j.Buckets {
		at = max(at, b.Ready).Add(b.Time)
	}
	return max(at, j.Compute)
}

// MaxJobs is how many jobs Validate accepts.
const MaxJobs = 1 << 12

// Validate reports the first thing that makes jobs meaningless.
func Validate(jobs []Job) error {
	if len(jobs) == 0 || len(jobs) > MaxJobs {
		return fmt.Errorf("%d jobs, want 1 to %d", len(jobs), MaxJobs)
	}
	names := map[string]bool{}
	for i, j := range jobs {
		at := model.Element("jobs", i)
		wrong := func(format string, args ...any) error {
			return &model.Error{Place: at, Err: fmt.Errorf(format, args...)}
		}
		if err := model.CheckName(j.Name); err != nil || j.Name == "" {
			return wrong("name %s, want one that can be printed", model.Quote(j.Name))
		}
		if names[j.Name] {
			return wrong("name %s is there twice, want it once", model.Quote(j.Name))
		}
		names[j.Name] = true
		if j.Compute < 1 || j.Compute > model.MaxRelease {
			return wrong("computes for %d ps, want 1 to %d", int64(j.Compute), int64(model.MaxRelease))
		}
		if j.Rate < 1 || j.Rate > 1<<12 {
			return wrong("%d iterations, want 1 to %d", j.Rate, 1<<12)
		}
		last := model.Time(1)
		for k, b := range j.Buckets {
			if b.Ready < last || b.Ready > j.Compute {
				return wrong("bucket %d is ready after %d ps, want %d, no earlier than the one before, to %d, the end of the computation", k, int64(b.Ready), int64(last), int64(j.Compute))
			}
			if b.Time < 1 || b.Time > model.MaxRelease {
				return wrong("bucket %d takes %d ps on the network, want 1 to %d", k, int64(b.Time), int64(model.MaxRelease))
			}
			last = b.Ready
		}
	}
	return nil
}

// Load returns the sums over all iterations of a period.
func Load(jobs []Job) (compute, network, alone model.Time, slowest int) {
	for i := range jobs {
		n := int64(jobs[i].Rate)
		compute = compute.Add(jobs[i].Compute.Mul(n))
		network = network.Add(jobs[i].Network().Mul(n))
		if a := jobs[i].Alone().Mul(n); a > alone {
			alone, slowest = a, i
		}
	}
	return compute, network, alone, slowest
}

// TimeSlicing returns how long a round takes in which one job after the other has everything
// for itself: Σ alone.
func TimeSlicing(jobs []Job) model.Time {
	sum := model.Time(0)
	for i := range jobs {
		sum = sum.Add(jobs[i].Alone().Mul(int64(jobs[i].Rate)))
	}
	return sum
}

// Bound is a lower bound on the period, or the makespan, with what it rests on.
type Bound struct {
	Kind  string // gpu, network, job, waiting, or, of a makespan, flow-gpu, flow-network
	Jobs  []int  // of job: it; of waiting: the one that waits and the one that it waits for
	Value model.Time
}

// String names the limit, such as "job vgg16".
func (b Bound) String() string { return b.Kind }

// Describe says in words what a bound rests on.
func (b Bound) Describe(jobs []Job) string {
	switch b.Kind {
	case "gpu":
		return "the GPUs compute all the time"
	case "network":
		return "the network is busy all the time"
	case "job":
		return fmt.Sprintf("job %s alone takes as long", jobs[b.Jobs[0]].Name)
	case "waiting":
		return fmt.Sprintf("job %s waits while job %s holds the GPUs, and while it holds the network", jobs[b.Jobs[0]].Name, jobs[b.Jobs[1]].Name)
	}
	if b.Kind == "flow-gpu" {
		return "the GPUs compute all of it, and then the least communication is still to come"
	}
	return "the network carries all of it, after the least computation that precedes any"
}

// Bounds proposes all bounds on the period, largest first; package verify/workload values
// those of a workload again. It takes O(jobs²) time.
func Bounds(jobs []Job) []Bound {
	compute, network, alone, slowest := Load(jobs)
	all := []Bound{{"gpu", nil, compute}, {"network", nil, network}, {"job", []int{slowest}, alone}}
	for a := range jobs {
		for b := range jobs {
			if v, ok := waiting(&jobs[a], &jobs[b]); a != b && ok {
				all = append(all, Bound{"waiting", []int{b, a}, v})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y Bound) int { return cmp.Compare(y.Value, x.Value) })
	return all
}

// waiting returns the period that job b needs at least because it waits for job a: while a
// computes, b has nothing to do after at most one transfer, and while a has the network, after
// at most one computation. Both have one bucket, ready at the end.
func waiting(a, b *Job) (model.Time, bool) {
	if !a.IsCoarse() || !b.IsCoarse() {
		return 0, false
	}
	idle := max(0, a.Compute-b.Buckets[0].Time) + max(0, a.Buckets[0].Time-b.Compute)
	return b.Alone().Mul(int64(b.Rate)).Add(idle.Mul(int64(a.Rate))), true
}

// Start is when something starts: a computation, bucket -1, or the transfer of a bucket.
type Start struct {
	Job, Iteration, Bucket int
	At                     model.Time
}

// Schedule has each iteration's starts. Of a periodic one all is repeated after Period.
type Schedule struct {
	Period model.Time // 0: it ends
	Starts []Start
}

// ErrRates says that a method is for one iteration a period.
var ErrRates = errors.New("jobs with several iterations a period, want one of each")

// Periodic returns a schedule whose period is T*, for jobs of rate 1, which serves them in
// their order.
//
// Theorem. No schedule has a smaller period, and this one is right. Proof. The GPUs work
// Σ compute in a period, the network Σ network, and no job begins an iteration before its last
// one has ended; so T* is a bound. Let s_j be the sum of the computations before job j. Job j
// computes at s_j + nT*, and buckets are carried as they come. The last bucket of j ends at s_i +
// r + the transfers from bucket (i, r) on, that being the one before which the network was last
// idle. With T* at least each of the sums, that is at most s_j + T* in each of the cases: i = j, i
// before j in the same period, i after j in the one before, and further back. ∎
// It takes O(buckets·log(buckets)) time.
func Periodic(jobs []Job) (*Schedule, error) {
	for i := range jobs {
		if jobs[i].Rate != 1 {
			return nil, ErrRates
		}
	}
	compute, network, alone, _ := Load(jobs)
	s := &Schedule{Period: max(compute, network, alone)}
	type ready struct {
		job, bucket int
		at          model.Time
	}
	var queue []ready
	at := model.Time(0)
	for j := range jobs {
		s.Starts = append(s.Starts, Start{j, 0, -1, at})
		for k, b := range jobs[j].Buckets {
			queue = append(queue, ready{j, k, at + b.Ready})
		}
		at += jobs[j].Compute
	}
	// In the steady state the network begins a period with what the one before left over; since
	// it has Σ network <= T*, that is no more after the second period than after the first.
	free := model.Time(0)
	var last []model.Time
	for range 2 {
		last = last[:0]
		for _, q := range queue {
			begin := max(q.at, free)
			last = append(last, begin)
			free = begin + jobs[q.job].Buckets[q.bucket].Time
		}
		free = max(0, free-s.Period)
	}
	for i, q := range queue {
		s.Starts = append(s.Starts, Start{q.job, 0, q.bucket, last[i]})
	}
	return s, nil
}

// LockStep returns the period in which every switch is a barrier: each job communicates
// exactly while the next of the order computes. Muri (Zhao et al., SIGCOMM 2022) estimates a
// group's iteration so, for two of its resources.
func LockStep(jobs []Job, order []int) model.Time {
	sum := model.Time(0)
	for k, j := range order {
		next := order[(k+1)%len(order)]
		sum = sum.Add(max(jobs[next].Compute, jobs[j].Network()))
	}
	return sum
}

// InLockStep returns the schedule of LockStep, of two or more jobs of rate 1 with one bucket each, ready at
// the end.
func InLockStep(jobs []Job, order []int) *Schedule {
	s := &Schedule{Period: LockStep(jobs, order)}
	at := model.Time(0)
	for k, j := range order {
		next := order[(k+1)%len(order)]
		carried := at
		if k == 0 { // what the last of the order's computations leaves for the next period
			carried = s.Period
		}
		s.Starts = append(s.Starts, Start{next, 0, -1, at}, Start{j, 0, 0, carried})
		at = at.Add(max(jobs[next].Compute, jobs[j].Network()))
	}
	return s
}

// IsCoarse reports whether a job has one bucket, ready when it has computed.
func (j *Job) IsCoarse() bool { return len(j.Buckets) == 1 && j.Buckets[0].Ready == j.Compute }

// BestLockStep returns the order with the least lock-step period, by the rule of Gilmore and
// Gomory ("Sequencing a one state-variable machine: a solvable case of the traveling salesman
// problem", Operations Research 12, 1964): match the i-th shortest transfer with the i-th
// shortest computation, then join the cycles of that matching by the cheapest exchanges of
// neighbours, made in the order that loses nothing. It takes O(jobs·log(jobs)) time.
func BestLockStep(jobs []Job) []int {
	n := len(jobs)
	byM, byC := make([]int, n), make([]int, n)
	for i := range n {
		byM[i], byC[i] = i, i
	}
	m := func(i int) model.Time { return jobs[byM[i]].Network() }
	c := func(i int) model.Time { return jobs[byC[i]].Compute }
	slices.SortStableFunc(byM, func(a, b int) int { return cmp.Compare(jobs[a].Network(), jobs[b].Network()) })
	slices.SortStableFunc(byC, func(a, b int) int { return cmp.Compare(jobs[a].Compute, jobs[b].Compute) })
	rankM := make([]int, n) // of a job among the transfers
	for i, j := range byM {
		rankM[j] = i
	}
	// The node i stands for the i-th transfer; what follows it is the transfer of the job with
	// the phi[i]-th computation.
	phi := make([]int, n)
	for i := range phi {
		phi[i] = i
	}
	cycles := model.NewSets(n)
	for i := range n {
		cycles.Join(i, rankM[byC[phi[i]]])
	}
	type exchange struct {
		i    int
		cost model.Time
	}
	var all []exchange
	for i := range n - 1 {
		all = append(all, exchange{i, max(0, min(m(i+1), c(i+1))-max(m(i), c(i)))})
	}
	slices.SortStableFunc(all, func(a, b exchange) int { return cmp.Compare(a.cost, b.cost) })
	var chosen []int
	for _, e := range all {
		if cycles.Join(e.i, e.i+1) {
			chosen = append(chosen, e.i)
		}
	}
	// Those whose transfer is no longer than its computation go from the largest down, then the
	// others from the smallest up.
	var down, up []int
	for _, i := range chosen {
		if m(i) <= c(i) {
			down = append(down, i)
		} else {
			up = append(up, i)
		}
	}
	slices.Sort(down)
	slices.Reverse(down)
	slices.Sort(up)
	// psi = phi∘(i, i+1)∘...: the exchange that comes first in the row is applied to nodes last.
	row := append(down, up...)
	psi := make([]int, n)
	for node := range n {
		at := node
		for k := len(row) - 1; k >= 0; k-- {
			switch at {
			case row[k]:
				at = row[k] + 1
			case row[k] + 1:
				at = row[k]
			}
		}
		psi[node] = phi[at]
	}
	order := make([]int, 0, n)
	for node := 0; len(order) < n; {
		order = append(order, byM[node])
		node = rankM[byC[psi[node]]]
	}
	return order
}
