package sweep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/strict"
	"github.com/oraccl/oraccl/model/files"
)

// Job is an array of Slurm tasks that computes cells: a directory DIR/slurm/N with
// cells.jsonl, the cells, a line each and in no telling order; job.sh, the script for sbatch; task-I.out, what task
// I printed; and job, the number that Slurm gave it, once it is submitted. Task I of T
// computes the lines I, I+T, I+2T and so on, and keeps each cell at once, so that a lost
// node loses what it was computing and nothing else.
type Job struct {
	Dir   string // absolute
	ID    string // Slurm's number, with ";cluster" if there are several; "" before it is submitted
	Cells []Cell
}

// maxArraySize is Slurm's default.
const maxArraySize = 1001

// ArraySize returns how many tasks an array may have, by the words of the controller, or
// Slurm's default where it does not answer.
func ArraySize(ctx context.Context) int {
	out, err := exec.CommandContext(ctx, "scontrol", "show", "config").Output()
	if err != nil {
		return maxArraySize
	}
	m := regexp.MustCompile(`(?m)^MaxArraySize\s*=\s*(\d+)`).FindSubmatch(out)
	if m == nil {
		return maxArraySize
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil || n < 1 {
		return maxArraySize
	}
	return n
}

// WriteJob writes the directory of a new job that computes cells in this many tasks: the
// program is run in the directory work, as "PROGRAM sweep cells FILE I/T --dir DIR".
func (s *Store) WriteJob(cells []Cell, tasks int, program, work string) (*Job, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{dir, program, work} {
		if strings.ContainsAny(name, "\n\r\"\\") {
			return nil, fmt.Errorf("%q: a script for sbatch cannot name it: want no line ends, quotation marks and backslashes", name)
		}
	}
	j := &Job{Cells: slices.Clone(cells)}
	// By their hashes, so that no task gets all cells of a slow method or a large size.
	slices.SortFunc(j.Cells, func(a, b Cell) int { return strings.Compare(a.Key(), b.Key()) })
	if err := os.MkdirAll(filepath.Join(dir, "slurm"), 0o755); err != nil {
		return nil, fmt.Errorf("the sweep's directory: %w", located(err))
	}
	for n := 1; ; n++ {
		j.Dir = filepath.Join(dir, "slurm", strconv.Itoa(n))
		if err := os.Mkdir(j.Dir, 0o755); err == nil {
			break
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("the sweep's directory: %w", located(err))
		}
	}
	var lines bytes.Buffer
	for i := range j.Cells {
		lines.WriteString(j.Cells[i].Text() + "\n")
	}
	if err := s.replace(j.File("cells.jsonl"), lines.Bytes()); err != nil {
		return nil, err
	}
	return j, s.replace(j.File("job.sh"), []byte(j.script(dir, tasks, program, work)))
}

// File returns the path of one of the job's files.
func (j *Job) File(name string) string { return filepath.Join(j.Dir, name) }

func (j *Job) script(dir string, tasks int, program, work string) string {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	return fmt.Sprintf(`#!/bin/sh
#SBATCH --job-name=oraccl-sweep
#SBATCH --array=0-%d
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --chdir="%s"
#SBATCH --output="%s/task-%%a.out"
# %d cells in %d tasks. What is kept already is not computed again: this may be
# submitted as often as you like.
set -eu
exec %s sweep cells %s "$SLURM_ARRAY_TASK_ID/%d" --dir %s --cpus "${SLURM_CPUS_PER_TASK:-1}"
`, tasks-1, work, strings.ReplaceAll(j.Dir, "%", "%%"), len(j.Cells), tasks, quoted(program), quoted(j.File("cells.jsonl")), tasks, quoted(dir))
}

// Submit hands the job to sbatch, with more arguments for it. What sbatch says goes into
// the error, whole.
func (s *Store) Submit(ctx context.Context, j *Job, args []string) error {
	cmd := exec.CommandContext(ctx, "sbatch", append(append([]string{"--parsable"}, args...), j.File("job.sh"))...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("sbatch: %w: %s", err, strings.TrimSpace(errs.String()+out.String()))
	}
	id := strings.TrimSpace(out.String())
	if !regexp.MustCompile(`^\d+(;\S+)?$`).MatchString(id) {
		return fmt.Errorf("sbatch: said %q, want the number of a job", strings.TrimSpace(id+" "+errs.String()))
	}
	j.ID = id
	return s.replace(j.File("job"), []byte(id+"\n"))
}

// Jobs returns the jobs that were submitted from this directory and that Slurm still has.
func (s *Store) Jobs(ctx context.Context) ([]*Job, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	found, err := files.Glob(dir, "slurm/*/job")
	if err != nil {
		return nil, err
	}
	var jobs []*Job
	for _, name := range found {
		id, err := files.ReadRegular(ctx, name)
		if err != nil {
			return nil, err
		}
		j := &Job{Dir: filepath.Dir(name), ID: strings.TrimSpace(string(id))}
		if alive, _, err := j.Alive(ctx); err != nil {
			return nil, err
		} else if !alive {
			continue
		}
		if j.Cells, err = ReadCells(ctx, j.File("cells.jsonl")); err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// Alive reports whether Slurm has tasks of the job that are not at their end, and why some of
// them do not begin, where that is not for want of free nodes. An error means that Slurm
// does not answer.
func (j *Job) Alive(ctx context.Context) (alive bool, waitsFor string, err error) {
	id, cluster, several := strings.Cut(j.ID, ";")
	args := []string{"--noheader", "--format=%i|%t|%r", "--jobs=" + id}
	if several {
		args = append(args, "--clusters="+cluster)
	}
	cmd := exec.CommandContext(ctx, "squeue", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	switch {
	case err != nil && strings.Contains(errs.String(), "Invalid job id"):
		return false, "", nil // it is so long at its end that Slurm has forgotten it
	case err != nil:
		return false, "", fmt.Errorf("squeue: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, id) {
			continue
		}
		alive = true
		if f := strings.Split(strings.TrimSpace(line), "|"); len(f) == 3 && f[1] == "PD" && !slices.Contains(patience, f[2]) {
			waitsFor = f[2]
		}
	}
	return alive, waitsFor, nil
}

// patience are the reasons to wait that end by themselves.
var patience = []string{"None", "Resources", "Priority", "JobArrayTaskLimit", "BeginTime", "Cleaning", "Prolog"}

// LastWords returns the end of what the task printed that had to compute the cell with
// the given index, of this many tasks.
func (j *Job) LastWords(cell, tasks int) (file, line string) {
	file = j.File(fmt.Sprintf("task-%d.out", cell%tasks))
	b, err := files.ReadRegular(context.Background(), file)
	if err != nil {
		return file, ""
	}
	text := strings.TrimSpace(string(b))
	return file, text[strings.LastIndexByte(text, '\n')+1:]
}

// ReadCells reads a file with a cell a line.
func ReadCells(ctx context.Context, name string) ([]Cell, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var cells []Cell
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, strict.MaxFile)
	for n := 1; lines.Scan(); n++ {
		var c Cell
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if c.Text() != lines.Text() {
			return nil, fmt.Errorf("%s:%d: a cell that is not in canonical form", name, n)
		}
		cells = append(cells, c)
	}
	return cells, lines.Err()
}

// Unchanged returns an error if a file that a cell names is no longer what it was.
func Unchanged(ctx context.Context, cells []Cell) error {
	now := make([]Cell, len(cells))
	copy(now, cells)
	for i := range now {
		now[i].Files = nil
	}
	if err := digests(ctx, now); err != nil {
		return err
	}
	for i := range cells {
		for name, sum := range cells[i].Files {
			if now[i].Files[name] != sum {
				return fmt.Errorf("%s: is not what it was when the sweep began; start the sweep again", name)
			}
		}
	}
	return nil
}

// Part returns the part i of n of cells: every n-th, from the i-th on.
func Part(cells []Cell, i, n int) []Cell {
	var part []Cell
	for ; i < len(cells); i += n {
		part = append(part, cells[i])
	}
	return part
}

// Arguments splits a string into arguments at blanks, as a shell does: what is between
// quotation marks, single or double, belongs together.
func Arguments(s string) ([]string, error) {
	var args []string
	var word strings.Builder
	in, quote := false, rune(0)
	for _, c := range s {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if in {
				args = append(args, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteRune(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q: a quotation mark %c without its other half", s, quote)
	}
	if in {
		args = append(args, word.String())
	}
	return args, nil
}
