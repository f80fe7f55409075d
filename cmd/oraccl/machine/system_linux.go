package machine

import (
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// addressSpace returns how much more address space this program may have (ulimit -v), or
// false if that is not limited.
func addressSpace() (int64, bool) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur > math.MaxInt64 {
		return 0, false
	}
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	pages, _, _ := strings.Cut(string(b), " ")
	n, err := strconv.ParseInt(pages, 10, 64)
	return max(0, int64(limit.Cur)-n*int64(os.Getpagesize())), err == nil
}

// PeakMemory returns the most that the program has had in memory so far, by the operating
// system's account, or 0 if that is not known.
func PeakMemory() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Maxrss) << 10
}

// freeDisk returns how many bytes the file system of a directory has room for.
func freeDisk(dir string) (int64, bool) {
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil {
		return 0, false
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true
}
