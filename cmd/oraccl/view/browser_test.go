package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/browser"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// TestComparison opens the page of two: one clock moves both, from the page and from each.
func TestComparison(t *testing.T) {
	slow, fast := rotation(t, 4), rotation(t, 4)
	slow.Title, fast.Title = "slow", "fast"
	for i := range slow.Schedule.Transfers { // a long time passes before the last step
		if x := &slow.Schedule.Transfers[i]; x.Start >= 2*model.Microsecond {
			x.Start, x.End = x.Start+40*model.Microsecond, x.End+40*model.Microsecond
		}
	}
	file := filepath.Join(t.TempDir(), "both.html")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, Compare(f, slow, fast))
	require.NoError(t, f.Close())
	b := browser.Open(t, file, "light")
	require.Equal(t, "slow takes 14.33 times as long as fast.", b.Text("lines"))
	require.Equal(t, 1.5e6, browser.Value[float64](b, "oracclComparison.time()"), "both are under way")
	// What is in the frames answers with its time when it is asked by nobody: a click there tells all.
	browser.Value[bool](b, "(() => { const e = document.getElementById('time'); e.value = 1000; e.dispatchEvent(new Event('input')); return true; })()")
	require.InDelta(t, 2.6e6, browser.Value[float64](b, "oracclComparison.time()"), 1e5, "half of what is drawn: two steps, a short gap, a step")
	box := browser.Value[[]float64](b, "(() => { const r = document.getElementById('two').getBoundingClientRect(); return [r.left, r.top, r.width]; })()")
	require.Greater(t, box[0], 600.0, "beside each other")
	before := browser.Value[float64](b, "oracclComparison.time()")
	require.NoError(t, chromedp.Do(b.Context, chromedp.MouseEvent(chromedp.MousePressed, box[0]+40, box[1]+20, chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseReleased, box[0]+40, box[1]+20, chromedp.ButtonLeft), chromedp.KeyEvent(".")))
	b.Until(fmt.Sprintf("oracclComparison.time() > %v", before))
	require.Equal(t, 3e6, browser.Value[float64](b, "oracclComparison.time()"), "the next event of the frame that has the keys")

	other := corpus(t, "accept/line3-broadcast-order.json")
	require.ErrorContains(t, Compare(io.Discard, slow, other), "no clock in common")
	wrong := corpus(t, "reject/ring4-allreduce-pipelined/transfer-0-again-at-the-end.json")
	var page bytes.Buffer
	require.NoError(t, Compare(&page, slow, wrong))
	require.Contains(t, page.String(), "They are not of one problem: the collective is allgather in slow, and allreduce in")
	require.Contains(t, page.String(), "is refuted, so that its time counts for nothing")
}

// TestIdle: the slider and the rows pass over idle time quickly, and the page marks it.
func TestIdle(t *testing.T) {
	pic := rotation(t, 4)
	for i := range pic.Schedule.Transfers {
		if x := &pic.Schedule.Transfers[i]; x.Start > 0 {
			x.Start, x.End = x.Start+100*model.Microsecond, x.End+100*model.Microsecond
		}
	}
	b := browser.Open(t, write(t, pic), "light")
	require.Equal(t, [][]float64{{1e6, 101e6, 2.575e6}}, browser.Value[[][]float64](b, "oracclView.head.idle"))
	require.Equal(t, "103us", strings.TrimPrefix(browser.Value[string](b, "document.getElementById('range').textContent"), "4 rows, 0s to "))
	wide := browser.Value[[]float64](b, "[oracclView.timeline.X(0), oracclView.timeline.X(1e6), oracclView.timeline.X(101e6), oracclView.timeline.X(103e6)]")
	require.InDelta(t, 2, (wide[3]-wide[2])/(wide[1]-wide[0]), 1e-9)
	require.InDelta(t, 2.575, (wide[2]-wide[1])/(wide[1]-wide[0]), 1e-9)
	require.InDelta(t, 51e6, browser.Value[float64](b, fmt.Sprintf("oracclView.timeline.T(%v)", (wide[1]+wide[2])/2)), 1)
}

// corpus is a file of testdata/schedules as a picture, with the verdict of the replay.
func corpus(t testing.TB, name string) *Picture {
	file := filepath.Join("../../../testdata/schedules", name)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	sol, err := native.ReadSolution(file, bytes.NewReader(b))
	require.NoError(t, err)
	return judged(sol.Problem, sol.Schedule, filepath.Base(file))
}

func judged(p *model.Problem, s *model.Schedule, title string) *Picture {
	v := replay.Check(context.Background(), p, s)
	pic := &Picture{Title: title, Problem: p, Schedule: s, Verdict: Verdict{Outcome: v.Outcome.String(), Engine: v.Engine, Claim: verify.Claim(p, s), Reason: v.Reason}}
	for _, x := range v.Violations {
		at, _ := x.Transfer()
		pic.Verdict.Violations = append(pic.Verdict.Violations, Violation{string(x.Code), x.Where, x.Message, at})
	}
	return pic
}

// rotation is an allgather on a ring in which all chunks go round one way: easy to tell
// what is where at any time. A step lasts a microsecond.
func rotation(t testing.TB, n int) *Picture {
	w, err := topo.Ring(n, topo.Wire{Alpha: 0, Bandwidth: 1e9})
	require.NoError(t, err)
	p := (&model.Problem{Topology: w, Collective: model.Collective{Kind: model.AllGather}, Size: int64(1000 * n), Cost: model.Pipelined}).WithChunks(n)
	s := &model.Schedule{Form: model.Timed}
	route := map[int]int32{}
	for l, k := range w.Links {
		if k.Dst == (k.Src+1)%n {
			route[k.Src] = int32(len(s.Routes))
			s.Routes = append(s.Routes, []int{l})
		}
	}
	for step := range n - 1 {
		for r := range n {
			at := model.Time(step) * model.Microsecond
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32((r - step + n) % n), Src: int32(r), Dst: int32((r + 1) % n), Route: route[r], Start: at, End: at + model.Microsecond})
		}
	}
	pic := judged(p, s, "rotation")
	require.Equal(t, "proved", pic.Verdict.Outcome)
	pic.Bound = &Bound{Value: model.Time(n-1) * model.Microsecond / 2, Kind: "ingress", Detail: "what a rank must receive"}
	return pic
}

// TestPage opens the page of a schedule that is right and uses it, by pointer and by keys.
func TestPage(t *testing.T) {
	b := browser.Open(t, write(t, rotation(t, 8)), "light")
	require.Equal(t, "proved", b.Text("verdict"))
	require.Equal(t, "rotation", b.Text("title"))
	require.True(t, browser.Value[bool](b, "[...document.querySelectorAll('.legend > span')].every(e => e.offsetTop === document.querySelector('.legend > span').offsetTop)"), "the legend is one line")
	require.Equal(t, 22.0+8*34+4, browser.Value[float64](b, "document.getElementById('lane').offsetHeight"), "eight rows leave no empty space")
	numbers := b.Text("numbers")
	for _, want := range []string{"makespan7us", "bound3.5us by ingress", "gap100.0%", "transfers56", "ranks8", "busy100.0% of the time, 8 of them used"} {
		require.Contains(t, numbers, want)
	}
	require.Equal(t, "(circle)", b.Text("layout"))
	require.Equal(t, 7, browser.Value[int](b, "oracclView.data.path.length"), "each step waits for the one before it")

	t.Run("slider", func(t *testing.T) {
		require.Equal(t, "0s", b.Text("now"))
		require.Equal(t, 1, browser.Value[int](b, "oracclView.held.done[3]"), "its own chunk")
		browser.Value[bool](b, "(() => { const e = document.getElementById('time'); e.value = 1000; e.dispatchEvent(new Event('input')); return true; })()")
		b.Frame()
		require.Equal(t, "3.5us", b.Text("now"))
		require.Equal(t, 8, browser.Value[int](b, "oracclView.cursor.count"), "one transfer per rank is under way")
		require.Equal(t, 4, browser.Value[int](b, "oracclView.held.done[3]"), "its own, and three that came")
	})
	t.Run("slider by keys", func(t *testing.T) {
		b.Press("t")
		require.Equal(t, "time", browser.Value[string](b, "document.activeElement.id"))
		b.Press(kb.Home)
		before := b.Text("now")
		b.Press(kb.ArrowRight)
		require.NotEqual(t, before, b.Text("now"))
	})
	t.Run("events by keys", func(t *testing.T) {
		browser.Value[bool](b, "(document.activeElement.blur(), oracclView.setTime(0), true)")
		b.Press("..")
		require.Equal(t, "2us", b.Text("now"))
		require.Equal(t, 3, browser.Value[int](b, "oracclView.held.done[0]"))
		b.Press(",")
		require.Equal(t, "1us", b.Text("now"))
		require.Equal(t, 2, browser.Value[int](b, "oracclView.held.done[0]"), "going back takes back")
	})
	t.Run("timeline by keys", func(t *testing.T) {
		browser.Value[bool](b, "(document.getElementById('timeline').focus(), true)")
		b.Press("+")
		require.InDelta(t, 3.5e6, browser.Value[float64](b, "oracclView.timeline.view.to - oracclView.timeline.view.from"), 1)
		b.Press("0n")
		first := browser.Value[int](b, "oracclView.timeline.chosen()")
		require.GreaterOrEqual(t, first, 0)
		require.Contains(t, b.Text("detailtext"), fmt.Sprintf("transfer %d: copy chunk", first))
		b.Press("n")
		require.Equal(t, first+8, browser.Value[int](b, "oracclView.timeline.chosen()"), "the next on this link")
		b.Press("r")
		require.Equal(t, "ranks", browser.Value[string](b, "oracclView.timeline.mode()"))
		require.Equal(t, 16, browser.Value[int](b, "oracclView.timeline.rowsShown()"))
		b.Press("l0")
		require.Equal(t, "links", browser.Value[string](b, "oracclView.timeline.mode()"))
	})
	t.Run("hover", func(t *testing.T) {
		require.True(t, browser.Value[bool](b, "document.getElementById('tip').hidden"))
		at := browser.Value[[]float64](b, "oracclView.middle(8)") // of the second step
		b.PointAt("timeline", at[0], at[1])
		require.False(t, browser.Value[bool](b, "document.getElementById('tip').hidden"))
		tip := b.Text("tip")
		for _, want := range []string{"transfer 8: copy chunk 7, 1000 B", "rank 0 \u2192 rank 1", "1us to 2us, 1us", "contributions: {7}"} {
			require.Contains(t, tip, want)
		}
		at = browser.Value[[]float64](b, "oracclView.middle(oracclView.data.path[2])")
		b.PointAt("timeline", at[0], at[1])
		require.Contains(t, b.Text("tip"), "on the critical path: it sends what the one before it brought")
		b.PointAt("held", 5, 5)
		require.Contains(t, b.Text("tip"), "rank 0 at ")
		at = browser.Value[[]float64](b, "oracclView.network.where(2)")
		b.PointAt("network", at[0], at[1])
		require.Contains(t, b.Text("tip"), "rank 2 at ")
	})
	t.Run("network by keys", func(t *testing.T) {
		browser.Value[bool](b, "(document.getElementById('network').focus(), true)")
		b.Press(kb.ArrowRight + kb.ArrowRight)
		require.Equal(t, 1, browser.Value[int](b, "oracclView.network.chosen()"))
		require.Contains(t, b.Text("detailtext"), "rank 1 at ")
	})
	t.Run("matrix by keys", func(t *testing.T) {
		browser.Value[bool](b, "(oracclView.setTime(2e6), document.getElementById('held').focus(), true)")
		b.Press(kb.ArrowRight + kb.ArrowDown + kb.ArrowRight)
		require.Contains(t, b.Text("detailtext"), "rank 1 at 2us")
		require.Contains(t, b.Text("detailtext"), "chunk 1: {1}")
		b.Press(kb.End)
		require.Contains(t, b.Text("detailtext"), "chunk 7: {7}", "it came two steps ago")
		browser.Value[bool](b, "(oracclView.setTime(1e6), true)")
		b.Frame()
		require.Contains(t, b.Text("detailtext"), "chunk 7: undefined", "details follow the slider")
	})
	t.Run("play", func(t *testing.T) {
		browser.Value[bool](b, "(document.activeElement.blur(), oracclView.setTime(0), true)")
		b.Press(" ")
		b.Until("oracclView.time() > 0")
		b.Press(" ")
		at := b.Text("now")
		b.Frame()
		require.Equal(t, at, b.Text("now"), "it stands still")
	})
	t.Run("dark and light", func(t *testing.T) {
		const background = "getComputedStyle(document.body).backgroundColor"
		light := browser.Value[string](b, background)
		b.Press("d")
		require.NotEqual(t, light, browser.Value[string](b, background))
		b.Press("d")
		require.Equal(t, light, browser.Value[string](b, background))
		dark := browser.Open(t, write(t, rotation(t, 8)), "dark")
		require.NotEqual(t, light, browser.Value[string](dark, background), "as the system asks")
	})
}

// TestNodesApart sees to it that no two nodes overlap, however many there are.
func TestNodesApart(t *testing.T) {
	var b *browser.Tab
	for _, name := range []string{"ring:8", "ring:256", "full:64", "mesh:32x32", "fattree:16x16", "dragonfly:6x4x4"} {
		w, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := (&model.Problem{Topology: w, Collective: model.Collective{Kind: model.Broadcast}, Size: 1, Cost: model.Pipelined}).WithChunks(1)
		page := write(t, judged(p, &model.Schedule{Form: model.Timed}, name)) // nothing is sent
		if b == nil {
			b = browser.Open(t, page, "light")
		} else {
			b.Load(page)
		}
		apart := browser.Value[[]float64](b, `(() => {
			const n = oracclView.data.nodes, at = Array.from({ length: n }, (_, v) => oracclView.network.where(v));
			let near = Infinity;
			for (let u = 0; u < n; u++) for (let v = 0; v < u; v++) near = Math.min(near, Math.hypot(at[u][0] - at[v][0], at[u][1] - at[v][1]));
			return [near, oracclView.network.radius()];
		})()`)
		require.GreaterOrEqual(t, apart[0], 2*apart[1], name)
		require.Equal(t, "refuted", b.Text("verdict"))
		b.Press(". n+")
	}
}

// TestRefutedPage sees to it that the transfer of the counterexample is shown, and marked.
func TestRefutedPage(t *testing.T) {
	pic := corpus(t, "reject/ring4-allgather-pipelined/transfer-0-twice.json")
	require.Equal(t, "refuted", pic.Verdict.Outcome)
	with := -1
	for _, v := range pic.Verdict.Violations {
		if v.Transfer >= 0 {
			with = v.Transfer
			break
		}
	}
	require.GreaterOrEqual(t, with, 0)
	b := browser.Open(t, write(t, pic), "light")
	require.Equal(t, "refuted", b.Text("verdict"))
	require.Contains(t, b.Text("violations"), pic.Verdict.Violations[0].Message)
	require.Contains(t, b.Text("detailtext"), fmt.Sprintf("transfer %d", with), "it is chosen from the beginning")
	require.Contains(t, b.Text("detailtext"), pic.Verdict.Violations[0].Code)
	require.NotEqual(t, "0s", b.Text("now"), "the slider is where it is under way")
	require.True(t, paints(b, "timeline", "--bad"), "it is marked in the timeline")
	require.True(t, paints(b, "network", "--bad"), "and in the network")
	require.Equal(t, 2, browser.Value[int](b, "core.linkRows(oracclView.data).lanes[0]"), "the two that overlap are side by side")
	for _, i := range []int{0, with} {
		at := browser.Value[[]float64](b, fmt.Sprintf("oracclView.middle(%d)", i))
		b.PointAt("timeline", at[0], at[1])
		require.Contains(t, b.Text("tip"), fmt.Sprintf("transfer %d:", i))
	}
	browser.Value[bool](b, "(oracclView.setTime(0), true)")
	b.Press("x")
	require.NotEqual(t, "0s", b.Text("now"), "x goes there")

	right := browser.Open(t, write(t, rotation(t, 4)), "light")
	require.False(t, paints(right, "timeline", "--bad"), "nothing is marked where nothing is wrong")
}

// paints reports whether a canvas has a pixel of a colour of the theme.
func paints(b *browser.Tab, id, name string) bool {
	return browser.Value[bool](b, fmt.Sprintf(`(() => {
		const c = document.getElementById(%q), px = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const g = document.createElement("canvas").getContext("2d");
		g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(%q);
		const v = parseInt(g.fillStyle.slice(1), 16);
		for (let i = 0; i < px.length; i += 4) if (px[i] === v >> 16 && px[i + 1] === (v >> 8 & 255) && px[i + 2] === (v & 255) && px[i + 3] === 255) return true;
		return false;
	})()`, id, name))
}

// TestHostilePage opens a page all of whose names are attacks.
func TestHostilePage(t *testing.T) {
	const attack = `</script><script>window.hit=1</script><img src=x onerror="window.hit=1">]]>'"&amp;{{data}}`
	p := (&model.Problem{
		Topology:   &model.Topology{Name: attack, Ranks: 2, Switches: []model.Switch{{Name: attack}}, Links: []model.Link{{Src: 0, Dst: 2, Bandwidth: 1e9}, {Src: 2, Dst: 1, Bandwidth: 1e9}}},
		Collective: model.Collective{Kind: model.Broadcast}, Size: 10, Cost: model.Pipelined,
	}).WithChunks(1)
	s := &model.Schedule{Form: model.Timed, Routes: [][]int{{0, 1}}, Transfers: []model.Transfer{{Dst: 1, End: 10 * model.Nanosecond}}}
	pic := judged(p, s, attack)
	require.Equal(t, "proved", pic.Verdict.Outcome)
	pic.Verdict.Violations = []Violation{{Code: attack, Where: attack, Message: attack}}
	pic.Verdict.Reason, pic.Notes, pic.Bound = attack, []string{attack}, &Bound{Value: 1, Kind: attack, Detail: attack}
	b := browser.Open(t, write(t, pic), "light")
	require.Equal(t, attack, b.Text("title"))
	require.Contains(t, b.Text("claim"), attack, "the network's name is there")
	require.Contains(t, b.Text("numbers"), attack, "the bound's")
	require.Contains(t, b.Text("violations"), attack)
	require.Contains(t, b.Text("notes"), attack)
	require.Equal(t, attack+" - oraccl", browser.Value[string](b, "document.title"))
	at := browser.Value[[]float64](b, "oracclView.network.where(2)")
	b.PointAt("network", at[0], at[1])
	require.Contains(t, b.Text("tip"), attack)
	at = browser.Value[[]float64](b, "oracclView.middle(0)")
	b.PointAt("timeline", at[0], at[1])
	require.Contains(t, b.Text("tip"), "by switch "+attack)
	require.True(t, browser.Value[bool](b, "window.hit === undefined && document.images.length === 0"))
}

// TestFailurePage opens the page of a file that cannot be read.
func TestFailurePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, Failure(f, "<script>x</script>", errors.New(`bad.json:3:7: "<img src=x>", want a number`)))
	require.NoError(t, f.Close())
	b := browser.Open(t, file, "dark")
	require.Equal(t, "unreadable", b.Text("verdict"))
	require.Contains(t, b.Text("claim"), `bad.json:3:7: "<img src=x>", want a number`)
	require.True(t, browser.Value[bool](b, "document.getElementById('main').hidden"))
	require.Zero(t, browser.Value[int](b, "document.images.length"))
}

// TestDamagedPage opens a page of which a part is missing.
func TestDamagedPage(t *testing.T) {
	file := write(t, rotation(t, 8))
	b := browser.Open(t, file, "light")
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	at := bytes.Index(page, []byte(`id="data">`)) + 100
	require.NoError(t, os.WriteFile(file, slices.Concat(page[:at], page[at+40:]), 0o644))
	b.Again("")
	b.Until("document.getElementById('claim').textContent.startsWith('This page is damaged: ')")
	require.NotEmpty(t, b.Complaints())
}

// TestCorpusPages opens a page of each schedule of the corpus that is right, and of
// some that are wrong: whatever their form, cost model and network, none may fail.
func TestCorpusPages(t *testing.T) {
	if testing.Short() {
		t.Skip("left out: -short")
	}
	files, err := filepath.Glob("../../../testdata/schedules/accept/*.json")
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	var b *browser.Tab
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		page := write(t, corpus(t, "accept/"+name+".json"))
		if b == nil {
			b = browser.Open(t, page, "light")
		} else {
			b.Load(page)
		}
		require.Equal(t, "proved", b.Text("verdict"), name)
		b.Press("...")
		require.NotEqual(t, "0s", b.Text("now"), name)
		at(b, 1)
		require.Equal(t, browser.Value[[]int](b, "[...oracclView.held.goals]"), browser.Value[[]int](b, "[...oracclView.held.done]"), "%s: at the end every rank holds what it must", name)
		require.False(t, paints(b, "held", "--bad"), "%s: and nothing too often", name)
		if i%7 != 0 {
			continue
		}
		changed, err := filepath.Glob("../../../testdata/schedules/reject/" + name + "/*.json")
		require.NoError(t, err)
		require.NotEmpty(t, changed, name)
		pic := corpus(t, "reject/"+name+"/"+filepath.Base(changed[len(changed)/2]))
		b.Load(write(t, pic))
		require.Equal(t, "refuted", b.Text("verdict"), changed[len(changed)/2])
		at(b, 1)
		if slices.ContainsFunc(pic.Verdict.Violations, func(v Violation) bool {
			return v.Code == "missing-contribution" || v.Code == "double-contribution" || v.Code == "wrong-value"
		}) {
			require.NotEqual(t, browser.Value[[]int](b, "[...oracclView.held.goals]"), browser.Value[[]int](b, "[...oracclView.held.done]"), "%s: at the end some rank does not hold what it must", changed[len(changed)/2])
		}
	}
}

// write writes a page to a file of the test.
func write(t testing.TB, p *Picture) string {
	file := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(file)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, HTML(f, p))
	return file
}

func TestMain(m *testing.M) { browser.Main(m) }
