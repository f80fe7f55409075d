package experiment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/pareto"
	"github.com/oraccl/oraccl/solve/certify/proofs"
	"github.com/oraccl/oraccl/verify/dossier"
)

// ProofsDir is the directory, beside the report of an experiment, with a dossier for each
// result that its rows rest on.
const ProofsDir = "proofs"

// evidence is what a result rests on: an evaluation, or a frontier. The zero value is nothing.
type evidence struct {
	report   *certify.Report
	frontier *pareto.Frontier
}

// bound is the evidence of a certificate alone; nil is none.
func (e *evidence) bound(c *model.Certificate) {
	if c != nil {
		e.report = &certify.Report{Problem: c.Problem, Bound: c}
	}
}

var unreadable = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// label is the readable part of the name of a dossier: the instance, and what of it.
func (s spec) label(what string) string {
	words := []string{filepath.Base(s["topology"]), filepath.Base(s["collective"]), s["size"], what}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	label := strings.Trim(unreadable.ReplaceAllString(strings.Join(words, "-"), "-"), "-.")
	return label[:min(len(label), 80)]
}

// dossier returns the directory for what the result of a key rests on, "" where proofs are not
// kept. The sum of the key tells equal labels apart.
func (x *Runner) dossier(label, key string) string {
	if x.Store.proofs == "" {
		return ""
	}
	return filepath.Join(x.Store.proofs, label+"-"+nameOf(x.whole(key)))
}

// rests writes what the result of a key rests on, if proofs are kept.
func (x *Runner) rests(ctx context.Context, label, key string, e *evidence) error {
	dir := x.dossier(label, key)
	if dir == "" || x.Store.look {
		return nil
	}
	_, err := x.prove(ctx, dir, e)
	return err
}

// prove writes a dossier, whole or not at all, in the place of what is there, and returns the
// sum of its manifest; "" if the evidence is nothing.
func (x *Runner) prove(ctx context.Context, dir string, e *evidence) (string, error) {
	sum, err := x.replace(ctx, dir, e)
	if err != nil {
		return "", fmt.Errorf("proofs cannot be kept: %w", err)
	}
	return sum, nil
}

// replace is prove. A dossier that is the same is left alone, as other processes may read it.
func (x *Runner) replace(ctx context.Context, dir string, e *evidence) (string, error) {
	if err := dossier.Free(dir); err != nil {
		return "", err
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(parent, ".writing-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	made := filepath.Join(scratch, "made")
	switch {
	case e.frontier != nil:
		_, err = proofs.WriteFrontier(ctx, made, e.frontier, x.Scratch, built.Tool())
	case e.report != nil:
		err = proofs.Write(ctx, made, e.report, x.Scratch, built.Tool(), false)
	}
	if err != nil {
		return "", err
	}
	sum, err := manifestSum(made)
	if err != nil {
		return "", err
	}
	if sum != "" && intact(dir, sum) {
		return sum, nil
	}
	if err := os.Rename(dir, filepath.Join(scratch, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if sum == "" {
		return "", nil
	}
	if err := os.Rename(made, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return sum, nil // where another process was first, and wrote something else, the sum shows it
}

// manifestSum returns the SHA-256 of the manifest of a dossier, "" where there is no dossier.
func manifestSum(dir string) (string, error) {
	b, err := files.ReadRegular(context.Background(), filepath.Join(dir, dossier.ManifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), err
}

// intact reports whether a directory holds the dossier whose manifest has a sum, with each file
// as the manifest has it.
func intact(dir, sum string) bool {
	b, err := files.ReadRegular(context.Background(), filepath.Join(dir, dossier.ManifestName))
	if err != nil || fmt.Sprintf("%x", sha256.Sum256(b)) != sum {
		return false
	}
	m, err := dossier.ReadManifest(dossier.ManifestName, bytes.NewReader(b))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(m.Files, func(f dossier.File) bool {
		is, err := files.SHA256(context.Background(), filepath.Join(dir, f.File))
		return err != nil || is != f.SHA256
	})
}

// certificate returns the certificate of a bound from its dossier, so that the claims about a
// schedule can name it; nil where there is no bound, or proofs are not kept.
func (x *Runner) certificate(dir string, b bounded) (*model.Certificate, error) {
	if dir == "" || b.Kind == "" {
		return nil, nil
	}
	names, err := filepath.Glob(filepath.Join(globbed.Replace(dir), "bound-*.json"))
	if err == nil && len(names) != 1 {
		err = fmt.Errorf("%s: %d certificates, want one", dir, len(names))
	}
	if err != nil {
		return nil, err
	}
	text, err := files.ReadRegular(context.Background(), names[0])
	if err != nil {
		return nil, err
	}
	c, err := native.ReadCertificate(names[0], bytes.NewReader(text))
	if err == nil && (c.Bound != b.Bound || c.Witness.Kind() != b.Kind) {
		err = fmt.Errorf("%s: another certificate than that of the %s bound of %v", names[0], b.Kind, b.Bound)
	}
	return c, err
}

// dossiers returns how many dossiers are in a directory.
func dossiers(dir string) int {
	all, err := filepath.Glob(filepath.Join(globbed.Replace(dir), "*", dossier.ManifestName))
	if err != nil {
		panic(err) // the pattern is right
	}
	return len(all)
}

// globbed takes the meaning from what has one in a pattern.
var globbed = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// judge sets what is known below the makespan of a row of p: the bound of p, and what the
// method refutes, either of which may be nil.
func judge(p *model.Problem, found *certify.Row, bound, refuted *model.Certificate) {
	found.Known = certify.Known{Bound: bound}
	if len(p.Chunks) == 0 || !p.Collective.Cuttable() { // the bound is of every cut
		found.EveryCut = bound
	}
	if refuted != nil && (bound == nil || refuted.Bound > bound.Bound) {
		found.Bound = refuted
	}
	found.Refuted = refuted
}

// unproved returns what of the measures of an experiment no dossier holds, a sentence each.
func (f *File) unproved() (all []string) {
	for _, s := range f.Sections {
		for _, r := range s.Compute {
			if r.Measure == "" {
				continue
			}
			if m := measures()[r.Measure]; m.Beyond != "" {
				all = append(all, r.Measure+": "+m.Beyond)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
