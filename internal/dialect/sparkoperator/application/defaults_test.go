package application

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// onPlatform returns a dialect with the given defaults.
func onPlatform(s platform.Settings) Dialect {
	s.Version = "v1"
	return Dialect{Options{Defaults: &s}}
}

// TestApplicationWinsOverDefaults checks that a value that the application sets overrides the default. There is a row
// for each way in which an application can set a value.
func TestApplicationWinsOverDefaults(t *testing.T) {
	d := onPlatform(platform.Settings{
		SparkConf: map[string]string{
			"spark.driver.memory": "7g", "spark.executor.instances": "7",
			"spark.kubernetes.container.image.pullPolicy": "Never",
			"spark.kubernetes.memoryOverheadFactor":       "0.7", "spark.dynamicAllocation.enabled": "true",
			"spark.hadoop.a":                    "default",
			"spark.kubernetes.driverEnv.REGION": "default", "spark.sql.shuffle.partitions": "7",
			"spark.kubernetes.driver.label.team": "default",
			"spark.ui.port":                      "4057",
		},
		Images: map[string]string{"": "default"}, PullSecrets: []string{"default"},
		Driver: platform.Pod{
			Labels: map[string]string{"a": "default", "b": "default", "c": "default"},
			Env: []corev1.EnvVar{{Name: "A", Value: "default"}, {Name: "B", Value: "default"},
				{Name: "C", Value: "default"}},
			PriorityClassName: "default", NodeSelector: map[string]string{"a": "default", "b": "default"},
			SecurityContext: &corev1.SecurityContext{RunAsNonRoot: new(true), ReadOnlyRootFilesystem: new(true)},
		},
	})
	app := sparkapp.Of(t, `
metadata: {labels: {team: mine, a: mine}}
spec:
  sparkVersion: 4.1.4
  image: mine
  imagePullPolicy: Always
  imagePullSecrets: [mine]
  memoryOverheadFactor: "0.1"
  dynamicAllocation: {enabled: false}
  hadoopConf: {a: mine}
  sparkConf: {spark.sql.shuffle.partitions: "1", spark.ui.port: "4051"}
  executor: {instances: 1}
  driver:
    memory: 1g
    labels: {b: mine}
    priorityClassName: mine
    nodeSelector: {a: mine}
    securityContext: {runAsUser: 0}
    env: [{name: A, value: mine}, {name: REGION, value: mine}]
    envVars: {B: mine}
    template: {metadata: {labels: {c: mine}}}`)

	objects, _, err := d.buildAttempt(app, 1, sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}

	pod, config := objects.Driver, configMapOf(t, objects)
	for key, want := range map[string]string{"team": "mine", "a": "mine", "b": "mine", "c": "mine"} {
		if pod.Labels[key] != want {
			t.Errorf("the label %s is %q", key, pod.Labels[key])
		}
	}

	spark := pod.Spec.Containers[0]

	values := map[string][]string{}
	for _, v := range spark.Env {
		values[v.Name] = append(values[v.Name], v.Value)
	}

	if diff := cmp.Diff(map[string][]string{"A": {"mine"}, "B": {"mine"}, "C": {"default"}, "REGION": {"mine"}},
		map[string][]string{"A": values["A"], "B": values["B"], "C": values["C"],
			"REGION": values["REGION"]}); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}

	if spark.Image != "mine" || pod.Spec.PriorityClassName != "mine" || len(pod.Spec.ImagePullSecrets) != 1 ||
		pod.Spec.ImagePullSecrets[0].Name != "mine" {
		t.Errorf("image %s, priority class %s, secrets %v", spark.Image, pod.Spec.PriorityClassName,
			pod.Spec.ImagePullSecrets)
	}

	if diff := cmp.Diff(map[string]string{"a": "mine", "b": "default"}, pod.Spec.NodeSelector); diff != "" {
		t.Error(diff)
	}

	if s := spark.SecurityContext; s.RunAsNonRoot != nil || s.ReadOnlyRootFilesystem == nil || *s.RunAsUser != 0 {
		t.Errorf("the security context is %+v", s)
	}

	for _, line := range []string{
		"spark.driver.memory=1g", "spark.executor.instances=1", "spark.kubernetes.container.image.pullPolicy=Always",
		"spark.kubernetes.memoryOverheadFactor=0.1",
		"spark.hadoop.a=mine", "spark.sql.shuffle.partitions=1", "spark.ui.port=4051",
	} {
		if !strings.Contains(config.Data["spark.properties"], line+"\n") {
			t.Errorf("no line %s in\n%s", line, config.Data["spark.properties"])
		}
	}

	if strings.Contains(config.Data["spark.properties"], "dynamicAllocation") {
		t.Errorf("dynamic allocation is in\n%s", config.Data["spark.properties"])
	}

	want := []string{"driver.env[C]", "driver.nodeSelector[b]", "driver.securityContext.readOnlyRootFilesystem"}

	origins := platform.Origins(config.Annotations)
	for _, setting := range want {
		if origins[setting] == "" {
			t.Errorf("no origin of %s in %v", setting, origins)
		}
	}

	if len(origins) != len(want) {
		t.Errorf("origins of settings that are not used: %v", origins)
	}
}

// TestDefaultsAreMerged checks an application that sets nothing itself. The defaults must reach its objects. Its spec
// must stay unchanged, and its hash must be the hash of its own spec.
func TestDefaultsAreMerged(t *testing.T) {
	pod := platform.Pod{Labels: map[string]string{"team": "x"}, Tolerations: []corev1.Toleration{{Key: "spot"}},
		PriorityClassName: "batch", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}
	d := onPlatform(platform.Settings{SparkConf: map[string]string{"spark.executor.instances": "3"},
		Images: map[string]string{"4.1": "r/spark"}, PullSecrets: []string{"r"}, Driver: pod, Executor: pod})
	app := sparkapp.Sample(func(app *v1beta2.SparkApplication) {
		app.Spec.Image, app.Spec.SparkVersion, app.Spec.Executor.Instances = nil, "4.1.4", nil
	})
	before := app.DeepCopy()

	objects, _, err := d.buildAttempt(app, 1, sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(before, app); diff != "" {
		t.Errorf("the application was changed:\n%s", diff)
	}

	if got := objects.Driver; got.Labels["team"] != "x" || got.Spec.PriorityClassName != "batch" ||
		got.Spec.Containers[0].Image != "r/spark" || got.Spec.ImagePullSecrets[0].Name != "r" ||
		got.Annotations[lifecycle.SpecHashAnnotation] != specification.Hash(&app.Spec) ||
		got.Annotations[platform.VersionAnnotation] != "v1" {
		t.Errorf("the driver is %+v", got)
	}

	executor, err := d.Executor(app, 1, 1, "", sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}

	if executor.Labels["team"] != "x" || executor.Spec.PriorityClassName != "batch" ||
		executor.Spec.Tolerations[0].Key != "spot" {
		t.Errorf("an executor is %+v", executor)
	}

	if _, _, err := (Dialect{}).buildAttempt(app, 1, sparkapp.T0); err == nil {
		t.Error("without the default, an application without an image was built")
	}
}

// TestLaunchedAttemptKeepsDefaults checks that decisions about a launched attempt use the defaults of its launch, and
// that the status contains the version of these defaults.
func TestLaunchedAttemptKeepsDefaults(t *testing.T) {
	old := onPlatform(platform.Settings{SparkConf: map[string]string{"spark.ui.port": "4051",
		"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.minExecutors": "2"},
		Timeouts: platform.Timeouts{RunSeconds: new(int64(60))}})
	app := sparkapp.Sample(func(app *v1beta2.SparkApplication) { app.Spec.Executor.Instances = nil })

	plan := old.Decide(app, lifecycle.Observed{}, sparkapp.T0)
	if plan.Next.Attempt != 1 || app.Status.Operator.Defaults == nil || app.Status.Operator.Defaults.Version != "v1" {
		t.Fatalf("attempt %d was launched with %+v", plan.Next.Attempt, app.Status.Operator)
	}

	if app.Spec.SparkConf["spark.ui.port"] != "" {
		t.Error("the spec has a default")
	}

	changed := onPlatform(platform.Settings{SparkConf: map[string]string{"spark.ui.port": "4059",
		"spark.executor.instances": "9"},
		Timeouts: platform.Timeouts{RunSeconds: new(int64(1))}, TimeToLiveSeconds: new(int64(9))})

	changed.Defaults.Version = "v2"
	for name, d := range map[string]Dialect{"changed": changed, "removed": {}} {
		current := d.present(app).Attempt
		got := current.wanted()

		port := current.app.Spec.SparkConf["spark.ui.port"]
		if got.MinExecutors != 2 || got.Deadlines.Run != time.Minute || port != "4051" ||
			got.SpecHash != specification.Hash(&app.Spec) {
			t.Errorf("%s: %d executors, %v, port %s", name, got.MinExecutors, got.Deadlines.Run, port)
		}

		if _, err := d.Executor(app, 1, 1, "", sparkapp.T0); err == nil {
			t.Errorf("%s: an executor was rendered from other defaults", name)
		}

		before := app.DeepCopy()
		d.Decide(app, lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1, Phase: lifecycle.DriverPending,
			SpecHash: specification.Hash(&app.Spec)}}}, sparkapp.T0)

		if app.Status.Operator.Defaults.Version != "v1" || app.Status.Operator.Attempt != 1 {
			t.Errorf("%s: the status has %+v", name, app.Status.Operator)
		}

		app = before
	}

	if ttl := changed.app(app).TTL; ttl == nil || *ttl != 9*time.Second {
		t.Errorf("the time to live is %v", ttl)
	}

	plain := sparkapp.Sample()
	(Dialect{}).Decide(plain, lifecycle.Observed{}, sparkapp.T0)

	if plain.Status.Operator.Defaults != nil {
		t.Errorf("without defaults, the status has %+v", plain.Status.Operator.Defaults)
	}

	if changed.app(plain).Deadlines.Run != 0 {
		t.Error("an attempt that was launched without defaults has a deadline")
	}
}

// TestFaultOfDefaultNamesOrigin checks that an error about a default names the entry of the operator's configuration
// that contains the default. The same error about the application's own value must not name it.
func TestFaultOfDefaultNamesOrigin(t *testing.T) {
	s := platform.Settings{SparkConf: map[string]string{"spark.driver.memory": "2gb"},
		Origins: map[string]string{"sparkConf[spark.driver.memory]": "defaults[1] (x)"}}
	app := sparkapp.Sample(func(app *v1beta2.SparkApplication) { app.Spec.Driver.Memory = nil })

	faults := onPlatform(s).Faults(app, sparkapp.T0)
	if len(faults) != 1 || !strings.Contains(faults[0].Message, "defaults[1] (x)") {
		t.Errorf("faults are %v", faults)
	}

	app.Spec.SparkConf = map[string]string{"spark.driver.memory": "2gb"}

	faults = onPlatform(s).Faults(app, sparkapp.T0)
	if len(faults) != 1 || strings.Contains(faults[0].Message, "defaults") {
		t.Errorf("faults of the application are %v", faults)
	}
}

// configMapOf returns the ConfigMap with the Spark configuration of an attempt.
func configMapOf(t *testing.T, objects submit.Objects) *corev1.ConfigMap {
	t.Helper()

	for _, object := range objects.Before {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Data["spark.properties"] != "" {
			return config
		}
	}

	t.Fatal("there is no ConfigMap with the configuration")
	return nil
}
