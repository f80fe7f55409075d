package machine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestControlGroupMemory: the tightest limit counts, of both versions, less what is used except
// for what gives way.
func TestControlGroupMemory(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		left    int64
		limited bool
	}{
		"none":     {map[string]string{}, 0, false},
		"no limit": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "5\n"}, 0, false},
		"version 2": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/b/memory.current": "400\n",
			"sys/fs/cgroup/a/b/memory.stat": "anon 1\ninactive_file 30\nfile 500\n",
		}, 630, true},
		"above": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/b/memory.current": "400\n",
			"sys/fs/cgroup/a/memory.max": "500\n", "sys/fs/cgroup/a/memory.current": "450\n",
		}, 50, true},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "700\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes": "300\n",
			"sys/fs/cgroup/memory/a/memory.stat":           "total_inactive_file 20\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes":   "123\n",
		}, 420, true},
		"too much": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "10\n", "sys/fs/cgroup/memory.current": "50\n"}, 0, true},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		left, limited := controlGroupMemory(root)
		require.Equal(t, c.limited, limited, name)
		if limited {
			require.Equal(t, c.left, left, name)
		}
	}
}

// TestEnoughRoom: a file that cannot be written is refused before anything is solved.
func TestEnoughRoom(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, EnoughRoom(filepath.Join(dir, "s.json"), 600))
	require.ErrorContains(t, EnoughRoom(filepath.Join(dir, "s.json"), 1<<60), "the file needs up to")
	require.ErrorContains(t, EnoughRoom(dir, 0), "is a directory, want a file")
	require.ErrorContains(t, EnoughRoom(filepath.Join(dir, "none", "s.json"), 0), "no such file or directory")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestEnough: what is lacking is said before the start.
func TestEnough(t *testing.T) {
	var said bytes.Buffer
	require.ErrorContains(t, EnoughMemory(&said, "this", 1<<60), "this needs 1073741824 GiB of memory, and ")
	require.Empty(t, said.String())
	require.NoError(t, EnoughMemory(&said, "this", 70<<20))
	require.Equal(t, "oraccl: this needs at most 70 MiB of memory\n", said.String())
	require.NoError(t, EnoughMemory(&said, "this", 1))
	require.ErrorContains(t, EnoughDisk(t.TempDir(), 1<<60), "the file needs up to")
	require.NoError(t, EnoughDisk(t.TempDir(), 1))
}
