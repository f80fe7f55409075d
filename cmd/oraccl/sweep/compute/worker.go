package compute

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model/table"
)

// Workers computes cells in processes of their own, one a worker, so that a cell that
// takes all memory, crashes a solver or does not end is a row with its reason, and not the
// end of the sweep. A worker ends when the process that started it does, however that ends.
type Workers struct {
	program string // "": in this process
	in      Cells
	running []*worker // by worker
}

// NewWorkers returns this many workers.
func NewWorkers(store *sweep.Store, n, threads int) *Workers {
	w := &Workers{in: Cells{Store: store, Threads: threads}, running: make([]*worker, n)}
	if program, err := os.Executable(); err == nil && !strings.HasSuffix(program, ".test") { // a binary of tests is no oraccl
		w.program = program
	}
	return w
}

// worker is a process that computes a cell after the other.
type worker struct {
	cmd     *exec.Cmd
	cells   io.WriteCloser
	rows    chan table.Row // closed when the process has ended
	errs    firstLine
	scratch string // its temporary directory
}

// Compute has a worker compute a cell.
func (w *Workers) Compute(ctx context.Context, i int, c *sweep.Cell) table.Row {
	if w.program == "" {
		return w.in.Compute(ctx, i, c)
	}
	r := c.Row()
	r.Status = table.Failed
	if w.running[i] == nil {
		started, err := startWorker(w.program, w.in.Store.Dir(), w.in.Threads)
		if err != nil {
			r.Reason = fmt.Sprintf("no process to compute it in: %v", err)
			return r
		}
		w.running[i] = started
	}
	x := w.running[i]
	var late <-chan time.Time
	if c.CellLimit > 0 {
		timer := time.NewTimer(c.CellLimit)
		defer timer.Stop()
		late = timer.C
	}
	_, _ = io.WriteString(x.cells, c.Text()+"\n") // what is wrong is seen below
	select {
	case row, ok := <-x.rows:
		if ok {
			return row
		}
		r.Reason = "the process that computed it died: " + x.end(grace)
		select { // of what ends all processes at once, this one may hear later; then there is no row
		case <-ctx.Done():
		case <-time.After(grace / 10):
		}
	case <-late:
		x.end(0)
		r.Reason = fmt.Sprintf("not done in %v, the limit of a cell", c.CellLimit)
	case <-ctx.Done():
		x.end(grace)
	}
	w.running[i] = nil
	return r
}

// grace is how long a worker has to end when it is told to: less than the program itself
// has.
const grace = session.Patience * 2 / 3

// Close ends all workers.
func (w *Workers) Close() {
	for _, x := range w.running {
		if x != nil {
			x.end(grace)
		}
	}
}

// rowsAt is the file descriptor to which a worker writes rows: whatever a solver prints,
// it is not among them.
const rowsAt = 3

// startWorker starts a process in a group of its own: Ctrl-C on a terminal is for the
// process that started it.
func startWorker(program, dir string, threads int) (*worker, error) {
	scratch, err := os.MkdirTemp("", "oraccl-")
	if err != nil {
		return nil, err
	}
	x := &worker{cmd: exec.Command(program, "sweep", "worker", "--dir", dir, "--threads", strconv.Itoa(threads), "--scratch", scratch), rows: make(chan table.Row), scratch: scratch}
	apart(x.cmd)
	x.cmd.Env = append(os.Environ(), "TMPDIR="+scratch)
	x.cmd.Stderr = &x.errs
	out, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	x.cmd.ExtraFiles = []*os.File{in} // the first one is rowsAt
	if x.cells, err = x.cmd.StdinPipe(); err == nil {
		err = x.cmd.Start()
	}
	err = errors.Join(err, in.Close())
	if err != nil {
		return nil, errors.Join(err, out.Close(), os.RemoveAll(scratch))
	}
	go func() {
		defer close(x.rows)
		defer out.Close()
		for d := json.NewDecoder(out); ; {
			var r table.Row
			if d.Decode(&r) != nil {
				_, _ = io.Copy(io.Discard, out)
				return
			}
			x.rows <- r
		}
	}()
	return x, nil
}

// end ends the process, at the latest after the given time, and says how it ended.
func (x *worker) end(within time.Duration) string {
	_ = x.cells.Close()
	kill := time.AfterFunc(within, func() { _ = x.cmd.Process.Kill() })
	for range x.rows { // until it has closed its output
	}
	err := x.cmd.Wait()
	kill.Stop()
	_ = os.RemoveAll(x.scratch)
	text := "it ended"
	if err != nil {
		text = err.Error()
	}
	if line := x.errs.line(); line != "" {
		text += ": " + line
	}
	return text
}

// firstLine keeps the beginning of what a process says of its death.
type firstLine struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the beginning of what is written.
func (l *firstLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := 1000 - len(l.text); room > 0 {
		l.text = append(l.text, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

func (l *firstLine) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(l.text)), "\n")
	return line
}

// ErrInterrupted is the error of Work when nobody waits for its rows any more.
var ErrInterrupted = errors.New("interrupted")

// Work is the process in which a worker computes cells: cells in, a line each, rows out. It
// ends when its input does, and calls end if something keeps it from that. scratch is a
// temporary directory of its own, which it removes.
func Work(ctx context.Context, store *sweep.Store, threads int, scratch string, end func()) error {
	// Who ends it closes its input: a signal to all processes is for the one that started it.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	feed := make(chan sweep.Cell)
	go func() { // the end of the input is the end of whom the rows are for
		defer close(feed)
		defer stop()
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadBytes('\n')
			var c sweep.Cell
			if err != nil || json.Unmarshal(line, &c) != nil {
				time.AfterFunc(grace, func() { // a solver may not listen
					_ = os.RemoveAll(scratch)
					end()
				})
				return
			}
			feed <- c
		}
	}()
	defer os.RemoveAll(scratch)
	x := &Cells{Store: store, Threads: threads}
	out := json.NewEncoder(os.NewFile(rowsAt, "rows"))
	for c := range feed {
		r := x.Compute(ctx, 0, &c)
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		if err := out.Encode(r); err != nil {
			return errors.New("nobody reads the rows")
		}
	}
	return nil
}
