package driver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/verify/dossier"
)

// damagedError is the error for a cell whose evidence is not what its row states.
type damagedError struct {
	cell *sweep.Cell
	why  string
}

// Error names the cell.
func (e *damagedError) Error() string {
	return fmt.Sprintf("%s %s %s: the proofs that are kept are damaged: %s", e.cell.Label(), e.cell.Collective, e.cell.Method, e.why)
}

// tableProofs writes the dossier of a table: each instance once, each schedule, and each
// certificate once.
type tableProofs struct {
	*dossier.Writer
	store    *sweep.Store
	cells    []sweep.Cell
	problems map[table.Instance]string // files by the instance, without method and seed
	inputs   map[string]string         // files by what they hold
	bounds   map[[sha256.Size]byte]string
}

// writeTableProofs writes DIR/proofs, whole or not at all: what the rows of a table rest on. An
// error is a *damagedError if a cell's evidence is not what its row states.
func writeTableProofs(ctx context.Context, store *sweep.Store, cells []sweep.Cell, rows []sweep.Kept, times bool) error {
	if err := sweep.Unchanged(ctx, cells); err != nil {
		return err
	}
	dir := filepath.Join(store.Dir(), dossier.ProofsDir)
	unfinished := dir + ".new"
	if err := os.RemoveAll(unfinished); err != nil { // of a process that was killed
		return err
	}
	w, err := dossier.Create(unfinished, built.Tool())
	if err != nil {
		return err
	}
	x := &tableProofs{Writer: w.Until(ctx), store: store, cells: cells, problems: map[table.Instance]string{}, inputs: map[string]string{}, bounds: map[[sha256.Size]byte]string{}}
	plain := make([]table.Row, len(rows))
	for i := range rows {
		plain[i] = rows[i].Row
		if err := x.add(ctx, i+1, &rows[i]); err != nil {
			return err
		}
	}
	if err := x.Table(plain, times); err != nil {
		return err
	}
	if err := x.Close(); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(unfinished, dir)
}

// add claims the n-th row.
func (x *tableProofs) add(ctx context.Context, n int, r *sweep.Kept) error {
	c := &x.cells[r.Cell]
	row := dossier.Row{Instance: c.Instance}
	if r.Ranks > 0 {
		if err := x.problem(ctx, c, &row); err != nil {
			return err
		}
	}
	if r.Status == table.Proved {
		if err := x.schedule(c, fmt.Sprintf("schedule-%d.json", n), r, &row); err != nil {
			return err
		}
	}
	if r.BoundPs > 0 {
		if err := x.certificate(ctx, &x.cells[r.Certified], r, &row); err != nil {
			return err
		}
	}
	x.Row(row)
	return nil
}

// problem adds the problem of a cell, and the files that its words name.
func (x *tableProofs) problem(ctx context.Context, c *sweep.Cell, row *dossier.Row) error {
	read := topologies.Files{Context: ctx}
	if c.Whole != "" {
		p, err := read.Problem(c.Whole)
		if err != nil {
			return err
		}
		if row.WholeFile, err = x.input("whole", func(w io.Writer) error { return native.WriteProblem(w, p) }); err != nil {
			return err
		}
	}
	if _, file, ok := instance.Spelled(c.Collective); ok && c.Files[file] != "" && c.Files[c.Collective] == "" {
		b, err := files.Read(ctx, file)
		if err != nil {
			return err
		}
		if row.SizesFile, err = x.input("sizes", func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
	}
	if c.Whole == "" && c.Files[c.Topology] != "" {
		t, err := read.Topology(c.Topology, c.Alpha, c.Bandwidth)
		if err != nil {
			return err
		}
		if row.TopologyFile, err = x.input("topology", func(w io.Writer) error { return native.WriteTopology(w, t) }); err != nil {
			return err
		}
	}
	if c.Whole == "" && c.Files[c.Collective] != "" {
		k, err := read.Collective(c.Collective)
		if err != nil {
			return err
		}
		if row.CollectiveFile, err = x.input("collective", func(w io.Writer) error { return native.WriteCollective(w, k) }); err != nil {
			return err
		}
	}
	words := c.Instance
	words.Method, words.Seed = "", 0
	if row.Problem = x.problems[words]; row.Problem != "" {
		return nil
	}
	p, err := c.Problem(ctx)
	if err != nil {
		return err
	}
	row.Problem = fmt.Sprintf("problem-%d.json", len(x.problems)+1)
	x.problems[words] = row.Problem
	return x.Problem(row.Problem, p, "")
}

// input adds a file that a row names, once.
func (x *tableProofs) input(what string, write func(io.Writer) error) (string, error) {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return "", err
	}
	if file := x.inputs[text.String()]; file != "" {
		return file, nil
	}
	ext := map[bool]string{true: "csv", false: "json"}[what == "sizes"]
	file := fmt.Sprintf("%s-%d.%s", what, len(x.inputs)+1, ext)
	x.inputs[text.String()] = file
	return file, x.Input(file, write)
}

// schedule adds the schedule of a proved row.
func (x *tableProofs) schedule(c *sweep.Cell, file string, r *sweep.Kept, row *dossier.Row) error {
	b, err := x.store.Schedule(c)
	if err != nil {
		return err
	}
	s, err := native.ReadSolution("schedule", bytes.NewReader(b))
	if err != nil {
		return &damagedError{c, err.Error()}
	}
	if end := s.Problem.Makespan(s.Schedule); end != r.MakespanPs || len(s.Schedule.Transfers) != r.Transfers || s.Origin.Method != r.Method || s.Origin.Seed != r.Seed {
		return &damagedError{c, "another schedule than the row's"}
	}
	row.Schedule = file
	return x.Schedule(file, row.Problem, s, false)
}

// certificate adds the certificate of a row's bound, once, with the proof that it names under a
// name of its own.
func (x *tableProofs) certificate(ctx context.Context, c *sweep.Cell, r *sweep.Kept, row *dossier.Row) error {
	b, err := x.store.Certificate(c)
	if err != nil {
		return err
	}
	key := sha256.Sum256(append([]byte(row.Problem+"\n"), b...))
	if row.Certificate = x.bounds[key]; row.Certificate != "" {
		return nil
	}
	k, err := native.ReadCertificate("certificate", bytes.NewReader(b))
	if err != nil {
		return &damagedError{c, err.Error()}
	}
	if k.Bound != r.BoundPs || k.Witness.Kind() != r.Bound {
		return &damagedError{c, "another certificate than that of the row's bound"}
	}
	name := fmt.Sprintf("bound-%d", len(x.bounds)+1)
	proof := ""
	if w, ok := k.Witness.(model.Refutation); ok {
		proof = x.store.Proof(c)
		sum, err := files.SHA256(ctx, proof)
		if err != nil {
			return err
		}
		if sum != w.SHA256 {
			return &damagedError{c, "another proof than the one that its certificate names"}
		}
		w.Proof = name + ".lrat"
		k.Witness = w
	}
	row.Certificate = name + ".json"
	x.bounds[key] = row.Certificate
	return x.Certificate(ctx, row.Certificate, row.Problem, k, proof)
}
