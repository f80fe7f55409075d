// Package browser has tests open pages in a Chromium without windows, one for all tests of a
// package, and fails them if a page complains of anything or asks the network for anything.
// Where there is no Chromium such tests are left out, and TestMain says so.
package browser

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

// find returns the browser of the tests: what ORACCL_CHROMIUM names, what the
// set-up unpacked into .deps, or what is in PATH. The browser of a snap does not count: it
// may not read what tests write.
func find() (string, error) {
	if path := os.Getenv("ORACCL_CHROMIUM"); path != "" {
		return path, nil
	}
	for dir, err := os.Getwd(); err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".deps", "tools", "chromium-headless-shell")
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

// Main runs the tests of a package, as TestMain, and ends the browser.
func Main(m *testing.M) {
	if _, err := find(); err != nil {
		fmt.Fprintf(os.Stderr, "oraccl: tests in a browser are left out: %v\n", err)
	}
	code := m.Run()
	if chromium.cancel != nil {
		chromium.cancel()
	}
	os.Exit(code)
}

func startChromium() {
	path, err := find()
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

// Tab is a page in the browser, with all that it complained of and asked for.
type Tab struct {
	t testing.TB
	// Context is what chromedp is called with.
	Context context.Context

	address string
	mu      sync.Mutex
	errors  []string
	asked   []string // addresses
}

// Open opens a file in a new tab of a theme, "light" or "dark", and waits until all is
// drawn and counted. The test ends with an error if the page complains of anything, or asks
// for anything but itself. It must be done in five minutes.
func Open(t testing.TB, file, theme string) *Tab { return OpenFor(t, 5*time.Minute, file, theme) }

// OpenFor is Open with another limit.
func OpenFor(t testing.TB, limit time.Duration, file, theme string) *Tab {
	chromium.once.Do(startChromium)
	if chromium.absent != nil {
		t.Skipf("left out: %v", chromium.absent)
	}
	require.NoError(t, chromium.err)
	parent, cancel := chromedp.NewContext(chromium.ctx)
	t.Cleanup(cancel)
	b := &Tab{t: t}
	require.NoError(t, chromedp.Do(parent))
	ctx, stop := context.WithTimeout(parent, limit)
	t.Cleanup(stop)
	b.Context = ctx
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1400, 1000)))
	b.Load(file)
	t.Cleanup(b.Quiet)
	return b
}

// Load opens another file in the tab.
func (b *Tab) Load(file string) {
	b.t.Helper()
	b.Quiet()
	b.address = "file://" + file
	require.NoError(b.t, chromedp.Do(b.Context, chromedp.Navigate(b.address)))
	b.Until("document.documentElement.dataset.ready === '1' || document.readyState === 'complete' && document.scripts.length === 0") // one without a script is drawn once it is there
}

// Quiet sees to it that the page complained of nothing, and asked for nothing but itself.
func (b *Tab) Quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.errors, "what the page complains of")
	if b.address != "" {
		require.Equal(b.t, []string{b.address}, b.asked, "what the page asks for")
	}
	b.asked = nil
}

func (b *Tab) hear(event any) {
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
		if !strings.HasPrefix(e.Request.URL, "blob:") { // which is what the page made itself
			b.asked = append(b.asked, e.Request.URL)
		}
	}
}

// Until waits for a condition, frame by frame. A page that is on its way is waited for.
func (b *Tab) Until(condition string) {
	b.t.Helper()
	_, err := chromedp.Run(b.Context, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(2*time.Minute)))
	for tries := 0; tries < 5 && err != nil && strings.Contains(err.Error(), "Cannot find context"); tries++ { // that of the page before it
		_, err = chromedp.Run(b.Context, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(2*time.Minute)))
	}
	require.NoError(b.t, err, condition)
}

// Value evaluates an expression in the page.
func Value[T any](b *Tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.Context, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return v
}

// Frame waits until what was asked for is drawn.
func (b *Tab) Frame() {
	b.t.Helper()
	Value[bool](b, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

func (b *Tab) Text(id string) string {
	b.t.Helper()
	return Value[string](b, fmt.Sprintf("document.getElementById(%q).textContent", id))
}

// Press sends keys to what has the focus, as a keyboard does.
func (b *Tab) Press(keys string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.Context, chromedp.KeyEvent(keys)))
	b.Frame()
}

// Whole returns a picture of the whole page, as wide as it is told. What is in a frame is drawn by
// another process, once it is in sight: for a page with frames the window is as high as the page.
func (b *Tab) Whole(width int64) []byte {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.Context, chromedp.EmulateViewport(width, 1000)))
	if Value[bool](b, "document.querySelector('iframe') !== null") {
		require.NoError(b.t, chromedp.Do(b.Context, chromedp.EmulateViewport(width, Value[int64](b, "document.documentElement.scrollHeight"))))
		Value[bool](b, "new Promise(done => setTimeout(() => done(true), 1500))")
	}
	b.Frame()
	shot, err := chromedp.Run(b.Context, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	return shot
}

// PointAt moves the pointer to a place of an element, in its pixels.
func (b *Tab) PointAt(id string, x, y float64) {
	b.t.Helper()
	at := Value[[]float64](b, fmt.Sprintf("(() => { const e = document.getElementById(%q); e.scrollIntoView({ block: 'nearest' }); const r = e.getBoundingClientRect(); return [r.left, r.top]; })()", id))
	require.NoError(b.t, chromedp.Do(b.Context, chromedp.MouseEvent(chromedp.MouseMoved, at[0]+x, at[1]+y)))
	b.Frame()
}

// Complaints returns what the page has complained of so far, and forgets it.
func (b *Tab) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.errors
	b.errors = nil
	return all
}

// Again opens the file of the tab once more, with a fragment of the address that may be empty,
// and does not wait for anything.
func (b *Tab) Again(fragment string) {
	b.t.Helper()
	b.Quiet()
	require.NoError(b.t, chromedp.Do(b.Context, chromedp.Navigate("about:blank"))) // from which another fragment is another page
	b.mu.Lock()
	b.asked = nil
	b.mu.Unlock()
	require.NoError(b.t, chromedp.Do(b.Context, chromedp.Navigate(b.address+fragment)))
}

func thrown(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Text + " " + e.Exception.Description
	}
	return e.Text
}
