package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/stream"
)

// deployFlags are the flags of verify for MSCCL-IR.
type deployFlags struct {
	inPlace, runtime, format string
}

func (f *deployFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.inPlace, "inplace", "", "for MSCCL-IR: verify in place (`yes`), out of place (no), or as the file declares")
	flags.Lookup("inplace").NoOptDefVal = "yes"
	flags.StringVar(&f.runtime, "runtime", "", "for MSCCL-IR: the `runtime` that must load it, msccl, rccl or azure; any of them, if absent")
	flags.StringVar(&f.format, "format", "text", "for MSCCL-IR: `form` of the report: text, json, sarif, or github (annotations)")
}

// deployment brings the flags together.
func (f *deployFlags) deployment(t *truth) (deployment, error) {
	d := deployment{collective: t.collective, root: t.root, inPlace: f.inPlace, runtime: f.runtime}
	if !slices.Contains([]string{"", "yes", "no"}, f.inPlace) {
		return d, fmt.Errorf("--inplace=%s: want yes or no", f.inPlace)
	}
	if _, err := d.runtimes(); err != nil {
		return d, fmt.Errorf("--runtime: %w", err)
	}
	if !slices.Contains([]string{"text", "json", "sarif", "github"}, f.format) {
		return d, fmt.Errorf("--format %q: want text, json, sarif or github", f.format)
	}
	if t.collective != "" && !slices.Contains(msccl.Collectives(), strings.ReplaceAll(t.collective, "_", "")) {
		return d, fmt.Errorf("--collective %q: of MSCCL-IR, want one of %v", t.collective, msccl.Collectives())
	}
	if t.size != "" {
		size, err := model.ParseBytes(t.size)
		if err != nil {
			return d, fmt.Errorf("--size: %w", err)
		}
		d.size = size
	}
	return d, nil
}

// run verifies the files among args that are MSCCL-IR, prints the verdicts, and
// returns the other files and the worst exit status.
//
// The order engine decides, unless --engine asks for formulas too; emit is where
// these go.
func (f *deployFlags) run(cmd *cobra.Command, args []string, t *truth, asJSON bool, engine, emit string, limit time.Duration) (rest []string, worst int, err error) {
	var files []string
	for _, arg := range args {
		switch stat, err := os.Stat(arg); {
		case err == nil && stat.IsDir():
			found, err := xmlBelow(arg)
			if err != nil {
				return nil, 0, err
			}
			for _, file := range found {
				if isDeployable(file) {
					files = append(files, file)
				} else { // of another tool
					rest = append(rest, file)
				}
			}
		case isDeployable(arg):
			files = append(files, arg)
		default:
			rest = append(rest, arg)
		}
	}
	given := *f != deployFlags{format: "text"}
	if len(rest) > 0 && given {
		return nil, 0, fmt.Errorf("%s: is no MSCCL-IR, which --inplace, --runtime and --format are for", rest[0])
	}
	if len(files) == 0 {
		return rest, exitDone, nil
	}
	for _, name := range []string{"problem", "topology", "alpha", "bandwidth", "chunks"} {
		if cmd.Flags().Changed(name) {
			return nil, 0, fmt.Errorf("--%s: is not for MSCCL-IR, such as %s", name, files[0])
		}
	}
	if asJSON {
		f.format = "json"
	}
	by, err := f.deployment(t)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case engine == "replay" || engine == stream.Engine:
		return nil, 0, fmt.Errorf("--engine %s: is not for MSCCL-IR, want order, smt or all", engine)
	case engine == smt.Engine || engine == "all" && cmd.Flags().Changed("engine"):
		by.formulas, by.limit = true, limit
	}
	if emit != "" {
		if len(files)+len(rest) > 1 {
			return nil, 0, fmt.Errorf("--emit-smt2: goes with one file, not %d", len(files)+len(rest))
		}
		if err := emitFormulas(files[0], emit, by); err != nil {
			return nil, 0, err
		}
	}
	all := make([]*deployed, len(files))
	g, ctx := errgroup.WithContext(cmd.Context())
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if all[i], err = judgeDeployed(ctx, file, by); err == nil {
				all[i].release()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, 0, err
	}
	for _, d := range all {
		worst = worse(worst, d.status())
	}
	return rest, worst, f.print(cmd.OutOrStdout(), all)
}

// end is what verify returns where only MSCCL-IR was asked about.
func (f *deployFlags) end(worst int, err error) error {
	if err == nil && worst != exitDone {
		return status(worst)
	}
	return err
}

// status is the exit status of a file.
func (d *deployed) status() int {
	switch {
	case d.syntax != nil:
		return exitFailure
	case d.outcome == verify.Proved:
		return exitDone
	case d.outcome == verify.Refuted:
		return exitRefuted
	}
	return exitUnknown
}

func (f *deployFlags) print(w io.Writer, all []*deployed) error {
	switch f.format {
	case "json":
		for _, d := range all {
			b, err := json.Marshal(d.json())
			if err != nil {
				return err
			}
			fmt.Fprintln(w, string(b))
		}
	case "sarif":
		return printSARIF(w, all)
	case "github":
		printGitHub(w, all)
	default:
		if len(all) == 1 {
			all[0].print(w)
		} else {
			summarise(w, all)
		}
	}
	return nil
}

// xmlBelow returns the XML files below a directory.
func xmlBelow(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".xml") {
			files = append(files, path)
		}
		return err
	})
	if err == nil && files == nil {
		err = hinted{fmt.Errorf("%s: holds no .xml file", dir), "a directory is searched for MSCCL-IR; name other schedules one by one, or ask check, which reads directories of ours"}
	}
	return files, err
}

// isDeployable says whether a file is MSCCL-IR, or is meant to be: its first element is
// <algo>, or an XML file that no other tool writes.
func isDeployable(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<16)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	text := bytes.TrimLeft(head, " \t\r\n\ufeff")
	for bytes.HasPrefix(text, []byte("<!--")) || bytes.HasPrefix(text, []byte("<?")) {
		i := bytes.IndexByte(text, '>')
		if bytes.HasPrefix(text, []byte("<!--")) {
			if i = bytes.Index(text, []byte("-->")); i >= 0 {
				i += 2
			}
		}
		if i < 0 {
			break
		}
		text = bytes.TrimLeft(text[i+1:], " \t\r\n")
	}
	switch {
	case bytes.HasPrefix(text, []byte("<algo")):
		return true
	case bytes.HasPrefix(text, []byte("{")):
		return false
	case bytes.Contains(text, []byte("<algo")):
		return true
	}
	return strings.HasSuffix(file, ".xml") && foreignFormat(head) == nil
}
