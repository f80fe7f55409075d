package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// progress shows on stderr how far long work has come, if stderr is a terminal.
type progress struct {
	mu     sync.Mutex
	bar    *progressbar.ProgressBar // nil: nothing is shown
	method string
	known  model.Time // a certified bound, if any
}

// newProgress returns a progress that writes to w where that is a terminal.
func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetElapsedTime(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSpinnerType(14))}
}

// Begin starts on a method and hooks into its options.
func (p *progress) Begin(method string, o *solve.Options) {
	p.method, p.known = method, o.Bound
	if p.bar == nil {
		return
	}
	o.Progress = p.show
	p.Note("solving")
}

func (p *progress) show(s solve.Progress) {
	text := s.Note
	if s.Incumbent > 0 {
		text += fmt.Sprintf("  incumbent %v", s.Incumbent)
	}
	if b := max(s.Bound, p.known); b > 0 {
		text += fmt.Sprintf("  bound %v", b)
		if s.Incumbent > 0 {
			text += fmt.Sprintf("  gap %v", model.GapOf(s.Incumbent, b))
		}
	}
	p.Note(text)
}

// Note implements reporter.
func (p *progress) Note(text string) {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.Describe(p.method + ": " + text)
	_ = p.bar.Add(1)
}

// End implements reporter.
func (p *progress) End() {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.bar.Clear()
}
