// Command oraccl-check checks schedules and certificates again: the verifier and
// the certificate checkers alone, without any solver and without cgo. It is the
// binary for those who trust nobody:
//
//	CGO_ENABLED=0 go build ./cmd/oraccl-check
//
// It reads files, or directories such as oraccl gap --proofs writes, and prints a
// line for each, and whether a schedule meets a bound; with --json, one object,
// schema oraccl/check/2. The exit status is 0 if all is proved, 1 if something is
// refuted, 2 if something cannot be read, 3 if something is unknown.
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

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/verify/dossier"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("oraccl-check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	limit := flags.String(files.Flag, "", "the most `bytes` that a file may have: by default 1GiB, and 16GiB for proofs")
	asJSON := flags.Bool("json", false, "print JSON, schema oraccl/check/2")
	documents := flags.Bool("documents", false, "a directory without a manifest is a collection of documents, each of which stands for itself")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: oraccl-check [FLAGS] FILE|DIRECTORY...\n\nChecks schedules by exact replay and certificates in exact arithmetic, and of a directory with\na manifest every claim. Exit status: 0 all proved, 1 refuted, or a claim without the evidence,\n2 unreadable or bad usage, 3 unknown, or a directory without a manifest.")
		fmt.Fprintln(stderr)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	most := int64(0)
	if *limit != "" {
		var err error
		if most, err = model.ParseBytes(*limit); err != nil || most == 0 {
			fmt.Fprintf(stderr, "oraccl-check: error: --%s %s: want a size above 0, such as 4GiB\n", files.Flag, *limit)
			return 2
		}
	}
	r, err := dossier.Check(files.With(ctx, most, os.Stdin), flags.Args(), dossier.Options{Documents: *documents})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		fmt.Fprintf(stderr, "oraccl-check: %v\n", err)
		return 3
	} else if err != nil {
		fmt.Fprintf(stderr, "oraccl-check: error: %v\n", err)
		return 2
	}
	if !*asJSON {
		text, status := r.Text()
		fmt.Fprint(stdout, text)
		return status
	}
	text, status, err := r.JSON()
	if err != nil {
		fmt.Fprintf(stderr, "oraccl-check: error: %v\n", err)
		return 2
	}
	fmt.Fprintf(stdout, "%s", text)
	return status
}
