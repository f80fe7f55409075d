//go:build cgo

package highs

import (
	"os"
	"testing"
	"time"

	lanl "github.com/lanl/highs"

	"github.com/oraccl/oraccl/solve/lp"
)

// SolveMPS solves the model that HiGHS itself reads from the MPS file of m.
func SolveMPS(m *lp.Model) (Result, error) {
	a, err := newArrays(m, Options{})
	if err != nil {
		return Result{}, err
	}
	f, err := os.CreateTemp("", "model-*.mps")
	if err != nil {
		return Result{}, err
	}
	defer os.Remove(f.Name())
	if err := m.WriteMPS(f); err != nil {
		return Result{}, err
	}
	if err := f.Close(); err != nil {
		return Result{}, err
	}
	raw := lanl.NewRawModel()
	if err := setOptions(raw, Options{}); err != nil {
		return Result{}, err
	}
	if err := raw.ReadModelFromFile(f.Name()); err != nil {
		return Result{}, err
	}
	s := &solver{raw: raw, h: pointer(raw)}
	if err := s.attach(m.NumColumns(), false); err != nil {
		return Result{}, err
	}
	defer s.close()
	res, err := s.result(a, <-s.start())
	a.finish(&res, Options{})
	return res, err
}

// Print has HiGHS print its log to standard output.
func Print(m *lp.Model) error {
	a, err := newArrays(m, Options{})
	if err != nil {
		return err
	}
	s, err := load(a, Options{})
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.raw.SetBoolOption("output_flag", true); err != nil {
		return err
	}
	<-s.start()
	return nil
}

// SetGrace sets the time that a solver is given to stop, until t ends.
func SetGrace(t *testing.T, d time.Duration) {
	old := grace
	grace = d
	t.Cleanup(func() { grace = old })
}
