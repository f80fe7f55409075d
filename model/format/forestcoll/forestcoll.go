// Package forestcoll reads the spanning trees that ForestColl writes as XML (Zhao et al.,
// "ForestColl: efficient collective communications on heterogeneous network fabrics",
// arXiv 2402.06787, and its published code): for each rank out-trees that carry its chunks
// to all others, each edge a path over switches. It decides what such a file means as a
// schedule on a given topology: an all-gather down the trees, a reduce-scatter up them, or
// an allreduce, first up and then down.
//
// The file has no bandwidths and no times. A schedule made of it has the order that the
// trees give and no more.
package forestcoll

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Tool is the name of those who write such files.
const Tool = "ForestColl"

// File is what a file says.
type File struct {
	Chunks int // of each rank
	Trees  []Tree
}

// Tree carries some of the chunks of its root to all ranks.
type Tree struct {
	Root   string
	Index  int
	Chunks int
	Sends  []Send
	Line   int
}

// Send is an edge of a tree.
type Send struct {
	Src, Dst string
	Path     []string // the nodes from Src to Dst, with both
	Line     int
}

// Limits on what is read, so that an absurd file is refused.
const (
	maxName   = 64
	maxPath   = 16
	maxSends  = 1 << 22
	maxChunks = 1 << 20
)

// Is reports whether an XML document is such a file: its root is an Algo with a number of
// chunks a node.
func Is(b []byte) bool {
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		t, err := d.Token()
		if err != nil {
			return false
		}
		if e, ok := t.(xml.StartElement); ok {
			_, has := attribute(e, "nchunkspernode")
			return e.Name.Local == "Algo" && has
		}
	}
}

func attribute(e xml.StartElement, name string) (string, bool) {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

// Read reads a file. Errors name the file and the line.
func Read(name string, b []byte) (*File, error) {
	r := &reader{d: xml.NewDecoder(bytes.NewReader(b))}
	if err := r.file(); err != nil {
		line, _ := r.d.InputPos()
		var syntax *xml.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("%s: line %d: %s", name, syntax.Line, syntax.Msg)
		}
		return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
	}
	return &r.f, nil
}

// reader walks through the document.
type reader struct {
	d     *xml.Decoder
	f     File
	sends int
}

func (r *reader) file() error {
	depth, ended := 0, false
	for {
		t, err := r.d.Token()
		if err == io.EOF && ended {
			return nil
		}
		if err != nil {
			return err
		}
		switch e := t.(type) {
		case xml.StartElement:
			want := []string{"Algo", "tree", "send"}
			if ended || depth >= len(want) || e.Name.Local != want[depth] {
				return fmt.Errorf("element %.40q, want an Algo of trees of sends, and one per file", e.Name.Local)
			}
			if err := r.element(e, depth); err != nil {
				return err
			}
			depth++
		case xml.EndElement:
			depth--
			ended = depth == 0
		case xml.CharData:
			if text := strings.TrimSpace(string(e)); text != "" {
				return fmt.Errorf("text %.40q, want elements", text)
			}
		}
	}
}

func (r *reader) element(e xml.StartElement, depth int) (err error) {
	line, _ := r.d.InputPos()
	switch depth {
	case 0:
		r.f.Chunks, err = number(e, "nchunkspernode")
		return err
	case 1:
		t := Tree{Line: line}
		if t.Root, err = name(e, "root"); err != nil {
			return err
		}
		if t.Chunks, err = number(e, "nchunks"); err != nil {
			return err
		}
		if s, has := attribute(e, "index"); has {
			if t.Index, err = strconv.Atoi(s); err != nil {
				return fmt.Errorf("index %.40q, want a whole number", s)
			}
		}
		r.f.Trees = append(r.f.Trees, t)
		return nil
	}
	s := Send{Line: line}
	if s.Src, err = name(e, "src"); err != nil {
		return err
	}
	if s.Dst, err = name(e, "dst"); err != nil {
		return err
	}
	s.Path = []string{s.Src, s.Dst}
	if path, has := attribute(e, "path"); has {
		s.Path = split(path)
	}
	switch {
	case len(s.Path) < 2 || len(s.Path) > maxPath || s.Path[0] != s.Src || s.Path[len(s.Path)-1] != s.Dst:
		return fmt.Errorf("path %.80q, want one from %s to %s of at most %d nodes", s.Path, s.Src, s.Dst, maxPath)
	case s.Src == s.Dst:
		return fmt.Errorf("send from %s to itself, want another", s.Src)
	}
	if r.sends++; r.sends > maxSends {
		return fmt.Errorf("more than %d sends, want at most that", maxSends)
	}
	t := &r.f.Trees[len(r.f.Trees)-1]
	t.Sends = append(t.Sends, s)
	return nil
}

func number(e xml.StartElement, key string) (int, error) {
	s, _ := attribute(e, key)
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 || v > maxChunks {
		return 0, fmt.Errorf("%s of %s is %.40q, want a whole number from 1 to %d", key, e.Name.Local, s, maxChunks)
	}
	return v, nil
}

func name(e xml.StartElement, key string) (string, error) {
	s, _ := attribute(e, key)
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxName {
		return "", fmt.Errorf("%s of %s is %.40q, want a node", key, e.Name.Local, s)
	}
	return s, nil
}

// split divides a path at the commas that are not within the parentheses of a name.
func split(path string) []string {
	var list []string
	depth, from := 0, 0
	for i, c := range path {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				list = append(list, strings.TrimSpace(path[from:i]))
				from = i + 1
			}
		}
	}
	return append(list, strings.TrimSpace(path[from:]))
}
