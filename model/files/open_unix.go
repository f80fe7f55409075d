//go:build unix

package files

import "syscall"

// waitless opens a pipe without a writer, which a name may stand for by then, without waiting
// for one.
const waitless = syscall.O_NONBLOCK
