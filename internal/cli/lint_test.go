package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// TestLintReportsFindingsOfAllKinds checks the findings of each file, in each format, for all five kinds.
func TestLintReportsFindingsOfAllKinds(t *testing.T) {
	for _, test := range []struct {
		name string
		code exit.Code
		args []string
	}{
		{"faults.txt", exit.Invalid, []string{"-f", "testdata/lint/faults.yaml"}},
		{"warnings.txt", exit.OK, []string{"-f", "testdata/lint/warnings.yaml"}},
		{"broken.txt", exit.Invalid, []string{"-f", "testdata/lint/broken.yaml"}},
		{"warnings.json", exit.Invalid, []string{"-f", "testdata/lint/warnings.yaml", "-o", "json", "--strict"}},
		{"warnings.sarif", exit.OK, []string{"-f", "testdata/lint/warnings.yaml", "-o", "sarif"}},
	} {
		got := run(t, append([]string{"lint"}, test.args...)...)
		if got.code != test.code || got.err != "" {
			t.Errorf("%s: exit code %d, %s", test.name, got.code, got.err)
		}

		golden(t, "lint/"+test.name, strings.ReplaceAll(got.out, currentBuild().Version, "VERSION"))
	}
}

// TestLintAcceptsTheExamples checks that lint finds no errors in the examples.
func TestLintAcceptsTheExamples(t *testing.T) {
	got := run(t, "lint", "-f", "../../examples", "-o", "json")
	if got.code != exit.OK {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}

	var report struct{ Files, Objects int }
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || report.Objects < 15 {
		t.Errorf("%d custom resources in %d files, %v", report.Objects, report.Files, err)
	}
}

// TestLintReadsStandardInput checks that the file name "-" stands for the standard input, and that the findings fit a
// narrow terminal.
func TestLintReadsStandardInput(t *testing.T) {
	in, err := os.Open("testdata/lint/faults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()

	got := runWith(t.Context(), terminal.Streams{In: in, Width: 60}, "lint", "-f", "-")
	if got.code != exit.Invalid || !strings.Contains(got.out, "-:13:5: error:") {
		t.Errorf("exit code %d\n%s", got.code, got.out)
	}

	for line := range strings.Lines(got.out) {
		// A word, such as a field's path, is never broken.
		if len(strings.TrimSpace(line)) > 60 && len(strings.Fields(line)) > 1 {
			t.Errorf("%q has %d columns", line, len(line))
		}
	}
}

// TestLintUsesTheConfiguration checks that lint accepts a batch scheduler only if the configuration enables that
// scheduler.
func TestLintUsesTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "operator.yaml")

	text := "apiVersion: config.sparkoperator.dev/v1alpha1\nkind: Configuration\nbatchScheduler: {enabled: true}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const example = "../../examples/spark-pi-volcano.yaml"

	with, without := run(t, "lint", "-f", example, "--config", file), run(t, "lint", "-f", example)
	if with.out == without.out {
		t.Errorf("the configuration changes nothing:\n%s", with.out)
	}

	if got := run(t, "lint", "-f", example, "--config", "/does/not/exist"); got.code != exit.Invalid {
		t.Errorf("a missing configuration: exit code %d, %s", got.code, got.err)
	}
}

func TestLintUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		code exit.Code
	}{
		{nil, exit.Usage}, {[]string{"-f", "testdata/lint/warnings.yaml", "-o", "xml"}, exit.Usage},
		{[]string{"-f", "/does/not/exist"}, exit.Invalid},
	} {
		if got := run(t, append([]string{"lint"}, test.args...)...); got.code != test.code || got.err == "" {
			t.Errorf("%v: exit code %d, %q", test.args, got.code, got.err)
		}
	}
}

// TestLintChecksRulesOfThePlatform checks that lint applies the rules of the configuration file, and the rules for
// selected namespaces if it knows the labels of the namespace.
func TestLintChecksRulesOfThePlatform(t *testing.T) {
	file := filepath.Join(t.TempDir(), "operator.yaml")

	text := `{apiVersion: config.sparkoperator.dev/v1alpha1, kind: Configuration, policy: {owner: "data team", rules: [
		{name: everybody, limits: {executors: 1}}, {name: tenants, selector: tier=tenant, images: {allowed: ["registry.example.com/*"]}}]}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const executors = `../../examples/spark-pi.yaml:24:5: error: spec.executor.instances: the number 2 is not allowed by the rule limits.executors of the policy everybody (owner: data team); use at most 1` + "\n"

	const image = `../../examples/spark-pi.yaml:12:3: error: spec.image: the image "docker.io/apache/spark:4.1.4" is not allowed by the rule images of the policy tenants (owner: data team); ` +
		"allowed are: registry.example.com/*\n"
	for labels, want := range map[string]string{"": executors, "tier=platform": executors,
		"tier=tenant,team=a": image + executors} {
		args := []string{"lint", "--config", file, "-f", "../../examples/spark-pi.yaml"}
		if labels != "" {
			args = append(args, "--namespace-labels", labels)
		}

		got := run(t, args...)
		if found := got.out[:max(0, strings.LastIndex(strings.TrimSuffix(got.out, "\n"),
			"\n")+1)]; got.code != exit.Invalid || found != want {
			t.Errorf("%q: exit code %d, %s\n%s\nwant\n%s", labels, got.code, got.err, found, want)
		}
	}

	if got := run(t, "lint", "--namespace-labels", "tier in", "-f",
		"../../examples/spark-pi.yaml"); got.code != exit.Usage {
		t.Errorf("invalid labels: exit code %d", got.code)
	}
}

// TestLintChecksServicesOfConnectServers checks that lint reports what the webhook reports about the Service of a
// server. A server starts without the Service or the port, so its user sees nothing else before clients cannot
// connect.
func TestLintChecksServicesOfConnectServers(t *testing.T) {
	for service, want := range map[string]string{
		"{ports: [{name: a, port: 1234, targetPort: inner}]}": "spec.ports[0] is left out",
		"{type: ExternalName, externalName: a.example.com}":   "spec.type: ExternalName leads elsewhere",
	} {
		file := filepath.Join(t.TempDir(), "connect.yaml")

		text := "apiVersion: sparkoperator.k8s.io/v1alpha1\nkind: SparkConnect\nmetadata: {name: a}\nspec:\n" +
			"  {sparkVersion: 4.1.4, image: spark, executor: {instances: 1}, server: {service: {spec: " + service +
			"},\n" +
			"  template: {spec: {containers: [{name: spark-kubernetes-driver, ports: [{name: inner, containerPort: 7078}]}]}}}}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		if got := run(t, "lint", "-f", file); !strings.Contains(got.out, want) {
			t.Errorf("%s: lint prints %s%s", service, got.out, got.err)
		}
	}
}
