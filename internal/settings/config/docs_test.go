package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// page is the path of the documentation of the configuration file.
const page = "../../../docs/configuration-file.md"

// examples returns the two complete configuration files on the page: the shortest one, and the one that has every
// field.
func examples(t *testing.T) []string {
	t.Helper()

	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	var found []string
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], "kind: "+Kind) {
			found = append(found, block[1])
		}
	}
	return found
}

// TestPageOfTheConfiguration checks that the configuration files on the page are valid, and that the values in them are
// the defaults. It also checks that the second file, the reference, contains every field.
func TestPageOfTheConfiguration(t *testing.T) {
	found := examples(t)
	if len(found) != 2 {
		t.Fatalf("%s has %d whole files, want 2", page, len(found))
	}

	for i, text := range found {
		got, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("example %d: %v", i+1, err)
			continue
		}

		want := Default()

		want.TypeMeta = metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}
		if i == 1 {
			// The file with every field lists the default buckets, which Default leaves out.
			want.Metrics.JobSubmitLatencyBuckets,
				want.Metrics.JobStartLatencyBuckets = got.Metrics.JobSubmitLatencyBuckets,
				got.Metrics.JobStartLatencyBuckets
		}

		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("example %d is not at its defaults (-default +page):\n%s", i+1, diff)
		}
	}

	var written map[string]any
	if err := yaml.UnmarshalStrict([]byte(found[1]), &written); err != nil {
		t.Fatal(err)
	}

	for _, field := range unwritten(reflect.TypeFor[Configuration](), written, "") {
		t.Errorf("%s does not show %s in the file with every field", page, field)
	}
}

// unwritten compares a Go struct with a decoded YAML document. It returns the paths of the fields that the struct and
// its nested structs have, but the document does not set. It does not check the fields of list entries, because the
// page describes these fields in comments.
func unwritten(kind reflect.Type, written map[string]any, path string) (missing []string) {
	for field := range kind.Fields() {
		if !field.IsExported() {
			continue // not in the file
		}

		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue // not in the file
		}

		if field.Anonymous && name == "" {
			missing = append(missing, unwritten(field.Type, written, path)...)
			continue
		}

		value, found := written[name]
		if !found {
			missing = append(missing, path+name)
			continue
		}

		if within, isMap := value.(map[string]any); isMap && field.Type.Kind() == reflect.Struct &&
			field.Type != reflect.TypeFor[metav1.Duration]() {
			missing = append(missing, unwritten(field.Type, within, path+name+".")...)
		}
	}
	return missing
}

// TestUnwritten checks that unwritten finds missing fields at every depth.
func TestUnwritten(t *testing.T) {
	got := unwritten(reflect.TypeFor[Configuration](),
		map[string]any{"apiVersion": APIVersion, "kind": Kind, "ui": map[string]any{"service": true}}, "")
	for _, want := range []string{"namespaces", "batchScheduler", "ui.ingress", "ui.route"} {
		if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+want+" ") {
			t.Errorf("%v does not have %s", got, want)
		}
	}

	if strings.Contains(strings.Join(got, " "), "ui.service") {
		t.Errorf("%v has what is written", got)
	}
}
