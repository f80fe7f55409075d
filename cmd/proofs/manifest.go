package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model/files"
)

// manifest states what there is to check and what comes of it.
type manifest struct {
	Schema      string       `json:"schema"`
	Recorded    recorded     `json:"recorded"`
	Obligations []obligation `json:"obligations"`
	Refutations []refutation `json:"refutations"`
	Theorems    []theorem    `json:"theorems"`
	Documents   []documents  `json:"documents"`
}

// recorded is with which programs all came out as expected, and in which time.
type recorded struct {
	Z3      string  `json:"z3"`
	CVC5    string  `json:"cvc5"`
	CaDiCaL string  `json:"cadical"`
	Coq     string  `json:"coq"`
	OCaml   string  `json:"ocaml"`
	Seconds float64 `json:"seconds"`
}

// obligation is a file of two queries: whether the assumptions can hold, and whether the
// claim can be wrong.
type obligation struct {
	File   string   `json:"file"`
	Claim  string   `json:"claim"`
	Models string   `json:"models"` // package and function
	Expect []string `json:"expect"`
	Fails  bool     `json:"fails,omitempty"` // is meant to: the claim is false
}

// refutation is that the straggler's m chunks cannot reach all ranks in this many rounds.
type refutation struct {
	Ranks  int    `json:"ranks"`
	Chunks int    `json:"chunks"`
	Rounds int    `json:"rounds"`
	File   string `json:"file,omitempty"` // the certificate, if it is kept; else it is made again
}

// theorem is a headline theorem of the Coq development in the directory coq.
type theorem struct {
	File  string `json:"file"` // without its ending: Spread
	Name  string `json:"name"`
	Claim string `json:"claim"`
	Of    string `json:"of"` // the section of SPEC, or the lemma of package cert, that it is about
}

// documents are the files of a directory, and what the proved checker answers of them.
type documents struct {
	Dir     string         `json:"dir"`     // from the manifest's directory, with the directories in it
	Answers map[string]int `json:"answers"` // how often it gives which: "proved", "REFUTED", "not served: kind cut"

	// ChangedFrom are directories of certificates: the documents are copies of them that are changed
	// at random, and Dir is only a name.
	ChangedFrom []string `json:"changed_from,omitempty"`
}

const schema = "oraccl/proofs/1"

// readManifest reads and checks the manifest of a directory: every file with queries is
// named once, none is named that is not there, and nothing is expected that would let an
// empty claim pass.
func readManifest(dir string) (*manifest, error) {
	name := filepath.Join(dir, "manifest.json")
	b, err := files.ReadRegular(context.Background(), name)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	m := &manifest{}
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := m.check(dir); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func (m *manifest) check(dir string) error {
	if m.Schema != schema {
		return fmt.Errorf("schema %q, want %q", m.Schema, schema)
	}
	there := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".smt2") {
			rel, rerr := filepath.Rel(dir, path)
			there[filepath.ToSlash(rel)], err = true, rerr
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range m.Obligations {
		want := []string{"sat", "unsat"}
		if o.Fails {
			want = []string{"sat", "sat"}
		}
		switch {
		case !there[o.File]:
			return fmt.Errorf("%s: not there, or named twice", o.File)
		case !slices.Equal(o.Expect, want):
			return fmt.Errorf("%s: expects %v, want %v: that the assumptions can hold, and what the denied claim comes to", o.File, o.Expect, want)
		case o.Claim == "" || o.Models == "":
			return fmt.Errorf("%s: no claim, or nothing that it models", o.File)
		}
		delete(there, o.File)
	}
	for file := range there {
		return fmt.Errorf("%s: is there and not named", file)
	}
	if len(m.Obligations) == 0 || len(m.Refutations) == 0 {
		return fmt.Errorf("%d obligations and %d refutations, want some of both", len(m.Obligations), len(m.Refutations))
	}
	for _, r := range m.Refutations {
		if r.Ranks < 2 || r.Chunks < 1 {
			return fmt.Errorf("%d ranks and %d chunks, want two ranks and a chunk or more", r.Ranks, r.Chunks)
		}
		if want := r.Chunks + bits.Len(uint(r.Ranks-1)) - 2; r.Rounds != want {
			return fmt.Errorf("%s: want %d rounds, one fewer than m + ⌈log2 n⌉ - 1", r.name(), want)
		}
	}
	return nil
}

func (r refutation) name() string {
	return fmt.Sprintf("n=%d m=%d: not in %d rounds", r.Ranks, r.Chunks, r.Rounds)
}
