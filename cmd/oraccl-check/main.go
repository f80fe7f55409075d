// Command oraccl-check checks schedules and certificates again: the verifier and
// the certificate checkers alone, without any solver and without cgo. It is the
// binary for those who trust nobody:
//
//	CGO_ENABLED=0 go build ./cmd/oraccl-check
//
// It reads directories such as oraccl gap --proofs and sweep --proofs write, and files, and prints a line for
// each document and claim; with --json, one object, schema oraccl/check/2. A directory with
// a manifest is accepted only if every claim in it follows from what its files prove.
// --topology, --collective, --size and so on compare the problem with the one that the
// reader means. The exit status is 0 if all is proved, 1 if something is refuted, a claim
// lacks its evidence, or a gap is beyond --max-gap, 2 if something cannot be read, 3 if something is unknown, or if a
// directory has no manifest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/verify/dossier"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("oraccl-check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	limit := flags.String(files.Flag, "", "the most `bytes` that a file may have: by default 1GiB, and 16GiB for proofs")
	asJSON := flags.Bool("json", false, "print JSON, schema oraccl/check/2")
	version := flags.Bool("version", false, "print the version")
	documents := flags.Bool("documents", false, "a directory without a manifest is a collection of documents, each of which stands for itself")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: oraccl-check [FLAGS] FILE|DIRECTORY...\n\nChecks schedules by exact replay and certificates in exact arithmetic, and of a directory with\na manifest every claim. Exit status: 0 all proved, 1 refuted, a claim without the evidence, or a gap\nbeyond --max-gap, 2 unreadable or bad usage, 3 unknown, or a directory without a manifest.")
		fmt.Fprintln(stderr)
		flags.PrintDefaults()
	}
	var maxGap *model.Gap
	flags.Func("max-gap", "the exit status is 1 where the gap to the bound for every cut is `more` than this, such as 5%, or not known:\nevery schedule, and of a directory with a manifest the shortest of each problem", func(s string) error {
		g, err := model.ParseGap(s)
		maxGap = &g
		return err
	})
	var in instance.Flags
	topology := flags.String("topology", "", "compare the network with this one, by `name` or from a file")
	in.Define(flags)
	flags.Func("fail", instance.FailUsage, func(s string) error {
		in.Fail = append(in.Fail, instance.List(s)...)
		return nil
	})
	var paths []string
	for rest := args; ; { // flags may stand after names
		if err := flags.Parse(rest); errors.Is(err, flag.ErrHelp) {
			return 0
		} else if err != nil {
			return 2
		}
		if flags.NArg() == 0 {
			break
		}
		paths, rest = append(paths, flags.Arg(0)), flags.Args()[1:]
	}
	if *version {
		fmt.Fprintln(stdout, "oraccl-check", built.Version())
		return 0
	}
	if len(paths) == 0 {
		flags.Usage()
		return 2
	}
	fail := func(err error) int {
		fmt.Fprintf(stderr, "oraccl-check: error: %s\n", quote.Line(err.Error()))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	most := int64(0)
	if *limit != "" {
		var err error
		if most, err = model.ParseBytes(*limit); err != nil || most == 0 {
			return fail(fmt.Errorf("--%s %s: want a size above 0, such as 4GiB", files.Flag, *limit))
		}
	}
	ctx = files.With(ctx, most, os.Stdin)
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	asked, err := dossier.NewAsked(topologies.Files{Context: ctx}, *topology, &in, func(name string) bool { return given[name] })
	if err != nil {
		return fail(err)
	}
	r, err := dossier.Check(ctx, paths, dossier.Options{Documents: *documents, Asked: asked, MaxGap: maxGap})
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		fmt.Fprintf(stderr, "oraccl-check: %s\n", quote.Line(err.Error()))
		return 3
	case err != nil:
		return fail(err)
	}
	if !*asJSON {
		text, status := r.Text()
		fmt.Fprint(stdout, text)
		return status
	}
	text, status, err := r.JSON()
	if err != nil {
		return fail(err)
	}
	fmt.Fprintf(stdout, "%s", text)
	return status
}
