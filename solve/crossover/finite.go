package crossover

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// BoundFinite returns a lower bound on the makespan of Rate iterations of each job: the GPUs
// compute all, and then the least communication is still to come; the network carries all, after
// the least that precedes any; no job is done before it would be alone.
func BoundFinite(jobs []Job) Bound {
	compute, network, alone, slowest := Load(jobs)
	tail, head := model.MaxTime, model.MaxTime
	for i := range jobs {
		j := &jobs[i]
		tail = min(tail, j.Alone()-j.Compute)
		if len(j.Buckets) > 0 {
			head = min(head, j.Buckets[0].Ready)
		}
	}
	best := Bound{"job", []int{slowest}, alone}
	if v := compute.Add(tail); v > best.Value {
		best = Bound{"flow-gpu", nil, v}
	}
	if v := head.Add(network); head < model.MaxTime && v > best.Value {
		best = Bound{"flow-network", nil, v}
	}
	return best
}

// Policy decides which job computes next.
type Policy uint8

// The policies.
const (
	RoundRobin    Policy = iota // in the order of the jobs, again and again
	FirstCome                   // the one that has waited longest
	ShortestFirst               // the one that computes shortest, of those that can
)

// Finite returns a schedule of Rate iterations of each job in which the GPUs follow a policy,
// and the network carries what is ready first, first. It takes O(iterations·jobs) time.
func Finite(jobs []Job, by Policy) *Schedule {
	s := &Schedule{}
	left := make([]int, len(jobs))
	ready := make([]model.Time, len(jobs)) // when the last iteration has ended
	total := 0
	for i := range jobs {
		left[i] = jobs[i].Rate
		total += left[i]
	}
	gpu, net, turn := model.Time(0), model.Time(0), 0
	for range total {
		next := -1
		if by == RoundRobin {
			for next < 0 {
				if left[turn%len(jobs)] > 0 {
					next = turn % len(jobs)
				}
				turn++
			}
		} else {
			soonest := model.MaxTime
			for i := range jobs {
				if left[i] > 0 {
					soonest = min(soonest, ready[i])
				}
			}
			at := max(gpu, soonest)
			for i := range jobs {
				if left[i] == 0 || ready[i] > at {
					continue
				}
				if next < 0 || by == FirstCome && ready[i] < ready[next] || by == ShortestFirst && jobs[i].Compute < jobs[next].Compute {
					next = i
				}
			}
		}
		j := &jobs[next]
		at := max(gpu, ready[next])
		iteration := j.Rate - left[next]
		s.Starts = append(s.Starts, Start{next, iteration, -1, at})
		gpu, ready[next] = at+j.Compute, at+j.Compute
		for k, b := range j.Buckets {
			begin := max(net, at+b.Ready)
			s.Starts = append(s.Starts, Start{next, iteration, k, begin})
			net = begin + b.Time
			ready[next] = max(ready[next], net)
		}
		left[next]--
	}
	return s
}

// End returns when a finite schedule ends.
func (s *Schedule) End(jobs []Job) model.Time {
	end := model.Time(0)
	for _, x := range s.Starts {
		if x.Bucket < 0 {
			end = max(end, x.At+jobs[x.Job].Compute)
		} else {
			end = max(end, x.At+jobs[x.Job].Buckets[x.Bucket].Time)
		}
	}
	return end
}

// Johnson returns the order of jobs that has the least makespan where each does one iteration,
// and has one bucket, ready at its end (Johnson, "Optimal two- and three-stage production
// schedules with setup times included", Naval Research Logistics Quarterly 1, 1954).
func Johnson(jobs []Job) []int {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	first := func(i int) bool { return jobs[i].Compute < jobs[i].Network() }
	slices.SortStableFunc(order, func(a, b int) int {
		switch fa, fb := first(a), first(b); {
		case fa && !fb:
			return -1
		case fb && !fa:
			return 1
		case fa:
			return cmp.Compare(jobs[a].Compute, jobs[b].Compute)
		}
		return cmp.Compare(jobs[b].Network(), jobs[a].Network())
	})
	return order
}

// Reorder returns the jobs in an order.
func Reorder(jobs []Job, order []int) []Job {
	list := make([]Job, len(order))
	for i, j := range order {
		list[i] = jobs[j]
	}
	return list
}

// MaxOrders is up to how many jobs BestRoundRobin tries all orders.
const MaxOrders = 8

// BestRoundRobin returns the order whose round robin has the least makespan, of all orders of
// up to MaxOrders jobs, and of Johnson's and the given one for more.
func BestRoundRobin(jobs []Job) []int {
	best, least := []int(nil), model.MaxTime
	try := func(order []int) {
		again := Reorder(jobs, order)
		if end := Finite(again, RoundRobin).End(again); end < least {
			best, least = slices.Clone(order), end
		}
	}
	if len(jobs) <= MaxOrders {
		Orders(len(jobs), try)
		return best
	}
	given := make([]int, len(jobs))
	for i := range given {
		given[i] = i
	}
	try(given)
	try(Johnson(jobs))
	return best
}

// Orders calls visit with every order of n things, in lexicographic order.
func Orders(n int, visit func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for {
		visit(order)
		i := n - 2
		for i >= 0 && order[i] > order[i+1] {
			i--
		}
		if i < 0 {
			return
		}
		k := n - 1
		for order[k] < order[i] {
			k--
		}
		order[i], order[k] = order[k], order[i]
		slices.Reverse(order[i+1:])
	}
}
