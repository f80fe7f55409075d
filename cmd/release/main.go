// Command release writes what people install: for each system an archive with static programs
// (oraccl without the solvers, and oraccl-check), the manual for man, completions for shells and
// the licences of what is in the programs; for the system that it runs on also one of oraccl
// with its solvers and the libraries that they need; and the SHA-256 sums of all archives. The
// same source gives the same bytes.
//
// It is run in the top directory. The Containerfile beside it makes an image of the archive with
// the solvers, from the source.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/oraccl/oraccl/cmd/licences"
	"github.com/oraccl/oraccl/model/files"
)

func main() {
	out := flag.String("o", "bin/release", "the directory to write")
	only := flag.String("only", "", "write these archives alone, such as linux-amd64,full, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := release(ctx, *out, *only, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "release: error: %v\n", err)
		os.Exit(2)
	}
}

// system is one for which programs are built.
type system struct{ os, arch string }

func (s system) String() string { return s.os + "-" + s.arch }

var systems = []system{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// full is the name of the archive with the solvers.
const full = "full"

// file is one in an archive.
type file struct {
	name string
	data []byte
	mode int64
}

// release writes the archives and their sums to a directory, and to w what it wrote.
func release(ctx context.Context, out, only string, w io.Writer) error {
	wanted := func(name string) bool {
		return only == "" || slices.Contains(strings.Split(only, ","), name)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "oraccl-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	texts, err := manual(ctx, tmp)
	if err != nil {
		return err
	}
	var sums []string
	archive := func(name, suffix string, list []file) error {
		slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
		top := "oraccl-" + name
		var b bytes.Buffer
		pack := tarball
		if suffix == ".zip" {
			pack = zipped
		}
		if err := pack(&b, top, list); err != nil {
			return fmt.Errorf("%s%s: %w", top, suffix, err)
		}
		target := top + suffix
		if err := files.Write(filepath.Join(out, target), func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
			return err
		}
		sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(b.Bytes()), target))
		_, err := fmt.Fprintf(w, "%-30s %5.1f MB\n", target, float64(b.Len())/1e6)
		return err
	}
	for _, s := range systems {
		if !wanted(s.String()) {
			continue
		}
		list, err := static(ctx, tmp, s)
		if err != nil {
			return err
		}
		suffix := ".tar.gz"
		if s.os == "windows" {
			suffix = ".zip"
		}
		if err := archive(s.String(), suffix, append(list, texts...)); err != nil {
			return err
		}
	}
	var missing error // what the full one lacks here keeps nobody from the others
	if wanted(full) {
		missing = func() error {
			list, err := withSolvers(ctx, tmp)
			if err != nil {
				return fmt.Errorf("%s is left out: %w", full, err)
			}
			here, err := host(ctx)
			if err != nil {
				return err
			}
			return archive(here.String()+"-"+full, ".tar.gz", append(list, texts...))
		}()
	}
	if len(sums) == 0 && missing == nil {
		return fmt.Errorf("-only %s: names no archive, want some of %v, %s", only, systems, full)
	}
	err = files.Write(filepath.Join(out, "SHA256SUMS"), func(w io.Writer) error { _, err := io.WriteString(w, strings.Join(sums, "")); return err })
	return errors.Join(err, missing)
}

// run runs a program and returns what it prints.
func run(ctx context.Context, environment []string, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// host is the system that this runs on.
func host(ctx context.Context) (system, error) {
	b, err := run(ctx, nil, "go", "env", "GOHOSTOS", "GOHOSTARCH")
	if err != nil {
		return system{}, err
	}
	words := strings.Fields(string(b))
	return system{words[0], words[1]}, nil
}

// built builds a command and returns it as a file of bin.
func built(ctx context.Context, tmp, command, suffix string, environment []string, flags ...string) (file, error) {
	to := filepath.Join(tmp, "program")
	args := append(append([]string{"build", "-trimpath"}, flags...), "-o", to, "./cmd/"+command)
	if _, err := run(ctx, nil, "git", "status", "--porcelain"); err != nil {
		args = slices.Insert(args, 1, "-buildvcs=false")
	}
	if _, err := run(ctx, environment, "go", args...); err != nil {
		return file{}, err
	}
	b, err := files.ReadRegular(ctx, to)
	return file{"bin/" + command + suffix, b, 0o755}, err
}

// static builds the programs without cgo.
func static(ctx context.Context, tmp string, s system) ([]file, error) {
	environment := []string{"CGO_ENABLED=0", "GOOS=" + s.os, "GOARCH=" + s.arch}
	suffix := ""
	if s.os == "windows" {
		suffix = ".exe"
	}
	var list []file
	for _, command := range []string{"oraccl", "oraccl-check"} {
		f, err := built(ctx, tmp, command, suffix, environment, "-ldflags=-s -w")
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	l, err := licencesOf(ctx, environment, nil)
	return append(list, l), err
}

// withSolvers builds the program with its solvers, and puts the libraries beside it that are not
// of the C library.
func withSolvers(ctx context.Context, tmp string) ([]file, error) {
	environment := []string{"CGO_ENABLED=1"}
	ours, err := highs(ctx)
	if err != nil {
		return nil, err
	}
	f, err := built(ctx, tmp, "oraccl", "", environment, `-ldflags=-s -w -buildid= -linkmode=external -extldflags "-Wl,-rpath,$ORIGIN/../lib -Wl,--build-id=none"`)
	if err != nil {
		return nil, err
	}
	check, err := built(ctx, tmp, "oraccl-check", "", []string{"CGO_ENABLED=0"}, "-ldflags=-s -w")
	if err != nil {
		return nil, err
	}
	list := []file{f, check}
	program := filepath.Join(tmp, "with-solvers")
	if err := os.WriteFile(program, f.data, 0o755); err != nil {
		return nil, err
	}
	out, err := run(ctx, nil, "ldd", program)
	if err != nil {
		return nil, err
	}
	others := []licences.Licence{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[1] != "=>" || ofC(words[0]) {
			continue
		}
		if words[2] == "not" {
			return nil, fmt.Errorf("ldd: %s is not found", words[0])
		}
		b, err := files.ReadRegular(ctx, words[2])
		if err != nil {
			return nil, err
		}
		list = append(list, file{"lib/" + words[0], b, 0o755})
		l, err := ofPackage(ctx, words[0], words[2])
		if err != nil {
			return nil, err
		}
		others = append(others, l)
	}
	l, err := licencesOf(ctx, environment, append(others, ours))
	return append(list, l), err
}

// ofC reports whether a library is one of the C library, which every Linux has.
func ofC(name string) bool {
	for _, prefix := range []string{"libc.", "libm.", "libpthread.", "libdl.", "librt.", "ld-linux"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// ofPackage returns the licence of a library by the package that it is from.
func ofPackage(ctx context.Context, name, library string) (licences.Licence, error) {
	real, err := filepath.EvalSymlinks(library)
	if err != nil {
		return licences.Licence{}, err
	}
	for _, file := range []string{library, real, strings.TrimPrefix(real, "/usr")} { // as the package names it
		out, err := run(ctx, nil, "dpkg", "-S", file)
		if err != nil {
			continue
		}
		pkg, _, _ := strings.Cut(string(out), ":")
		b, err := files.ReadRegular(ctx, filepath.Join("/usr/share/doc", pkg, "copyright"))
		return licences.Licence{Of: name + ", of the package " + pkg, Text: string(b)}, err
	}
	return licences.Licence{}, fmt.Errorf("%s is of no package, so that its licence is not known", library)
}

// highs returns the licence of HiGHS, which is linked into the program: what the set-up put
// beside it, or that of Debian's package.
func highs(ctx context.Context) (licences.Licence, error) {
	prefix, err := run(ctx, nil, "pkg-config", "--variable=pcfiledir", "highs")
	if err != nil {
		return licences.Licence{}, err
	}
	beside := filepath.Join(strings.TrimSpace(string(prefix)), "..", "..", "share", "doc", "highs", "LICENSE.txt")
	for _, name := range []string{beside, "/usr/share/doc/libhighs-dev/copyright"} {
		if files.Exists(name) {
			b, err := files.ReadRegular(ctx, name)
			return licences.Licence{Of: "HiGHS", Text: string(b)}, err
		}
	}
	return licences.Licence{}, fmt.Errorf("the licence of HiGHS, without which it is not given to others, is neither %s, where the set-up puts it when it builds HiGHS, nor that of the package libhighs-dev", filepath.Clean(beside))
}

// licencesOf is the file of the licences of both programs, and of others.
func licencesOf(ctx context.Context, environment []string, others []licences.Licence) (file, error) {
	all, err := licences.Of(ctx, "./cmd/oraccl", environment)
	if err != nil {
		return file{}, err
	}
	var b bytes.Buffer
	err = licences.Write(&b, append(all, others...))
	return file{"LICENSES.txt", b.Bytes(), 0o644}, err
}

// manual returns the pages for man and the completions, as the program itself writes them.
func manual(ctx context.Context, tmp string) ([]file, error) {
	if _, err := built(ctx, tmp, "oraccl", "", []string{"CGO_ENABLED=0"}); err != nil {
		return nil, err
	}
	program := filepath.Join(tmp, "program")
	var list []file
	add := func(name string, args ...string) error {
		b, err := run(ctx, nil, program, args...)
		list = append(list, file{name, b, 0o644})
		return err
	}
	if err := add("share/man/man1/oraccl.1", "man"); err != nil {
		return nil, err
	}
	verbs := []string{}
	for line := range strings.Lines(string(list[0].data)) {
		if verb, ok := strings.CutPrefix(line, ".B oraccl "); ok && !strings.HasPrefix(verb, "help ") {
			verbs = append(verbs, strings.TrimSpace(strings.ReplaceAll(verb, `\`, "")))
		}
	}
	for _, verb := range verbs {
		if err := add("share/man/man1/oraccl-"+strings.ReplaceAll(verb, " ", "-")+".1", append([]string{"man"}, strings.Fields(verb)...)...); err != nil {
			return nil, err
		}
	}
	for shell, name := range map[string]string{"bash": "share/bash-completion/completions/oraccl", "zsh": "share/zsh/site-functions/_oraccl", "fish": "share/fish/vendor_completions.d/oraccl.fish", "powershell": "share/oraccl.ps1"} {
		if err := add(name, "completion", shell); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// epoch is the time of all files in archives, so that equal files make equal archives.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func tarball(w io.Writer, top string, list []file) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range list {
		if err := t.WriteHeader(&tar.Header{Name: path.Join(top, f.name), Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func zipped(w io.Writer, top string, list []file) error {
	z := zip.NewWriter(w)
	for _, f := range list {
		h := &zip.FileHeader{Name: path.Join(top, f.name), Method: zip.Deflate, Modified: epoch}
		h.SetMode(os.FileMode(f.mode))
		e, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := e.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
