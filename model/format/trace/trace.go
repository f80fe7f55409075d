// Package trace reads what training runs write of themselves, and finds the jobs in it: how long
// an iteration computes and communicates, what of the communication is not hidden, which buffers
// are ready when, and which rank comes late. It reads
//
//   - timelines of Horovod (Sergeev and Del Balso, "Horovod: fast and easy distributed deep learning in
//     TensorFlow", 2018), as Chrome trace events;
//   - profiles of PyTorch (Kineto), as Chrome trace events;
//   - Chakra's execution traces, binary and as JSON (Sridharan et al., "Chakra: advancing performance
//     benchmarking and co-design using standardized execution traces", 2023), alone or in a tar file;
//   - PyTorch's execution traces;
//   - the table of Muri (Zhao et al., "Multi-resource interleaving for deep learning training",
//     SIGCOMM 2022);
//   - the log of StragglAR (Devraj et al., "Accelerating AllReduce with a persistent straggler", 2025);
//   - the collectives in logs of NCCL and RCCL.
//
// Any of them may be compressed with gzip. They are read as a stream: what is kept grows with the
// number of collectives and kernels, by a few ten bytes each, not with the size of the file. What a file that is cut off has is read,
// and a note tells so. What a format does not contain is absent, not 0.
//
// Medians are lower medians: of n sorted values that with the index ⌊(n−1)/2⌋.
package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Trace is what a file says.
type Trace struct {
	File   string
	Format string
	Rank   int // whose file it is; -1: of all ranks, or not said
	Ranks  int // of the run; 0: not said
	Jobs   []Job
	Values []Value      // all that was found, in the order in which it is to be read
	Calls  []Collective // of one rank's file: each collective with times, by its start
	Notes  model.Notes

	options Options
}

// Job is a training job as a file shows it. Times are medians over iterations, each by itself, so that
// Compute and Exposed need not add up to Period. A nil pointer is what the format does not contain.
type Job struct {
	Name       string
	Ranks      int         // 0: not said
	Iterations int         // that were counted
	Period     *model.Time // of an iteration
	Compute    *model.Time // length of the union of what computes
	Comm       *model.Time // length of the union of what communicates
	Exposed    *model.Time // of Comm, what does not run beside Compute
	Buckets    []Bucket    // of one iteration, in the order in which they are ready
	BucketsOf  *model.Time // how long that iteration computes; nil: not known
	Releases   []model.Time
	// Late is the rank that is usually the last; nil: not known.
	Late *Late
}

// Bucket is a buffer that is communicated as a whole.
type Bucket struct {
	Kind   string      // "allreduce"
	Bytes  int64       // as the tools count
	Offset *model.Time // since the end of the iteration before, or the beginning of the step: when it is ready, or, in profiles, begins at the latest
	Comm   *model.Time
	// Computed is how much of BucketsOf was done at Offset; nil: not known.
	Computed *model.Time
}

// Late is a rank that comes last.
type Late struct {
	Rank       int
	Times, Of  int        // in how many iterations it was the last one, of how many
	AfterFirst model.Time // median
	AfterNext  model.Time // median: after the last but one
}

// Collective is a collective that was recorded with its times.
type Collective struct {
	Kind     string
	Bytes    int64 // 0: not said
	Group    int   // ranks; 0: not said
	Step     string
	Start    model.Time // since the beginning of the file
	Duration model.Time
}

// Value is a quantity as text.
type Value struct{ Name, Value, Unit string }

func (t *Trace) value(name, unit, format string, args ...any) {
	t.Values = append(t.Values, Value{name, fmt.Sprintf(format, args...), unit})
}

// Get returns the first value of a name, or "".
func (t *Trace) Get(name string) string {
	if i := slices.IndexFunc(t.Values, func(v Value) bool { return v.Name == name }); i >= 0 {
		return t.Values[i].Value
	}
	return ""
}

// maxElement is how many bytes an event, a node or a line may have.
const maxElement = 16 << 20

// Is reports whether a file may be a trace by its first bytes, decompressed: Read tells for certain.
func Is(head []byte) bool { return formatOf(head) != nil }

// reader reads a format.
type reader func(ctx context.Context, t *Trace, r *bufio.Reader) error

// formatOf recognises a format by the first bytes of a file.
func formatOf(head []byte) reader {
	text := bytes.TrimLeft(head, "\ufeff \t\r\n")
	switch {
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return readTar
	case bytes.HasPrefix(text, []byte("[")) && len(bytes.TrimLeft(text[1:], " \t\r\n")) > 0 && bytes.TrimLeft(text[1:], " \t\r\n")[0] == '{':
		return readEvents
	case bytes.HasPrefix(text, []byte("{")):
		return readObject
	case bytes.HasPrefix(text, []byte("job_id,")):
		return readMuri
	case bytes.Contains(head, []byte("NCCL INFO")):
		return readNCCL
	case bytes.Contains(head, []byte("| Step ")) && bytes.Contains(head, []byte("AR Time:")):
		return readStragglAR
	case isChakra(head):
		return readChakra
	}
	return nil
}

// Options choose what of a trace is counted. The zero value is all of it.
type Options struct {
	// First and Last are the iterations that medians are taken over, of a timeline of Horovod or a log of
	// StragglAR, counted from 0; 0 for First: the one after the first, which is warm-up; 0 for Last: the last
	// one.
	First, Last int
}

// ParseSteps reads the iterations that are counted, "1..23"; "" is all but the first.
func ParseSteps(text string) (o Options, err error) {
	if text == "" {
		return o, nil
	}
	first, last, ok := strings.Cut(text, "..")
	if ok {
		if o.First, err = strconv.Atoi(first); err == nil {
			o.Last, err = strconv.Atoi(last)
		}
	}
	if !ok || err != nil || o.First < 1 || o.Last < o.First {
		return Options{}, fmt.Errorf("%q: want two numbers, the first at least 1, such as 1..23", text)
	}
	return o, nil
}

// ByIteration reports whether the format has iterations that Options can choose from.
func (t *Trace) ByIteration() bool {
	return t.Format == horovodFormat || t.Format == stragglarFormat
}

const (
	horovodFormat   = "Horovod timeline"
	stragglarFormat = "StragglAR log"
)

// counts reports whether an iteration is counted.
func (o *Options) counts(i int) bool {
	return i >= max(1, o.First) && (o.Last == 0 || i <= o.Last)
}

// Read reads a file. The error of ctx ends it, with what was found so far in the result.
func Read(ctx context.Context, file string, in io.Reader, o Options) (*Trace, error) {
	t := &Trace{File: file, Rank: -1, options: o}
	r := bufio.NewReaderSize(in, 1<<16)
	if head, _ := r.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("%s: gzip: %w", file, err)
		}
		r = bufio.NewReaderSize(z, 1<<16)
	}
	head, err := r.Peek(1 << 16)
	if len(head) == 0 {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return nil, fmt.Errorf("%s: is empty, want a trace", file)
	}
	read := formatOf(head)
	if read == nil {
		return nil, fmt.Errorf("%s: is no trace that is known: want a timeline of Horovod, a profile or execution trace of PyTorch, Chakra's, Muri's table, or a log of StragglAR or NCCL", file)
	}
	if err := read(ctx, t, r); err != nil {
		return t, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// cutOff notes that a file ends early, and returns nil, if that is what is wrong.
func (t *Trace) cutOff(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum):
		t.Notes.Add(model.LeftOut, "what comes after the end of the file, which is cut off: what is found is of what is there")
		return nil
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// median returns the lower median of times, and false if there are none. It sorts them.
func median(list []model.Time) (model.Time, bool) {
	if len(list) == 0 {
		return 0, false
	}
	slices.Sort(list)
	return list[(len(list)-1)/2], true
}

// medianOf is median as a pointer.
func medianOf(list []model.Time) *model.Time {
	if m, ok := median(slices.Clone(list)); ok {
		return &m
	}
	return nil
}

// tally counts times. What it keeps grows with the number of different ones.
type tally struct {
	n      int
	sum    model.Time
	counts []counted    // ascending
	fresh  []model.Time // not yet in counts
}

type counted struct {
	at model.Time
	n  int
}

// add takes O(log n) time on average.
func (t *tally) add(at model.Time) {
	t.n, t.sum, t.fresh = t.n+1, t.sum+at, append(t.fresh, at)
	if len(t.fresh) >= max(1<<10, len(t.counts)) {
		t.merge()
	}
}

func (t *tally) merge() {
	slices.Sort(t.fresh)
	var all []counted
	for i, j := 0, 0; i < len(t.counts) || j < len(t.fresh); {
		var x counted
		if j == len(t.fresh) || i < len(t.counts) && t.counts[i].at <= t.fresh[j] {
			x = t.counts[i]
			i++
		} else {
			x = counted{t.fresh[j], 1}
			j++
		}
		if n := len(all); n > 0 && all[n-1].at == x.at {
			all[n-1].n += x.n
		} else {
			all = append(all, x)
		}
	}
	t.counts, t.fresh = all, t.fresh[:0]
}

// median returns the lower median, nil if there are no times.
func (t *tally) median() *model.Time {
	t.merge()
	before := 0
	for _, x := range t.counts {
		if before += x.n; before > (t.n-1)/2 {
			return &x.at
		}
	}
	return nil
}

// span is a time of use.
type span struct{ from, to model.Time }

// union sorts spans and joins those that touch.
func union(list []span) []span {
	slices.SortFunc(list, func(a, b span) int {
		if a.from != b.from {
			return int(min(max(a.from-b.from, -1), 1))
		}
		return int(min(max(a.to-b.to, -1), 1))
	})
	var out []span
	for _, s := range list {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// length returns the length of disjoint spans.
func length(list []span) (total model.Time) {
	for _, s := range list {
		total += s.to - s.from
	}
	return total
}

// overlap returns the length of what two unions share.
func overlap(a, b []span) (total model.Time) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		total += max(0, min(a[i].to, b[j].to)-max(a[i].from, b[j].from))
		if a[i].to < b[j].to {
			i++
		} else {
			j++
		}
	}
	return total
}

// in writes a time as a decimal number of a unit, with all its digits.
func in(t, unit model.Time) string {
	sign := ""
	if t < 0 {
		sign, t = "-", -t
	}
	whole, rest := t/unit, t%unit
	if rest == 0 {
		return fmt.Sprintf("%s%d", sign, whole)
	}
	digits := len(fmt.Sprint(int64(unit))) - 1
	text := fmt.Sprintf("%0*d", digits, rest)
	return fmt.Sprintf("%s%d.%s", sign, whole, bytes.TrimRight([]byte(text), "0"))
}

func us(t model.Time) string { return in(t, model.Microsecond) }

// decimal reads a decimal number, in units, as a time. More digits than picoseconds are cut off.
func decimal(text string, unit model.Time) (model.Time, bool) {
	sign := model.Time(1)
	if len(text) > 0 && text[0] == '-' {
		sign, text = -1, text[1:]
	}
	if len(text) == 0 {
		return 0, false
	}
	if bytes.ContainsAny([]byte(text), "eE") {
		var f float64
		if _, err := fmt.Sscanf(text, "%g", &f); err != nil || !(f >= 0) || f*float64(unit) > float64(model.MaxEnd) {
			return 0, false
		}
		return sign * model.Time(f*float64(unit)+0.5), true
	}
	var whole model.Time
	i := 0
	for ; i < len(text) && text[i] != '.'; i++ {
		if text[i] < '0' || text[i] > '9' || whole > model.MaxEnd/unit/16 {
			return 0, false
		}
		whole = 10*whole + model.Time(text[i]-'0')
	}
	if i == 0 {
		return 0, false
	}
	t := whole * unit
	if i < len(text) {
		for i++; i < len(text); i++ {
			if text[i] < '0' || text[i] > '9' {
				return 0, false
			}
			if unit /= 10; unit > 0 {
				t += model.Time(text[i]-'0') * unit
			}
		}
	}
	return sign * t, true
}

// base returns the part of a file's name by which it is told apart.
func base(file string) string { return filepath.Base(file) }
