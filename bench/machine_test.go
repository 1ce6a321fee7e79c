package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
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
