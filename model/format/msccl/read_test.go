package msccl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharedData is where samples that are not ours to keep may lie: the variable
// ORACCL_DATA, whose directory msccl has *.xml.
func sharedData(t *testing.T) []string {
	dir := os.Getenv("ORACCL_DATA")
	if dir == "" {
		t.Skip("left out: ORACCL_DATA does not name the directory of the shared data")
	}
	dir = filepath.Join(dir, "msccl")
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no files in %s", dir)
	return files
}

// TestReadDeployed reads files that people deployed, and tells which it cannot.
func TestReadDeployed(t *testing.T) {
	for _, file := range sharedData(t) {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		a, err := Read(file, bytes.NewReader(b))
		if err != nil {
			var s *SyntaxError
			require.ErrorAs(t, err, &s)
			t.Log(filepath.Base(file), s.Line, s.Message)
			continue
		}
		require.Equal(t, bytes.Count(b, []byte("<step ")), steps(a), file)
		require.Empty(t, a.lexical, file)
	}
}

func steps(a *Algo) int {
	n := 0
	for _, g := range a.GPUs {
		for _, tb := range g.TBs {
			n += len(tb.Steps)
		}
	}
	return n
}

// TestRead reads the project's own samples and finds everything on its line.
func TestRead(t *testing.T) {
	f, err := os.Open("testdata/exchange.xml")
	require.NoError(t, err)
	defer f.Close()
	a, err := Read("exchange.xml", f)
	require.NoError(t, err)
	require.Equal(t, "allreduce", a.Coll)
	require.Equal(t, 2, a.Ranks)
	require.True(t, a.InPlace)
	require.Equal(t, 2, a.GPUs[0].Line)
	require.Equal(t, 3, a.GPUs[0].TBs[0].Line)
	require.Equal(t, Step{Line: 4, Type: Send, Src: Input, Dst: Scratch, Count: 1, DepID: -1, Deps: -1}, a.GPUs[0].TBs[0].Steps[0])
	require.Equal(t, "rrc", a.GPUs[0].TBs[0].Steps[1].Type.String())
}

const right = `<algo name="a" proto="LL" coll="allreduce" nchannels="1" nchunksperloop="1" ngpus="1" inplace="1"><gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0"/></algo>`

// TestMalformed has one change in a right file each, the line where it must be
// found and a word that the message must have.
func TestMalformed(t *testing.T) {
	step := `<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>`
	with := func(step string) string {
		return strings.Replace(right, "/></algo>", ">\n<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"+step+"</tb></gpu></algo>", 1)
	}
	_, err := Read("right", strings.NewReader(with(step)))
	require.NoError(t, err)
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{"", 1, "empty"},
		{"\n\n  ", 3, "empty"},
		{"hello", 1, `before <algo> ("hello")`},
		{"Traceback\n" + right, 1, "before <algo>"},
		{right + "\nPass", 2, `after </algo> ("Pass")`},
		{right + "\n" + right, 2, "second document"},
		{with(step) + "\n</algo>", 4, "without an opening"},
		{with(step)[:len(with(step))-1], 3, "not closed"},
		{with(step)[:200], 3, "ends inside"},
		{strings.Replace(right, `nchannels="1"`, `nchannels="12.75"`, 1), 1, `nchannels="12.75" in <algo>, want a whole number`},
		{strings.Replace(right, `nchannels="1"`, `nchannels="99999999999"`, 1), 1, `want a whole number`},
		{strings.Replace(right, `nchannels="1"`, `nchannels=""`, 1), 1, `want a whole number`},
		{strings.Replace(right, `nchannels="1"`, `nchannels="0b1"`, 1), 1, `want a whole number`},
		{strings.Replace(right, `nchannels="1"`, `nchannels="1_0"`, 1), 1, `want a whole number`},
		{strings.Replace(right, `nchannels="1"`, `nchannels=1`, 1), 1, `not quoted`},
		{strings.Replace(right, `nchannels="1"`, `nchannels`, 1), 1, `no value`},
		{strings.Replace(right, `nchannels="1"`, `nchannels="1" nchannels="1"`, 1), 1, `twice`},
		{strings.Replace(right, `nchannels="1"`, `nchannels="1`, 1), 1, `in the tag`},
		{strings.Replace(right, `proto="LL"`, `proto="`+strings.Repeat("L", 5000)+`"`, 1), 1, `more than 4096 bytes`},
		{"<gpu/>", 1, "root element <gpu>"},
		{"<algo", 1, "ends inside"},
		{"<algo a", 1, "no value"},
		{"<algo a=", 1, "not quoted"},
		{"<", 1, "without a name"},
		{"< algo>", 1, "without a name"},
		{"<!-- open", 1, "comment is not closed"},
		{`<!DOCTYPE algo [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` + right, 1, "document type"},
		{"\x00", 1, "zero byte"},
		{strings.Repeat("<a>", 1000), 1, "root element"},
		{"<algo>" + strings.Repeat("<a>", 1000), 1, "nested more than 16"},
		{strings.Replace(right, "<gpu", "<"+strings.Repeat("g", 300), 1), 1, "more than 255 bytes"},
		{with(strings.Replace(step, `"s" src`, `"rrx" src`, 1)), 3, `instruction type "rrx"; want s, r, rcs`},
		{with(strings.Replace(step, `srcbuf="i"`, `srcbuf="x"`, 1)), 3, `srcbuf="x", want i, o or s`},
		{with(strings.Replace(step, `cnt="1"`, `cnt="one"`, 1)), 3, `cnt="one"`},
		{with("<step></tb>"), 3, "closing tag </tb>, want </step>"},
		{with("\n<?php?>"), 4, "processing instruction"},
	} {
		_, err := Read("f.xml", strings.NewReader(c.text))
		var s *SyntaxError
		require.ErrorAs(t, err, &s, "%q", c.text)
		require.Contains(t, s.Message, c.want, "%q", c.text)
		require.Equal(t, c.line, s.Line, "%q: %s", c.text, s.Message)
		require.Equal(t, fmt.Sprintf("f.xml:%d: %s", s.Line, s.Message), err.Error())
	}
}

// TestNumbers reads numbers as strtol with base 0 does.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]int{"7": 7, "+7": 7, "-7": -7, " 7": 7, "0x10": 16, "010": 8, "0": 0, "2147483647": 1<<31 - 1} {
		a, err := Read("f.xml", strings.NewReader(strings.Replace(right, `nchannels="1"`, `nchannels="`+text+`"`, 1)))
		require.NoError(t, err, text)
		require.Equal(t, want, a.Channels, text)
	}
}

// endless is a reader that fails late; what is wrong early must be found early.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	if e.read++; e.read > 100 {
		return 0, errors.New("read too far")
	}
	for i := range b {
		b[i] = "<algo>"[i%6]
	}
	return len(b), nil
}

// TestStops reads a document of endless nesting, and one of endless comment.
func TestStops(t *testing.T) {
	_, err := Read("f.xml", &endless{})
	require.ErrorContains(t, err, "nested more than")
	broken := errors.New("broken")
	_, err = Read("f.xml", io.MultiReader(strings.NewReader("<algo>"), failing{broken}))
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzRead looks for panics and for files that are read without an end.
func FuzzRead(f *testing.F) {
	f.Add([]byte(right))
	names, err := filepath.Glob("testdata/*.xml")
	require.NoError(f, err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Read("f.xml", bytes.NewReader(b))
		if err != nil {
			var s *SyntaxError
			require.ErrorAs(t, err, &s)
			require.Positive(t, s.Line)
			return
		}
		require.LessOrEqual(t, steps(a)*len("<step"), len(b))
	})
}
