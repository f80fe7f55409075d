package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/table"
)

// Evidence is what a cell with proofs keeps beside its row.
type Evidence struct {
	Schedule    []byte // the document with the proved schedule; nil: there is none
	Certificate []byte // the document with the certificate of the bound; nil: there is none
	Proof       string // the file with the proof that the certificate names; "": it names none
}

// withProofs returns the same cell with proofs.
func (c *Cell) withProofs() *Cell {
	with := *c
	with.Proofs = true
	return &with
}

// PutEvidence keeps the evidence of a cell, for Put to keep its row after it: a row that is
// there has its evidence, whenever a process ends.
func (s *Store) PutEvidence(c *Cell, e Evidence) error {
	if e.Schedule != nil {
		if err := s.put("schedules", c.Key(), e.Schedule); err != nil {
			return err
		}
	}
	if e.Proof != "" {
		if err := s.putProof(c, e.Proof); err != nil {
			return err
		}
	}
	if e.Certificate != nil {
		return s.put("certificates", c.Key(), e.Certificate)
	}
	return nil
}

// putProof copies a proof.
func (s *Store) putProof(c *Cell, from string) error {
	in, err := files.Open(context.Background(), from)
	if err != nil {
		return err
	}
	defer in.Close()
	name := s.Proof(c)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("the sweep's directory: %w", located(err))
	}
	return s.replaceBy(name, func(f *os.File) error {
		_, err := io.Copy(f, in)
		return err
	})
}

// Schedule returns the document with the schedule of a cell with proofs, or nil.
func (s *Store) Schedule(c *Cell) ([]byte, error) { return s.get("schedules", c.Key()) }

// Certificate returns the document with the certificate of a cell with proofs, or nil.
func (s *Store) Certificate(c *Cell) ([]byte, error) { return s.get("certificates", c.Key()) }

// Proof returns the name of the file with the proof that the certificate of a cell with proofs
// names. Its sum is in the certificate.
func (s *Store) Proof(c *Cell) string {
	key := c.Key()
	return filepath.Join(s.dir, "refutations", key[:2], key+".lrat")
}

// hasEvidence reports whether there is the evidence that a row needs: a schedule if it is
// proved, a certificate if it has a bound, and the proof that such a certificate names.
func (s *Store) hasEvidence(c *Cell, r *table.Row) (bool, error) {
	if r.Status == table.Proved {
		if b, err := s.Schedule(c); err != nil || b == nil {
			return false, err
		}
	}
	if r.BoundPs > 0 {
		if b, err := s.Certificate(c); err != nil || b == nil {
			return false, err
		}
	}
	if r.Bound == (model.Refutation{}).Kind() {
		switch _, err := os.Stat(s.Proof(c)); {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("the sweep's directory: %w", located(err))
		}
	}
	return true, nil
}
