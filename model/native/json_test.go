package native

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write golden files")

// roundTrip writes v and reads it back. What was read, written again, gives the same
// bytes; whether it is the same value is for the caller to compare.
func roundTrip[T any](t require.TestingT, v T, write func(io.Writer, T) error, read func(string, io.Reader) (T, error)) T {
	var first, second bytes.Buffer
	require.NoError(t, write(&first, v))
	got, err := read("f.json", bytes.NewReader(first.Bytes()))
	require.NoError(t, err, "%s", first.String())
	require.NoError(t, write(&second, got))
	require.Equal(t, first.String(), second.String())
	return got
}

func TestTopologyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawTopology(t)
		require.NoError(t, want.Validate())
		require.Equal(t, want, roundTrip(t, want, WriteTopology, ReadTopology))
	})
}

func TestCollectiveRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawCollective(t, 6)
		got := roundTrip(t, &want, WriteCollective, ReadCollective)
		require.True(t, sameUpToGroup(&want, got))
		require.Equal(t, want.Group, got.Group)
	})
}

// sameUpToGroup compares all of two collectives except the group.
func sameUpToGroup(c, d *model.Collective) bool {
	same := func(a, b model.Condition) bool {
		return a.Rank == b.Rank && a.Chunk == b.Chunk && a.Value.Equal(b.Value)
	}
	return c.Kind == d.Kind && c.Root == d.Root && c.Op == d.Op && c.Chunks == d.Chunks && c.Name == d.Name && slices.Equal(c.Ends, d.Ends) &&
		slices.EqualFunc(c.Pre, d.Pre, same) && slices.EqualFunc(c.Post, d.Post, same)
}

func TestProblemRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawProblem(t, false)
		require.NoError(t, want.Validate())
		sameProblem(t, want, roundTrip(t, want, WriteProblem, ReadProblem))
	})
}

func sameProblem(t require.TestingT, want, got *model.Problem) {
	require.True(t, want.SameUpToCut(got))
	require.Equal(t, want.Collective.Name, got.Collective.Name)
	require.Equal(t, want.Chunks, got.Chunks)
	require.Equal(t, want.Release, got.Release)
	require.Equal(t, want.Topology, got.Topology)
	require.Equal(t, want.Collective.Group, got.Collective.Group)
}

func TestSolutionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, true)
		want := &model.Solution{Problem: p, Schedule: drawSchedule(t, p), Origin: drawOrigin(t)}
		require.NoError(t, want.Schedule.Validate(p))
		got := roundTrip(t, want, WriteSolution, ReadSolution)
		sameProblem(t, p, got.Problem)
		require.Equal(t, want.Schedule, got.Schedule)
		require.Equal(t, want.Origin, got.Origin)
	})
}

func TestCertificateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawCertificate(t)
		require.NoError(t, want.Validate())
		got := roundTrip(t, want, WriteCertificate, ReadCertificate)
		sameProblem(t, want.Problem, got.Problem)
		require.Equal(t, want.Bound, got.Bound)
		require.Equal(t, want.Witness, got.Witness)
	})
}

// A reader and the schema of its files.
var readers = map[string]func(string, io.Reader) error{
	TopologySchema:      func(n string, r io.Reader) error { _, err := ReadTopology(n, r); return err },
	CollectiveSchema:    func(n string, r io.Reader) error { _, err := ReadCollective(n, r); return err },
	ProblemSchema:       func(n string, r io.Reader) error { _, err := ReadProblem(n, r); return err },
	ScheduleSchema:      func(n string, r io.Reader) error { _, err := ReadSolution(n, r); return err },
	CertificateSchema:   func(n string, r io.Reader) error { _, err := ReadCertificate(n, r); return err },
	WorkloadSchema:      func(n string, r io.Reader) error { _, err := ReadWorkload(n, r, nil); return err },
	TimetableSchema:     func(n string, r io.Reader) error { _, err := ReadTimetable(n, r); return err },
	WorkloadBoundSchema: func(n string, r io.Reader) error { _, err := ReadWorkloadBound(n, r); return err },
}

// readerFor returns the reader of a file in testdata: its name begins with the kind.
func readerFor(t testing.TB, file string) func(string, io.Reader) error {
	kind, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
	if strings.HasPrefix(filepath.Base(file), "workload-bound") {
		kind = "workload-bound"
	}
	read, ok := readers["oraccl/"+kind+"/1"]
	require.True(t, ok, "%s: the name must begin with a kind of file", file)
	return read
}

func glob(t testing.TB, pattern string, least int) []string {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), least, pattern)
	return files
}

// Every malformed file gets one line, the one beside it.
func TestMalformed(t *testing.T) {
	for _, file := range glob(t, "../../testdata/malformed/*.json", 60) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			err = readerFor(t, file)(filepath.Base(file), bytes.NewReader(b))
			require.Error(t, err)
			golden := strings.TrimSuffix(file, ".json") + ".err"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
			}
			want, readErr := os.ReadFile(golden)
			require.NoError(t, readErr)
			require.Equal(t, string(want), err.Error()+"\n")
			require.Regexp(t, `^[^\n]+\.json:\d+:\d+: [^\n]+$`, err.Error())
			require.Less(t, len(err.Error()), 400)
		})
	}
}

// No prefix of a good file is a file, and none makes a reader panic.
func TestTruncated(t *testing.T) {
	for _, file := range glob(t, "testdata/*.json", 5) {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		read := readerFor(t, file)
		require.NoError(t, read(file, bytes.NewReader(b)))
		for n := range len(bytes.TrimSpace(b)) {
			err := read("f", bytes.NewReader(b[:n]))
			require.Error(t, err, "%s: %d bytes", file, n)
			require.Regexp(t, `^f:\d+:\d+: [^\n]+$`, err.Error())
		}
	}
}

func TestSchemaOf(t *testing.T) {
	for doc, want := range map[string]string{
		`{"schema": "oraccl/schedule/1", "broken`:      "oraccl/schedule/1",
		`{"a": {"schema": "x"}, "schema": "oraccl/1"}`: "oraccl/1",
		`{"a": {"schema": "x"}}`:                       "",
		`{"schema": 1}`:                                "",
		`{"schema"`:                                    "",
		`[{"schema": "x"}]`:                            "",
		`{"a": ` + strings.Repeat("[", 1<<20):          "",
		``:                                             "",
		`<xml/>`:                                       "",
	} {
		require.Equal(t, want, SchemaOf([]byte(doc)))
	}
}

// A document that is not deep by its schema cannot make a reader deep.
func TestDeepNesting(t *testing.T) {
	for schema, read := range readers {
		for _, open := range []string{"[", `{"problem":`, `{"a":`} {
			require.Error(t, read("f", strings.NewReader(strings.Repeat(open, 1<<20))), schema)
		}
	}
}

// What a reader is given must not make it allocate out of proportion.
func TestSmallFileSmallMemory(t *testing.T) {
	doc := `{"schema":"oraccl/problem/1","topology":{"name":"x","ranks":1048576,"links":[]},"collective":{"kind":"allgather"},` +
		`"size_bytes":1048576,"chunks":4194304,"cost":"rounds"}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadProblem("f", strings.NewReader(doc))
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "want at least one byte a chunk")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<16))
}

func fuzzReader(f *testing.F, kind string) {
	for _, pattern := range []string{"testdata/" + kind + "-*.json", "../../testdata/malformed/" + kind + "-*.json"} {
		for _, file := range glob(f, pattern, 1) {
			b, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(b)
			f.Add(b[:len(b)/2])
			f.Add(append(b, b...))
		}
	}
	read := readers["oraccl/"+kind+"/1"]
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := read("f", bytes.NewReader(b)); err != nil {
			require.Regexp(t, `^f:\d+:\d+: [^\n]+$`, err.Error())
			return
		}
		require.Equal(t, "oraccl/"+kind+"/1", SchemaOf(b))
		switch kind { // and what was read is written and read again
		case "topology":
			v, _ := ReadTopology("f", bytes.NewReader(b))
			roundTrip(t, v, WriteTopology, ReadTopology)
		case "collective":
			v, _ := ReadCollective("f", bytes.NewReader(b))
			roundTrip(t, v, WriteCollective, ReadCollective)
		case "problem":
			v, _ := ReadProblem("f", bytes.NewReader(b))
			roundTrip(t, v, WriteProblem, ReadProblem)
		case "schedule":
			v, _ := ReadSolution("f", bytes.NewReader(b))
			roundTrip(t, v, WriteSolution, ReadSolution)
		case "certificate":
			v, _ := ReadCertificate("f", bytes.NewReader(b))
			roundTrip(t, v, WriteCertificate, ReadCertificate)
		}
	})
}

func FuzzReadTopology(f *testing.F)    { fuzzReader(f, "topology") }
func FuzzReadCollective(f *testing.F)  { fuzzReader(f, "collective") }
func FuzzReadProblem(f *testing.F)     { fuzzReader(f, "problem") }
func FuzzReadSolution(f *testing.F)    { fuzzReader(f, "schedule") }
func FuzzReadCertificate(f *testing.F) { fuzzReader(f, "certificate") }

// The files in testdata are as the writers write them, so that they show the format.
func TestWrittenForm(t *testing.T) {
	for _, file := range glob(t, "testdata/*.json", 10) {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		var out bytes.Buffer
		switch SchemaOf(b) {
		case TopologySchema:
			v, err := ReadTopology(file, bytes.NewReader(b))
			require.NoError(t, err)
			require.NoError(t, WriteTopology(&out, v))
		case CollectiveSchema:
			v, err := ReadCollective(file, bytes.NewReader(b))
			require.NoError(t, err)
			require.NoError(t, WriteCollective(&out, v))
		case ProblemSchema:
			v, err := ReadProblem(file, bytes.NewReader(b))
			require.NoError(t, err)
			require.NoError(t, WriteProblem(&out, v))
		case ScheduleSchema:
			v, err := ReadSolution(file, bytes.NewReader(b))
			require.NoError(t, err)
			require.NoError(t, WriteSolution(&out, v))
		case CertificateSchema:
			v, err := ReadCertificate(file, bytes.NewReader(b))
			require.NoError(t, err)
			require.NoError(t, WriteCertificate(&out, v))
		case WorkloadSchema:
			v, err := ReadWorkload(file, bytes.NewReader(b), nil)
			require.NoError(t, err)
			require.NoError(t, WriteWorkload(&out, v))
		case TimetableSchema:
			v, err := ReadTimetable(file, bytes.NewReader(b))
			require.NoError(t, err)
			require.NoError(t, WriteTimetable(&out, v))
		case WorkloadBoundSchema:
			v, err := ReadWorkloadBound(file, bytes.NewReader(b))
			require.NoError(t, err)
			require.NoError(t, WriteWorkloadBound(&out, v))
		default:
			require.Fail(t, "no schema", file)
		}
		require.Equal(t, string(b), out.String(), file)
	}
}
