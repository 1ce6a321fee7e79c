package console

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sparkoperator/spark-operator/test/kit/pages"
)

var update = flag.Bool("update", false, "write the screenshots of docs/console.md, and the page that lists them")

// TestPages opens the pages with sample data in one Chromium.
func TestPages(t *testing.T) {
	// The server ends after the browser, whose event streams it would wait for.
	server := httptest.NewServer(pages.Handler())
	t.Cleanup(server.Close)

	s := &samples{browser: start(t), address: server.URL, pages: pages.All(time.Now())}
	t.Run("looks", s.looks)
	t.Run("pictures", s.pictures)
	t.Run("weight", s.weight)
	t.Run("keys", s.keys)
	t.Run("theme", s.theme)
	t.Run("clock", s.clock)
	t.Run("check", s.check)
}

// samples are the pages with sample data, and the browser that shows them.
type samples struct {
	*browser
	address string
	pages   []pages.Page
}

// looks opens each page in each look. The browser reports no error, such as a violation of the policy; nothing is wider
// than the window; and axe-core finds nothing serious. Without CONSOLE=all it uses two looks, which have both colour
// schemes and both sizes.
func (s *samples) looks(t *testing.T) {
	for i, l := range looks {
		if odd := i == 1 || i == 2; odd && !*update && os.Getenv("CONSOLE") != "all" {
			continue
		}

		w := s.tab(t, l, visitPatience)
		for _, page := range s.pages {
			t.Run(l.name+"/"+page.Name, func(t *testing.T) {
				w.visit(t, s.address+page.Path)
				w.accessible(t)

				w.fits(t, l)

				for _, problem := range w.seen() {
					t.Error(problem)
				}

				if *update {
					w.photograph(t, filepath.Join(root, "docs/console", picture(page.Name, l)))
				}
			})
		}
	}
}

// picture returns the name of the file with a page in a look.
func picture(page string, l look) string { return page + "-" + l.name + ".webp" }

// pictures checks that docs/console-pictures.md lists the screenshots of all pages, and no others.
func (s *samples) pictures(t *testing.T) {
	const about = `# The console in pictures

Each page of [the console](console.md) with sample data, also when it is empty, loads or has a problem, on a desktop
(1280 pixels wide) and on a phone (360), light and dark. The tests take the pictures.

| page | desktop | | phone | |
|---|---|---|---|---|
`

	var table, files strings.Builder
	for _, page := range s.pages {
		table.WriteString("| " + strings.ReplaceAll(page.Name, "-", " "))

		for _, l := range looks {
			_, colours, _ := strings.Cut(l.name, "-")
			fmt.Fprintf(&table, " | [%s](console/%s)", colours, picture(page.Name, l))
			files.WriteString(picture(page.Name, l) + "\n")
		}

		table.WriteString(" |\n")
	}

	file := filepath.Join(root, "docs/console-pictures.md")
	if *update {
		if err := os.WriteFile(file, []byte(about+table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	text, err := os.ReadFile(file)
	if err != nil || string(text) != about+table.String() {
		t.Errorf("%s does not list the pages (%v); write it with -update", file, err)
	}

	entries, err := os.ReadDir(filepath.Join(root, "docs/console"))
	if err != nil {
		t.Fatal(err)
	}

	wanted := strings.Fields(files.String())
	for _, entry := range entries {
		if i := slices.Index(wanted, entry.Name()); i < 0 {
			t.Errorf("docs/console/%s is no picture of a page", entry.Name())
		} else {
			wanted = slices.Delete(wanted, i, i+1)
		}
	}

	if len(wanted) > 0 {
		t.Errorf("pictures are missing: %q; take them with -update", wanted)
	}
}

// fits checks that nothing is wider than the window.
func (w *tab) fits(t *testing.T, l look) {
	t.Helper()

	if width := value[int64](t, w, "document.scrollingElement.scrollWidth"); width > l.width {
		wide := value[string](t, w, `[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .tabs, .copy, pre")).slice(0, 4).map(e => e.outerHTML.slice(0, 120)).join("\n")`)
		t.Errorf("%s is %d pixels wide, the window %d; wider are:\n%s", value[string](t, w, "location.href"), width, l.width, wide)
	}
}

// photograph writes what the window shows into a file.
func (w *tab) photograph(t *testing.T, file string) {
	t.Helper()

	var image []byte
	w.run(t, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		image, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(80).Do(ctx)
		return err
	}))

	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(file, image, 0o644); err != nil {
		t.Fatal(err)
	}
}

// weight measures the compressed bytes of a first visit.
func (s *samples) weight(t *testing.T) {
	w := s.open(t, looks[0])

	var bytes float64
	chromedp.ListenTarget(w, func(event any) {
		if loaded, ok := event.(*network.EventLoadingFinished); ok {
			w.mu.Lock()
			bytes += loaded.EncodedDataLength
			w.mu.Unlock()
		}
	})
	w.run(t, network.Enable(), network.SetCacheDisabled(true))
	w.visit(t, s.address+"/")

	w.mu.Lock()
	defer w.mu.Unlock()

	t.Logf("the first visit of All with 42 rows loads %.0f bytes", bytes)

	if bytes < 20_000 || bytes > 200_000 {
		t.Errorf("the first visit loads %.0f bytes; at most 200000 are wanted, and fewer than 20000 mean that something is missing", bytes)
	}
}

// press presses a key as a keyboard does: the page can prevent that the key types its character.
func press(key string) chromedp.Action {
	return chromedp.Tasks{input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(key), input.DispatchKeyEvent(input.KeyUp).WithKey(key)}
}

// keys uses the keyboard alone: the search, the rows and the dialog of an action.
func (s *samples) keys(t *testing.T) {
	w := s.open(t, looks[0])
	w.visit(t, s.address+"/")

	focus := func() string { return value[string](t, w, "document.activeElement.id") }

	w.run(t, press("/"))

	if focus() != "q" {
		t.Errorf("after / the focus is on %q, want the search", focus())
	}

	w.run(t, chromedp.KeyEvent(kb.Escape), press("j"), press("j"))

	if id := focus(); id != "o-uid-1" {
		t.Errorf("after j twice the focus is on %q, want the second row", id)
	}

	application := slices.IndexFunc(s.pages, func(p pages.Page) bool { return p.Name == "application" })
	w.visit(t, s.address+s.pages[application].Path)
	w.run(t, chromedp.Focus("button.danger", chromedp.ByQuery), chromedp.KeyEvent("\r"), chromedp.WaitVisible("#action-confirm", chromedp.ByQuery))

	if text := value[string](t, w, `document.querySelector("#dialog").innerText`); !strings.Contains(text, "kubectl delete") {
		t.Errorf("the dialog does not show the command: %s", text)
	}

	w.accessible(t)
	w.run(t, chromedp.KeyEvent(kb.Escape))

	if value[bool](t, w, `document.querySelector("#dialog").open`) {
		t.Error("Escape does not close the dialog")
	}
}

// theme switches the theme. The choice lasts across pages.
func (s *samples) theme(t *testing.T) {
	w := s.alone(t, looks[0], patience)
	w.visit(t, s.address+"/")

	const ground = `getComputedStyle(document.documentElement).backgroundColor`

	light := value[string](t, w, ground)
	w.run(t, chromedp.Click("[data-theme-switch]", chromedp.ByQuery))

	dark := value[string](t, w, ground)
	if dark == light {
		t.Error("the switch changes nothing")
	}

	w.visit(t, s.address+"/namespaces")

	if got := value[string](t, w, ground); got != dark {
		t.Errorf("the next page has the ground %s, want %s", got, dark)
	}
}

// clock checks that a time under the pointer has the clock of the user's time zone, too, and only once.
func (s *samples) clock(t *testing.T) {
	w := s.open(t, looks[0])
	w.visit(t, s.address+"/")

	title := value[string](t, w, `(time => {
		for (let i = 0; i < 2; i++) time.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
		return time.title;
	})(document.querySelector("td time"))`)
	if strings.Count(title, " UTC, here ") != 1 {
		t.Errorf("the time has the tooltip %q", title)
	}
}

// check checks that the page of submissions shows that a check runs.
func (s *samples) check(t *testing.T) {
	w := s.open(t, looks[0])
	w.visit(t, s.address+"/submit?mode=manifest")

	const heading = `getComputedStyle(document.querySelector("#checks h2"), "::after").content`
	if shown := value[string](t, w, heading); strings.Contains(shown, "checking") {
		t.Errorf("before the check, the heading ends with %s", shown)
	}

	w.run(t, chromedp.SendKeys("#text", "#", chromedp.ByQuery))
	w.until(t, "the page shows that the check runs", heading+`.includes("checking")`)
}
