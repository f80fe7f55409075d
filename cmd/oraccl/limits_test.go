package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
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
	tp, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 4000, Cost: model.Pipelined}
	dir := t.TempDir()
	require.NoError(t, enoughRoom("", p))
	require.NoError(t, enoughRoom(filepath.Join(dir, "s.json"), p))
	require.ErrorContains(t, enoughRoom(dir, p), "is a directory, want a file")
	require.ErrorContains(t, enoughRoom(filepath.Join(dir, "none", "s.json"), p), "no such file or directory")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	for kind, want := range map[model.Kind]int64{model.AllGather: 12, model.ReduceScatter: 12, model.AllReduce: 6, model.Broadcast: 3, model.Reduce: 3, model.AllToAll: 0} {
		q := *p
		q.Collective.Kind = kind
		require.Equal(t, want, leastTransfers(&q), "%v", kind)
	}
	require.Equal(t, int64(48), leastTransfers(&model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 4000, Chunks: p.Cut(8)}))
}
