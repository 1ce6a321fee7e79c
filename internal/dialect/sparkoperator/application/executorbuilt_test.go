package application

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	difference "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestExecutorIsSparksOwn compares the executor pod that the operator sends to the API server in a dry run with the pod
// that Spark's own code creates. All fields must be equal.
func TestExecutorIsSparksOwn(t *testing.T) {
	for _, name := range []string{"everything", "overwritten", "ways"} {
		for _, version := range executorVersions {
			t.Run(name+"/"+version, func(t *testing.T) {
				app, want := executorOf(t, name, version)

				r, err := Dialect{}.request(app, 1, sparkapp.T0)
				if err != nil {
					t.Fatal(err)
				}

				r.Conf.Set("spark.kubernetes.executor.podNamePrefix", "pi") // as the recording has it

				got, err := native.Executor(r, 1, "uid")
				if err != nil {
					t.Fatal(err)
				}

				if got.Namespace != app.Namespace {
					t.Errorf("namespace %q", got.Namespace)
				}

				got.Namespace = "" // the client of a driver adds it
				if diff := difference.Diff(settled(t, want), settled(t, got)); diff != "" {
					t.Errorf("executor (-Spark's own +ours):\n%s", diff)
				}
			})
		}
	}
}

// TestExecutorOfAnApplication checks that the pod of the dry run has the labels, namespace and owner of an executor
// that the driver would create, even if spark-submit created the driver.
func TestExecutorOfAnApplication(t *testing.T) {
	for _, piece := range []string{`spec: {}`, `spec: {submission: {mode: SparkSubmit}}`,
		`spec: {mainApplicationFile: "s3a://b/a.jar", mainClass: null}`} {
		app := sparkapp.Of(t, piece)
		app.Status.SparkApplicationID = "spark-application-1"

		pod, err := Dialect{}.Executor(app, 2, 4, "driver", sparkapp.T0)
		if err != nil {
			t.Fatalf("%s: %v", piece, err)
		}

		want := map[string]string{
			sparkoperator.LabelAttempt: "2", sparkoperator.LabelAppUID: string(app.UID), "spark-role": "executor",
			"spark-exec-id": "4", "spark-app-selector": "spark-application-1",
		}
		for key, value := range want {
			if pod.Labels[key] != value {
				t.Errorf("%s: label %s is %q, want %q", piece, key, pod.Labels[key], value)
			}
		}

		if pod.Namespace != "jobs" || pod.OwnerReferences[1].UID != "driver" ||
			pod.OwnerReferences[1].Name != "pi-driver" {
			t.Errorf("%s: it is in %s, of %v", piece, pod.Namespace, pod.OwnerReferences)
		}
	}

	if _, err := (Dialect{}).Executor(sparkapp.Of(t, `spec: {executor: {memoryLimit: much}}`), 1, 1, "",
		sparkapp.T0); err == nil {
		t.Error("what cannot be rendered is")
	}
}

// claimNumber matches the end of a claim's name: "-pvc-" and the index of the volume.
var claimNumber = regexp.MustCompile(`-pvc-[0-9]+$`)

// settled returns the content of a pod with a fixed text for each random part, and with its lists in a fixed order.
// Spark generates some names at random and orders some lists by a hash.
func settled(t *testing.T, pod *corev1.Pod) map[string]any {
	t.Helper()

	pod = pod.DeepCopy()

	spark := &pod.Spec.Containers[len(pod.Spec.Containers)-1]
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			claim.ClaimName = claimNumber.ReplaceAllString(claim.ClaimName, "-pvc-N")
		}

		if config := pod.Spec.Volumes[i].ConfigMap; config != nil && strings.HasPrefix(config.Name, "spark-exec-") {
			config.Name = confMap.ReplaceAllString(config.Name, "spark-exec-ID-conf-map")
		}
	}

	last := map[string]string{}
	for i := range spark.Env {
		v := &spark.Env[i]

		v.Value = localDir.ReplaceAllString(v.Value, "/var/data/spark-UUID")
		if strings.HasPrefix(v.Name, "SPARK_JAVA_OPT_") && v.Value != "-Dmine=1" {
			v.Name = "SPARK_JAVA_OPT_" // Spark adds its own options after the user's, in the order of a hash map
		} else {
			last[v.Name] = lastOf(spark.Env, v.Name)
		}
	}

	for i := range spark.VolumeMounts {
		spark.VolumeMounts[i].MountPath = localDir.ReplaceAllString(spark.VolumeMounts[i].MountPath,
			"/var/data/spark-UUID")
	}

	slices.SortStableFunc(spark.Env, func(a, b corev1.EnvVar) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	byName := func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortStableFunc(pod.Spec.Volumes, byName)
	slices.SortStableFunc(spark.VolumeMounts,
		func(a, b corev1.VolumeMount) int { return cmp.Compare(a.MountPath, b.MountPath) })

	out := fieldtable.Plain(t, pod)
	out["last"] = last
	delete(out, "status")
	return out
}

// TestExecutorThatCannotBe checks that the error about an executor that cannot be created names the field that causes
// the error.
func TestExecutorThatCannotBe(t *testing.T) {
	app := sparkapp.Of(t)
	app.Spec.SparkConf = map[string]string{"spark.kubernetes.executor.label.bad": "bad value!"}

	_, err := Dialect{}.Executor(app, 1, 1, "d", time.Time{})
	if wrong, ok := errors.AsType[*dialect.FieldError](err); !ok ||
		wrong.Field != "spec.sparkConf[spark.kubernetes.executor.label.bad]" {
		t.Errorf("refused with %v", err)
	}
}
