package application

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// mostTime, mostMemory and mostKeys are the bounds for the cost of decoding, deciding about and rendering one object.
const (
	mostTime   = 250 * time.Millisecond
	mostMemory = 64 << 20
	// mostKeys is the largest number of entries that the definition allows in a map.
	mostKeys = 2000
)

// onePass makes the first pass over an application, which launches it.
func onePass(app *v1beta2.SparkApplication) {
	seen := lifecycle.Observed{Confirmed: true}

	plan := fullDialect.Decide(app, seen, sparkapp.T0)
	for _, action := range plan.Actions {
		if action.Verb == lifecycle.Create {
			_, _ = fullDialect.Render(app, action, sparkapp.T0)
		}
	}

	fullDialect.finish(app, seen, plan, sparkapp.T0)
}

// TestConfigurationsCostLittle checks the cost of an application with 512 KiB of Spark configuration, for each group of
// keys that the operator reads.
func TestConfigurationsCostLittle(t *testing.T) {
	for key, value := range worst.KeyFamilies {
		n := (512 << 10) / (len(key) + len(value) + 4)
		if strings.Contains(key, "%d") {
			n = min(n, mostKeys)
		}

		app := sparkapp.Sample()
		app.Spec.SparkConf = worst.KeysOf(key, value, n)
		var took time.Duration
		allocated := worst.Allocated(func() { took = worst.CPU(1, func() { onePass(app.DeepCopy()) }) })

		if took > mostTime {
			took = worst.CPU(3, func() { onePass(app.DeepCopy()) })
		}

		if took > mostTime || allocated > mostMemory {
			t.Errorf("%d items of %s: %v, %d MiB", n, key, took, allocated>>20)
		}
	}
}

// TestListsThatMeetCostLinearTime checks that the cost of passes grows linearly if several lists that the operator
// combines are long at the same time, such as volumes and mounts, or variables from two sources.
func TestListsThatMeetCostLinearTime(t *testing.T) {
	fields := worst.Fields(reflect.TypeFor[v1beta2.SparkApplication]())

	pairOf := func(parts ...string) func(n int) func() {
		return func(n int) func() {
			app := sparkapp.Sample()
			for _, field := range fields {
				if slices.Contains(parts, field.Path) {
					field.Fill(app, n)
				}
			}

			if slices.Contains(parts, "conf") {
				app.Spec.SparkConf = map[string]string{}
				for _, prefix := range []string{"spark.executorEnv.", "spark.kubernetes.driverEnv.",
					"spark.kubernetes.executor.secretKeyRef."} {
					maps.Copy(app.Spec.SparkConf, worst.KeysOf(prefix+"item-%d", "secret:key", n))
				}
			}
			return func() { passes(fullDialect, app.DeepCopy()) }
		}
	}
	for _, parts := range [][]string{
		{".spec.volumes", ".spec.driver.volumeMounts", ".spec.executor.volumeMounts"},
		{".spec.driver.env", ".spec.executor.env", ".spec.driver.envVars", ".spec.executor.envVars",
			".spec.driver.envSecretKeyRefs"},
		{".spec.driver.env", ".spec.executor.env", "conf"},
		{".spec.driver.ports", ".spec.driver.sidecars", ".spec.driver.initContainers", ".spec.executor.sidecars",
			".spec.executor.ports"},
		{".spec.driver.configMaps", ".spec.driver.secrets", ".spec.volumes", ".spec.driver.volumeMounts"},
		{".metadata.labels", ".spec.driver.labels", ".spec.executor.labels", ".spec.driver.serviceLabels"},
		{".status.executorState", ".status.conditions", ".status.operator.history"},
	} {
		worst.Linear(t, strings.Join(parts, " "), pairOf(parts...))
	}
}

// TestMountsOnTheTemplatesVolumesCostLinearTime checks the cost of many mounts of volumes that only the template
// defines. It found a bug: the template was parsed again for each mount.
func TestMountsOnTheTemplatesVolumesCostLinearTime(t *testing.T) {
	volumes, mounts := field[v1beta2.SparkApplication](t, ".spec.volumes"),
		field[v1beta2.SparkApplication](t, ".spec.driver.volumeMounts")
	worst.Linear(t, "template and mounts", func(n int) func() {
		app := sparkapp.Sample()
		volumes.Fill(app, n)
		mounts.Fill(app, n)
		app.Spec.Driver.Template = templateOf(t,
			func(pod *corev1.PodTemplateSpec) { pod.Spec.Volumes = app.Spec.Volumes })
		app.Spec.Volumes = nil
		return func() { passes(fullDialect, app.DeepCopy()) }
	})
}

// TestMountsAtOnePathCostLinearTime checks the cost of many volumes, one of them with a long name, that are mounted at
// the same path. It found a bug: the error message about each of the other volumes contained the long name.
func TestMountsAtOnePathCostLinearTime(t *testing.T) {
	mounts := field[v1beta2.SparkApplication](t, ".spec.executor.volumeMounts")
	worst.Linear(t, "mounts at one path", func(n int) func() {
		app := sparkapp.Sample()
		mounts.Fill(app, n)

		for i := range app.Spec.Executor.VolumeMounts {
			app.Spec.Executor.VolumeMounts[i].MountPath = "/here"
		}

		app.Spec.Executor.VolumeMounts[0].Name = strings.Repeat("x", 100*n)
		return func() { passes(fullDialect, app.DeepCopy()) }
	})
}

// field returns the list or map at the given path in T. It fails the test if T has no such field.
func field[T any](t *testing.T, path string) worst.Field {
	t.Helper()

	for _, f := range worst.Fields(reflect.TypeFor[T]()) {
		if f.Path == path {
			return f
		}
	}

	t.Fatalf("there is no %s", path)
	return worst.Field{}
}

func templateOf(t *testing.T, change func(*corev1.PodTemplateSpec)) *runtime.RawExtension {
	t.Helper()

	pod := corev1.PodTemplateSpec{}
	change(&pod)

	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.RawExtension{Raw: text}
}
