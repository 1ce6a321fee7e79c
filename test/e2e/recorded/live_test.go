//go:build linux

// Package recorded shows that the recordings of spark-submit in the repository are what spark-submit sends.
package recorded

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/test/record"
	"github.com/sparkoperator/spark-operator/test/record/submitter"
)

const (
	root = "../../.."
	// version is the one whose image every run of the tests has.
	version = "4.1.4"
	// liveCases is how many cases are marked live. A check of the number keeps the proof from shrinking unnoticed.
	liveCases = 10
	// sample is how many of them run unless RECORDED=all is set, as `make e2e` does: a spark-submit costs seconds of CPU.
	sample = 4
)

// TestLiveCases runs the cases that are marked live by the real bin/spark-submit, each in a Java machine of its own, and wants what the
// recordings say, which were made many in one.
func TestLiveCases(t *testing.T) {
	cases, err := record.Cases(filepath.Join(root, "spark/submit/testdata/cases"))
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := record.Load(filepath.Join(root, "spark/submit/testdata/recordings"))
	if err != nil {
		t.Fatal(err)
	}
	machine, err := submitter.New(t.Context(), version, sparkImage(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := machine.Close(); err != nil {
			t.Error(err)
		}
	})
	var cpu time.Duration
	live := slices.DeleteFunc(cases, func(c record.Case) bool { return !c.Live || !c.In(version) })
	if len(live) != liveCases {
		t.Errorf("%d cases are live, want %d", len(live), liveCases)
	}
	if os.Getenv("RECORDED") != "all" {
		live = live[:min(len(live), sample)]
	}
	for _, c := range live {
		t.Run(c.Name, func(t *testing.T) {
			var said bytes.Buffer
			got, cost, err := machine.Record(t.Context(), c, &said)
			if err != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
			cpu += cost.CPU
			recorded, ok := recordings[c.Name].Of(version)
			if !ok {
				t.Fatalf("not recorded with Spark %s; run make record", version)
			}
			if !got.Same(recorded) {
				t.Errorf("spark-submit sends (+) what is not recorded (-):\n%s", cmp.Diff(strings.Split(text(recorded), "\n"), strings.Split(text(got), "\n")))
			}
		})
	}
	t.Logf("%.1f CPU-seconds a spark-submit", cpu.Seconds()/float64(max(len(live), 1)))
}

// text is a recording as lines, for a difference that can be read.
func text(r record.Recording) string {
	var out bytes.Buffer
	out.WriteString(r.Error)
	for _, request := range r.Requests {
		out.WriteString("\n" + request.Method + " " + request.Path + "\n")
		if err := json.Indent(&out, request.Body, "", " "); err != nil {
			out.Write(request.Body)
		}
	}
	return strings.ReplaceAll(out.String(), `\n`, "\n") // A property a line.
}

// sparkImage is the archive of the Spark image, made when it is not in the cache.
func sparkImage(t *testing.T) string {
	t.Helper()
	local := filepath.Join(t.TempDir(), "sparklocal")
	output(t, "go", "build", "-C", filepath.Join(root, "local"), "-trimpath", "-o", local, "./cmd/sparklocal")
	return strings.TrimSpace(output(t, local, "image", "spark", "--version", version))
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, said.String())
	}
	return out.String()
}
