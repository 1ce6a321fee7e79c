package load

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte(`
seed: 7
classes:
- {name: quick, namespace: a, count: 3, executors: 2, run: 2s..5s, fail: 0.5, spec: {driver: {memory: 1g}}}
- {name: slow, namespace: b, namespaces: 2, count: 4, rate: 0.5, run: 1m, executorRun: 20s, placed: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{Seed: 7, Classes: []Class{
		{Name: "quick", Namespace: "a", Count: 3, Executors: 2, Run: Range{2 * time.Second, 5 * time.Second}, Fail: 0.5, Spec: map[string]any{"driver": map[string]any{"memory": "1g"}}},
		{Name: "slow", Namespace: "b", Namespaces: 2, Count: 4, Rate: 0.5, Run: For(time.Minute), ExecutorRun: For(20 * time.Second), Placed: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	class := func(fields string) string { return "classes: [{name: a, namespace: b, count: 2, " + fields + "}]" }
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":            {"{}", "classes: there is none"},
		"unknown field":      {class("rum: 2s"), `unknown field "classes[0].rum"`},
		"field twice":        {class("run: 2s, run: 3s"), `"run" already set`},
		"no duration":        {class("run: long"), `invalid duration "long"`},
		"number as duration": {class("run: 2"), "2 is no duration"},
		"range backwards":    {class("run: 5s..2s"), `"5s..2s" does not go from less to more`},
		"below nothing":      {class("run: -5s"), "does not go from less to more"},
		"no name":            {"classes: [{namespace: b, count: 1}]", "classes[0].name"},
		"no namespace":       {"classes: [{name: b, count: 1}]", "classes[0].namespace"},
		"long name":          {"classes: [{name: " + strings.Repeat("a", 41) + ", namespace: b, count: 1}]", "classes[0].name"},
		"no count":           {"classes: [{name: a, namespace: b}]", "classes[0].count"},
		"count past bounds":  {"classes: [{name: a, namespace: b, count: 100001}]", "classes[0].count"},
		"many namespaces":    {class("namespaces: 3"), "classes[0].namespaces"},
		"rate":               {class("rate: -1"), "classes[0].rate"},
		"executors":          {class("executors: -1"), "classes[0].executors"},
		"fail":               {class("fail: 1.5"), "classes[0].fail"},
		"arguments":          {class("spec: {arguments: [x]}"), "classes[0].spec.arguments"},
		"same names":         {"classes: [{name: a, namespace: b, count: 1}, {name: a, namespace: c, count: 1}]", "classes[1].name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want it to say %q", err, tc.want)
			}
		})
	}
}

func TestApplications(t *testing.T) {
	s := Spec{Classes: []Class{
		{Name: "fast", Namespace: "a", Namespaces: 2, Count: 3, Rate: 2},
		{Name: "once", Namespace: "b", Count: 2},
	}}
	type sent struct {
		Name string
		At   time.Duration
	}
	var got []sent
	for a := range s.Applications() {
		got = append(got, sent{a.Namespace + "/" + a.Name, a.At})
	}
	want := []sent{
		{"a-0/fast-0", 0}, {"b/once-0", 0}, {"b/once-1", 0}, {"a-1/fast-1", 500 * time.Millisecond}, {"a-0/fast-2", time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Count() != len(got) {
		t.Errorf("the count is %d", s.Count())
	}
	if diff := cmp.Diff([]string{"a-0", "a-1", "b"}, s.Namespaces()); diff != "" {
		t.Error(diff)
	}
	for range s.Applications() {
		break // one that stops reading is left alone
	}
}

func TestApplicationsAreThoseOfTheSeed(t *testing.T) {
	s := Spec{Seed: 3, Classes: []Class{{Name: "a", Namespace: "n", Count: 1000, Run: Range{time.Second, 2 * time.Second}, Fail: 0.25}}}
	first, second := slices.Collect(s.Applications()), slices.Collect(s.Applications())
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error("one seed gives two loads:", diff)
	}
	other := s
	other.Seed++
	if cmp.Equal(first, slices.Collect(other.Applications())) {
		t.Error("two seeds give one load")
	}
	failed := 0
	for _, a := range first {
		p := programOf(t, a)
		if p.Run < time.Second || p.Run > 2*time.Second {
			t.Errorf("%s runs for %s", a.Name, p.Run)
		}
		failed += int(p.Exit)
	}
	if failed < 200 || failed > 300 {
		t.Errorf("%d of 1000 fail, where a quarter is asked for", failed)
	}
}

func TestRate(t *testing.T) {
	for want, classes := range map[float64][]Class{20: {{Rate: 19.5}, {Rate: 0.5}}, 0: {{Rate: 3}, {}}} {
		if got := (Spec{Classes: classes}).Rate(); got != want {
			t.Errorf("%v a second, want %v", got, want)
		}
	}
}

func TestRangeInWords(t *testing.T) {
	for want, r := range map[string]Range{"200ms": For(200 * time.Millisecond), "2s to 5s": {2 * time.Second, 5 * time.Second}} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSized(t *testing.T) {
	s := Spec{Seed: 3, Classes: []Class{{Name: "many", Namespaces: 10, Count: 780, Rate: 2}, {Name: "few", Namespaces: 10, Count: 20}}}
	for n, want := range map[int][]int{800: {780, 20}, 400: {390, 10}, 60: {59, 1}, 10: {9, 1}, 1600: {1560, 40}, 1: {1, 1}} {
		got := s.Sized(n)
		if diff := cmp.Diff(want, []int{got.Classes[0].Count, got.Classes[1].Count}); diff != "" {
			t.Errorf("%d: %s", n, diff)
		}
		if got.Classes[1].Namespaces > got.Classes[1].Count || got.Classes[0].Rate != 2 || got.Seed != 3 {
			t.Errorf("%d: %+v", n, got)
		}
	}
	if s.Count() != 800 || s.Classes[1].Namespaces != 10 {
		t.Errorf("the load that was given is changed: %+v", s)
	}
}

func TestNamed(t *testing.T) {
	s := Spec{Seed: 3, Classes: []Class{{Name: "a", Namespace: "n", Count: 5, Run: For(time.Second)}}}
	got := s.Named("b", "m")
	want := Spec{Seed: 3, Classes: []Class{{Name: "b-a", Namespace: "m", Count: 5, Run: For(time.Second)}}}
	if diff := cmp.Diff(want, got); diff != "" || s.Classes[0].Name != "a" {
		t.Error(diff, s)
	}
}

func programOf(t *testing.T, a Application) Program {
	t.Helper()
	var args []string
	for _, arg := range a.Object.Object["spec"].(map[string]any)["arguments"].([]any) {
		args = append(args, arg.(string))
	}
	p, err := ReadProgram(args)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProgramTravels(t *testing.T) {
	for _, want := range []Program{
		{},
		{Executors: 5, Run: 2500 * time.Millisecond},
		{Executors: 1, Placed: true, Run: time.Hour, ExecutorRun: 30 * time.Second, Exit: 1},
	} {
		args := []string{"driver", "--class", "org.apache.spark.examples.SparkPi", "local:///x.jar"}
		for _, arg := range want.Arguments() {
			args = append(args, arg.(string))
		}
		got, err := ReadProgram(args)
		if err != nil || got != want {
			t.Errorf("%+v came as %+v: %v", want, got, err)
		}
	}
	for _, arg := range []string{"executors=many", "run=2", "exit=-", "placed=here", "executor-run="} {
		if _, err := ReadProgram([]string{arg}); err == nil || !strings.Contains(err.Error(), arg) {
			t.Errorf("%s: the error is %v", arg, err)
		}
	}
}

func TestSpecIsMerged(t *testing.T) {
	over := map[string]any{"driver": map[string]any{"memory": "1g"}, "restartPolicy": map[string]any{"type": "Never"}, "type": "Python",
		"executor": map[string]any{"instances": nil}, "volumes": nil}
	s := Spec{Classes: []Class{{Name: "a", Namespace: "n", Count: 2, Executors: 3, Spec: over}}}
	for a := range s.Applications() {
		spec := a.Object.Object["spec"].(map[string]any)
		got := map[string]any{"driver": spec["driver"], "type": spec["type"], "restartPolicy": spec["restartPolicy"], "executor": spec["executor"]}
		want := map[string]any{
			"driver": map[string]any{"cores": int64(1), "memory": "1g", "serviceAccount": "default"}, "type": "Python",
			"restartPolicy": map[string]any{"type": "Never"}, "executor": map[string]any{"cores": int64(1), "memory": "512m"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if v, there := spec["volumes"]; there {
			t.Errorf("what null takes away is %v", v)
		}
		spec["restartPolicy"].(map[string]any)["type"] = "Always" // what one application is made of is not another's
	}
}

// TestLoads holds that the descriptions that come with the bench are read.
func TestLoads(t *testing.T) {
	files, err := filepath.Glob("../loads/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are none:", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
