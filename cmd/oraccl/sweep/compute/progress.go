package compute

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model/table"
)

// bar shows how many cells are done, and when the last one may be, if the output is
// a terminal.
type bar struct {
	bar   *progressbar.ProgressBar // nil: nothing is shown
	count map[table.Status]int
}

func newBar(w io.Writer, n int) *bar {
	b := &bar{count: map[table.Status]int{}}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && n > 0 {
		b.bar = progressbar.NewOptions(n, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetWidth(20))
		_ = b.bar.RenderBlank()
	}
	return b
}

// add counts a finished cell.
func (b *bar) add(r *table.Row) {
	b.count[r.Status]++
	if b.bar == nil {
		return
	}
	b.bar.Describe(fmt.Sprintf("%d proved, %d unsupported, %d failed", b.count[table.Proved], b.count[table.Unsupported], b.count[table.Failed]+b.count[table.Refuted]+b.count[table.Contradicted]))
	_ = b.bar.Add(1)
}

// addAll counts the cells of before that are not in left.
func (b *bar) addAll(store *sweep.Store, before, left []sweep.Cell) error {
	if b.bar == nil || len(before) == len(left) {
		return nil
	}
	missing := map[string]bool{}
	for i := range left {
		missing[left[i].Key()] = true
	}
	for i := range before {
		if missing[before[i].Key()] {
			continue
		}
		r, _, err := store.Get(&before[i])
		if err != nil {
			return err
		}
		b.add(&r)
	}
	return nil
}

func (b *bar) end() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}
