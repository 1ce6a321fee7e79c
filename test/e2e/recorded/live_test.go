//go:build linux

// Package recorded checks that the committed recordings match the requests of the real spark-submit.
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

	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
	"github.com/sparkoperator/spark-operator/test/record"
	"github.com/sparkoperator/spark-operator/test/record/submitter"
	"github.com/sparkoperator/spark-operator/test/record/templates"
)

const (
	root = "../../.."
	// version is a Spark version whose image every test run has.
	version = "4.1.4"
	// liveCases is the number of cases that are marked live. The test checks this number, so that a live case that is
	// removed by mistake fails the test.
	liveCases = 10
	// sample is the number of live cases that run by default. `make e2e` sets RECORDED=all to run all of them, because
	// each spark-submit costs seconds of CPU.
	sample = 4
)

// lines has the Spark versions whose images tools/e2e.sh needs anyway.
var lines = []string{"3.5.9", "4.0.5", version, "4.3.0"}

// newMachine returns a machine with the files of the image of a Spark version, until the test ends.
func newMachine(t *testing.T, version string) *submitter.Machine {
	t.Helper()

	machine, err := submitter.New(t.Context(), version, sparkImage(t, version))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := machine.Close(); err != nil {
			t.Error(err)
		}
	})
	return machine
}

// TestLiveCasesMatchTheirRecordings runs the live cases with the real bin/spark-submit and compares the requests with
// the recordings. Each case here runs in its own JVM, while the recorder runs many cases in one JVM.
func TestLiveCasesMatchTheirRecordings(t *testing.T) {
	cases, err := record.Cases(filepath.Join(root, "spark/submit/testdata/cases"))
	if err != nil {
		t.Fatal(err)
	}

	recordings, err := record.Load(filepath.Join(root, "spark/submit/testdata/recordings"))
	if err != nil {
		t.Fatal(err)
	}

	machine := newMachine(t, version)
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
			var stderr bytes.Buffer

			got, cost, err := machine.Record(t.Context(), c, &stderr)
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}

			cpu += cost.CPU

			recorded, ok := recordings[c.Name].Of(version)
			if !ok {
				t.Fatalf("not recorded with Spark %s; run make record", version)
			}

			if !got.Same(recorded) {
				t.Errorf("spark-submit sends (+) what is not recorded (-):\n%s",
					cmp.Diff(strings.Split(text(recorded), "\n"), strings.Split(text(got), "\n")))
			}
		})
	}

	t.Logf("%.1f CPU-seconds a spark-submit", cpu.Seconds()/float64(max(len(live), 1)))
}

// TestTemplatesMatchTheirRecordings reads generated pod templates with the Kubernetes client of the Spark image and
// compares the pods with the recordings. By default it reads one template in ten.
func TestTemplatesMatchTheirRecordings(t *testing.T) {
	recordings, err := templates.Load(filepath.Join(root, "spark/podtemplate/testdata/spark.json.gz"))
	if err != nil {
		t.Fatal(err)
	}

	step := 10
	if os.Getenv("RECORDED") == "all" {
		step = 1
	}
	var read []templates.Template

	var want []templates.Recording
	for i, template := range templates.All() {
		if i%step == 0 && i < len(recordings) {
			read, want = append(read, template), append(want, recordings[i])
		}
	}

	machine := newMachine(t, version)
	var stderr bytes.Buffer

	got, err := machine.Templates(t.Context(), read, &stderr)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}

	for i, parsed := range got {
		recorded, ok := want[i].Of(version)
		if !ok || want[i].Text != read[i].Text || !templates.Same(parsed, recorded) {
			t.Errorf("%s: Spark makes %s %s of it, but %s %s is recorded; run make record ARGS=-templates=spark/podtemplate/testdata/spark.json.gz",
				read[i].Name, parsed.Pod, parsed.Error, recorded.Pod, recorded.Error)
		}
	}

	t.Logf("%d templates", len(got))
}

// text returns a recording as lines, so that differences are readable.
func text(r record.Recording) string {
	var out bytes.Buffer
	out.WriteString(r.Error)

	for _, request := range r.Requests {
		out.WriteString("\n" + request.Method + " " + request.Path + "\n")

		if err := json.Indent(&out, request.Body, "", " "); err != nil {
			out.Write(request.Body)
		}
	}
	return strings.ReplaceAll(out.String(), `\n`, "\n") // one property per line
}

// sparkImage returns the path of the archive of the image of a Spark version. It builds the image if it is not in the
// cache.
func sparkImage(t *testing.T, version string) string {
	t.Helper()
	return strings.TrimSpace(output(t, gobuild.Must(t, "local", "./cmd/sparklocal"), "image", "spark", "--version", version))
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)

	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var out, stderr bytes.Buffer

	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	return out.String()
}
