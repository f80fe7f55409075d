// Package measured reads benchmarks of networks: the tables of nccl-tests and rccl-tests, of the OSU
// micro-benchmarks (osu_latency, osu_bw, osu_allreduce and the like), the matrices of CUDA's
// p2pBandwidthLatencyTest, and CSV with the columns src, dst, bytes, seconds.
package measured

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Sample is a measurement.
type Sample struct {
	Src, Dst int     // ranks; -1: of all of them
	Bytes    float64 // 0: of the shortest message
	Seconds  float64
	Where    string // "line 12"
}

// Table is what a file has.
type Table struct {
	File   string
	Tool   string  // who wrote it
	What   string  // "latency", "bandwidth", or "" for times of messages
	Factor float64 // of a collective: busbw over algbw; 0: it is of messages
	// Collective is the program of nccl-tests, without _perf, where one alone is named: "all_reduce", "sendrecv".
	Collective string
	// Samples of What "bandwidth" have the seconds of many messages in flight: their latency is hidden.
	Samples []Sample
	Runs    int // times a size is there at most
}

// maxSamples limits what is read.
const maxSamples = 1 << 20

// Read reads a file.
func Read(file string, in io.Reader) (*Table, error) {
	b, err := io.ReadAll(io.LimitReader(in, 256<<20))
	if err != nil {
		return nil, err
	}
	text := strings.TrimPrefix(string(b), "\ufeff")
	t := &Table{File: file}
	lines := strings.Split(text, "\n")
	switch {
	case strings.Contains(text, "algbw") && strings.Contains(text, "busbw"):
		err = t.nccl(lines)
	case strings.Contains(text, "# OSU "):
		err = t.osu(lines)
	case strings.Contains(text, "P2P") && strings.Contains(text, `D\D`):
		err = t.p2p(lines)
	case strings.Contains(strings.ToLower(lines[0]), "src") && strings.Contains(strings.ToLower(lines[0]), "seconds"):
		err = t.csv(text)
	default:
		err = errors.New("is no table that is known: want one of nccl-tests, rccl-tests, OSU or p2pBandwidthLatencyTest, or CSV with the columns src, dst, bytes, seconds")
	}
	if err == nil && len(t.Samples) == 0 {
		err = errors.New("no measurement in it")
	}
	if err == nil && len(t.Samples) > maxSamples {
		err = fmt.Errorf("%d measurements, want at most %d", len(t.Samples), maxSamples)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	count := map[float64]int{}
	for _, s := range t.Samples {
		if s.Src < 0 {
			count[s.Bytes]++
			t.Runs = max(t.Runs, count[s.Bytes])
		}
	}
	return t, nil
}

func good(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

// perf finds the names of the programs of nccl-tests and rccl-tests in what is printed beside a table.
var perf = regexp.MustCompile(`\b(all_reduce|all_gather|reduce_scatter|sendrecv|broadcast|reduce|alltoallv?|scatter|gather|hypercube)_perf`)

// launcher is what mpirun and others put before a line.
var launcher = regexp.MustCompile(`^(?:.*<stdout>:|\[?[0-9][0-9,]*\]?: )`)

// nccl reads rows of nccl-tests and rccl-tests: for out of place and in place the time in microseconds, algbw,
// busbw and errors, in the columns that the head of the table names. Heads of all versions are read, with and
// without redop and root. A row whose algbw is not its size over its time is in other columns than the head
// names, and an error.
func (t *Table) nccl(lines []string) error {
	t.Tool = "nccl-tests"
	var factors []float64
	var times []int // columns
	width := 0
	names := map[string]bool{}
	for n, line := range lines {
		for _, m := range perf.FindAllStringSubmatch(line, -1) {
			names[m[1]] = true
		}
		line = strings.TrimSpace(launcher.ReplaceAllString(line, ""))
		f := strings.Fields(strings.TrimLeft(line, "# "))
		if slices.Contains(f, "time") && slices.Contains(f, "algbw") && slices.Contains(f, "busbw") {
			times, width = nil, len(f)
			for i, name := range f {
				if name == "time" {
					times = append(times, i)
				}
			}
			continue
		}
		if len(f) < 5 || strings.HasPrefix(line, "#") {
			continue
		}
		size, err := strconv.ParseFloat(f[0], 64)
		if err != nil || size < 0 || math.IsInf(size, 0) || math.IsNaN(size) {
			continue
		}
		if times == nil {
			return fmt.Errorf("line %d: a row before the head of the table, which names its columns (size, count, type, …, time, algbw, busbw)", n+1)
		}
		if len(f) != width {
			if len(f) < width && n >= len(lines)-2 {
				break // cut off
			}
			return fmt.Errorf("line %d: %d columns, and the head names %d", n+1, len(f), width)
		}
		for _, at := range times {
			if at+2 >= len(f) || f[at] == "N/A" {
				continue
			}
			us, err1 := strconv.ParseFloat(f[at], 64)
			alg, err2 := strconv.ParseFloat(f[at+1], 64)
			bus, err3 := strconv.ParseFloat(f[at+2], 64)
			if err := errors.Join(err1, err2, err3); err != nil {
				return fmt.Errorf("line %d: want a time, algbw and busbw in columns %d to %d", n+1, at+1, at+3)
			}
			if size == 0 || !good(us) {
				continue
			}
			if rate := size / us * 1e-3; math.Abs(rate-alg) > 0.01+0.01*alg {
				return fmt.Errorf("line %d: algbw is %v GB/s, and %v bytes in %v us are %.2f", n+1, alg, size, us, rate)
			}
			t.Samples = append(t.Samples, Sample{-1, -1, size, us * 1e-6, fmt.Sprintf("line %d", n+1)})
			if alg >= 1 { // with digits enough
				factors = append(factors, bus/alg)
			}
		}
	}
	if len(names) == 1 {
		for name := range names {
			t.Collective = name
			t.Tool = "nccl-tests, " + name
		}
	}
	if len(factors) == 0 && t.Collective == "" {
		return errors.New("no row with a size, a time, algbw of 1 GB/s or more, and busbw: that tells the collective, where no name of a program (all_reduce_perf) does")
	}
	if len(factors) == 0 {
		factors = []float64{1} // of messages; of collectives their names tell
	}
	slices.Sort(factors)
	t.Factor = factors[len(factors)/2]
	return nil
}

var osuTitle = regexp.MustCompile(`# OSU (?:MPI|NCCL|MPI-CUDA|MPI-ROCM|\S+) *(.*?)(?: Test| v[0-9.]+|$)`)

// osu reads the tables of the OSU micro-benchmarks.
func (t *Table) osu(lines []string) error {
	title := ""
	bandwidth := false
	for n, line := range lines {
		if m := osuTitle.FindStringSubmatch(line); m != nil && title == "" {
			title = m[1]
			t.Tool = "OSU " + title
		}
		if strings.HasPrefix(line, "# Size") {
			bandwidth = strings.Contains(line, "Bandwidth")
		}
		f := strings.Fields(line)
		if len(f) < 2 || strings.HasPrefix(line, "#") {
			continue
		}
		size, err1 := strconv.ParseFloat(f[0], 64)
		value, err2 := strconv.ParseFloat(f[1], 64)
		if err1 != nil || err2 != nil || size < 0 || !good(value) {
			continue
		}
		s := Sample{-1, -1, size, value * 1e-6, fmt.Sprintf("line %d", n+1)}
		if bandwidth {
			t.What, s.Seconds = "bandwidth", size/(value*1e6)
		}
		if s.Bytes > 0 && good(s.Seconds) {
			t.Samples = append(t.Samples, s)
		}
	}
	collective := strings.ToLower(title)
	switch {
	case strings.Contains(collective, "allreduce"):
		t.Factor = 2
	case strings.Contains(collective, "allgather"), strings.Contains(collective, "alltoall"), strings.Contains(collective, "reduce_scatter"):
		t.Factor = 1
		return fmt.Errorf("%s: of the collectives of OSU only allreduce is read", title)
	}
	if strings.Contains(collective, "bi-directional") {
		return fmt.Errorf("%s: both directions together do not tell a link's bandwidth", title)
	}
	return nil
}

// p2p reads the matrices of p2pBandwidthLatencyTest: with peer access where there are such.
func (t *Table) p2p(lines []string) error {
	t.Tool = "p2pBandwidthLatencyTest"
	kind, enabled := "", false
	var latency, bandwidth []Sample
	var columns []int
	for n, line := range lines {
		switch {
		case strings.Contains(line, "Matrix"):
			kind, columns = "", nil
			enabled = strings.Contains(line, "P2P=Enabled")
			switch {
			case !enabled, strings.Contains(line, "Bidirectional"):
			case strings.Contains(line, "Latency"):
				kind = "latency"
			case strings.Contains(line, "Bandwidth"):
				kind = "bandwidth"
			}
			continue
		case kind == "":
			continue
		}
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if f[0] == `D\D` || f[0] == "GPU" {
			columns = nil
			for _, w := range f[1:] {
				c, err := strconv.Atoi(w)
				if err != nil || c < 0 || c > 1<<16 {
					return fmt.Errorf("line %d: column %q of a matrix", n+1, w)
				}
				columns = append(columns, c)
			}
			continue
		}
		row, err := strconv.Atoi(f[0])
		if err != nil || columns == nil || row < 0 || row > 1<<16 {
			kind = ""
			continue
		}
		for i, w := range f[1:] {
			v, err := strconv.ParseFloat(w, 64)
			if err != nil || i >= len(columns) || columns[i] == row || !good(v) {
				continue
			}
			s := Sample{Src: row, Dst: columns[i], Where: fmt.Sprintf("line %d", n+1)}
			if kind == "latency" {
				s.Seconds = v * 1e-6
				latency = append(latency, s)
			} else {
				s.Bytes, s.Seconds = 1e9, 1/v
				bandwidth = append(bandwidth, s)
			}
		}
	}
	if len(bandwidth) == 0 {
		return errors.New("no matrix of the unidirectional bandwidth with P2P=Enabled")
	}
	t.Samples = append(bandwidth, latency...)
	return nil
}

// csv reads rows of src, dst, bytes, seconds.
func (t *Table) csv(text string) error {
	t.Tool = "CSV"
	r := csv.NewReader(bufio.NewReader(strings.NewReader(text)))
	r.TrimLeadingSpace = true
	head, err := r.Read()
	if err != nil {
		return err
	}
	at := map[string]int{}
	for i, name := range head {
		at[strings.ToLower(strings.TrimSpace(name))] = i
	}
	for _, name := range []string{"src", "dst", "bytes", "seconds"} {
		if _, ok := at[name]; !ok {
			return fmt.Errorf("line 1: no column %s", name)
		}
	}
	for n := 2; ; n++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		src, err1 := strconv.Atoi(strings.TrimSpace(row[at["src"]]))
		dst, err2 := strconv.Atoi(strings.TrimSpace(row[at["dst"]]))
		size, err3 := strconv.ParseFloat(strings.TrimSpace(row[at["bytes"]]), 64)
		seconds, err4 := strconv.ParseFloat(strings.TrimSpace(row[at["seconds"]]), 64)
		if err := errors.Join(err1, err2, err3, err4); err != nil || src < 0 || dst < 0 || src == dst || size < 0 || !good(seconds) {
			return fmt.Errorf("line %d: want two different ranks, bytes, and seconds above zero", n)
		}
		t.Samples = append(t.Samples, Sample{src, dst, size, seconds, fmt.Sprintf("line %d", n)})
	}
}
