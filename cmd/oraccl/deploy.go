package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/smt/concurrent"
)

// deployed is a file of MSCCL-IR with what is decided about it.
type deployed struct {
	file   string
	algo   *msccl.Algo // nil if the file cannot be read
	report *deploy.Report
}

// judgeDeployed reads and verifies a file: whatever a verb does with MSCCL-IR, it is right
// if this finds it right. An error means that it could not be opened, or not be judged as
// it is asked.
func judgeDeployed(ctx context.Context, file string, by deploy.Options) (*deployed, error) {
	f, err := files.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := &deployed{file: file}
	if d.algo, err = msccl.Read(file, bufio.NewReader(f)); err != nil {
		var syntax *msccl.SyntaxError
		if !errors.As(err, &syntax) || syntax.Err != nil {
			return nil, err
		}
		d.report = deploy.Unreadable(syntax.Line, syntax.Message)
		return d, nil
	}
	if n := d.algo.Ranks; by.Root != 0 && (by.Root < 0 || by.Root >= n) {
		return nil, fmt.Errorf("--root %d: %s has ranks 0 to %d", by.Root, file, n-1)
	}
	return d, d.judge(ctx, by)
}

// judge verifies a file that was read.
func (d *deployed) judge(ctx context.Context, by deploy.Options) (err error) {
	if d.report, err = deploy.Check(ctx, d.algo.Deployable(), by); err != nil {
		return fmt.Errorf("%s: %w", d.file, err)
	}
	return nil
}

// release forgets what is in proportion to the file, so that many can be verified at a
// time: what is left is for printing.
func (d *deployed) release() {
	d.algo = nil
	d.report.Release()
}

// status is the exit status of a file.
func (d *deployed) status() int { return exit.Of(d.report.Verdict.Outcome) }

// emitFormulas writes the formulas about a file, as it is called first.
func emitFormulas(ctx context.Context, file, emit string, by deploy.Options) error {
	f, err := files.Open(ctx, file)
	if err != nil {
		return err
	}
	defer f.Close()
	a, err := msccl.Read(file, bufio.NewReader(f))
	if err != nil {
		return err
	}
	in := by.Mode == deploy.InPlace || by.Mode == deploy.AsDeclared && a.InPlace
	p, err := a.Program(model.Meaning{Collective: by.Collective, InPlace: in, Root: by.Root})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	text, err := concurrent.Script(p)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return files.Write(emit, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// isDeployable reports whether a file is MSCCL-IR, or is meant to be: its first element is
// <algo>, or it has one behind something that is no XML.
func isDeployable(ctx context.Context, file string) bool {
	f, err := files.Open(ctx, file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<16)
	n, _ := io.ReadFull(f, head)
	text, root := foreign.FirstElement(head[:n])
	switch {
	case root != "":
		return root == "algo"
	case bytes.HasPrefix(text, []byte("{")):
		return false
	}
	return bytes.Contains(text, []byte("<algo")) || len(text) > 0 && text[0] == '<' && strings.HasSuffix(file, ".xml")
}
