package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
)

// TestRenderDefaults runs the example in docs/defaults.md, and compares its output with the output on the page.
func TestRenderDefaults(t *testing.T) {
	page, err := os.ReadFile("../../docs/defaults.md")
	if err != nil {
		t.Fatal(err)
	}

	blocks := regexp.MustCompile("(?s)<<'YAML'\n(.*?)YAML\nsparkctl (.*?)\n```\n\n```\n(.*?)```").FindStringSubmatch(string(page))
	if blocks == nil {
		t.Fatal("the page has no example")
	}

	file := filepath.Join(t.TempDir(), "operator.yaml")
	if err := os.WriteFile(file, []byte(blocks[1]), 0o600); err != nil {
		t.Fatal(err)
	}

	args := strings.Fields(strings.NewReplacer("operator.yaml", file, "examples/",
		"../../examples/").Replace(blocks[2]))

	got := run(t, args...)
	if diff := cmp.Diff(blocks[3], got.out); diff != "" || got.code != exit.OK {
		t.Errorf("exit code %d, %s\n(-page +output):\n%s", got.code, got.err, diff)
	}

	// Without --defaults, the objects have the defaults that the labels of the namespace select.
	objects := run(t, "render", "-f", "../../examples/spark-pi.yaml", "--config", file, "--namespace-labels",
		"tier=batch")

	other := run(t, "render", "-f", "../../examples/spark-pi.yaml", "--config", file)
	for _, text := range []string{"spark.sql.adaptive.enabled=true", "sparkoperator.dev/defaults-origins:", "spot"} {
		if !strings.Contains(objects.out, text) {
			t.Errorf("no %s in\n%s", text, objects.out)
		}
	}

	if strings.Contains(other.out, "spot") || !strings.Contains(other.out, "spark.sql.adaptive.enabled=true") {
		t.Errorf("without labels of the namespace:\n%s", other.out)
	}

	if got := run(t, "render", "-f", "../../examples/spark-pi.yaml", "--namespace-labels",
		"a"); got.code != exit.Usage || !strings.Contains(got.err, "--namespace-labels") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
}

// TestFastStartKeepsOptions renders an application with JVM options of its own and the defaults of
// docs/how-to/fast-start.md. Both options of the JVM must reach Spark, which joins them.
func TestFastStartKeepsOptions(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/fast-start.md")
	if err != nil {
		t.Fatal(err)
	}

	block := regexp.MustCompile("(?s)```yaml\n(defaults:\n.*?)```").FindStringSubmatch(string(page))
	if block == nil {
		t.Fatal("the page has no defaults")
	}

	app, err := os.ReadFile("../../examples/spark-pi.yaml")
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()

	config, manifest := filepath.Join(dir, "operator.yaml"), filepath.Join(dir, "app.yaml")
	for file, text := range map[string]string{
		config:   "apiVersion: config.sparkoperator.dev/v1alpha1\nkind: Configuration\n" + block[1],
		manifest: strings.Replace(string(app), "  driver:\n", "  driver:\n    javaOptions: -Dmine=1\n", 1),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	got := run(t, "render", "-f", manifest, "--config", config, "--namespace-labels", "spark-images=cds")
	for _, text := range []string{
		"spark.driver.extraJavaOptions=-Dmine\\=1", "spark.driver.defaultJavaOptions=-XX\\:SharedArchiveFile\\=", "spark.executor.defaultJavaOptions=-XX\\:SharedArchiveFile\\=",
		"spark.driver.extraClassPath=/opt/spark/cds/spark.jar", "spark.executor.extraClassPath=/opt/spark/cds/spark.jar",
	} {
		if !strings.Contains(got.out, text) {
			t.Errorf("no %s in\n%s%s", text, got.out, got.err)
		}
	}
}
