package experiment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/experiment/report"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/sat/cadical"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

// madeBy states what makes the reports, and returns a stamp for what is kept: of the
// revision, or of the program itself where that is not known or was changed.
func (x *Runner) madeBy() (report.Made, string, error) {
	m := report.Made{Oraccl: revision(), Go: runtime.Version(), HiGHS: highs.Version(), Z3: z3.Version(), CaDiCaL: "none", Seed: x.Options.Seed, TimeLimit: x.Options.TimeLimit.String(), Setting: "quick"}
	if x.Full {
		m.Setting = "full"
	}
	m.Machine = fmt.Sprintf("%s/%s, cores: %d, threads: %d", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cmp.Or(x.Options.Threads, runtime.GOMAXPROCS(0)))
	if program, err := cadical.Find(); err == nil {
		if out, err := exec.Command(program, "--version").Output(); err == nil {
			m.CaDiCaL = strings.TrimSpace(string(out))
		}
	}
	stamp := m.Oraccl
	if !strings.Contains(stamp, "revision") || strings.Contains(stamp, "changed") {
		self, err := hashOfSelf()
		if err != nil {
			return m, "", err
		}
		stamp += " " + self
	}
	return m, fmt.Sprintf("%s, %s, HiGHS %s, CaDiCaL %s", stamp, m.Go, m.HiGHS, m.CaDiCaL), nil
}

// revision is the version, with the revision of the source where the program knows it.
func revision() string {
	text, changed := built.Version(), false
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				text += ", revision " + s.Value[:min(12, len(s.Value))]
			case "vcs.modified":
				changed = s.Value == "true"
			}
		}
	}
	if changed {
		text += ", changed"
	}
	return text
}

func hashOfSelf() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)[:12]), nil
}
