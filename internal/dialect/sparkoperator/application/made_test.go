package application

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// launchObjects contains the objects that are created when an application is launched, as decoded JSON, so that tests
// can describe the expected objects in YAML.
type launchObjects struct {
	app *v1beta2.SparkApplication
	// driver is the driver pod, executor is the executors' template, and the containers are the Spark containers in
	// them.
	driver, executor                   map[string]any
	driverContainer, executorContainer map[string]any
	services                           []map[string]any
	conf                               map[string]string
	warnings                           []string
}

// role returns the pod of a role and the Spark container in it. The operator creates no executor pods, so for executors
// it returns their template.
func (m launchObjects) role(name string) (pod, container map[string]any) {
	if name == "driver" {
		return m.driver, m.driverContainer
	}
	return m.executor, m.executorContainer
}

// appOf returns a small application with pieces of YAML merged into it.
func appOf(t testing.TB, pieces ...string) *v1beta2.SparkApplication {
	t.Helper()

	whole := fieldtable.Plain(t, sample())
	for _, piece := range pieces {
		var over map[string]any
		if err := yaml.Unmarshal([]byte(piece), &over); err != nil {
			t.Fatalf("%v in\n%s", err, piece)
		}

		fieldtable.Merge(whole, over)
	}

	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}

	app := &v1beta2.SparkApplication{}
	if err := yaml.UnmarshalStrict(text, app); err != nil {
		t.Fatalf("%v in\n%s", err, strings.Join(pieces, "\n"))
	}
	return app
}

// renderApp renders an application and fails the test if the application is invalid.
func renderApp(t testing.TB, app *v1beta2.SparkApplication) launchObjects {
	t.Helper()

	if wrong := Validate(app); len(wrong) > 0 {
		t.Fatalf("refused: %v", wrong)
	}

	objects, err := usual.Render(app, createAttempt(1), t0)
	if err != nil {
		t.Fatal(err)
	}

	m := launchObjects{app: app, driver: fieldtable.Plain(t, objects.Driver), conf: map[string]string{}, warnings: objects.Warnings}
	for _, object := range objects.Before {
		switch o := object.(type) {
		case *corev1.Service:
			m.services = append(m.services, fieldtable.Plain(t, o))
		case *corev1.ConfigMap:
			if text, ok := o.Data["podspec-configmap-key"]; ok {
				if err := yaml.Unmarshal([]byte(text), &m.executor); err != nil {
					t.Fatal(err)
				}
			}

			if text, ok := o.Data["spark.properties"]; ok {
				m.conf = properties(t, text)
			}
		}
	}

	m.driverContainer = fieldtable.SparkContainer(t, m.driver, -1)
	m.executorContainer = fieldtable.SparkContainer(t, m.executor, 0)
	return m
}

// properties parses a Java properties file that has one key on each line, as the operator writes it.
func properties(t testing.TB, text string) map[string]string {
	t.Helper()

	out := map[string]string{}

	plain := strings.NewReplacer(`\:`, ":", `\=`, "=", `\ `, " ", `\\`, `\`, `\#`, "#", `\!`, "!")
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			key, value, _ := strings.Cut(strings.ReplaceAll(line, `\=`, "\x00"), "=")
			out[plain.Replace(strings.ReplaceAll(key, "\x00", `\=`))] = plain.Replace(strings.ReplaceAll(value, "\x00", `\=`))
		}
	}
	return out
}

// missingParts compares a decoded JSON value with a wanted one, and returns a message for each wanted part that is
// missing. Maps and lists of the value may have further entries, but the wanted entries of a list must be in the same
// order.
func missingParts(actual, wanted any, at string) []string {
	switch w := wanted.(type) {
	case map[string]any:
		h, _ := actual.(map[string]any)

		var missing []string
		for key, below := range w {
			missing = append(missing, missingParts(h[key], below, at+"."+key)...)
		}
		return missing
	case []any:
		h, _ := actual.([]any)
		for i, below := range w {
			found := slices.IndexFunc(h, func(entry any) bool { return len(missingParts(entry, below, "")) == 0 })
			if found < 0 {
				return []string{fmt.Sprintf("%s[%d]: no %v follows in %v", at, i, below, actual)}
			}

			h = h[found+1:]
		}
		return nil
	}

	if fmt.Sprint(actual) != fmt.Sprint(wanted) {
		return []string{fmt.Sprintf("%s is %v, want %v", at, actual, wanted)}
	}
	return nil
}

// duplicates returns the lists of a pod that contain an entry twice. Two entries are duplicates if they have the same
// mount path, name or UID. For environment variables, the values must be equal too, because Kubernetes permits two
// variables with the same name and uses the last one.
func duplicates(pod map[string]any) (found []string) {
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, below := range v {
				walk(at+"."+key, below)
			}
		case []any:
			seen := map[string]bool{}
			for _, entry := range v {
				text := fmt.Sprint(entry)
				if e, ok := entry.(map[string]any); ok && !strings.HasSuffix(at, ".env") {
					for _, key := range []string{"mountPath", "name", "uid"} {
						if e[key] != nil {
							text = fmt.Sprint(e[key])
							break
						}
					}
				}

				if seen[text] {
					found = append(found, at+": "+text)
				}

				seen[text] = true

				walk(at, entry)
			}
		}
	}
	walk("", pod["spec"])
	walk(".metadata", pod["metadata"])
	return found
}
