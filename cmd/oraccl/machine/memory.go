package machine

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// saidFrom is from how many bytes on the memory that something needs is printed before it
// begins.
const saidFrom = 64 << 20

// EnoughMemory prints how much memory something needs at most, and returns an error if
// the machine does not have it.
func EnoughMemory(w io.Writer, what string, need int64) error {
	have, known := availableMemory()
	if known && need > have {
		return fmt.Errorf("%s needs %s of memory, and %s are available", what, Bytes(need), Bytes(have))
	}
	if need >= saidFrom {
		fmt.Fprintf(w, "oraccl: %s needs at most %s of memory\n", what, Bytes(need))
	}
	return nil
}

// availableMemory returns what can be had without swapping, within the limits of the control
// group and of the address space. It is known on Linux, and in a web page.
func availableMemory() (int64, bool) {
	least, known := freeMemory()
	for _, limit := range []func() (int64, bool){func() (int64, bool) { return controlGroupMemory(os.DirFS("/")) }, addressSpace} {
		if n, limited := limit(); limited && (!known || n < least) {
			least, known = n, true
		}
	}
	return least, known
}

// freeMemory returns what the operating system says can be had without swapping.
func freeMemory() (int64, bool) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// EnoughDisk returns an error if the file system of a directory has no room for this many
// bytes. Where that is not known it returns none: the writer reports what is wrong.
func EnoughDisk(dir string, need int64) error {
	if have, known := freeDisk(dir); known && need > have {
		return fmt.Errorf("the file needs up to %s, and %s are free in %s", Bytes(need), Bytes(have), dir)
	}
	return nil
}

// Bytes writes a number of bytes to three figures.
func Bytes(n int64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 10000 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		n = (n + 1023) >> 10
	}
	return fmt.Sprintf("%d GiB", n)
}
