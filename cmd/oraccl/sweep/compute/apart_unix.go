//go:build unix

package compute

import (
	"os/exec"
	"syscall"
)

// apart has a program run in a process group of its own, to which no terminal sends Ctrl-C.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
