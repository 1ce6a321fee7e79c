package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/ranges"
)

var update = flag.Bool("update", false, "write the golden files, and the page from the newest run that is kept")

// example is a small run, with most of what a run can have.
func example(t *testing.T) (*figure.Run, []ranges.Verdict) {
	t.Helper()
	run, err := figure.Load("testdata/run.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/ranges.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ranges.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return run, ranges.Check(run, spec)
}

// golden holds text to a file, which -update writes.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", file, diff)
	}
}

func TestPage(t *testing.T) {
	run, verdicts := example(t)
	page, drawn := Page(run, "bench/runs/example.json", verdicts)
	golden(t, "page.golden.md", page)
	for name, picture := range drawn {
		golden(t, name, picture)
	}
	if len(drawn) != 1 {
		t.Errorf("%d plots of one title", len(drawn))
	}
	again, _ := Page(run, "bench/runs/example.json", verdicts)
	if !bytes.Equal(page, again) {
		t.Error("the same run is another page")
	}
}

// TestPageIsOfTheNewestRun: who changes the page by hand, or keeps a run or changes a range without writing the page, learns of it. -update writes it.
func TestPageIsOfTheNewestRun(t *testing.T) {
	const root = "../.."
	if *update {
		if err := Write(root); err != nil {
			t.Fatal(err)
		}
	}
	stale, err := Stale(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("%s are not as the newest run in %s has them: go test ./report -update", strings.Join(stale, ", "), Runs)
	}
}

func TestPrint(t *testing.T) {
	run, _ := example(t)
	for i := range 12 { // more than fit beside each other
		run.Add(figure.Figure{Scenario: "wide", Case: fmt.Sprintf("a case with a name, no. %d", i), Name: strings.Repeat("long ", 20), Value: float64(i)})
	}
	var out strings.Builder
	if err := Print(&out, run); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > terminal {
			t.Errorf("%d columns: %s", n, line)
		}
		for i := range 12 {
			seen[fmt.Sprint(i)] = seen[fmt.Sprint(i)] || strings.Contains(line, fmt.Sprintf("no. %d", i))
		}
	}
	for i := range 12 {
		if !seen[fmt.Sprint(i)] {
			t.Errorf("case %d is not shown", i)
		}
	}
	golden(t, "tables.golden.txt", []byte(out.String()))
}

func TestNewest(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Newest(dir); err == nil {
		t.Error("a run was found where none is")
	}
	if err := (&figure.Run{Plan: "full-lives"}).Save(filepath.Join(dir, "part.json")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Newest(dir); err == nil {
		t.Error("a part of a plan was taken for a run of it")
	}
	measured, failed := []figure.Figure{{Scenario: "s", Name: "n"}}, []string{"deletion"}
	for _, c := range []struct {
		name, plan, commit string
		day                int
		figures            []figure.Figure
		failed             []string
		want               string
	}{
		{"b.json", "quick", "1-dirty", 2, measured, nil, "b.json"},
		{"a.json", "quick", "1-dirty", 3, measured, nil, "a.json"},
		{"q.json", "quick", "1", 1, measured, nil, "q.json"},
		{"p.json", "full-lives", "1", 9, measured, nil, "q.json"},
		{"t.json", "tiny", "1", 9, measured, nil, "q.json"},
		{"n.json", "full", "1", 9, nil, failed, "q.json"},
		{"g.json", "full", "2-dirty", 1, measured, failed, "g.json"},
		{"h.json", "full", "2", 1, measured, failed, "h.json"},
		{"e.json", "full", "2-dirty", 1, measured, nil, "e.json"},
		{"c.json", "full", "2", 1, measured, nil, "c.json"},
		{"d.json", "quick", "2", 4, measured, nil, "c.json"},
		{"f.json", "full", "3-dirty", 5, measured, nil, "c.json"},
		{"i.json", "full", "3", 5, measured, failed, "c.json"},
		{"0.json", "full", "", 2, measured, nil, "0.json"},
	} {
		run := &figure.Run{Plan: c.plan, Commit: c.commit, Began: time.Date(2026, 1, c.day, 0, 0, 0, 0, time.UTC), Figures: c.figures, Failed: c.failed}
		if err := run.Save(filepath.Join(dir, c.name)); err != nil {
			t.Fatal(err)
		}
		if file, run, err := Newest(dir); err != nil || filepath.Base(file) != c.want || run == nil {
			t.Errorf("with %s the newest is %s, %v, want %s", c.name, file, err, c.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "torn.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Newest(dir); err == nil || !strings.Contains(err.Error(), "torn.json") {
		t.Errorf("of a torn file the error is %v", err)
	}
}

// repository makes a repository with a page's directory and one run, and returns its root.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{Runs, "docs"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run, _ := example(t)
	if err := run.Save(filepath.Join(root, Runs, "one.json")); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestWrite: what is written is not stale, what is changed or left over is, and is put right by writing again.
func TestWrite(t *testing.T) {
	root := repository(t)
	want := func(when string, stale ...string) {
		t.Helper()
		got, err := Stale(root)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stale, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	const picture, page = "docs/performance/standing-resident-memory.svg", "docs/performance.md"
	want("before", page, picture)
	if err := Write(root); err != nil {
		t.Fatal(err)
	}
	want("written")
	for name, text := range map[string]string{page: "mine", "docs/performance/old.svg": "<svg/>"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want("changed", page, "docs/performance/old.svg")
	if err := Write(root); err != nil {
		t.Fatal(err)
	}
	want("written again")
}

func TestAxis(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   []float64
	}{
		"nothing":            {nil, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		"all 0":              {[]float64{0, 0}, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		"from 0":             {[]float64{3, 97}, []float64{0, 20, 40, 60, 80, 100}},
		"one value":          {[]float64{7}, []float64{0, 2, 4, 6, 8}},
		"far from 0":         {[]float64{1000, 1010}, []float64{1000, 1002, 1004, 1006, 1008, 1010}},
		"below 0":            {[]float64{-3, 4}, []float64{-4, -2, 0, 2, 4}},
		"without their dust": {[]float64{0.1, 0.3}, []float64{0, 0.1, 0.2, 0.3}},
		"large":              {[]float64{0, 123456}, []float64{0, 50_000, 100_000, 150_000}},
	} {
		a := axisOver(c.values, 5)
		if diff := cmp.Diff(c.want, a.ticks); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, v := range c.values {
			if at := a.at(v, 10, 20); math.IsNaN(at) || at < 10-1e-9 || at > 20+1e-9 {
				t.Errorf("%s: %v lies at %v, outside", name, v, at)
			}
		}
	}
}

// TestPlots: whatever is plotted is XML, and has a line for each series.
func TestPlots(t *testing.T) {
	many := make([][2]float64, 100)
	for i := range many {
		many[i] = [2]float64{float64(i), float64(i * i)}
	}
	for name, p := range map[string]*plot{
		"nothing":    {scenario: "a", title: "b"},
		"no points":  {scenario: "a", title: "b", lines: []figure.Series{{Name: "l"}}},
		"one point":  {scenario: "a", title: "b", lines: []figure.Series{{Name: "l", Points: [][2]float64{{1, 1}}}}},
		"odd words":  {scenario: "<&>", title: `"'`, lines: []figure.Series{{Name: "<l>", X: "&x", Y: "<y", Points: many}}},
		"many lines": {scenario: "a", title: "b", lines: make([]figure.Series, 20)},
	} {
		picture := p.svg()
		decoder, lines := xml.NewDecoder(bytes.NewReader(picture)), 0
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, picture)
			}
			if e, is := token.(xml.StartElement); is && e.Name.Local == "path" && e.Attr[0].Value == "l" {
				lines++
			}
		}
		if lines != 2*len(p.lines) { // one in the legend
			t.Errorf("%s: %d lines of %d series", name, lines, len(p.lines))
		}
		if strings.Contains(string(picture), "NaN") {
			t.Errorf("%s: %s", name, picture)
		}
	}
}

// TestPeersAreBesideOurs: each figure of others has a name of ours beside it that some scenario writes.
func TestPeersAreBesideOurs(t *testing.T) {
	scenarios := map[string]bool{}
	for scenario := range about {
		scenarios[scenario] = true
	}
	for _, p := range append(append([]told{}, published...), alike...) {
		scenario, _, _ := strings.Cut(p.here, "/")
		if !scenarios[scenario] || p.who == "" || p.what == "" || p.setup == "" || p.times == 0 {
			t.Errorf("%+v is not whole", p)
		}
	}
	run, _ := example(t)
	if got := published[0].ours(run); got != "1,050 applications a minute" {
		t.Errorf("ours is %q", got)
	}
	if got := alike[0].ours(run); got != "not in this run" {
		t.Errorf("what was not measured is %q", got)
	}
}
