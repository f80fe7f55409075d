//go:build !js

package session

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// onTerminal returns a bar on w, or nil where that is no terminal.
func onTerminal(w io.Writer) bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetElapsedTime(true), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSpinnerType(14))
}
