package sparkapp

import (
	"bufio"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// Launch contains the objects that are created when an application is launched, as decoded JSON, so that tests
// can describe the expected objects in YAML.
type Launch struct {
	App *v1beta2.SparkApplication
	// driver is the driver pod, executor is the executors' template, and the containers are the Spark containers in
	// them.
	Driver, Executor                   map[string]any
	DriverContainer, ExecutorContainer map[string]any
	Services                           []map[string]any
	Conf                               map[string]string
	Warnings                           []string
}

// LaunchOf decodes the objects of an application's launch.
func LaunchOf(t testing.TB, app *v1beta2.SparkApplication, objects submit.Objects) Launch {
	t.Helper()

	m := Launch{App: app, Driver: fieldtable.Plain(t, objects.Driver), Conf: map[string]string{}, Warnings: objects.Warnings}
	for _, object := range objects.Before {
		switch o := object.(type) {
		case *corev1.Service:
			m.Services = append(m.Services, fieldtable.Plain(t, o))
		case *corev1.ConfigMap:
			if text, ok := o.Data["podspec-configmap-key"]; ok {
				if err := yaml.Unmarshal([]byte(text), &m.Executor); err != nil {
					t.Fatal(err)
				}
			}

			if text, ok := o.Data["spark.properties"]; ok {
				m.Conf = properties(t, text)
			}
		}
	}

	m.DriverContainer = fieldtable.SparkContainer(t, m.Driver, -1)
	m.ExecutorContainer = fieldtable.SparkContainer(t, m.Executor, 0)
	return m
}

// Role returns the pod of a role and the Spark container in it. The operator creates no executor pods, so for executors
// it returns their template.
func (m Launch) Role(name string) (pod, container map[string]any) {
	if name == "driver" {
		return m.Driver, m.DriverContainer
	}
	return m.Executor, m.ExecutorContainer
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
