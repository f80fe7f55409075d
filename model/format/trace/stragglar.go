package trace

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

var record = regexp.MustCompile(`Rank ([0-9]{1,6}) \| Step ([0-9]{1,9}) \| Forward Time: ([0-9.]+) ms \| Backward Time: ([0-9.]+) ms *\| Loss: \S+ \| Iteration Time: ([0-9.]+) ms \| AR Time: ([0-9.]+) ms \| AR Buffer Size: ([0-9.]+) KB`)

// step is what the ranks report of an iteration.
type step struct {
	compute, iteration, comm map[int]model.Time
}

// readStragglAR reads the log of StragglAR's training runs.
func readStragglAR(ctx context.Context, t *Trace, r *bufio.Reader) error {
	t.Format = stragglarFormat
	steps := map[int]*step{}
	ranks := map[int]bool{}
	records := 0
	buffer, cut := "", 0
	err := lines(ctx, r, func(line string) error {
		found := record.FindAllStringSubmatch(line, -1)
		if len(found) == 0 && strings.Contains(line, "AR Time") {
			cut++
		}
		for _, m := range found {
			var rank, n int
			_, _ = fmt.Sscan(m[1], &rank)
			_, _ = fmt.Sscan(m[2], &n)
			var x [4]model.Time
			whole := true
			for i := range x {
				v, ok := decimal(m[3+i], model.Millisecond)
				x[i], whole = v, whole && ok
			}
			if !whole {
				cut++
				continue
			}
			records++
			ranks[rank] = true
			if steps[n] == nil {
				steps[n] = &step{map[int]model.Time{}, map[int]model.Time{}, map[int]model.Time{}}
			}
			s := steps[n]
			s.compute[rank], s.iteration[rank], s.comm[rank] = x[0]+x[1], x[2], x[3]
			buffer = m[7]
		}
		return nil
	})
	if err = t.cutOff(err); err != nil {
		return err
	}
	if cut > 0 {
		t.Notes.Add(model.LeftOut, "%d records that are cut off or mixed with others", cut)
	}
	t.Ranks = len(ranks)
	whole := 0
	var counted []int
	for _, n := range slices.Sorted(maps.Keys(steps)) {
		if len(steps[n].comm) == len(ranks) {
			if whole++; t.options.counts(n) && len(ranks) > 1 {
				counted = append(counted, n)
			}
		}
	}
	t.value("records", "", "%d", records)
	t.value("steps", "", "%d", len(steps))
	t.value("steps_with_all_ranks", "", "%d", whole)
	t.value("buffer", "KB", "%s", buffer)
	// Step 0 is warm-up; the range goes on as long as the rank that is last is the same.
	lastOf := func(n int) int {
		last := -1
		for _, r := range slices.Sorted(maps.Keys(ranks)) {
			if last < 0 || steps[n].comm[r] <= steps[n].comm[last] {
				last = r
			}
		}
		return last
	}
	if len(counted) == 0 {
		t.Notes.Add(model.Fact, "no step with a record of every rank, after the first: there is no job to be found")
		return nil
	}
	for i, n := range counted {
		if lastOf(n) != lastOf(counted[0]) {
			counted = counted[:i]
			break
		}
	}
	late := lastOf(counted[0])
	t.value("range", "", "%d..%d (%d steps)", counted[0], counted[len(counted)-1], len(counted))
	t.value("last_rank", "", "%d:%d", late, len(counted))
	var comm, next, first, compute, iteration []model.Time
	releases := map[int][]model.Time{}
	for _, n := range counted {
		s := steps[n]
		most, second := model.Time(0), model.MaxTime
		slowest, longest := model.Time(0), model.Time(0)
		for r := range ranks {
			most = max(most, s.comm[r])
			slowest, longest = max(slowest, s.compute[r]), max(longest, s.iteration[r])
			if r != late {
				second = min(second, s.comm[r])
			}
		}
		comm = append(comm, s.comm[late])
		next = append(next, second-s.comm[late])
		first = append(first, most-s.comm[late])
		compute, iteration = append(compute, slowest), append(iteration, longest)
		for r := range ranks {
			releases[r] = append(releases[r], most-s.comm[r])
		}
	}
	ms := func(name, unit string, list []model.Time) model.Time {
		m, _ := median(list)
		t.value(name, unit, "%.2f", float64(m)/float64(model.Millisecond))
		return m
	}
	m := ms("allreduce_of_last_rank_median", "ms", comm)
	l := &Late{Rank: late, Times: len(counted), Of: len(counted)}
	l.AfterNext = ms("late_after_next_median", "ms", next)
	l.AfterFirst = ms("late_after_first_median", "ms", first)
	var release []model.Time
	for _, r := range slices.Sorted(maps.Keys(ranks)) {
		release = append(release, ms(fmt.Sprintf("release_rank_%d_median", r), "ms after the first", releases[r]))
	}
	c := ms("forward_plus_backward_max_over_ranks_median", "ms", compute)
	p := ms("iteration_median", "ms", iteration)
	job := Job{Name: base(t.File), Ranks: len(ranks), Iterations: len(counted), Period: &p, Compute: &c, Comm: &m, Releases: release, Late: l}
	if kb, ok := decimal(buffer, 1000); ok { // bytes, of thousands
		job.Buckets = []Bucket{{Kind: "allreduce", Bytes: int64(kb), Comm: &m}}
	}
	t.Jobs = append(t.Jobs, job)
	return nil
}

// lines hands the lines of a text to each.
func lines(ctx context.Context, r *bufio.Reader, each func(line string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<16), maxElement)
	for n := 0; s.Scan(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := each(s.Text()); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return s.Err()
}
