package session

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve"
)

// progress knows what a verb is doing, and shows it on stderr as soon as some phase has taken
// two seconds, if stderr is a terminal.
type progress struct {
	lock   sync.Mutex
	lines  io.Writer // gets a line for each phase; nil: none
	bar    bar       // nil: nothing is shown
	method string    // that is running; "": none
	text   string    // what is being done
	since  time.Time // when that began
	shown  bool
	known  model.Time // a certified bound, if any
}

// bar is a line that is written again and again.
type bar interface {
	Describe(text string)
	Add(int) error
	Clear() error
}

// showAfter is how long a phase takes before anything is shown.
const showAfter = 2 * time.Second

// Show has p show what it knows on w, where that is a terminal, or with ORACCL_PROGRESS=lines
// write a line for each phase.
func (p *progress) Show(w io.Writer) {
	if os.Getenv("ORACCL_PROGRESS") == "lines" {
		p.lines = w
		return
	}
	if p.bar = onTerminal(w); p.bar == nil {
		return
	}
	go func() {
		for range time.Tick(200 * time.Millisecond) {
			p.show()
		}
	}()
}

// Quiet has p show nothing: the verb has a display of its own.
func (p *progress) Quiet() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.bar = nil
}

// show writes the line again.
func (p *progress) show() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.bar == nil || p.text == "" || !p.shown && time.Since(p.since) < showAfter {
		return
	}
	p.shown = true
	p.bar.Describe(p.line())
	_ = p.bar.Add(1)
}

// line returns what is being done, as text of one line whatever names are in it.
func (p *progress) line() string {
	return quote.Line(strings.TrimPrefix(p.method+": "+p.text, ": "))
}

// phase returns what is being done, in words.
func (p *progress) phase() string {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.text == "" {
		return "the program"
	}
	return p.line()
}

// Begin implements certify.Progress: a method starts.
func (p *progress) Begin(method string, o *solve.Options) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.method, p.known, p.text, p.since = method, o.Bound, "solving", time.Now()
	o.Progress = p.reached
}

// reached is told how far a method has come.
func (p *progress) reached(s solve.Progress) {
	text := s.Note
	if s.Incumbent > 0 {
		text += fmt.Sprintf("  incumbent %v", s.Incumbent)
	}
	p.lock.Lock()
	known := p.known
	p.lock.Unlock()
	if b := max(s.Bound, known); b > 0 {
		text += fmt.Sprintf("  bound %v", b)
		if s.Incumbent > 0 {
			text += fmt.Sprintf("  gap %v", model.GapOf(s.Incumbent, b))
		}
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.text = text
}

// Note implements certify.Progress: a phase is begun.
func (p *progress) Note(text string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.text, p.since = text, time.Now()
	if p.lines != nil {
		fmt.Fprintf(p.lines, "oraccl: %s\n", p.line())
	}
}

// End implements certify.Progress: the method has ended, or the verb prints.
func (p *progress) End() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.method = ""
	if p.bar != nil && p.shown {
		_ = p.bar.Clear()
	}
}
