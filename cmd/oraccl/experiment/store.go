package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/oraccl/oraccl/model/files"
)

// Store keeps what was computed, a file each, so that it is not computed again. The zero
// value keeps nothing.
type Store struct {
	dir, stamp string
	Kept, Made int // how many keys were there from before, and were computed
	counted    map[string]bool
	look       bool // nothing is computed: what is not kept is errMissing
}

// OpenStore returns a store in a directory, which it makes. Stamp names the program: what
// another one computed is not used.
func OpenStore(dir, stamp string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &Store{dir: dir, stamp: stamp}, nil
}

// cell is a file of the store.
type cell struct {
	Schema string          `json:"schema"` // oraccl/repro-cell/1
	Stamp  string          `json:"stamp"`
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
}

const cellSchema = "oraccl/repro-cell/1"

// keepIn returns what is kept under a key, or else what compute returns, which it keeps. Key
// names everything that the value depends on except for the program. A file that is damaged
// or of another program is computed again; an error of compute is not kept.
func keepIn[T any](s *Store, key string, compute func() (T, error)) (T, error) {
	var v T
	if s.dir == "" {
		return compute()
	}
	hash := sha256.Sum256([]byte(key))
	name := filepath.Join(s.dir, hex.EncodeToString(hash[:12])+".json")
	b, err := files.ReadRegular(context.Background(), name)
	switch {
	case err == nil:
		var c cell
		if json.Unmarshal(b, &c) == nil && c.Schema == cellSchema && c.Stamp == s.stamp && c.Key == key && json.Unmarshal(c.Value, &v) == nil {
			s.count(key, &s.Kept)
			return v, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return v, err
	}
	if s.look {
		return v, errMissing
	}
	if v, err = compute(); err != nil {
		return v, err
	}
	s.count(key, &s.Made)
	value, err := json.Marshal(v)
	if err == nil {
		b, err = json.Marshal(cell{cellSchema, s.stamp, key, value})
	}
	if err == nil {
		err = files.Write(name, func(w io.Writer) error { _, err := w.Write(b); return err })
	}
	if err != nil {
		return v, fmt.Errorf("what was computed cannot be kept: %w", err)
	}
	return v, nil
}

// count counts a key, once.
func (s *Store) count(key string, n *int) {
	if s.counted == nil {
		s.counted = map[string]bool{}
	}
	if !s.counted[key] {
		s.counted[key] = true
		*n++
	}
}
