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
	"time"

	"github.com/oraccl/oraccl/model/files"
)

// Store keeps what was computed, a file each, so that it is not computed again. The zero
// value keeps nothing.
type Store struct {
	dir, stamp string
	Kept, Made int // how many keys were there from before, and were computed by this run
	counted    map[string]bool
	look       bool   // nothing is computed: what is not kept is errMissing
	proofs     string // the directory of the dossiers; "": none are kept

	// before is what was there when the workers of this run began to compute: files written since
	// are theirs, and count as made. nil: there were none.
	before written
}

// written holds when each file of a directory was written.
type written map[string]time.Time

// writtenIn returns what is in a directory; nothing if it does not exist.
func writtenIn(dir string) written {
	w := written{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			w[e.Name()] = info.ModTime()
		}
	}
	return w
}

// since reports whether a file was written after w was taken.
func (w written) since(name string) bool {
	if w == nil {
		return false
	}
	info, err := os.Stat(name)
	at, known := w[filepath.Base(name)]
	return err == nil && (!known || !info.ModTime().Equal(at))
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
	Proofs *string         `json:"proofs,omitempty"` // the SHA-256 of the manifest of what the value rests on, "" where that is nothing; nil: not kept
	Value  json.RawMessage `json:"value"`
}

const cellSchema = "oraccl/repro-cell/1"

// keepIn returns what is kept under a key, or else what compute returns, which it keeps. Key
// names everything that the value depends on except for the program. A file that is damaged
// or of another program is computed again; an error of compute is not kept. With
// proofs, which may be nil, compute writes what the value rests on there; what was kept without
// that, or with what is changed since, is computed again.
func keepIn[T any](s *Store, key string, proofs *foundation, compute func() (T, error)) (T, error) {
	var v T
	if s.dir == "" {
		return compute()
	}
	name := filepath.Join(s.dir, nameOf(key)+".json")
	b, err := files.ReadRegular(context.Background(), name)
	switch {
	case err == nil:
		var c cell
		if json.Unmarshal(b, &c) == nil && c.Schema == cellSchema && c.Stamp == s.stamp && c.Key == key && (proofs == nil || s.counted[key] || c.proves(proofs.dir)) && json.Unmarshal(c.Value, &v) == nil {
			if s.before.since(name) {
				s.count(key, &s.Made)
			} else {
				s.count(key, &s.Kept)
			}
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
	c := cell{Schema: cellSchema, Stamp: s.stamp, Key: key}
	if proofs != nil {
		c.Proofs = &proofs.sum
	}
	if c.Value, err = json.Marshal(v); err == nil {
		b, err = json.Marshal(c)
	}
	if err == nil {
		err = files.Write(name, func(w io.Writer) error { _, err := w.Write(b); return err })
	}
	if err != nil {
		return v, fmt.Errorf("what was computed cannot be kept: %w", err)
	}
	return v, nil
}

// foundation is where what a value rests on is.
type foundation struct {
	dir string
	sum string // the SHA-256 of the manifest that was written, "" where the value rests on nothing
}

// nameOf is a name for a key.
func nameOf(key string) string {
	hash := sha256.Sum256([]byte(key))
	return hex.EncodeToString(hash[:12])
}

// proves reports whether a directory has what the value rests on, as it was kept.
func (c *cell) proves(dir string) bool {
	return c.Proofs != nil && (*c.Proofs == "" || intact(dir, *c.Proofs))
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
