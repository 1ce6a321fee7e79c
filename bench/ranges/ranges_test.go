package ranges

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/jvm"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte(`
ranges:
- figure: a/b/c
  per: a//c
  min: 0.5
  max: 2
  why: because
  from:
  - {date: 2026-11-21, run: the first, machine: two cores, value: 1.5}
- figure: a/*/c
  each: [x, "y, z"]
  why: it is measured
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{Ranges: []Range{
		{Figure: "a/b/c", Per: "a//c", Min: new(0.5), Max: new(2.0), Why: "because", From: []Origin{{"2026-11-21", "the first", "two cores", 1.5}}},
		{Figure: "a/*/c", Each: []string{"x", "y, z"}, Why: "it is measured"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i, want := range [][]string{{"a/b/c"}, {"a/x/c", "a/y, z/c"}} {
		if diff := cmp.Diff(want, got.Ranges[i].IDs()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"nothing":                {``, "there are none"},
		"a key that is unknown":  {`ranges: [{figure: a/b/c, why: w, maximum: 1}]`, "maximum"},
		"no identity":            {`ranges: [{figure: c, why: w}]`, "SCENARIO/CASE/NAME"},
		"a pattern to divide by": {`ranges: [{figure: a/b/c, per: a/*/c, why: w}]`, "per:"},
		"nothing is in it":       {`ranges: [{figure: a/b/c, min: 2, max: 1, why: w}]`, "min: 2 is more than max, 1"},
		"no reason":              {`ranges: [{figure: a/b/c, max: 1}]`, "ranges[0] (a/b/c): why"},
		"no day":                 {`ranges: [{figure: a/b/c, why: w, from: [{date: yesterday, run: r, machine: m, value: 1}]}]`, "from[0].date"},
		"no machine":             {`ranges: [{figure: a/b/c, why: w, from: [{date: 2026-11-21, run: r, value: 1}]}]`, "from[0]: run or machine"},
		"no run":                 {`ranges: [{figure: a/b/c, why: w, from: [{date: 2026-11-21, machine: m, value: 1}]}]`, "from[0]: run or machine"},
		"twice":                  {`ranges: [{figure: a/b/c, why: w}, {figure: a/b/c, why: w}]`, "ranges[1] (a/b/c): figure: a/b/c has a range already"},
		"twice, by each":         {`ranges: [{figure: a/b/c, why: w}, {figure: a/*/c, each: [a, b], why: w}]`, "ranges[1] (a/*/c): figure: a/b/c has a range already"},
		"a * for whatever":       {`ranges: [{figure: a/*/c, why: w}]`, "each: want"},
		"two":                    {`ranges: [{figure: a/*/*, each: [b], why: w}]`, "each: want"},
		"each without a *":       {`ranges: [{figure: a/b/c, each: [b], why: w}]`, "each: want"},
	} {
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: the error is %v, want %q in it", name, err, c.says)
		}
	}
}

func TestOnly(t *testing.T) {
	all := Spec{Ranges: []Range{
		{Figure: "a/b/c"}, {Figure: "x/b/c"}, {Figure: "*/c", Each: []string{"a/1", "x/1", "a/2"}}, {Figure: "*/d", Each: []string{"x/1"}}, {Figure: "a/b/c", Per: "x/b/c"},
		{Figure: "a/b/c", Per: "a/b/d"},
	}}
	got := all.Only(func(id string) bool { return strings.HasPrefix(id, "a/") })
	want := Spec{Ranges: []Range{{Figure: "a/b/c"}, {Figure: "*/c", Each: []string{"a/1", "a/2"}}, {Figure: "a/b/c", Per: "a/b/d"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(all.Ranges[2].Each) != 3 {
		t.Errorf("what was given is changed: %v", all)
	}
}

func TestCheck(t *testing.T) {
	run := &figure.Run{}
	run.Add(
		figure.Figure{Scenario: "lives", Case: "operator", Name: "rate", Value: 9, Unit: "1/s"},
		figure.Figure{Scenario: "lives", Case: "raw", Name: "rate", Value: 10, Unit: "1/s"},
		figure.Figure{Scenario: "lives", Case: "operator", Name: "CPU", Value: 4, Unit: "ms"},
		figure.Figure{Scenario: "submit", Case: "one", Name: "CPU", Value: 10, Unit: "s"},
		figure.Figure{Scenario: "submit", Case: "four", Name: "CPU", Value: 1, Unit: "s"},
		figure.Figure{Scenario: "lives", Case: "operator", Name: "none", Value: 0},
	)
	for name, c := range map[string]struct {
		of   Range
		want []Verdict // without their ranges
	}{
		"at most, and it is that":  {Range{Figure: "lives/operator/CPU", Max: new(4.0)}, []Verdict{{ID: "lives/operator/CPU", Value: 4, Unit: "ms", Known: true}}},
		"at most, and it is more":  {Range{Figure: "lives/operator/CPU", Max: new(3.9)}, []Verdict{{ID: "lives/operator/CPU", Value: 4, Unit: "ms", Known: true, Problem: "out of range"}}},
		"at least, and it is less": {Range{Figure: "lives/operator/CPU", Min: new(4.1)}, []Verdict{{ID: "lives/operator/CPU", Value: 4, Unit: "ms", Known: true, Problem: "out of range"}}},
		"a ratio":                  {Range{Figure: "lives/operator/rate", Per: "lives/raw/rate", Min: new(0.9)}, []Verdict{{ID: "lives/operator/rate", Value: 0.9, Known: true}}},
		"units of one kind, of each": {Range{Figure: "submit/*/CPU", Each: []string{"one", "four", "five"}, Per: "lives/operator/CPU", Min: new(500.0)}, []Verdict{
			{ID: "submit/one/CPU", Value: 2500, Known: true}, {ID: "submit/four/CPU", Value: 250, Known: true, Problem: "out of range"},
			{ID: "submit/five/CPU", Problem: "figure is missing"}}},
		"units of two kinds": {Range{Figure: "submit/one/CPU", Per: "lives/raw/rate"},
			[]Verdict{{ID: "submit/one/CPU", Value: 10, Unit: "s", Problem: `"submit/one/CPU" is in "s" and "lives/raw/rate" in "1/s": they have no ratio`}}},
		"over nothing": {Range{Figure: "lives/operator/none", Per: "lives/operator/none"},
			[]Verdict{{ID: "lives/operator/none", Problem: "lives/operator/none is 0, and nothing can be told in its terms"}}},
		"it is there":   {Range{Figure: "lives/operator/none"}, []Verdict{{ID: "lives/operator/none", Known: true}}},
		"it is missing": {Range{Figure: "lives/operator/nothing"}, []Verdict{{ID: "lives/operator/nothing", Problem: "figure is missing"}}},
		"what it is divided by is missing": {Range{Figure: "lives/raw/rate", Per: "a/b/c"},
			[]Verdict{{ID: "lives/raw/rate", Value: 10, Unit: "1/s", Problem: "figure is missing: a/b/c"}}},
	} {
		got := Check(run, Spec{Ranges: []Range{c.of}})
		for i := range got {
			got[i].Range = Range{}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSpecs: those that are kept can be read, and the quick one has nothing that depends on the machine.
func TestSpecs(t *testing.T) {
	for _, plan := range []string{"full", "quick"} {
		s, err := Of(plan)
		if err != nil {
			t.Fatal(plan, err)
		}
		verdicts := Check(&figure.Run{}, s)
		if failed := Failed(verdicts); failed != len(verdicts) {
			t.Errorf("%s: of a run that measured nothing %d of %d ranges fail", plan, failed, len(verdicts))
		}
		if plan != "quick" {
			continue
		}
		for _, r := range s.Ranges {
			if r.Per == "" && !strings.HasSuffix(r.Figure, " an application") {
				t.Errorf("quick: %s is neither a ratio nor a count an application", r.Figure)
			}
			for _, o := range r.From {
				if !r.holds(o.Value) {
					t.Errorf("quick: %s was %v on %s, which is not %s", r.Figure, o.Value, o.Date, r.Wanted())
				}
			}
		}
	}
	if _, err := Of("slow"); err == nil {
		t.Error("a plan without ranges has some")
	}
}

// TestRunsAreKept: a run that a range comes from can be looked up, and one that none comes from any more is not kept.
func TestRunsAreKept(t *testing.T) {
	var kept, named []string
	files, err := filepath.Glob("../runs/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		kept = append(kept, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	for _, plan := range []string{"full", "quick"} {
		s, err := Of(plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Ranges {
			for _, o := range r.From {
				named = append(named, o.Run)
			}
		}
	}
	slices.Sort(named)
	if diff := cmp.Diff(slices.Compact(named), kept); diff != "" {
		t.Errorf("runs that ranges name (-) and those of bench/runs (+):\n%s", diff)
	}
}

// TestRangesSpeakOfFigures: what a range names is what scenarios call it, by the constants of package figure.
func TestRangesSpeakOfFigures(t *testing.T) {
	known := constants(t, "../figure/names.go")
	for plan, text := range map[string][]byte{"full": Full, "quick": Quick} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Ranges {
			for _, id := range append(r.IDs(), r.Per) {
				if id == "" || strings.HasPrefix(id, figure.Micro+"/") { // whose names are those of benchmarks: bench/micro has a test of them
					continue
				}
				parts := strings.SplitN(id, "/", 3)
				for _, word := range []string{parts[0], parts[2]} {
					if !known[word] && !strings.HasPrefix(word, "CPU of ") {
						t.Errorf("%s: %s: nothing is called %q", plan, id, word)
					}
				}
			}
		}
	}
}

// constants are the values of a file's constants that are texts.
func constants(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			known[text] = true
		}
		return true
	})
	return known
}

// TestEverySparkLineIsHeld: of each line all is demanded that is measured of it, and the bar on its CPU.
func TestEverySparkLineIsHeld(t *testing.T) {
	spec, err := Of("full")
	if err != nil {
		t.Fatal(err)
	}
	held := spec.IDs()
	for _, r := range spec.Ranges {
		for _, id := range r.IDs() {
			if id == (figure.Figure{Scenario: figure.Submit, Case: figure.SubmitCase("4.1.4", 1), Name: figure.SubmitCPU}).ID() && (r.Min == nil || r.Per == "") {
				t.Errorf("%s has no bar", id)
			}
		}
	}
	for _, version := range jvm.Versions() {
		for _, atOnce := range []int{1, jvm.AtOnce} {
			for _, name := range []string{figure.SubmitWall, figure.SubmitCPU, figure.SubmitMemory} {
				if id := (figure.Figure{Scenario: figure.Submit, Case: figure.SubmitCase(version, atOnce), Name: name}).ID(); !held[id] {
					t.Errorf("no range demands %s", id)
				}
			}
		}
	}
}

func TestPrint(t *testing.T) {
	verdicts := []Verdict{
		{Range: Range{Max: new(3.0), Why: "so it is agreed"}, ID: "lives/operator/" + strings.Repeat("long ", 30), Value: 4.5678, Unit: "ms", Known: true, Problem: "out of range"},
		{Range: Range{Figure: "a/b/c", Why: "to be measured"}, ID: "a/b/c", Problem: "figure is missing"},
		{Range: Range{Per: "lives/raw limit/rate", Min: new(0.8), Why: "w"}, ID: "lives/operator/rate", Value: 0.91234, Known: true},
	}
	var out strings.Builder
	if err := Print(&out, verdicts); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines {
		if len(line) > width {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
	if len(lines) != 7 || !strings.HasPrefix(lines[1], "ok  lives/operator/rate, over lives/raw limit/rate") || !strings.Contains(lines[1], "0.912  at least 0.8") {
		t.Errorf("the range that holds is not told first:\n%s", out.String())
	}
	for i, want := range map[int]string{2: "4.57 ms  at most 3", 3: "out of range; demanded: so it is agreed", 4: "-  be there", 5: "figure is missing; demanded: to be measured", 6: "1 of 3 ranges hold"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q in it", i, lines[i], want)
		}
	}
}
