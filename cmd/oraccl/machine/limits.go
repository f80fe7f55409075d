// Package machine knows what memory and disk there is for the program, so that it can refuse
// before it begins what it could not finish.
package machine

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model/files"
)

// controlGroupMemory returns how much memory the control groups of this program leave it,
// its own and those above, of version 1 or 2, or false if none limits it. root is the file
// system "/".
func controlGroupMemory(root fs.FS) (int64, bool) {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	least, limited := int64(math.MaxInt64), false
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(parts) != 3 {
			continue
		}
		mount, limit, usage, cache := "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "
		if parts[1] != "" {
			mount, limit, usage, cache = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "
			if parts[1] != "memory" && !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
		}
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			dir := filepath.Join(mount, at)
			most, ok := number(root, filepath.Join(dir, limit))
			used, known := number(root, filepath.Join(dir, usage))
			if ok && known {
				left := most - used
				if stat, err := fs.ReadFile(root, filepath.Join(dir, "memory.stat")); err == nil {
					for line := range strings.Lines(string(stat)) {
						if rest, found := strings.CutPrefix(line, cache); found { // it gives way
							n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
							left += n
						}
					}
				}
				least, limited = min(least, max(0, left)), true
			}
			if at == "/" {
				break
			}
		}
	}
	return least, limited
}

// number reads a number from a file; "max" is none.
func number(root fs.FS, name string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// EnoughRoom returns, before the start, why a file of this many bytes at least cannot be
// written: its directory is not there or not to be written to, or has not the room.
func EnoughRoom(file string, need int64) error {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return fmt.Errorf("%s: is a directory, want a file", file)
	}
	f, err := files.Replace(file, "")
	if err != nil {
		return err
	}
	if err := f.Drop(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return EnoughDisk(filepath.Dir(file), need)
}
