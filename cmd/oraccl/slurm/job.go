// Package slurm has an array of tasks of Slurm run this program: it writes the script, submits
// it, and waits for its end. What the tasks compute, and where they keep it, is the caller's.
package slurm

import (
	"bytes"
	"context"
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

	"github.com/oraccl/oraccl/model/files"
)

// Job is an array of tasks: a directory DIR/slurm/N with job.sh, the script for sbatch;
// task-I.out, what task I printed; job, the number that Slurm gave it, once it is submitted;
// and a file that lists what the tasks compute.
type Job struct {
	Dir string // absolute
	ID  string // Slurm's number, with ";cluster" if there are several; "" before it is submitted
}

// Script is what the tasks of a job run: this program with arguments.
type Script struct {
	Name  string   // of the job
	About string   // a line of comment
	Args  []string // of the program; for Part, CPUs and List a task puts its own in place
	Tasks []int    // their numbers, increasing
	Of    int      // how many parts there are; task I is part I of them
	List  string   // the name of the file that lists what the tasks compute
	Text  []byte   // what that file holds
}

// Arguments that differ between tasks, or machines.
const (
	Part = "\x00part" // I/N: the task's number, and how many parts there are
	CPUs = "\x00cpus" // how many cores Slurm gives the task
	List = "\x00list" // the path of the file that lists what the tasks compute
)

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

// NewJob writes the directory of a new job below dir.
func NewJob(dir string, s *Script) (*Job, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	work, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return newJob(dir, s, program, work)
}

// newJob is NewJob for tasks that run a program in the directory work.
func newJob(dir string, s *Script, program, work string) (*Job, error) {
	for _, name := range []string{dir, program, work} {
		if strings.ContainsAny(name, "\n\r\"\\") {
			return nil, fmt.Errorf("%q: a script for sbatch cannot name it: want no line ends, quotation marks and backslashes", name)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "slurm"), 0o755); err != nil {
		return nil, fmt.Errorf("the directory of jobs: %w", located(err))
	}
	j := &Job{}
	for n := 1; ; n++ {
		j.Dir = filepath.Join(dir, "slurm", strconv.Itoa(n))
		if err := os.Mkdir(j.Dir, 0o755); err == nil {
			break
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("the directory of jobs: %w", located(err))
		}
	}
	if err := j.write(s.List, s.Text); err != nil {
		return nil, err
	}
	return j, j.write("job.sh", []byte(j.script(s, program, work)))
}

// located is an error as "file: cause", without the system call.
func located(err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return fmt.Errorf("%s: %w", perr.Path, perr.Err)
	}
	return err
}

// File returns the path of one of the job's files.
func (j *Job) File(name string) string { return filepath.Join(j.Dir, name) }

// write writes a file, whole and durable, or not at all.
func (j *Job) write(name string, b []byte) error {
	r, err := files.Replace(j.File(name), "")
	if err != nil {
		return err
	}
	if _, err = r.Write(b); err == nil {
		err = r.Sync()
	}
	return r.Commit(err)
}

func (j *Job) script(s *Script, program, work string) string {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	words := quoted(program)
	for _, a := range s.Args {
		switch a {
		case Part:
			words += fmt.Sprintf(` "$SLURM_ARRAY_TASK_ID/%d"`, s.Of)
		case CPUs:
			words += ` "${SLURM_CPUS_PER_TASK:-1}"`
		case List:
			words += " " + quoted(j.File(s.List))
		default:
			words += " " + quoted(a)
		}
	}
	return fmt.Sprintf(`#!/bin/sh
#SBATCH --job-name=%s
#SBATCH --array=%s
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --chdir="%s"
#SBATCH --output="%s/task-%%a.out"
# %s. What is kept already is not computed again: this may be
# submitted as often as you like.
set -eu
exec %s
`, s.Name, ranges(s.Tasks), work, strings.ReplaceAll(j.Dir, "%", "%%"), s.About, words)
}

// ranges returns increasing numbers as sbatch reads them: "0-3,7".
func ranges(tasks []int) string {
	var list []string
	for i := 0; i < len(tasks); {
		j := i + 1
		for j < len(tasks) && tasks[j] == tasks[j-1]+1 {
			j++
		}
		text := strconv.Itoa(tasks[i])
		if j-i > 1 {
			text += "-" + strconv.Itoa(tasks[j-1])
		}
		list, i = append(list, text), j
	}
	return strings.Join(list, ",")
}

// submit hands the job to sbatch, with more arguments for it. What sbatch says goes into
// the error, whole.
func (j *Job) submit(ctx context.Context, args []string) error {
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
	return j.write("job", []byte(id+"\n"))
}

// Jobs returns the jobs that were submitted from a directory and that Slurm still has.
func Jobs(ctx context.Context, dir string) ([]*Job, error) {
	dir, err := filepath.Abs(dir)
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
		} else if alive {
			jobs = append(jobs, j)
		}
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

// LastWords returns the last line of what a task printed, and the file that has it.
func (j *Job) LastWords(task int) (file, line string) {
	file = j.File(fmt.Sprintf("task-%d.out", task))
	b, err := files.ReadRegular(context.Background(), file)
	if err != nil {
		return file, ""
	}
	text := strings.TrimSpace(string(b))
	return file, text[strings.LastIndexByte(text, '\n')+1:]
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
