package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/test/kit/markdown"
)

// TestManifestsOfTaskPages checks the objects in the YAML blocks of the tutorials and how-to pages, and the parts of
// custom resources. Lint must accept a custom resource. All others must have no unknown fields. The tests of the chart
// render its values.
func TestManifestsOfTaskPages(t *testing.T) {
	core := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	counts := map[string]int{}

	for _, b := range markdown.Tasks(t, "../../docs", "yaml") {
		for document := range strings.SplitSeq(b.Text, "\n---\n") {
			switch {
			case part.MatchString(document):
				counts["parts"]++

				if !fits(document) {
					t.Errorf("%s: no custom resource has these fields:\n%s", b.Page, document)
				}
			case !strings.Contains(document, "apiVersion:"):
				counts["values"]++
			case strings.Contains(document, "apiVersion: sparkoperator.k8s.io/"),
				strings.Contains(document, "apiVersion: spark.apache.org/"):
				counts["custom resources"]++

				lintDocument(t, b.Page, document)
			case strings.Contains(document, "argoproj.io"):
				t.Errorf("%s: no block of this kind is checked", b.Page)
			default:
				counts["objects"]++

				if _, _, err := core.Decode([]byte(document), nil, nil); err != nil {
					t.Errorf("%s: %v in\n%s", b.Page, err, document)
				}
			}
		}
	}

	for _, text := range []string{"spec: {drivers: {}}", "spec: {driver: {core: 1}}", "metadata: {label: {}}"} {
		if fits(text) {
			t.Errorf("a kind has the fields of %s", text)
		}
	}

	if counts["custom resources"] < 10 || counts["objects"] < 5 || counts["values"] < 20 || counts["parts"] < 10 {
		t.Errorf("the pages have only %v", counts)
	}
}

// part matches a part of a custom resource.
var part = regexp.MustCompile(`(?m)\A(?:#.*\n)*(?:metadata|spec|status):`)

// fits reports whether a kind of custom resource has all fields of a text. The types here have the fields of the kinds
// and not their methods, which accept unknown fields.
func fits(text string) bool {
	type (
		application       v1beta2.SparkApplication
		schedule          v1beta2.ScheduledSparkApplication
		connect           v1alpha1.SparkConnect
		apacheApplication sparkv1.SparkApplication
		apacheCluster     sparkv1.SparkCluster
	)

	kinds := []any{new(application), new(schedule), new(connect), new(apacheApplication), new(apacheCluster)}
	return slices.ContainsFunc(kinds, func(kind any) bool { return yaml.UnmarshalStrict([]byte(text), kind) == nil })
}

// lintDocument runs lint on a manifest. If the manifest is that of a workflow, lint reads the custom resource in it.
func lintDocument(t *testing.T, page, document string) {
	t.Helper()

	if _, manifest, ok := strings.Cut(document, "manifest: |\n"); ok {
		indent := len(manifest) - len(strings.TrimLeft(manifest, " "))
		document = regexp.MustCompile(fmt.Sprintf("(?m)^ {%d}", indent)).ReplaceAllString(manifest, "")
	}

	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}

	if got := run(t, "lint", "--strict", "-f", file); got.code != exit.OK {
		t.Errorf("%s: lint ends with %d:\n%s%s", page, got.code, got.out, got.err)
	}
}

// chartValues returns the values of the chart.
func chartValues(t *testing.T) map[string]any {
	t.Helper()

	text, err := os.ReadFile("../../charts/spark-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}

	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// unknownValues returns the keys of given that the chart does not have. A value that is empty in the chart, such as a
// map of labels, may have any content.
func unknownValues(given, chart map[string]any, path string) (unknown []string) {
	for key, value := range given {
		theirs, found := chart[key]
		if !found {
			unknown = append(unknown, path+key)
			continue
		}

		below, isMap := value.(map[string]any)
		if inChart, _ := theirs.(map[string]any); isMap && len(inChart) > 0 {
			unknown = append(unknown, unknownValues(below, inChart, path+key+".")...)
		}
	}
	return unknown
}

// setFlag is a value of the chart on a command line of helm.
var setFlag = regexp.MustCompile(`--set '?([A-Za-z.]+)[=\[]`)

// repositoryFile is a path of the repository in a script.
var repositoryFile = regexp.MustCompile(`\s((?:examples|config|charts)/[\w./-]*)`)

// TestCommandsOfTaskPages checks each command of the tutorials and how-to pages: the verbs and flags of sparkctl, the
// values that helm sets, and the files of the repository.
func TestCommandsOfTaskPages(t *testing.T) {
	values := chartValues(t)
	counts := map[string]int{}

	for _, b := range markdown.Tasks(t, "../../docs", "sh") {
		script := strings.ReplaceAll(b.Text, "\\\n", " ")
		for _, match := range repositoryFile.FindAllStringSubmatch(script, -1) {
			counts["files"]++

			if _, err := os.Stat("../../" + match[1]); err != nil {
				t.Errorf("%s: %v", b.Page, err)
			}
		}

		for _, match := range setFlag.FindAllStringSubmatch(script, -1) {
			counts["values"]++

			var nested any = ""

			parts := strings.Split(match[1], ".")
			for _, part := range slices.Backward(parts) {
				nested = map[string]any{part: nested}
			}

			for _, key := range unknownValues(nested.(map[string]any), values, "") {
				t.Errorf("%s: the chart has no value %s", b.Page, key)
			}
		}

		for line := range strings.Lines(script) {
			if words, ok := strings.CutPrefix(line, "sparkctl "); ok {
				counts["sparkctl"]++

				if err := checkCommand(words); err != nil {
					t.Errorf("%s: sparkctl %s: %v", b.Page, strings.TrimSpace(words), err)
				}
			}
		}
	}

	if counts["sparkctl"] < 15 || counts["files"] < 10 || counts["values"] < 5 {
		t.Errorf("the pages have only %v", counts)
	}
}

// ofReader matches files of the reader in a command line.
var ofReader = regexp.MustCompile(` (-f |--properties-file )[^e]`)

// TestOfflineCommandsOfTaskPages runs the commands of the tutorials and how-to pages that need no cluster and no file
// of the reader: lint of examples, and convert of command lines. Lint accepts what convert prints.
func TestOfflineCommandsOfTaskPages(t *testing.T) {
	counts := map[string]int{}

	for _, b := range markdown.Tasks(t, "../../docs") {
		for line := range strings.Lines(strings.ReplaceAll(b.Text, "\\\n", " ")) {
			words, ok := strings.CutPrefix(line, "sparkctl ")
			words, _, _ = strings.Cut(words, " > ")

			verb, _, _ := strings.Cut(words, " ")
			if !ok || verb != "convert" && !strings.HasPrefix(words, "lint -f examples/") || ofReader.MatchString(words) {
				continue
			}
			counts[verb]++

			got := run(t, strings.Fields(strings.Replace(words, "-f examples/", "-f ../../examples/", 1))...)
			if got.code != exit.OK {
				t.Errorf("%s: sparkctl %s ends with %d:\n%s%s", b.Page, words, got.code, got.out, got.err)
			}

			if verb == "convert" {
				lintDocument(t, b.Page, got.out)
			}
		}
	}

	if counts["lint"] < 3 || counts["convert"] < 1 {
		t.Errorf("the pages have only %v", counts)
	}
}

// checkCommand returns an error if sparkctl does not have the verb or a flag of a command line.
func checkCommand(line string) error {
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " > ")

	cmd, rest, err := command(terminal.Streams{}, "sparkctl").Find(strings.Fields(line))
	if err != nil {
		return err
	}

	if cmd.DisableFlagParsing {
		return nil
	}
	return cmd.ParseFlags(rest)
}

// TestCheckCommand checks that an unknown verb and an unknown flag are found.
func TestCheckCommand(t *testing.T) {
	for line, wrong := range map[string]bool{
		"lint -f x.yaml":                  false,
		"wait app/pi --for=ended":         false,
		"wait app/pi --until=ended":       true,
		"lints -f x.yaml":                 true,
		"submit --num-executors 2 pi.py":  false,
		"diff -f pi.yaml | head -n 3 -x":  false,
		"render -f pi.yaml --defaults -y": true,
	} {
		if err := checkCommand(line); (err != nil) != wrong {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestBackupHasAllKinds checks that the documented backup has every kind of custom resource.
func TestBackupHasAllKinds(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/disaster-recovery.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, kind := range kinds.All {
		if !strings.Contains(string(page), kind.FullName()) {
			t.Errorf("the backup leaves out %s", kind.FullName())
		}
	}
}
