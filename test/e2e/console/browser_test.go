// Package console tests the web console in Chromium.
package console

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// root is the root of the repository.
const root = "../../.."

// patience is how long a test waits for the browser.
const patience = 2 * time.Minute

// browser is a Chromium that all tests of the package share.
type browser struct {
	context.Context
	axe string // the source of axe-core
}

// script returns what a script in tools prints.
func script(t *testing.T, name string, arguments ...string) string {
	t.Helper()

	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "tools", name), arguments...).Output()
	if err != nil {
		t.Fatalf("tools/%s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// start starts Chromium. It ends with the test.
func start(t *testing.T) *browser {
	t.Helper()

	axe, err := os.ReadFile(script(t, "assets.sh", "axe"))
	if err != nil {
		t.Fatal(err)
	}

	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(script(t, "chromium.sh")), chromedp.NoSandbox, chromedp.WSURLReadTimeout(patience))

	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)

	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)

	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("Chromium: %v", err)
	}
	return &browser{ctx, string(axe)}
}

// look is a size of the window and a colour scheme.
type look struct {
	name, scheme  string
	width, height int64
}

var looks = []look{
	{"desktop-light", "light", 1280, 800}, {"desktop-dark", "dark", 1280, 800}, {"phone-light", "light", 360, 740}, {"phone-dark", "dark", 360, 740},
}

// tab is a tab of the browser. It collects what the browser reports, such as violations of the security policy.
type tab struct {
	context.Context
	*browser
	mu       sync.Mutex
	problems []string
}

// open opens a tab with a look. It is closed with the test.
func (b *browser) open(t *testing.T, l look) *tab {
	t.Helper()
	return b.tab(t, l, patience)
}

// alone opens a window with cookies of its own, as a browser of another user has them.
func (b *browser) alone(t *testing.T, l look, limit time.Duration) *tab {
	t.Helper()

	ctx := cdp.WithExecutor(b, chromedp.FromContext(b).Browser)

	profile, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx)
	if err != nil {
		t.Fatal(err)
	}

	// A tab needs a window, and a new profile has none.
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return b.tab(t, l, limit, chromedp.WithTargetID(id))
}

// tab opens a tab that is closed with the test, or after the limit.
func (b *browser) tab(t *testing.T, l look, limit time.Duration, options ...chromedp.ContextOption) *tab {
	t.Helper()

	ctx, end := chromedp.NewContext(b, options...)
	t.Cleanup(end)

	ctx, end = context.WithTimeout(ctx, limit)
	t.Cleanup(end)

	w := &tab{Context: ctx, browser: b}
	chromedp.ListenTarget(ctx, func(event any) {
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			w.add("exception: " + event.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if event.Entry.Level == log.LevelError {
				w.add(event.Entry.Text)
			}
		}
	})

	w.looksAs(t, l)
	return w
}

// looksAs gives the window another size and colour scheme.
func (w *tab) looksAs(t *testing.T, l look) {
	t.Helper()

	media := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}})
	w.run(t, chromedp.EmulateViewport(l.width, l.height), media)
}

func (w *tab) add(problem string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.problems = append(w.problems, problem)
}

// seen returns the problems since the last call.
func (w *tab) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()

	seen := w.problems
	w.problems = nil
	return seen
}

func (w *tab) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()

	if err := chromedp.Run(w, actions...); err != nil {
		t.Fatal(err)
	}
}

// value returns the value of a JavaScript expression, or of the promise that it returns.
func value[T any](t *testing.T, w *tab, expression string) (out T) {
	t.Helper()

	w.run(t, chromedp.Evaluate(expression, &out, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return out
}

// visit opens an address and waits until the page has loaded.
func (w *tab) visit(t *testing.T, address string) {
	t.Helper()
	w.run(t, chromedp.Navigate(address), chromedp.WaitVisible("main", chromedp.ByQuery))
}

// finding is a violation of a rule of accessibility.
type finding struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// accessible checks the page with axe-core. The protocol of the browser runs it, which the policy of the page does not
// restrict.
func (w *tab) accessible(t *testing.T) {
	t.Helper()

	w.run(t, chromedp.Evaluate(w.axe+";0", nil))

	const rules = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 3).map(n => ({html: n.html, failureSummary: n.failureSummary}))})))`
	for _, f := range value[[]finding](t, w, rules) {
		if f.Impact == "serious" || f.Impact == "critical" {
			t.Errorf("axe: %s (%s): %s", f.ID, f.Impact, f.Help)

			for _, node := range f.Nodes {
				t.Errorf("  %.300s\n  %s", node.HTML, node.Summary)
			}
		} else {
			t.Logf("axe: %s (%s): %s", f.ID, f.Impact, f.Help)
		}
	}
}
