package application

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// checkStorable fails the test if the CustomResourceDefinition rejects the application.
func checkStorable(t *testing.T, app *v1beta2.SparkApplication) {
	t.Helper()

	if errs := admission.Faults(t, "sparkoperator.k8s.io_sparkapplications.yaml", "v1beta2", app); len(errs) > 0 {
		t.Errorf("a pass accepts the application, and the definition refuses it: %v", errs.ToAggregate())
	}
}

// pieces are fragments of the random texts that TestDefinitionRefusesNoTextThatAPassAccepts writes into fields.
var pieces = []string{
	"", "", " ", "\t", "\n", "\v", "\x00", "\u0085", "\u00a0", "\u2003", "\u3000", "+", "-", "0", "1", "9", "42", ".",
	",", "_", "e", "E", "e3", "E-2",
	"k", "K", "m", "M", "g", "G", "t", "T", "P", "b", "B", "kb", "GB", "Ki", "Gi", "n", "u", "i", "%", "0x", "p1", "4g",
	"4Gi", "40 G", "inf", "Infinity", "NaN", "${", "}", "${spark.x}",
	"a", "Z", "=", `"`, "'", "/", "://", "http", "https", "k8s://", "local", "local://", "spark-ui", "local[*]",
	"s3a://b",
}

// textFields are the fields of an application whose texts the CustomResourceDefinition checks.
var textFields = map[string]func(*v1beta2.SparkApplicationSpec, *string){
	"driver.memory":         func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.Memory = v },
	"driver.memoryOverhead": func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.MemoryOverhead = v },
	"driver.memoryLimit":    func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.MemoryLimit = v },
	"driver.coreRequest":    func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.CoreRequest = v },
	"driver.coreLimit": func(s *v1beta2.SparkApplicationSpec, v *string) {
		s.Driver.CoreLimit, s.Driver.CoreRequest = v, new("1m")
	},
	"driver.kubernetesMaster": func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.KubernetesMaster = v },
	"driver.podName":          func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.PodName = v },
	"executor.memory":         func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.Memory = v },
	"executor.memoryOverhead": func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.MemoryOverhead = v },
	"executor.memoryLimit":    func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.MemoryLimit = v },
	"executor.coreRequest":    func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.CoreRequest = v },
	"executor.coreLimit":      func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.CoreLimit = v },
	"memoryOverheadFactor":    func(s *v1beta2.SparkApplicationSpec, v *string) { s.MemoryOverheadFactor = v },
	"mainClass":               func(s *v1beta2.SparkApplicationSpec, v *string) { s.MainClass = v },
	"mainApplicationFile": func(s *v1beta2.SparkApplicationSpec, v *string) {
		s.MainApplicationFile,
			s.MainClass = *v, nil
	},
	"monitoring.metricsPropertiesFile": func(s *v1beta2.SparkApplicationSpec, v *string) {
		s.Monitoring = &v1beta2.MonitoringSpec{MetricsPropertiesFile: v}
	},
	"monitoring.prometheus.jmxExporterJar": func(s *v1beta2.SparkApplicationSpec, v *string) {
		s.Monitoring = &v1beta2.MonitoringSpec{Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: *v}}
	},
	"monitoring.prometheus.configFile": func(s *v1beta2.SparkApplicationSpec, v *string) {
		s.Monitoring = &v1beta2.MonitoringSpec{Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/j", ConfigFile: v}}
	},
	"monitoring.prometheus.portName": func(s *v1beta2.SparkApplicationSpec, v *string) {
		s.Monitoring = &v1beta2.MonitoringSpec{ExposeExecutorMetrics: true,
			Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/j", PortName: v}}
		s.Executor.Ports = []v1beta2.Port{{Name: "a", Protocol: "TCP", ContainerPort: 8090},
			{Name: "aa", Protocol: "TCP", ContainerPort: 1}}
	},
	"sparkConf key": func(s *v1beta2.SparkApplicationSpec, v *string) {
		s.SparkConf = map[string]string{"spark.kubernetes.authenticate" + *v: "x"}
	},
	"driver.labels key": func(s *v1beta2.SparkApplicationSpec, v *string) {
		s.Driver.Labels = map[string]string{"sparkoperator.dev" + *v: "x"}
	},
	"nodeSelector": func(s *v1beta2.SparkApplicationSpec, v *string) {
		s.NodeSelector, s.Driver.NodeSelector, s.Executor.NodeSelector = map[string]string{"a": *v},
			map[string]string{}, nil
	},
}

// TestDefinitionRefusesNoTextThatAPassAccepts writes random texts into each field that the CustomResourceDefinition
// checks. The definition must admit every application that a pass accepts.
func TestDefinitionRefusesNoTextThatAPassAccepts(t *testing.T) {
	const most = 300 // in so many texts a pass accepts at least one

	tries := min(effort.Count(t, 40), most)
	for i, name := range slices.Sorted(maps.Keys(textFields)) {
		set := textFields[name]
		random := rand.New(rand.NewPCG(24, uint64(i))) // the same texts in every run

		accepted, refused := 0, 0
		for range tries {
			var text strings.Builder
			for range random.IntN(5) {
				text.WriteString(pieces[random.IntN(len(pieces))])
			}

			value := text.String()

			app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { set(&a.Spec, &value) })
			if len(usual.Review(app, sparkapp.T0).Faults) > 0 {
				refused++
				continue
			}
			accepted++

			if errs := admission.Faults(t, "sparkoperator.k8s.io_sparkapplications.yaml", "v1beta2", app); len(errs) > 0 {
				t.Errorf("%s: a pass accepts %q, and the definition does not: %v", name, value, errs.ToAggregate())
			}
		}

		if accepted == 0 && tries == most {
			t.Errorf("%s: a pass accepts none of %d texts", name, refused)
		}
	}
}
