package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

func TestField(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("a: 1\nb:  two words \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{`(?m)^b:\s*(.+)$`: "two words", `(?m)^c:(.+)$`: ""} {
		if got := field(file, pattern); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	if got := field(file+"none", `(.)`); got != "" {
		t.Errorf("%q of no file", got)
	}
}

func TestVersions(t *testing.T) {
	got := versions("..")
	for _, name := range []string{"Go", "Kubernetes", "etcd"} {
		if !regexp.MustCompile(`^\d+\.\d+`).MatchString(got[name]) {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	if got := machine(); got["cores"] == "" || got["system"] == "" {
		t.Errorf("%v", got)
	}
}

func TestSubmitted(t *testing.T) {
	run := &figure.Run{}
	for _, version := range []string{"4.1.4", "3.5.9"} {
		run.Add(figure.Figure{Scenario: figure.Submit, Case: figure.SubmitCase(version, 1), Name: figure.SubmitCPU, Value: 1})
	}
	if diff := cmp.Diff([]string{"3.5.9", "4.1.4"}, submitted(run)); diff != "" {
		t.Error(diff)
	}
}

func TestRevision(t *testing.T) {
	if got := revision("machine_test.go"); got != "an unknown commit" {
		t.Errorf("of what is no binary: %q", got)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := revision(self); got == "" {
		t.Error("of a binary it is nothing")
	}
}
