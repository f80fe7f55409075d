package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTargets finds tests and fuzz targets, and the tests of this directory among those of
// the module.
func TestTargets(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go":        "package a\n\nfunc FuzzOne(f *testing.F) {\nfunc TestSoakTwo(t *testing.T) {\nfunc TestOther(t *testing.T) {\n",
		"a/a.go":             "package a\n\nfunc FuzzNot(f *testing.F) {\n",
		"vendor/v/v_test.go": "package v\n\nfunc FuzzNot(f *testing.F) {\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
	all, err := chosen(".", "")
	require.NoError(t, err)
	require.Equal(t, []target{{dir: "./a", name: "TestSoakTwo"}, {dir: "./a", name: "FuzzOne"}}, all)
	all, err = chosen(".", "^Fuzz")
	require.NoError(t, err)
	require.Len(t, all, 1)
	_, err = chosen(".", "None")
	require.ErrorContains(t, err, "want the top directory")
	_, err = chosen(".", "(")
	require.ErrorContains(t, err, "-run")
}

func TestModule(t *testing.T) {
	all, err := chosen("../..", "")
	require.NoError(t, err)
	count := map[bool]int{}
	for _, x := range all {
		count[x.fuzz()]++
	}
	require.GreaterOrEqual(t, count[false], 6)
	require.GreaterOrEqual(t, count[true], 15)
}

func TestDivide(t *testing.T) {
	all := []target{{name: "TestSoakA"}, {name: "FuzzA"}, {name: "FuzzB"}}
	divide(all, time.Minute, 0)
	require.Equal(t, []time.Duration{30 * time.Second, 15 * time.Second, 15 * time.Second}, []time.Duration{all[0].time, all[1].time, all[2].time})
	divide(all[1:], time.Minute, 0)
	require.Equal(t, 30*time.Second, all[2].time)
	divide(all, time.Minute, 3*time.Second)
	require.Equal(t, 3*time.Second, all[0].time)
}

func TestCounted(t *testing.T) {
	require.Equal(t, "500", counted([]byte("    orbit_test.go:23: soak: 500 cases in 2.3s: 150 not served\n"), false))
	require.Equal(t, "325017", counted([]byte("fuzz: elapsed: 6s, execs: 9 (3/sec), new interesting: 1\nfuzz: elapsed: 10s, execs: 325017 (108336/sec), new interesting: 2\n"), true))
	require.Empty(t, counted([]byte("ok  	package	0.1s\n"), true))
	require.Equal(t, "117", counted([]byte("fuzz: elapsed: 0s, gathering baseline coverage: 0/204 completed\nfuzz: elapsed: 9s, gathering baseline coverage: 117/204 completed\nPASS\n"), true))
	require.Empty(t, counted([]byte("fuzz: elapsed: 0s, gathering baseline coverage: 0/204 completed\nPASS\n"), true))
}

func TestUsage(t *testing.T) {
	var out, err bytes.Buffer
	require.Equal(t, 2, run(context.Background(), []string{"-each", "x"}, &out, &err))
	require.Equal(t, 2, run(context.Background(), []string{"-run", "NoSuchName"}, &out, &err))
	require.Contains(t, err.String(), "soak: error: no TestSoak")
	require.Equal(t, 0, run(context.Background(), []string{"-h"}, &out, &err))
	stopped, stop := context.WithCancel(context.Background())
	stop()
	t.Chdir("../..")
	require.Equal(t, 2, run(stopped, []string{"-run", "TestSoakOrbit"}, &out, &err))
	require.Contains(t, out.String(), "not run  TestSoakOrbit")
}
