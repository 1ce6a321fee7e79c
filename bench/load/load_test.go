package load

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var spec = Spec{Seed: 1, Classes: []Class{
	{Name: "a", Namespace: "team", Namespaces: 3, Count: 40, Rate: 10, Executors: 5, Run: time.Second,
		RunMost: 3 * time.Second, Fail: 0.2},
	{Name: "b", Namespace: "other", Count: 2, Rate: 1, Alone: true},
}}

// TestApplicationsAreDeterministic checks that the applications depend only on the description.
func TestApplicationsAreDeterministic(t *testing.T) {
	first, second := spec.Applications(), spec.Applications()
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}

	if len(first) != spec.Count() {
		t.Errorf("%d applications of %d", len(first), spec.Count())
	}

	failed := 0
	for i, a := range first {
		if i > 0 && a.At < first[i-1].At {
			t.Errorf("%s comes before %s", a.Name, first[i-1].Name)
		}

		if a.Program.Exit != 0 {
			failed++
		}

		if a.Namespace != "other" && (a.Program.Run < time.Second || a.Program.Run >= 3*time.Second) {
			t.Errorf("%s runs %s", a.Name, a.Program.Run)
		}
	}

	if failed < 2 || failed > 20 {
		t.Errorf("%d of 42 fail", failed)
	}

	want := []string{"team-0", "team-1", "team-2", "other"}
	if diff := cmp.Diff(want, spec.Namespaces()); diff != "" {
		t.Error(diff)
	}
}

func TestReadProgramReturnsArguments(t *testing.T) {
	want := Program{Executors: 5, Placed: true, Run: 1500 * time.Millisecond, Exit: 1}

	got, err := ReadProgram([]string{"driver", "--properties-file", "x", "key=value", want.Arguments()[0].(string)})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}

	for _, bad := range []string{`{"executors":"x"}`, `{"run":"5"}`, `{"exit":9999999999}`, `{"placed":2}`, "{"} {
		if _, err := ReadProgram([]string{bad}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
