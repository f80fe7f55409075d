// Command oraccl-site writes a web page in which oraccl runs: a directory of static files that
// works on any host and from the file system. The page holds the command itself, built for
// WebAssembly, and runs command lines of it in a worker on files in memory, so that its verdicts
// are the command's. It asks the network for nothing; its policy forbids it.
//
// It is run in the top directory, needs xz, and takes some 30 seconds.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/oraccl/oraccl/cmd/licences"
	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/view"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
)

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
	//go:embed page/memory.js
	memoryJS string
	//go:embed page/lzma.js
	lzmaJS string
	//go:embed page/worker.js
	workerJS string
)

func main() {
	out := flag.String("o", "bin/site", "the directory to write")
	quick := flag.Bool("quick", false, "compress in two seconds instead of twenty, to a file a third larger")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	said, err := site(ctx, *out, *quick)
	if err != nil {
		fmt.Fprintf(os.Stderr, "oraccl-site: error: %v\n", err)
		os.Exit(2)
	}
	fmt.Print(said)
}

// site writes the directory and returns what it wrote, in words.
func site(ctx context.Context, out string, quick bool) (string, error) {
	tmp, err := os.MkdirTemp("", "oraccl-site-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	program, err := program(ctx, tmp)
	if err != nil {
		return "", err
	}
	packed, err := compress(ctx, program, quick)
	if err != nil {
		return "", err
	}
	if err := light(len(packed), quick); err != nil {
		return "", err
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	glue, err := files.ReadRegular(ctx, filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return "", err
	}
	all, err := licences.Of(ctx, "./cmd/oraccl", environment)
	if err != nil {
		return "", err
	}
	d, err := newData(ctx, ".", string(glue))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	if err := files.Write(filepath.Join(out, "LICENSES.txt"), func(w io.Writer) error { return licences.Write(w, all) }); err != nil {
		return "", err
	}
	if err := files.Write(filepath.Join(out, "index.html"), func(w io.Writer) error { return page(w, d, packed) }); err != nil {
		return "", err
	}
	return fmt.Sprintf("written to %s: index.html and LICENSES.txt; the program has %.1f MB, %.2f MB compressed\n", out, float64(len(program))/1e6, float64(len(packed))/1e6), nil
}

// environment is in what the program is built.
var environment = []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}

// small has the methods, the commands and what reads and writes files compiled without inlining, which takes 8 % off the compressed program.
// What verifies is as fast as ever.
func small() (flags []string) {
	for _, packages := range []string{"github.com/oraccl/oraccl/solve/...", "github.com/oraccl/oraccl/cmd/...", "github.com/oraccl/oraccl/model/format/...",
		"github.com/oraccl/oraccl/model/topo/...", "github.com/oraccl/oraccl/verify/dossier", "github.com/spf13/...", "go.yaml.in/...",
		"archive/...", "encoding/xml", "encoding/csv", "net/...", "regexp/...", "text/..."} {
		flags = append(flags, "-gcflags="+packages+"=-l")
	}
	return flags
}

// program builds the command for WebAssembly.
func program(ctx context.Context, tmp string) ([]byte, error) {
	file := filepath.Join(tmp, "oraccl.wasm")
	flags := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file}, small()...)
	build := exec.CommandContext(ctx, "go", append(flags, "./cmd/oraccl")...)
	build.Env = append(os.Environ(), environment...)
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build for js/wasm: %w: %s", err, bytes.TrimSpace(said))
	}
	return files.ReadRegular(ctx, file)
}

// most is how many bytes the compressed program may have: each visitor loads it.
const most = 4_000_000

// light returns an error if the compressed program has more bytes than a page may have. One that
// was compressed quickly may have a third more.
func light(packed int, quick bool) error {
	limit := most
	if quick {
		limit += most / 3
	}
	if packed > limit {
		return fmt.Errorf("the program has %d bytes compressed, want at most %d: leave out of it what no page runs, as cmd/oraccl/beyond_page.go does", packed, limit)
	}
	return nil
}

// compress returns what unlzma in lzma.js reads. xz does not write the length into its header,
// since it reads a pipe; here it stands there. Of the numbers of literal context and position bits those make this program smallest: by 18 kB than
// what xz does by itself.
func compress(ctx context.Context, program []byte, quick bool) ([]byte, error) {
	options := "preset=9e,lc=4,lp=0,pb=1"
	if quick {
		options = "preset=0,lc=4,lp=0,pb=1"
	}
	xz := exec.CommandContext(ctx, "xz", "--format=lzma", "--stdout", "--lzma1="+options)
	xz.Stdin = bytes.NewReader(program)
	var stderr bytes.Buffer
	xz.Stderr = &stderr
	packed, err := xz.Output()
	if err != nil {
		return nil, fmt.Errorf("xz, which compresses the program: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	if len(packed) < 13 {
		return nil, fmt.Errorf("xz wrote %d bytes, want a header of 13 and data", len(packed))
	}
	binary.LittleEndian.PutUint64(packed[5:], uint64(len(program)))
	return packed, nil
}

// data is what the page is told.
type data struct {
	Version      string            `json:"version"`
	Worker       string            `json:"worker"` // its script
	Explanations map[string]string `json:"explanations"`
	Collectives  []string          `json:"collectives"`
	Topologies   []string          `json:"topologies"` // some that can be named
	Examples     []example         `json:"examples"`
}

// example is a file to start from.
type example struct {
	Name  string            `json:"name"` // in links
	Group string            `json:"group"`
	Title string            `json:"title"`
	File  string            `json:"file"`
	Text  string            `json:"text"`
	Asked map[string]string `json:"asked,omitempty"` // beside it, by the page's fields
}

// newData reads the examples below the top directory, and puts all in place that does not change.
func newData(ctx context.Context, top, glue string) (*data, error) {
	d := &data{
		Version: built.Version(), Worker: memoryJS + lzmaJS + glue + workerJS, Explanations: map[string]string{},
		Topologies: []string{"ring:4", "ring:8", "full:8", "mesh:4x4", "torus:4x4", "torus:4x4x4", "hypercube:3", "fattree:4x4", "dragonfly:3x2x2", "dgx1", "dgx2", "dgxa100", "dgxa100:2", "dgxh100", "dgxh100:2", "mi250"},
	}
	for _, code := range verify.Codes() {
		e, _ := verify.Explain(code)
		d.Explanations[string(code)] = e.String()
	}
	for _, k := range model.Kinds() {
		if k != model.Custom {
			d.Collectives = append(d.Collectives, k.String())
		}
	}
	named := map[string]bool{}
	for _, e := range examples {
		text, err := e.text(ctx, top)
		if err != nil {
			return nil, err
		}
		name, file := e.code, e.code+".json"
		if e.file != "" {
			file = path.Base(e.file)
		}
		if base := strings.TrimSuffix(file, path.Ext(file)); name == "" {
			name = base
		} else if named[name] {
			name = base + "-" + name
		}
		named[name] = true
		d.Examples = append(d.Examples, example{Name: name, Group: e.group, Title: e.title, File: file, Text: text, Asked: e.asked})
	}
	return d, nil
}

// text returns what the example says: its file with its edits, or the schedule by which its code is
// explained.
func (e *offer) text(ctx context.Context, top string) (string, error) {
	if e.file == "" {
		x, ok := verify.Explain(verify.Code(e.code))
		if !ok || x.Example.Schedule == nil {
			return "", fmt.Errorf("the example %q has no file, and %q is not explained by a schedule", e.title, e.code)
		}
		var b strings.Builder
		err := native.WriteSolution(&b, &model.Solution{Problem: x.Example.Problem, Schedule: x.Example.Schedule})
		return b.String(), err
	}
	b, err := files.ReadRegular(ctx, filepath.Join(top, filepath.FromSlash(e.file)))
	if err != nil {
		return "", err
	}
	text := string(b)
	for i := 0; i+1 < len(e.edits); i += 2 {
		if n := strings.Count(text, e.edits[i]); n != 1 {
			return "", fmt.Errorf("%s: the example %q changes %q, which is there %d times, want once", e.file, e.title, e.edits[i], n)
		}
		text = strings.Replace(text, e.edits[i], e.edits[i+1], 1)
	}
	return text, nil
}

// page writes index.html. Its policy allows the script and style that it holds, WebAssembly, its
// worker, and in a frame the script and style of view's pages; and nothing else.
func page(w io.Writer, d *data, packed []byte) error {
	j, err := json.Marshal(d) // it escapes '<'
	if err != nil {
		return err
	}
	script, style := view.Sources()
	policy := strings.Join([]string{
		"default-src 'none'", "script-src " + source(pageJS) + " " + script + " 'wasm-unsafe-eval'", "style-src " + source(pageCSS) + " " + style,
		"worker-src blob:", "frame-src blob:", "img-src data:", "base-uri 'none'", "form-action 'none'",
	}, "; ")
	rest := pageHTML
	for _, part := range []struct{ mark, text string }{
		{"{{policy}}", policy}, {"{{css}}", pageCSS}, {"{{data}}", string(j)}, {"{{packed}}", base64.StdEncoding.EncodeToString(packed)}, {"{{js}}", pageJS},
	} {
		before, after, ok := strings.Cut(rest, part.mark)
		if !ok {
			return fmt.Errorf("the page has no %s", part.mark)
		}
		if _, err := io.WriteString(w, before+part.text); err != nil {
			return err
		}
		rest = after
	}
	_, err = io.WriteString(w, rest)
	return err
}

// source is a hash-source of a Content-Security-Policy.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
