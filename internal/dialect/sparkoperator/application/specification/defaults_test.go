package specification

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestMergedDefaults checks the spec that results from defaults of each kind and an application that sets none of them.
// It also checks that the names of the used settings are sorted and unique.
func TestMergedDefaults(t *testing.T) {
	app := sparkapp.Of(t, "spec: {sparkConf: {spark.eventLog.dir: mine}}")
	app.Spec.Image = nil
	filled := Merge(&app.Spec, nil, sparkapp.EveryDefault())

	want := []string{
		"driver.annotations[note]", "driver.env[REGION]", "driver.labels[team]", "driver.nodeSelector[disk]",
		"driver.podSecurityContext.fsGroup", "driver.priorityClassName",
		"driver.securityContext.readOnlyRootFilesystem", "driver.tolerations",
		"executor.annotations[note]", "executor.env[REGION]", "executor.labels[team]", "executor.nodeSelector[disk]",
		"executor.podSecurityContext.fsGroup",
		"executor.priorityClassName", "executor.securityContext.readOnlyRootFilesystem", "executor.tolerations",
		"imagePullSecrets", "images[4.1]", "timeToLiveSeconds", "timeouts.driverStartSeconds", "timeouts.runSeconds",
	}
	if diff := cmp.Diff(want, filled); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"spark.eventLog.dir": "mine", "spark.sql.ansi.enabled": "true"},
		app.Spec.SparkConf); diff != "" {
		t.Errorf("sparkConf (-want +got):\n%s", diff)
	}

	if sparkoperator.StringValue(app.Spec.Image) != "platform:4.1" || app.Spec.Timeouts != nil ||
		app.Spec.TimeToLiveSeconds != nil {
		t.Errorf("image %v, timeouts %v, time to live %v", app.Spec.Image, app.Spec.Timeouts,
			app.Spec.TimeToLiveSeconds)
	}

	for role, container := range map[string]string{"driver": "spark-kubernetes-driver",
		"executor": "spark-kubernetes-executor"} {
		raw := map[string]*runtime.RawExtension{"driver": app.Spec.Driver.Template,
			"executor": app.Spec.Executor.Template}[role]
		pod := rawtemplate.Pod(raw)
		wantPod := corev1.PodTemplateSpec{}
		wantPod.Labels, wantPod.Annotations = map[string]string{"team": "platform"},
			map[string]string{"note": "platform"}

		wantPod.Spec = corev1.PodSpec{
			NodeSelector: map[string]string{"disk": "platform"}, Tolerations: []corev1.Toleration{{Key: "spot"}},
			PriorityClassName: "platform",
			SecurityContext:   &corev1.PodSecurityContext{FSGroup: new(int64(7))},
			ImagePullSecrets:  []corev1.LocalObjectReference{{Name: "platform"}},
			Containers: []corev1.Container{{
				Name: container, Env: []corev1.EnvVar{{Name: "REGION", Value: "platform"}},
				SecurityContext: &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)},
			}},
		}
		if diff := cmp.Diff(wantPod, pod); diff != "" {
			t.Errorf("template of the %s (-want +got):\n%s", role, diff)
		}
	}
}

// TestTypedFieldsOverKeys checks which keys get no default, because the spec sets the same thing in another way. Each
// part of a spec must keep only its own keys from having a default.
func TestTypedFieldsOverKeys(t *testing.T) {
	blocked := map[string][]string{
		``:                        nil,
		`imagePullPolicy: ""`:     nil,
		`imagePullPolicy: Always`: {"spark.kubernetes.container.image.pullPolicy"},
		`imagePullSecrets: []`:    nil,
		`imagePullSecrets: [s]`:   {"spark.kubernetes.container.image.pullSecrets"},
		`pythonVersion: "3"`:      {"spark.kubernetes.pyspark.pythonVersion"},
		`hadoopConfigMap: ""`:     nil,
		`hadoopConfigMap: c`:      {"spark.kubernetes.hadoop.configMapName"},
		`memoryOverheadFactor: "1"`: {"spark.driver.memoryOverheadFactor", "spark.executor.memoryOverheadFactor",
			"spark.kubernetes.memoryOverheadFactor"},
		`dynamicAllocation: {}`: {"spark.dynamicAllocation.enabled", "spark.dynamicAllocation.maxExecutors"},
		`nodeSelector: {disk: ssd}`: {"spark.kubernetes.driver.node.selector.disk",
			"spark.kubernetes.executor.node.selector.disk"},
		`driver: {envVars: {A: ""}}`:  {"spark.kubernetes.driver.secretKeyRef.A"},
		`executor: {envVars: {A: x}}`: {"spark.kubernetes.executor.secretKeyRef.A"},
		`driver: {envSecretKeyRefs: {A: {name: s, key: k}}}`: {"spark.kubernetes.driver.secretKeyRef.A",
			"spark.kubernetes.driverEnv.A"},
		`executor: {envSecretKeyRefs: {A: {name: s, key: k}}}`: {"spark.executorEnv.A",
			"spark.kubernetes.executor.secretKeyRef.A"},
		`sparkConf: {spark.kubernetes.driverEnv.A: ""}`: {"spark.kubernetes.driver.secretKeyRef.A"},
		`sparkConf: {spark.kubernetes.node.selector.disk: ssd}`: {"spark.kubernetes.driver.node.selector.disk",
			"spark.kubernetes.executor.node.selector.disk"},
		`sparkConf: {spark.kubernetes.memoryOverheadFactor: "1"}`: {"spark.driver.memoryOverheadFactor",
			"spark.executor.memoryOverheadFactor"},
		`sparkConf: {spark.kubernetes.scheduler.name: s}`: {"spark.kubernetes.driver.scheduler.name",
			"spark.kubernetes.executor.scheduler.name"},
		`dynamicAllocation: {enabled: true}`:                       nil,
		`driver: {nodeSelector: {disk: ssd}, schedulerName: mine}`: nil,
	}

	all := map[string]bool{"spark.sql.ansi.enabled": true, "spark.kubernetes.driver.secretKeyRef.B": true,
		"spark.kubernetes.driver.node.selector.zone": true, "spark.dynamicAllocationX": true}
	for _, keys := range blocked {
		for _, key := range keys {
			all[key] = true
		}
	}

	for piece, want := range blocked {
		app := sparkapp.Of(t, "spec: {"+piece+"}")

		var got []string
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if TypedSets(app, key) {
				got = append(got, key)
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", piece, diff)
		}
	}
}

// TestTakenSettings checks which settings of a pod count as set outside its template. The other role's settings do not
// count.
func TestTakenSettings(t *testing.T) {
	spec := &sparkapp.Of(t, `
spec:
  imagePullSecrets: [s]
  nodeSelector: {all: a}
  hadoopConfigMap: h
  sparkConf: {spark.kubernetes.driver.label.conf: a, spark.kubernetes.driver.annotation.conf: a, spark.kubernetes.driverEnv.CONF: a, spark.executorEnv.OTHER: a}
  driver:
    labels: {own: a}
    annotations: {note: a}
    env: [{name: A}]
    envVars: {B: a}
    envSecretKeyRefs: {C: {name: s, key: k}}
    securityContext: {}
  executor: {labels: {other: a}, podSecurityContext: {}}`).Spec
	labels := map[string]string{"app": "a"}
	driver, executor := takenBy(spec, labels, "driver", &spec.Driver.SparkPodSpec),
		takenBy(spec, labels, "executor", &spec.Executor.SparkPodSpec)

	var got []string
	for _, name := range []string{"A", "B", "C", "CONF", "OTHER", "HADOOP_CONF_DIR", "SPARK_CONF_DIR", ""} {
		got = append(got, fmt.Sprintf("%s %t %t", name, driver.Env(name), executor.Env(name)))
	}

	for _, key := range []string{"labels own", "labels other", "labels app", "labels conf", "labels note",
		"annotations note", "annotations conf", "annotations app", "nodeSelector all", "nodeSelector own"} {
		field, key, _ := strings.Cut(key, " ")
		got = append(got, fmt.Sprintf("%s[%s] %t %t", field, key, driver.Key(field, key), executor.Key(field, key)))
	}

	want := []string{
		"A true false", "B true false", "C true false", "CONF true false", "OTHER false true",
		"HADOOP_CONF_DIR true true", "SPARK_CONF_DIR false false", " false false",
		"labels[own] true false", "labels[other] false true", "labels[app] true true", "labels[conf] true false",
		"labels[note] false false",
		"annotations[note] true false", "annotations[conf] true false", "annotations[app] false false",
		"nodeSelector[all] true true", "nodeSelector[own] false false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("set outside the template, driver and executor (-want +got):\n%s", diff)
	}

	if !driver.PullSecrets || !driver.Security || driver.PodSecurity || executor.Security || !executor.PodSecurity {
		t.Errorf("driver %+v, executor %+v", driver, executor)
	}
}

// TestOwnLimitsHaveTheNamesOfSettings checks that the application's own timeouts have the names of the platform's
// settings, so that an own value, even 0, is not reported as a default.
func TestOwnLimitsHaveTheNamesOfSettings(t *testing.T) {
	settings := &platform.Settings{
		Timeouts: platform.Timeouts{DriverStartSeconds: new(int64(1)), DriverReadySeconds: new(int64(2)),
			ExecutorsStartSeconds: new(int64(3)), RunSeconds: new(int64(4))},
		TimeToLiveSeconds: new(int64(5)),
	}
	for piece, want := range map[string][]string{
		`{}`: {"timeToLiveSeconds", "timeouts.driverReadySeconds",
			"timeouts.driverStartSeconds", "timeouts.executorsStartSeconds", "timeouts.runSeconds"},
		`{timeouts: {driverStartSeconds: 0}}`: {"timeToLiveSeconds", "timeouts.driverReadySeconds",
			"timeouts.executorsStartSeconds", "timeouts.runSeconds"},
		`{timeouts: {driverReadySeconds: 0}}`: {"timeToLiveSeconds", "timeouts.driverStartSeconds",
			"timeouts.executorsStartSeconds", "timeouts.runSeconds"},
		`{timeouts: {executorsStartSeconds: 0}}`: {"timeToLiveSeconds", "timeouts.driverReadySeconds",
			"timeouts.driverStartSeconds", "timeouts.runSeconds"},
		`{timeouts: {runSeconds: 0}, timeToLiveSeconds: 99}`: {"timeouts.driverReadySeconds",
			"timeouts.driverStartSeconds", "timeouts.executorsStartSeconds"},
	} {
		if diff := cmp.Diff(want, settings.UsedLimits(ownLimits(&sparkapp.Of(t, "spec: "+piece).Spec))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", piece, diff)
		}
	}

	if got := Deadlines(Timeouts(settings.Timeouts),
		lifecycle.Deadlines{}); got != (lifecycle.Deadlines{DriverStart: time.Second, DriverReady: 2 * time.Second,
		ExecutorsStart: 3 * time.Second, Run: 4 * time.Second}) {
		t.Errorf("the deadlines are %+v", got)
	}
}
