package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/local/internal/debian"
)

// fakeMachine puts fakes of apt's programs and of mmdebstrap on PATH. The parameter is the body of the mmdebstrap
// script. The fake of mmdebstrap writes its arguments to the file "args" and its standard input to the file "sources".
// Both files are in the returned directory.
func fakeMachine(t *testing.T, mmdebstrap string) string {
	t.Helper()

	dir := t.TempDir()
	for name, body := range map[string]string{
		"apt-cache":  `echo "  Candidate: 1"`,
		"apt-get":    `echo "Packages|http://mirror/debian/|trixie|main|Debian|` + dir + `/own.sources:1"`,
		"apt-config": `echo 'Acquire::http::Proxy "http://proxy:1/";'`,
		"mount":      ``,
		"mmdebstrap": `printf '%s\n' "$@" >` + dir + "/args\ncat >" + dir + "/sources\n" + mmdebstrap,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(dir, "own.sources"), []byte("Types: deb\nSigned-By: /keys/own.gpg\n"),
		0o644); err != nil {
		t.Fatal(err)
	}

	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return dir
}

var trixie = base{release: debian.Release{ID: "debian", Codename: "trixie"}, java: 21}

func TestBaseLayerUsesTheMachinesSources(t *testing.T) {
	machine := fakeMachine(t, `mkdir -p "$TMPDIR/r/etc" && echo r >"$TMPDIR/r/etc/passwd" && echo h >"$TMPDIR/r/etc/hostname" && tar -C "$TMPDIR/r" -c .`)

	path, err := trixie.layer(t.Context(), testStore(t))
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, e := range entries(t, path) {
		names = append(names, e.Name)
	}

	if diff := cmp.Diff([]string{"etc/", "etc/passwd"}, names); diff != "" {
		t.Error("layer:", diff)
	}

	sources, err := os.ReadFile(filepath.Join(machine, "sources"))
	if diff := cmp.Diff("deb [signed-by=/keys/own.gpg] http://mirror/debian/ trixie main\n",
		string(sources)); diff != "" || err != nil {
		t.Error("sources:", diff, err)
	}

	text, err := os.ReadFile(filepath.Join(machine, "args"))
	if err != nil {
		t.Fatal(err)
	}

	args := strings.Split(string(text), "\n")
	for _, want := range []string{
		"--variant=essential", "--include=openjdk-21-jre-headless,python3,tini,ca-certificates,procps,libnss-wrapper",
		`--aptopt=Acquire::http::Proxy "http://proxy:1/";`,
	} {
		if !strings.Contains("\n"+string(text), "\n"+want+"\n") {
			t.Errorf("mmdebstrap was called with %q, want %s among them", args, want)
		}
	}
}

func TestFailedBaseLayerIsNotCached(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"it fails", "echo E: no such package >&2; exit 25", "E: no such package"},
		{"it fails after half a layer", "head -c 700 /dev/zero; echo E: disk full >&2; exit 1", "E: disk full"},
		{"what it writes is no tar, without end", "yes", "mmdebstrap"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeMachine(t, test.body)

			s := testStore(t)
			if _, err := trixie.layer(t.Context(), s); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that contains %q", err, test.want)
			}

			if left, _ := filepath.Glob(filepath.Join(s.dir, "*", "*", "*")); len(left) > 0 ||
				exists(s.path(trixie.id())) {
				t.Errorf("a failure leaves %v", left)
			}
		})
	}
}

func TestBaseLayerStopsWithItsContext(t *testing.T) {
	machine := fakeMachine(t, `trap 'touch "${0%/*}/told"; exit 1' TERM; touch "${0%/*}/started"; while :; do sleep 0.05; done`)

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil && !exists(filepath.Join(machine, "started")) {
			time.Sleep(5 * time.Millisecond)
		}

		cancel()
	}()

	if _, err := trixie.layer(ctx, testStore(t)); err == nil || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("got %v, want an error after the context's end", err)
	}

	if !exists(filepath.Join(machine, "told")) {
		t.Error("mmdebstrap received no SIGTERM")
	}
}

func TestNewBaseChoosesJava(t *testing.T) {
	fakeMachine(t, "")

	s := testStore(t)
	if text, err := os.ReadFile("/etc/os-release"); err != nil {
		t.Skip("no /etc/os-release on this machine")
	} else if _, err := debian.ParseRelease(string(text)); err != nil {
		t.Skip(err)
	}

	first, err := newBase(t.Context(), s, 0)
	if err != nil || first.java != 17 {
		t.Fatalf("got Java %d, %v; want the first that apt has, 17", first.java, err)
	}

	asked, err := newBase(t.Context(), s, 21)
	if err != nil || asked.java != 21 {
		t.Fatalf("got Java %d, %v; want the requested version, 21", asked.java, err)
	}

	if _, err := s.product(t.Context(), asked.id(), writer("layer")); err != nil {
		t.Fatal(err)
	}

	kept, err := newBase(t.Context(), s, 0)
	if err != nil || kept.java != 21 {
		t.Errorf("got Java %d, %v; want that of the layer which is there, 21", kept.java, err)
	}
}
