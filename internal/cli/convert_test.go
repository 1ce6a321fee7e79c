package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
)

// TestConvert checks the manifests that the command convert prints, in both directions and for all kinds of input.
func TestConvert(t *testing.T) {
	withoutSpark(t)
	defaults := filepath.Join(t.TempDir(), "spark-defaults.conf")

	text := "# Defaults.\nspark.kubernetes.container.image docker.io/apache/spark:4.1.4\nspark.executor.instances 3\nspark.sql.shuffle.partitions=20\n"
	if err := os.WriteFile(defaults, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	everything := []string{"-f", "testdata/render/everything.yaml"}

	java := slicesWithout(lines["java"], "--packages", "org.example:lib:1.0")
	for name, args := range map[string][]string{
		"spark-pi":          {"-f", "../../examples/spark-pi.yaml", "--to", "spark.apache.org"},
		"spark-pi-metrics":  {"-f", "../../examples/spark-pi-metrics.yaml"},
		"spark-pi-schedule": {"-f", "../../examples/spark-pi-schedule.yaml"},
		"everything":        everything,
		"apache-pi":         {"-f", "../../examples/apache-pi.yaml", "--to", "sparkoperator.k8s.io"},
		"two": {"-f", "../../examples/apache-pi-restart.yaml", "-f",
			"../../examples/spark-pi-python.yaml"},
		"line":              append([]string{"spark-submit", "--object-name", "pi"}, java...),
		"line-to-apache":    append([]string{"spark-submit", "--to=spark.apache.org", "-n", "jobs"}, lines["r"]...),
		"properties":        {"--properties-file", defaults},
		"properties-apache": {"--properties-file", defaults, "--to", "spark.apache.org", "--object-name", "job"},
	} {
		got := run(t, append([]string{"convert"}, args...)...)
		if got.code != exit.OK {
			t.Errorf("%s: exit code %d, %s", name, got.code, got.err)
		}

		golden(t, "convert/"+name+".yaml", got.out)
	}
}

// TestConvertedIsValid checks that the command lint finds no error in the manifest that the command convert prints for
// each example.
func TestConvertedIsValid(t *testing.T) {
	examples, err := filepath.Glob("../../examples/*pi*.yaml")
	if err != nil || len(examples) < 10 {
		t.Fatal(examples, err)
	}

	for _, example := range examples {
		got := run(t, "convert", "-f", example)
		if got.code != exit.OK {
			t.Errorf("%s: exit code %d, %s", example, got.code, got.err)
			continue
		}

		file := filepath.Join(t.TempDir(), "converted.yaml")
		if err := os.WriteFile(file, []byte(got.out), 0o600); err != nil {
			t.Fatal(err)
		}

		if lint := run(t, "lint", "-f", file); lint.code != exit.OK {
			t.Errorf("%s: %s", example, lint.out)
		}
	}
}

func TestConvertUsage(t *testing.T) {
	withoutSpark(t)

	for _, test := range []struct {
		args []string
		code exit.Code
		says string
	}{
		{nil, exit.Usage, "-f"},
		{[]string{"-f", "../../examples/spark-pi.yaml", "--to", "v1"}, exit.Usage, "spark.apache.org"},
		{[]string{"-f", "../../examples/spark-pi.yaml", "--to", "sparkoperator.k8s.io"}, exit.Invalid,
			"--to spark.apache.org"},
		{[]string{"-f", "../../examples/spark-pi.yaml", "--properties-file", "x"}, exit.Usage, "cannot be combined"},
		{[]string{"-f", "/does/not/exist"}, exit.Invalid, "/does/not/exist"},
		{[]string{"-f", "../../examples/spark-connect.yaml"}, exit.Invalid, "examples/spark-connect.yaml:"},
		{[]string{"-f", "../../examples/apache-cluster.yaml"}, exit.Invalid, "keep the SparkCluster"},
		{[]string{"-f", "testdata/lint/faults.yaml"}, exit.Invalid, "testdata/lint/faults.yaml:"},
		{[]string{"-f", "testdata/lint/broken.yaml"}, exit.Invalid, "testdata/lint/broken.yaml:13:5"},
		{[]string{"--properties-file", "/does/not/exist", "--spark-version", "4.1.4"}, exit.Invalid, "/does/not/exist"},
		{[]string{"spark-submit", "--deploy-mode", "client", "--spark-version", "4.1.4", "local:///a.jar"},
			exit.Invalid, "client"},
		{[]string{"spark-submit", "--to", "x", "local:///a.jar"}, exit.Usage, "sparkoperator.k8s.io"},
		{[]string{"spark-submit", "--deploy-mode", "cluster", "--class", "A", "local:///a.jar"}, exit.Usage,
			"--spark-version"},
	} {
		if got := run(t, append([]string{"convert"}, test.args...)...); got.code != test.code ||
			!strings.Contains(got.err, test.says) {
			t.Errorf("%v: exit code %d, %q", test.args, got.code, got.err)
		}
	}

	if got := run(t, "convert", "spark-submit", "--help"); got.code != exit.OK ||
		!strings.Contains(got.out, "--object-name") || slices.Contains(strings.Fields(got.out), "--filename") {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
}
