package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/browser"
	"github.com/oraccl/oraccl/verify"
)

func TestMain(m *testing.M) { browser.Main(m) }

// top is the top directory of the repository.
const top = "../.."

// all reports whether every file is tried in the browser, and large ones, as "make sites"
// has it; else it is a sample.
var all = os.Getenv("ORACCL_SITE") == "all"

// command is the program without cgo, which the page has, built for this machine.
func command(t testing.TB) string {
	file := filepath.Join(t.TempDir(), "oraccl")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", file, "./cmd/oraccl")
	build.Dir, build.Env = top, append(os.Environ(), "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return file
}

// TestSite writes the site and uses it as a user does.
func TestSite(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	dir := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	t.Chdir(top)
	_, err = site(context.Background(), dir, !all)
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("left out: %v", err)
	}
	require.NoError(t, err)
	t.Chdir(here)
	index := filepath.Join(dir, "index.html")
	b := browser.OpenFor(t, 30*time.Minute, index, "light")

	program := command(t)
	t.Run("examples", func(t *testing.T) { tryExamples(t, b) })
	t.Run("verbs", func(t *testing.T) { compareVerbs(t, b, program) })
	t.Run("verdicts", func(t *testing.T) { compareVerdicts(t, b, program) })
	t.Run("streams and dossiers", func(t *testing.T) { tryStreams(t, b, program) })
	t.Run("hostile", func(t *testing.T) { tryHostile(t, b) })
	t.Run("links", func(t *testing.T) { tryLinks(t, b) })
	t.Run("stop", func(t *testing.T) { tryStop(t, b) })
	t.Run("convert", func(t *testing.T) { tryConvert(t, b) })
	t.Run("methods", func(t *testing.T) { tryMethods(t, b) })
	t.Run("first", func(t *testing.T) { timeFirst(t, b) })
	if all {
		t.Run("large", func(t *testing.T) { tryLarge(t, b) })
	}
	licences, err := os.ReadFile(filepath.Join(dir, "LICENSES.txt"))
	require.NoError(t, err)
	for _, of := range []string{"the Go programming language\n===", "github.com/oraccl/oraccl\n===", "github.com/spf13/cobra\n==="} {
		require.Contains(t, string(licences), of)
	}
}

// verdict has the page verify a file, and returns what it shows, what the command printed there
// and its exit status.
func verdict(b *browser.Tab, name string, data []byte) (shown, printed string, status int) {
	type answer struct {
		Shown, Out string
		Status     int
	}
	a := browser.Value[answer](b, fmt.Sprintf(`(async () => {
		clearAsked();
		$('picture').hidden = true;
		const s = atob(%q), bytes = Uint8Array.from({ length: s.length }, (_, i) => s.charCodeAt(i));
		await take(%q, new Blob([bytes]));
		const m = await verify();
		$('picture').hidden = false;
		return { Shown: $('verdict').textContent, Out: m ? m.out : $('claim').textContent, Status: m ? m.status : -1 };
	})()`, base64.StdEncoding.EncodeToString(data), name))
	return a.Shown, strings.ReplaceAll(a.Out, "/in/", ""), a.Status
}

// compareVerbs: the page names the verbs that the command has and it has not, and no others.
func compareVerbs(t *testing.T, b *browser.Tab, command string) {
	verbs := func(help, heading string) []string {
		_, list, ok := strings.Cut(help, heading+":\n")
		require.True(t, ok, help)
		list, _, _ = strings.Cut(list, "\n\n")
		var names []string
		for line := range strings.Lines(list) {
			names = append(names, strings.Fields(line)[0])
		}
		return names
	}
	help, err := exec.Command(command, "--help").Output()
	require.NoError(t, err)
	there := verbs(browser.Value[string](b, "oraccl(['--help']).then(m => m.out)"), "Available Commands")
	require.Subset(t, there, []string{"verify", "check", "view", "convert", "bound", "gap", "solve"})
	require.ElementsMatch(t, verbs(string(help), "Verbs"), append(there, strings.Split(b.Text("leftout"), ", ")...))
}

// needsMore are the files of testdata that may need more memory than a page has. Others may not,
// and of other people's files each that does is named.
var needsMore = map[string]bool{"tree-names.xml": true} // allgather of 65536 ranks

// compareVerdicts: the page prints what the command prints, byte for byte.
func compareVerdicts(t *testing.T, b *browser.Tab, command string) {
	var files []string
	for _, pattern := range []string{"testdata/schedules/accept/*.json", "testdata/schedules/reject/*/*.json", "cmd/oraccl-site/example/*.xml", "testdata/hostile/*.xml", "testdata/malformed/*.json"} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		files = append(files, found...)
	}
	step := len(files) / 25
	if all {
		step = 1
		data := os.Getenv("ORACCL_DATA")
		found, err := filepath.Glob(filepath.Join(data, "msccl", "*", "*.xml"))
		require.NoError(t, err)
		more, err := filepath.Glob(filepath.Join(data, "msccl", "*.xml"))
		require.NoError(t, err)
		if found = append(found, more...); len(found) == 0 {
			t.Logf("left out: ORACCL_DATA=%q holds no msccl/*.xml", data)
		}
		for i := 0; i < len(found); i += max(1, len(found)/50) {
			files = append(files, found[i])
		}
	}
	count := map[string]int{}
	began := time.Now()
	for i := 0; i < len(files); i += step {
		file := files[i]
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.ContainsAny(filepath.Base(file), " &%") {
			continue // the page changes the name
		}
		run := exec.Command(command, "verify", filepath.Base(file), "--json")
		run.Dir = filepath.Dir(file)
		out, err := run.Output()
		var failed *exec.ExitError
		require.True(t, err == nil || errors.As(err, &failed), "%s: %v", file, err)
		shown, printed, status := verdict(b, filepath.Base(file), data)
		if len(data) == 0 { // the page does not run the command on nothing
			require.Equal(t, "there is nothing to verify yet", b.Text("status"), file)
			count["empty"]++
			continue
		}
		if strings.Contains(printed, "more memory than a page has") {
			require.True(t, needsMore[filepath.Base(file)] || !strings.HasPrefix(file, filepath.Join(top, "testdata")), "%s: %s", file, printed)
			require.Equal(t, "unknown", shown, file)
			t.Logf("left out: %s: %s", file, printed)
			count["left out"]++
			continue
		}
		require.Equal(t, string(out), printed, file)
		require.Equal(t, run.ProcessState.ExitCode(), status, file)
		require.Equal(t, []string{"proved", "refuted", "unreadable", "unknown"}[status], shown, file)
		count[shown]++
	}
	require.Greater(t, count["proved"], 0)
	require.Greater(t, count["refuted"], 5)
	require.Greater(t, count["unreadable"], 2)
	t.Logf("%v in %v", count, time.Since(began))
}

// withoutExample are the codes that no example on the page is for.
var withoutExample = []string{
	"compute-overlap", "before-dependency", "out-of-memory", "wrong-tree", // of workloads, which are too long to be pasted
}

// TestExamples: there is an example of each code, and the command finds the code in it, or nothing
// where there is none.
func TestExamples(t *testing.T) {
	d, err := newData(context.Background(), top, "")
	require.NoError(t, err)
	require.Len(t, d.Examples, len(examples))
	program, dir, names, left := command(t), t.TempDir(), map[string]bool{}, map[string]bool{}
	for _, code := range verify.Codes() {
		left[string(code)] = true
	}
	for i, e := range d.Examples {
		code := examples[i].code
		delete(left, code)
		require.False(t, names[e.Name], "%s names two examples", e.Name)
		names[e.Name] = true
		require.NoError(t, os.WriteFile(filepath.Join(dir, e.File), []byte(e.Text), 0o644))
		args := []string{"verify", filepath.Join(dir, e.File), "--json"}
		for flag, value := range e.Asked {
			args = append(args, "--"+flag+"="+value)
		}
		out, err := exec.Command(program, args...).Output()
		var failed *exec.ExitError
		require.True(t, err == nil || errors.As(err, &failed), "%s: %v", e.Title, err)
		type coded struct{ Code, Level string }
		var said struct {
			Verdict              string
			Findings, Violations []coded
		}
		require.NoError(t, json.Unmarshal(out, &said), "%s: %s", e.Title, out)
		want := map[bool]string{true: "refuted", false: "proved"}[strings.HasPrefix(e.Group, "wrong")]
		require.Equal(t, want, said.Verdict, "%s: %s", e.Title, out)
		if code == "" {
			require.Empty(t, slices.DeleteFunc(said.Findings, func(c coded) bool { return c.Level == "note" }), e.Title)
			continue
		}
		require.True(t, slices.ContainsFunc(slices.Concat(said.Findings, said.Violations), func(c coded) bool { return c.Code == code }), "%s: want %s: %s", e.Title, code, out)
	}
	require.ElementsMatch(t, withoutExample, slices.Collect(maps.Keys(left)))
}

// tryExamples: each example is right, or shows the fault that it is for, or what it warns of, beside
// its text.
func tryExamples(t *testing.T, b *browser.Tab) {
	type answer struct {
		Verdict, Summary string
		Codes            []string
		Marks            int
		Frames           int
	}
	for i, e := range examples {
		if !all && i%8 != 0 {
			continue
		}
		a := browser.Value[answer](b, fmt.Sprintf(`(async () => {
			await example(site.examples[%d]);
			return { Verdict: $('verdict').textContent, Summary: $('summary').textContent, Codes: [...document.querySelectorAll('#findings li > code')].map(c => c.textContent), Marks: document.querySelectorAll('#gutter .error, #gutter .warning').length, Frames: document.querySelectorAll('iframe').length };
		})()`, i))
		require.Equal(t, 1, a.Frames, e.title)
		b.Until("document.querySelector('iframe').dataset.drawn === '1'")
		require.NotContains(t, a.Summary, "[object", e.title)
		if e.code == "" {
			require.Equal(t, "proved", a.Verdict, e.title)
			require.Empty(t, slices.DeleteFunc(a.Codes, func(c string) bool { return strings.HasPrefix(c, "note ") }), e.title)
			continue
		}
		if strings.HasPrefix(e.group, "wrong") {
			require.Equal(t, "refuted", a.Verdict, e.title)
			require.Contains(t, a.Codes, e.code, e.title)
		} else {
			require.Equal(t, "proved", a.Verdict, e.title)
			require.Contains(t, a.Codes, "warning "+e.code, e.title)
		}
		if !strings.HasSuffix(e.group, "schedules") || e.code == "too-fast" {
			require.Positive(t, a.Marks, e.title)
		}
		require.True(t, browser.Value[bool](b, fmt.Sprintf("document.querySelector('#findings details pre').textContent.includes(%q)", strings.TrimPrefix(a.Codes[0], "warning "))), e.title)
	}
}

// tryStreams: a schedule in the compact form, a dossier of proofs, and one that was changed after
// it was written.
func tryStreams(t *testing.T, b *browser.Tab, command string) {
	dir := t.TempDir()
	run := func(args ...string) {
		said, err := exec.Command(command, args...).CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
	compact := filepath.Join(dir, "torus.oraccl")
	run("solve", "torus:8x8", "--collective", "allgather", "--size", "1MiB", "--method", "cayley", "-o", compact)
	data, err := os.ReadFile(compact)
	require.NoError(t, err)
	shown, printed, _ := verdict(b, "torus.oraccl", data)
	require.Equal(t, "proved", shown, printed)
	require.Contains(t, printed, "performs allgather of 1 MiB in 64 chunks, 64 ranks, on torus:8x8")
	data[len(data)/2] ^= 0x40
	shown, printed, status := verdict(b, "torus.oraccl", data)
	require.NotEqual(t, "proved", shown, printed)
	require.Positive(t, status)

	// What a page has no memory for is said before a run.
	require.Empty(t, browser.Value[string](b, "wanted(1 << 20)"))
	require.Equal(t, ", takes about 1000 MiB of memory", browser.Value[string](b, "wanted(100 << 20)"))
	require.Contains(t, browser.Value[string](b, "wanted(500 << 20)"), "more than a page has")
	said := browser.Value[string](b, "oraccl(['solve', 'torus:250x250', '--collective=allgather', '--chunks=1', '--method=tacos', '-o', '/large.oraccl']).then(m => m.status + m.err)")
	require.Regexp(t, `(?s)^2.*solving and verifying needs \d+ [MG]iB of memory, and \d+ MiB are available`, said)

	dossier := filepath.Join(dir, "proofs")
	run("gap", "ring:4", "--collective", "allgather", "--size", "64KiB", "--methods", "ring,tacos", "--proofs", dossier)
	check := func() string {
		var files []string
		require.NoError(t, filepath.WalkDir(dossier, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			path, err := filepath.Rel(dir, name)
			require.NoError(t, err)
			files = append(files, fmt.Sprintf("[%q, %q]", filepath.ToSlash(path), base64.StdEncoding.EncodeToString(data)))
			return nil
		}))
		browser.Value[bool](b, `open([`+strings.Join(files, ",")+`].map(([path, data]) => Object.defineProperty(
			new File([Uint8Array.from(atob(data), c => c.charCodeAt(0))], path.split('/').pop()), 'webkitRelativePath', { value: path }))).then(() => true)`)
		return b.Text("verdict")
	}
	require.Equal(t, "proved", check(), b.Text("printed"))
	require.Regexp(t, `^\d+ of \d+ claims are proved: allgather of 64 KiB`, b.Text("claim"))
	schedules, err := filepath.Glob(filepath.Join(dossier, "schedule-*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, schedules)
	changed, err := os.ReadFile(schedules[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(schedules[0], append(changed, ' '), 0o644))
	require.Equal(t, "refuted", check(), b.Text("printed"))
	require.Contains(t, b.Text("findings"), "changed: it has")
}

// tryHostile: what is pasted stays text.
func tryHostile(t *testing.T, b *browser.Tab) {
	const attack = `"><img src=x onerror="window.hit=1"></title></script><script>window.hit=2</script><svg onload="window.hit=3">`
	for name, text := range map[string]string{
		"attack.xml":  `<algo name="` + strings.NewReplacer("<", "&lt;", `"`, "&quot;").Replace(attack) + `" proto="` + strings.NewReplacer("<", "&lt;", `"`, "&quot;").Replace(attack) + `" nchannels="1" nchunksperloop="1" ngpus="1" coll="allreduce" inplace="1" outofplace="0" minBytes="0" maxBytes="0"><gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0"/></algo>`,
		attack:        attack,
		"attack.json": `{"schema": "` + strings.ReplaceAll(attack, `"`, `\"`) + `"}`,
		"page.svg":    `<svg xmlns="x" onload="window.hit=4"><script>window.hit=5</script></svg>`,
	} {
		verdict(b, name, []byte(text))
		require.True(t, browser.Value[bool](b, "window.hit === undefined && document.images.length === 0 && document.querySelectorAll('svg, title ~ title').length === 0"), name)
	}
	name := strings.ReplaceAll(`{"schema":"oraccl/schedule/1","problem":{"topology":{"name":NAME,"ranks":2,"links":[{"src":0,"dst":1,"alpha_ps":0,"bandwidth_bytes_per_s":1000000000}]},"collective":{"kind":"broadcast","root":0},"size_bytes":8,"chunks":1,"cost":"pipelined"},"form":"timed","transfers":[{"chunk":0,"src":0,"dst":1,"links":[0],"op":"copy","start_ps":0,"end_ps":8000}]}`,
		"NAME", `"`+strings.ReplaceAll(attack, `"`, `\"`)+`"`)
	shown, printed, _ := verdict(b, "named.json", []byte(name))
	require.Equal(t, "proved", shown, printed)
	require.Contains(t, b.Text("claim"), "<img src=x", "the name is shown as text")
	browser.Value[bool](b, "draw().then(() => true)")
	b.Until("document.querySelector('iframe') !== null")
	require.True(t, browser.Value[bool](b, "document.querySelector('iframe').sandbox.value === 'allow-scripts' && window.hit === undefined"))
	// The policy holds against what a fault of ours would let in.
	require.True(t, browser.Value[bool](b, `(() => { const s = document.createElement('script'); s.textContent = 'window.hit = 6'; document.body.append(s); s.remove(); return window.hit === undefined; })()`))
	require.NotEmpty(t, b.Complaints(), "the policy forbids another script")
	require.True(t, browser.Value[bool](b, `fetch('data:,x').then(() => false, () => true)`))
	require.NotEmpty(t, b.Complaints(), "the policy forbids requests")
}

// tryLinks: a link holds the text and the options; damaged ones are refused.
func tryLinks(t *testing.T, b *browser.Tab) {
	link := browser.Value[string](b, "(async () => { await example(site.examples.find(e => e.name === 'deadlock')); return makeLink(); })()")
	require.Less(t, len(link), 1500)
	follow := func(hash string) {
		browser.Value[bool](b, fmt.Sprintf("(forget(), history.replaceState(null, '', %q), follow().then(() => true))", hash))
	}
	follow(link[strings.Index(link, "#"):])
	require.Equal(t, "refuted", b.Text("verdict"))
	follow("#example=exchange")
	require.Equal(t, "proved", b.Text("verdict"))
	var bomb bytes.Buffer // a million letters in a short link
	bomb.WriteString(`{"name":"a","text":"` + strings.Repeat("a", 4<<20) + `"}`)
	packed := browser.Value[string](b, fmt.Sprintf("squeeze(new TextEncoder().encode('{\"name\":\"a\",\"text\":\"' + 'a'.repeat(%d) + '\"}'), CompressionStream).then(toBase64)", 4<<20))
	for _, bad := range []string{"#s=AAAA", "#s=%%%", "#s=" + strings.Repeat("A", 20000), "#s=" + packed} {
		follow(bad)
		require.Contains(t, b.Text("status"), "damaged", bad[:min(len(bad), 30)])
	}
	follow("#example=none")
	require.Contains(t, b.Text("status"), "there is not")
}

// tryStop: what runs can be stopped, and the page goes on.
func tryStop(t *testing.T, b *browser.Tab) {
	browser.Value[bool](b, "(document.querySelector('[data-tab=network]').click(), $('ntopology').value = 'torus:16x16', $('ncollective').value = 'alltoall', $('nsize').value = '1GiB', $('limit').value = '5m', methods(), true)")
	b.Until("!$('stop').hidden && /… [1-9]/.test($('status').textContent)")
	browser.Value[bool](b, "($('stop').click(), true)")
	b.Until("$('stop').hidden && $('status').textContent === 'stopped'")
	shown, _, _ := verdict(b, "e.xml", []byte(exchanged(t)))
	require.Equal(t, "proved", shown)
}

// exchanged is the text of the first example.
func exchanged(t testing.TB) string {
	b, err := os.ReadFile(filepath.Join(top, exchange))
	require.NoError(t, err)
	return string(b)
}

// tryConvert: what is right is converted, and read again.
func tryConvert(t *testing.T, b *browser.Tab) {
	verdict(b, "e.xml", []byte(exchanged(t)))
	for _, to := range []string{"oraccl", "msccl", "mscclpp", "chrome", "goal", "chakra"} {
		browser.Value[bool](b, fmt.Sprintf("($('to').value = %q, convert().then(() => true))", to))
		require.Equal(t, map[string]int{"chakra": 2}[to]+map[bool]int{true: 1}[to != "chakra"], browser.Value[int](b, "document.querySelectorAll('#results a').length"), "%s: %s", to, b.Text("converted"))
	}
	verdict(b, "d.xml", []byte(strings.Replace(exchanged(t), `type="rrc"`, `type="r"`, 1)))
	browser.Value[bool](b, "($('to').value = 'oraccl', convert().then(() => true))")
	require.Contains(t, b.Text("converted"), "not converted")
	require.Zero(t, browser.Value[int](b, "document.querySelectorAll('#results a').length"))
}

// tryMethods: a topology by name and one that is pasted give a table, and a method's schedule
// opens.
func tryMethods(t *testing.T, b *browser.Tab) {
	browser.Value[bool](b, "($('ntopology').value = 'ring:4', $('ncollective').value = 'allgather', $('nsize').value = '64KiB', $('limit').value = '20s', methods().then(() => true))")
	require.Contains(t, b.Text("table"), "tacos")
	require.Contains(t, b.Text("table"), "certificate checked")
	browser.Value[bool](b, "(document.querySelector('#table button').click(), true)")
	b.Until("$('verdict').textContent === 'proved' && worker.job === null")
	require.Regexp(t, `allgather of 64 KiB`, b.Text("claim"))
	browser.Value[bool](b, `($('nfile').value = '{"schema":"oraccl/topology/1","name":"mine","ranks":2,"links":[{"src":0,"dst":1,"alpha_ps":0,"bandwidth_bytes_per_s":1000000000},{"src":1,"dst":0,"alpha_ps":0,"bandwidth_bytes_per_s":1000000000}]}', bounds().then(() => true))`)
	require.Contains(t, b.Text("table"), "No schedule ends before 32.77 us")
	browser.Value[bool](b, "($('nfile').value = '{', bounds().then(() => true))")
	require.Contains(t, b.Text("table"), "topology:1:")
}

// timeFirst measures from the load of the page to the first verdict.
func timeFirst(t *testing.T, b *browser.Tab) {
	began := time.Now()
	b.Again("#example=exchange")
	b.Until("document.getElementById('verdict').textContent === 'proved'")
	took := time.Since(began)
	t.Logf("from load to the first verdict: %v", took)
	require.Less(t, took, 30*time.Second, "on a machine that has nothing else to do it is less than 2 s")
	b.Until("worker.job === null")
}

// tryLarge: a schedule of 50 MB is verified while the page stays alive.
func tryLarge(t *testing.T, b *browser.Tab) {
	program := command(t)
	file := filepath.Join(t.TempDir(), "large.json")
	said, err := exec.Command(program, "solve", "torus:20x20", "--collective", "allgather", "--size", "64MiB", "--method", "tacos", "--tries", "1", "--chunks", "3", "-o", file).CombinedOutput()
	require.NoError(t, err, "%s", said)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(50_000_000))
	node := browser.Value[bool](b, `(() => { const i = document.createElement('input'); i.type = 'file'; i.id = 'large'; document.body.append(i); return true; })()`)
	require.True(t, node)
	_, err = chromedp.Run(b.Context, chromedp.Evaluate[bool]("true"))
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(b.Context, chromedp.SetUploadFiles("#large", []string{file})))
	worst := browser.Value[float64](b, `(async () => {
		let worst = 0, last = performance.now(), on = true;
		const beat = () => { const now = performance.now(); worst = Math.max(worst, now - last); last = now; if (on) setTimeout(beat, 0); };
		beat();
		await open($('large').files);
		on = false;
		return worst;
	})()`)
	require.Equal(t, "proved", b.Text("verdict"), b.Text("claim"))
	t.Logf("%d bytes: %s, the page did not answer for %.0f ms at most", info.Size(), b.Text("status"), worst)
	require.Less(t, worst, 1500.0)
}

// TestShoot takes the pictures that the file named by ORACCL_SHOOT lists, a line each: the page,
// the picture to write, the theme, the width in pixels, and the fragment of the address. It is
// what view/screenshots.sh runs.
func TestShoot(t *testing.T) {
	list := os.Getenv("ORACCL_SHOOT")
	if list == "" {
		t.Skip("left out: ORACCL_SHOOT names no list of pictures to take")
	}
	lines, err := os.ReadFile(list)
	require.NoError(t, err)
	var b *browser.Tab
	opened := "" // in the tab, and how
	for line := range strings.Lines(string(lines)) {
		words := strings.Fields(line)
		require.Len(t, words, 5, line)
		width, err := strconv.ParseInt(words[3], 10, 64)
		require.NoError(t, err)
		if how := words[0] + " " + words[2]; how != opened {
			b, opened = browser.OpenFor(t, 30*time.Minute, words[0], words[2]), how
		}
		browser.Value[bool](b, fmt.Sprintf("(history.replaceState(null, '', %q), follow().then(() => true))", words[4]))
		b.Until("(document.querySelectorAll('iframe').forEach(f => f.scrollIntoView()), worker.job === null && [...document.querySelectorAll('iframe')].every(f => f.dataset.drawn === '1'))")
		require.NoError(t, os.WriteFile(words[1], b.Whole(width), 0o644))
	}
}

// TestLight: a program that is heavier than a page may be is refused, also one that was compressed
// quickly.
func TestLight(t *testing.T) {
	require.NoError(t, light(4_000_000, false))
	require.ErrorContains(t, light(4_000_001, false), "4000001 bytes compressed, want at most 4000000")
	require.NoError(t, light(5_333_333, true))
	require.Error(t, light(5_333_334, true))
}

// TestWeight: what would double the size of the page is not in it.
func TestWeight(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./cmd/oraccl")
	list.Dir, list.Env = top, append(os.Environ(), environment...)
	out, err := list.Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "github.com/oraccl/oraccl/cmd/oraccl/view")
	for _, heavy := range []string{"net/http", "gonum.org/v1/plot", "go.yaml.in/yaml/v3", "github.com/oraccl/oraccl/cmd/oraccl/chart", "github.com/oraccl/oraccl/cmd/oraccl/manual", "github.com/oraccl/oraccl/cmd/oraccl/turns", "github.com/oraccl/oraccl/solve/exact", "github.com/oraccl/oraccl/solve/sat", "github.com/oraccl/oraccl/solve/dual", "github.com/oraccl/oraccl/solve/overtime", "os/exec"} {
		require.NotContains(t, packages, heavy, "see plot_js.go in cmd/oraccl/report, solvers_js.go in solve/certify, and beyond_page.go in cmd/oraccl")
	}
}
