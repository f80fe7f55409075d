package sweep

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/table"
)

// Store is a directory that keeps cells: DIR/cells/ab/abcd….json, one file a finished
// cell. A file is written under another name, made durable and renamed, so that it is
// there whole or not at all; and it ends in a checksum of itself, so that one that a disk
// or a file system damaged all the same counts as missing. Any number of processes, on
// any number of machines that share the directory, may use it at once.
//
// DIR/bounds keeps certificates likewise, and DIR/claims the locks of running cells. Of cells
// with proofs DIR/schedules and DIR/certificates keep the documents likewise, and
// DIR/refutations the proofs in the format LRAT that certificates name.
type Store struct {
	dir  string
	tool string // the version of the program, for the record

	// write writes b to f; tests put a full disk here.
	write func(f *os.File, b []byte) error
}

// Open returns the store in dir, which it makes if need be.
func Open(dir, tool string) (*Store, error) {
	for _, sub := range []string{"cells", "bounds", "claims"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("the sweep's directory: %w", located(err))
		}
	}
	return &Store{dir: dir, tool: tool, write: func(f *os.File, b []byte) error { _, err := f.Write(b); return err }}, nil
}

// Dir returns the directory.
func (s *Store) Dir() string { return s.dir }

// kept is what the file of a cell says.
type kept struct {
	Cell json.RawMessage `json:"cell"`
	Row  table.Row       `json:"row"`
	Tool string          `json:"tool"`
}

// Put keeps the row of a finished cell. When it returns nil, the cell survives whatever
// happens to the process, and to the machine, if its disk keeps what it was told to.
func (s *Store) Put(c *Cell, r *table.Row) error {
	b, err := json.Marshal(kept{json.RawMessage(c.Text()), *r, s.tool})
	if err != nil {
		return err
	}
	return s.put("cells", c.Key(), b)
}

// Get returns the row of a cell, and whether there is one. A file that is damaged, or
// that belongs to another cell, is as good as none. The row of a cell with proofs is none
// without them; and it serves the same cell without proofs.
func (s *Store) Get(c *Cell) (table.Row, bool, error) {
	r, ok, err := s.row(c)
	if err != nil || ok || c.Proofs {
		return r, ok, err
	}
	return s.row(c.withProofs())
}

// row is Get for the cell as it is.
func (s *Store) row(c *Cell) (table.Row, bool, error) {
	b, err := s.get("cells", c.Key())
	if err != nil || b == nil {
		return table.Row{}, false, err
	}
	var k kept
	if json.Unmarshal(b, &k) != nil || string(k.Cell) != c.Text() {
		return table.Row{}, false, nil
	}
	if c.Proofs {
		if ok, err := s.hasEvidence(c, &k.Row); err != nil || !ok {
			return table.Row{}, false, err
		}
	}
	return k.Row, true, nil
}

// Has reports whether a cell is kept.
func (s *Store) Has(c *Cell) (bool, error) {
	_, ok, err := s.Get(c)
	return ok, err
}

// Missing returns those of the cells that are not kept.
func (s *Store) Missing(cells []Cell) ([]Cell, error) {
	var missing []Cell
	for i := range cells {
		ok, err := s.Has(&cells[i])
		if err != nil {
			return nil, err
		}
		if !ok {
			missing = append(missing, cells[i])
		}
	}
	return missing, nil
}

// Forget drops the rows of those of the cells that ended in one of the states.
func (s *Store) Forget(cells []Cell, states ...table.Status) error {
	for i := range cells {
		r, ok, err := s.Get(&cells[i])
		if err != nil {
			return err
		}
		if ok && slices.Contains(states, r.Status) {
			if err := s.Drop(&cells[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Drop drops the row of a cell, also that with proofs if it serves c.
func (s *Store) Drop(c *Cell) error {
	for _, c := range []*Cell{c, c.withProofs()} {
		if err := os.Remove(s.path("cells", c.Key())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the sweep's directory: %w", located(err))
		}
	}
	return nil
}

// PutBound keeps a certificate under the text of the problem that it bounds.
func (s *Store) PutBound(problem string, certificate []byte) error {
	return s.put("bounds", boundKey(problem), certificate)
}

// GetBound returns the certificate that is kept for a problem, or nil.
func (s *Store) GetBound(problem string) ([]byte, error) { return s.get("bounds", boundKey(problem)) }

func boundKey(problem string) string {
	return hash(fmt.Sprintf("bound %d %d %s", format, Results, problem))
}

func (s *Store) path(kind, key string) string {
	return filepath.Join(s.dir, kind, key[:2], key+".json")
}

// sum is the line with which a file ends.
func sum(b []byte) []byte {
	h := sha256.Sum256(b)
	return []byte(hex.EncodeToString(h[:]) + "\n")
}

func (s *Store) put(kind, key string, b []byte) error {
	name := s.path(kind, key)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("the sweep's directory: %w", located(err))
	}
	b = append(bytes.TrimRight(b, "\n"), '\n')
	return s.replace(name, append(b, sum(b)...))
}

func (s *Store) get(kind, key string) ([]byte, error) {
	b, err := files.ReadRegular(context.Background(), s.path(kind, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the sweep's directory: %w", err)
	}
	cut := bytes.LastIndexByte(bytes.TrimSuffix(b, []byte("\n")), '\n') + 1
	if !bytes.Equal(sum(b[:cut]), b[cut:]) {
		return nil, nil
	}
	return b[:cut], nil
}

// replace writes a file, whole or not at all.
func (s *Store) replace(name string, b []byte) error {
	return s.replaceBy(name, func(f *os.File) error { return s.write(f, b) })
}

// replaceBy is replace for what a function writes.
func (s *Store) replaceBy(name string, write func(f *os.File) error) error {
	dir := filepath.Dir(name)
	r, err := files.Replace(name, "")
	if err != nil {
		return err
	}
	if err = write(r.File); err == nil {
		err = r.Sync()
	}
	if err := r.Commit(err); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("the sweep's directory: %w", located(err))
	}
	defer d.Close()
	_ = d.Sync() // some file systems cannot; the file is whole in any case
	return nil
}

// located is an error as "file: cause", without the system call.
func located(err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return fmt.Errorf("%s: %w", perr.Path, perr.Err)
	}
	return err
}

// Tables writes DIR/table.csv and DIR/table.jsonl, each whole or not at all.
func (s *Store) Tables(rows []table.Row, times bool) error {
	var text bytes.Buffer
	if err := table.WriteCSV(&text, rows, times); err != nil {
		return err
	}
	if err := s.replace(filepath.Join(s.dir, "table.csv"), text.Bytes()); err != nil {
		return err
	}
	text.Reset()
	if err := table.WriteJSONL(&text, rows, times); err != nil {
		return err
	}
	return s.replace(filepath.Join(s.dir, "table.jsonl"), text.Bytes())
}

// Kept is a row with the cells, by their indices, that have the evidence for it.
type Kept struct {
	table.Row
	Cell      int // whose row it is
	Certified int // whose bound it is
}

// Rows returns the rows of the cells that are kept, in the order of cells. Rows of one
// instance whose cut is given share the best bound that any of its cells certifies: it
// holds for all of them. The caller sees to it that no proved makespan is below one.
func (s *Store) Rows(cells []Cell) ([]Kept, error) {
	var rows []Kept
	var at []string // the instance of each row
	best := map[string]*Kept{}
	for i := range cells {
		r, ok, err := s.Get(&cells[i])
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		instance := ""
		if cells[i].Chunks > 0 {
			instance = cells[i].instance()
		}
		k := Kept{Row: r, Cell: i, Certified: i}
		rows, at = append(rows, k), append(at, instance)
		if b := best[instance]; instance != "" && r.BoundPs > 0 && (b == nil || r.BoundPs > b.BoundPs) {
			best[instance] = &k
		}
	}
	for i := range rows {
		if b := best[at[i]]; b != nil { // the instance is one, also where a cell did not get that far
			rows[i].BoundPs, rows[i].Bound, rows[i].Ranks, rows[i].Certified = b.BoundPs, b.Bound, b.Ranks, b.Cell
		}
	}
	return rows, nil
}

// sweepUp removes what was left behind by processes that were killed: files under other
// names that are older than any writer takes, and claims of cells that are kept.
func (s *Store) sweepUp() {
	for _, kind := range []string{"cells", "bounds", "schedules", "certificates", "refutations"} {
		_ = filepath.WalkDir(filepath.Join(s.dir, kind), func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), files.Unfinished) {
				if info, err := d.Info(); err == nil && old(info) {
					_ = os.Remove(name)
				}
			}
			return nil
		})
	}
	claims, _ := os.ReadDir(filepath.Join(s.dir, "claims"))
	for _, c := range claims {
		kind, key := "cells", c.Name()
		if bound, ok := strings.CutPrefix(key, "bound-"); ok {
			kind, key = "bounds", bound
		}
		if len(key) > 2 {
			if _, err := os.Stat(s.path(kind, key)); err == nil {
				_ = os.Remove(filepath.Join(s.dir, "claims", c.Name()))
			}
		}
	}
}
