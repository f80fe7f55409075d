//go:build unix

package sweep

import (
	"errors"
	"os"
	"syscall"
)

// taken locks a file, and reports whether another process has it locked.
func taken(f *os.File) bool {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
