package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestVersion(t *testing.T) {
	version = "1.2.3"
	t.Cleanup(func() { version = "" })
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"version", "--short"}, "1.2.3\n"},
		{[]string{"version"}, "spark-operator 1.2.3 (revision "},
	} {
		if got, err := execute(t, test.args...); err != nil || !strings.HasPrefix(got, test.want) {
			t.Errorf("%v: %q, %v; want %q", test.args, got, err, test.want)
		}
	}
	version = ""
	if got, err := execute(t, "version", "--short"); err != nil || strings.TrimSpace(got) == "" {
		t.Errorf("without a stamp: %q, %v", got, err)
	}
}

func TestWhatStopsTheStart(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	file := func(content string) string {
		name := filepath.Join(t.TempDir(), "file.yaml")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"no configuration file", []string{"controller", "start", "--config", "/does/not/exist"}, "/does/not/exist"},
		{"a bad field", []string{"controller", "start", "--config", file("controller: {workers: -1}")}, "controller.workers"},
		{"an unknown field", []string{"controller", "start", "--config", file("controller: {worker: 1}")}, "controller.worker"},
		{"no cluster", []string{"controller", "start"}, "KUBECONFIG"},
		{"no kubeconfig file", []string{"controller", "start", "--kubeconfig", "/does/not/exist"}, "/does/not/exist"},
		{"an argument", []string{"controller", "start", "now"}, "now"},
		{"an unknown command", []string{"controler"}, "controler"},
		{"the webhook", []string{"webhook", "start"}, "no webhook"},
	} {
		if _, err := execute(t, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want it to name %q", test.name, err, test.want)
		}
	}
}
