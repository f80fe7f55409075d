package trace

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// profile is a kind of job in Muri's table.
type profile struct {
	name  string
	ranks int
	batch string
}

// readMuri reads Muri's table.
func readMuri(ctx context.Context, t *Trace, r *bufio.Reader) error {
	t.Format = "Muri's table"
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return err
	}
	at := map[string]int{}
	for i, name := range head {
		at[name] = i
	}
	columns := []string{"num_gpu", "submit_time", "iterations", "model_name", "batch_size", "iteration_time", "resource_time_0", "resource_time_1", "resource_time_2"}
	for _, name := range columns {
		if _, ok := at[name]; !ok {
			return fmt.Errorf("line 1: no column %s", name)
		}
	}
	profiles := map[profile]string{}
	conflicts := map[profile]bool{}
	gpus := map[int]int{}
	rows, total := 0, int64(0)
	var first, last model.Time
	for line := 2; ; line++ {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		get := func(name string) string { return row[at[name]] }
		n, err1 := strconv.Atoi(get("num_gpu"))
		times, err2 := strconv.ParseInt(get("iterations"), 10, 64)
		submit, ok := decimal(get("submit_time"), 1) // in ms, which may be many
		if err1 != nil || err2 != nil || !ok || n < 1 || n > model.MaxNodes {
			return fmt.Errorf("line %d: want numbers in num_gpu, submit_time and iterations", line)
		}
		if rows == 0 || submit < first {
			first = submit
		}
		last = max(last, submit)
		rows, total = rows+1, total+times
		gpus[n]++
		p := profile{get("model_name"), n, get("batch_size")}
		text := strings.Join([]string{get("iteration_time"), get("resource_time_0"), get("resource_time_1"), get("resource_time_2")}, " ")
		if old, ok := profiles[p]; ok && old != text {
			conflicts[p] = true
		}
		profiles[p] = text
	}
	t.value("rows", "", "%d", rows)
	t.value("first_submit", "ms", "%d", first)
	t.value("last_submit", "ms", "%d", last)
	var words []string
	for _, n := range slices.Sorted(maps.Keys(gpus)) {
		words = append(words, fmt.Sprintf("%d:%d", n, gpus[n]))
	}
	t.value("gpus", "", "%s", strings.Join(words, " "))
	t.value("total_iterations", "", "%d", total)
	t.value("profiles", "", "%d", len(profiles))
	t.value("profiles_with_more_than_one_value", "", "%d", len(conflicts))
	for _, p := range slices.SortedFunc(maps.Keys(profiles), func(a, b profile) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.ranks, b.ranks), cmp.Compare(a.batch, b.batch))
	}) {
		name := fmt.Sprintf("%s gpus %d batch %s", p.name, p.ranks, p.batch)
		t.value("profile "+name, "iteration, data, gpu, network in ms", "%s", profiles[p])
		var x [4]model.Time
		fields := strings.Fields(profiles[p])
		whole := len(fields) == len(x)
		for i := range x {
			if whole {
				x[i], whole = decimal(fields[i], model.Millisecond)
			}
		}
		if !whole {
			t.Notes.Add(model.LeftOut, "the times of %s: want four numbers", name)
			continue
		}
		t.Jobs = append(t.Jobs, Job{Name: name, Ranks: p.ranks, Iterations: 1, Period: &x[0], Compute: &x[2], Comm: &x[3]})
		if sum := x[1] + x[2] + x[3]; 2*sum < x[0] {
			t.Notes.Add(model.Fact, "%s: data, GPU and network take %s ms together, less than half of the iteration of %s ms: the figures may be wrong", name, in(sum, model.Millisecond), in(x[0], model.Millisecond))
		}
	}
	return nil
}
