package view

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// findChromium returns the browser of the tests: what ORACCL_CHROMIUM names, what the
// set-up unpacked into .deps, or what is in PATH. The browser of a snap does not count: it
// may not read what tests write.
func findChromium() (string, error) {
	if path := os.Getenv("ORACCL_CHROMIUM"); path != "" {
		return path, nil
	}
	if path, err := filepath.Abs("../../../.deps/tools/chromium-headless-shell"); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	for _, name := range []string{"chromium-headless-shell", "chrome-headless-shell", "chromium", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && (real == "/usr/bin/snap" || strings.HasPrefix(real, "/snap/")) {
			continue
		}
		return path, nil
	}
	return "", fmt.Errorf("no Chromium: sh cmd/setup/setup.sh browser installs one, ORACCL_CHROMIUM=path names one")
}

// chromium is the browser that all tests share.
var chromium struct {
	once   sync.Once
	ctx    context.Context
	cancel func()
	err    error
	absent error
}

func TestMain(m *testing.M) {
	if _, err := findChromium(); err != nil {
		fmt.Fprintf(os.Stderr, "oraccl: tests in a browser are left out: %v\n", err)
	}
	code := m.Run()
	if chromium.cancel != nil {
		chromium.cancel()
	}
	os.Exit(code)
}

func startChromium() {
	path, err := findChromium()
	if err != nil {
		chromium.absent = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:len(chromedp.DefaultExecAllocatorOptions):len(chromedp.DefaultExecAllocatorOptions)],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("force-device-scale-factor", "1"), chromedp.Flag("hide-scrollbars", true), chromedp.WindowSize(1400, 1000))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	chromium.ctx, chromium.cancel = ctx, func() { cancel(); stop() }
	if err := chromedp.Do(ctx); err != nil {
		chromium.err = fmt.Errorf("%s does not start: %w", path, err)
	}
}

// tab is a page in the browser, with all that it complained of and asked for.
type tab struct {
	t   testing.TB
	ctx context.Context

	address string
	mu      sync.Mutex
	errors  []string
	asked   []string // addresses
}

// open opens a file in a new tab of a theme, "light" or "dark", and waits until all is
// drawn and counted. The test ends with an error if the page complains of anything, or asks
// for anything but itself.
func open(t testing.TB, file, theme string) *tab {
	chromium.once.Do(startChromium)
	if chromium.absent != nil {
		t.Skipf("left out: %v", chromium.absent)
	}
	require.NoError(t, chromium.err)
	parent, cancel := chromedp.NewContext(chromium.ctx)
	t.Cleanup(cancel)
	b := &tab{t: t}
	require.NoError(t, chromedp.Do(parent))
	ctx, stop := context.WithTimeout(parent, 5*time.Minute)
	t.Cleanup(stop)
	b.ctx = ctx
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1400, 1000)))
	b.load(file)
	t.Cleanup(b.quiet)
	return b
}

// load opens another file in the tab.
func (b *tab) load(file string) {
	b.t.Helper()
	b.quiet()
	b.address = "file://" + file
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate(b.address)))
	b.until("document.documentElement.dataset.ready === '1'")
}

// quiet sees to it that the page complained of nothing, and asked for nothing but itself.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.errors, "what the page complains of")
	if b.address != "" {
		require.Equal(b.t, []string{b.address}, b.asked, "what the page asks for")
	}
	b.asked = nil
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, thrown(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			b.errors = append(b.errors, fmt.Sprintf("console.%v", e.Type))
		}
	case *log.EventEntryAdded:
		b.errors = append(b.errors, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

// until waits for a condition, frame by frame.
func (b *tab) until(condition string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(2*time.Minute)))
	require.NoError(b.t, err, condition)
}

// value evaluates an expression in the page.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return v
}

// frame waits until what was asked for is drawn.
func (b *tab) frame() {
	b.t.Helper()
	value[bool](b, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

func (b *tab) text(id string) string {
	b.t.Helper()
	return value[string](b, fmt.Sprintf("document.getElementById(%q).textContent", id))
}

// press sends keys to what has the focus, as a keyboard does.
func (b *tab) press(keys string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.KeyEvent(keys)))
	b.frame()
}

// pointAt moves the pointer to a place of an element, in its pixels.
func (b *tab) pointAt(id string, x, y float64) {
	b.t.Helper()
	at := value[[]float64](b, fmt.Sprintf("(() => { const e = document.getElementById(%q); e.scrollIntoView({ block: 'nearest' }); const r = e.getBoundingClientRect(); return [r.left, r.top]; })()", id))
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, at[0]+x, at[1]+y)))
	b.frame()
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

func thrown(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Text + " " + e.Exception.Description
	}
	return e.Text
}
