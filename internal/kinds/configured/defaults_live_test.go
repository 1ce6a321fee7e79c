package configured_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// withDefaults returns a configuration for a namespace with the given list of defaults.
func withDefaults(w *world.World, text string) config.Configuration {
	w.T.Helper()
	cfg := world.Config(w.Namespace)

	var entries []platformdefaults.Default
	if err := yaml.UnmarshalStrict([]byte(text), &entries); err != nil {
		w.T.Fatal(err)
	}

	cfg.Defaults = entries
	if err := cfg.Validate(); err != nil {
		w.T.Fatal(err)
	}
	return cfg
}

// runApplications starts an operator that serves only SparkApplications of sparkoperator.k8s.io.
func runApplications(w *world.World, cfg config.Configuration, clock controller.Clock) (stop func()) {
	w.T.Helper()
	return world.ServeAlone(w, cfg, clock, func(op *operator.Operator) contract.Kind {
		return configured.For(kinds.SparkApplication).Build(op.Settings, op.NamespaceLabels())
	}, nil)
}

// configOf returns the ConfigMap with the Spark configuration of an attempt.
func configOf(w *world.World, uid, attempt string) *corev1.ConfigMap {
	w.T.Helper()

	var list corev1.ConfigMapList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace),
		client.MatchingLabels{identity.AppUIDLabel: uid, identity.AttemptLabel: attempt}); err != nil {
		w.T.Fatal(err)
	}

	for i := range list.Items {
		if list.Items[i].Data["spark.properties"] != "" {
			return &list.Items[i]
		}
	}

	w.T.Fatalf("no ConfigMap of attempt %s among %d", attempt, len(list.Items))
	return nil
}

// TestDefaultsByNamespace checks that an application gets the defaults that the labels of its namespace select, and
// that its own settings take precedence. It also checks that the status, the driver pod and the ConfigMap record the
// version and the origins of the defaults.
func TestDefaultsByNamespace(t *testing.T) {
	t.Parallel()
	w, other := world.New(t), world.New(t)
	key := "tier-" + w.Namespace // other tests share the API server
	w.Relabel(key, "batch")
	cfg := withDefaults(w, fmt.Sprintf(`
- name: all
  sparkDefaults: |
    spark.sql.shuffle.partitions  17
    spark.executor.memory         3g
  eventLogDirectory: s3a://logs/all
- name: batch
  namespaceSelector: %s=batch
  sparkConf: {spark.sql.shuffle.partitions: "18", spark.ui.port: "4050"}
  driver: {labels: {cost-center: batch}, tolerations: [{key: spot, operator: Exists}]}
  executor: {nodeSelector: {pool: spot}}
  images: {"4.1": example.org/batch:4.1}
`, key))
	cfg.Namespaces.Names = append(cfg.Namespaces.Names, other.Namespace)
	runApplications(w, cfg, time.Now)

	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.SparkVersion, app.Spec.Image = "4.1.4", nil
		app.Spec.Executor.Memory = new("2g")
		app.Spec.SparkConf = map[string]string{"spark.eventLog.dir": "s3a://mine"}
		app.Spec.Driver.Labels = map[string]string{"own": "label"}
	})
	driver := w.DriverOf(app, 1)

	config := configOf(w, string(app.UID), "1")
	for _, line := range []string{"spark.sql.shuffle.partitions=18", "spark.executor.memory=2g",
		"spark.eventLog.dir=s3a\\://mine", "spark.eventLog.enabled=true", "spark.ui.port=4050"} {
		if !strings.Contains(config.Data["spark.properties"], line+"\n") {
			t.Errorf("no line %s in\n%s", line, config.Data["spark.properties"])
		}
	}

	if driver.Labels["cost-center"] != "batch" || driver.Labels["own"] != "label" ||
		driver.Spec.Containers[0].Image != "example.org/batch:4.1" {
		t.Errorf("the driver has the labels %v and the image %s", driver.Labels, driver.Spec.Containers[0].Image)
	}

	if diff := cmp.Diff(map[string]string{
		"sparkConf[spark.sql.shuffle.partitions]": "defaults[1] (batch)",
		"sparkConf[spark.ui.port]":                "defaults[1] (batch)",
		"sparkConf[spark.eventLog.enabled]":       "defaults[0] (all)", "images[4.1]": "defaults[1] (batch)",
		"driver.labels[cost-center]": "defaults[1] (batch)", "driver.tolerations": "defaults[1] (batch)",
		"executor.nodeSelector[pool]": "defaults[1] (batch)",
	}, platform.Origins(config.Annotations)); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}

	status := w.WaitState("pi", v1beta2.ApplicationStateSubmitted).Status.Operator.Defaults
	if status == nil || status.Version == "" || driver.Annotations[platform.VersionAnnotation] != status.Version ||
		config.Annotations[platform.VersionAnnotation] != status.Version {
		t.Errorf("the status has %+v, the driver %v", status, driver.Annotations)
	}

	resources.ServerService(w, "pi-ui-svc",
		func(service *corev1.Service) error { return world.Want(service.Spec.Ports[0].Port, int32(4050)) })

	elsewhere := other.Application("pi", scene.WithDriver)

	driver = other.DriverOf(elsewhere, 1)
	if properties := configOf(other, string(elsewhere.UID), "1").Data["spark.properties"]; !strings.Contains(properties,
		"spark.sql.shuffle.partitions=17\n") || driver.Labels["cost-center"] != "" {
		t.Errorf("a namespace without the label has the labels %v and\n%s", driver.Labels, properties)
	}
}

// versions returns the resource versions of the objects in the namespace, by kind and name. Pods of StatefulSets are
// written by Kubernetes itself and are left out.
func versions(w *world.World, kinds ...client.ObjectList) map[string]string {
	w.T.Helper()

	all := map[string]string{}
	for _, list := range append(kinds, &corev1.PodList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{},
		&networkingv1.NetworkPolicyList{}) {
		if err := w.API.List(w.T.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.T.Fatal(err)
		}

		_ = meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			all[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetResourceVersion()
			return nil
		})
	}
	return all
}

// firstDefaults and changedDefaults are two lists of defaults. They differ in every setting that the operator could
// apply to a running driver, server or cluster by mistake.
const (
	firstDefaults = `
- name: before
  sparkConf: {spark.ui.port: "4050", spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.minExecutors: "1", spark.sql.shuffle.partitions: "1"}
  images: {"4.1": example.org/before:4.1}
  driver: {labels: {defaults: before}, env: [{name: DEFAULTS, value: before}]}
  executor: {labels: {defaults: before}}
  timeouts: {runSeconds: 3600}
`
	changedDefaults = `
- name: after
  sparkConf: {spark.ui.port: "4060", spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.minExecutors: "5", spark.sql.shuffle.partitions: "2"}
  images: {"4.1": example.org/after:4.1}
  driver: {labels: {defaults: after}, env: [{name: DEFAULTS, value: after}], tolerations: [{key: spot, operator: Exists}]}
  executor: {labels: {defaults: after}}
  timeouts: {runSeconds: 1, driverStartSeconds: 1, driverReadySeconds: 1, executorsStartSeconds: 1}
`
)

// sameVersions fails the test if one of the objects was written.
func sameVersions(t *testing.T, then, now map[string]string) {
	t.Helper()

	for key, version := range then {
		if now[key] != version {
			t.Errorf("%s was written: version %s became %q", key, version, now[key])
		}
	}
}

// TestChangedDefaultsLeaveApplication checks that an operator with changed defaults writes to no object of a running
// application, and that the next attempt has the changed defaults.
func TestChangedDefaultsLeaveApplication(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	stop := runApplications(w, withDefaults(w, firstDefaults), clock.Now)
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.SparkVersion = "4.1.4"
		app.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure,
			OnFailureRetries: new(int32(1)), OnFailureRetryInterval: new(int64(1))}
	})
	driver := w.RunningDriver(app, 1)
	first := w.Get("pi").Status.Operator.Defaults
	resources.ServerService(w, "pi-ui-svc",
		func(service *corev1.Service) error { return world.Want(service.Spec.Ports[0].Port, int32(4050)) })
	kit.Wait(t, "the address of the UI in the status", func(context.Context) error {
		return world.Want(w.Get("pi").Status.DriverInfo.WebUIAddress != "", true)
	})
	stop()

	then := versions(w, &v1beta2.SparkApplicationList{})
	readCount := clock.ReadCount.Load()
	clock.Advance(10 * time.Minute) // past the deadlines of the changed defaults
	runApplications(w, withDefaults(w, changedDefaults), clock.Now)
	waitReads(w, clock, readCount)

	next := w.Application("next", scene.WithDriver,
		func(app *v1beta2.SparkApplication) { app.Spec.SparkVersion = "4.1.4" })
	if pod := w.DriverOf(next, 1); pod.Labels["defaults"] != "after" {
		t.Errorf("the labels of a new driver are %v", pod.Labels)
	}

	sameVersions(t, then, versions(w, &v1beta2.SparkApplicationList{}))

	w.Kubelet(driver.Name, corev1.PodFailed, scene.Exited(1, "broken"))

	retried := w.DriverOf(app, 2)
	if retried.Labels["defaults"] != "after" || len(retried.Spec.Tolerations) == 0 {
		t.Errorf("the labels of the retried driver are %v", retried.Labels)
	}

	kit.Wait(t, "the version of the changed defaults", func(context.Context) error {
		o := w.Get("pi").Status.Operator
		return world.Want(o.Attempt == 2 && o.Defaults != nil && o.Defaults.Version != first.Version &&
			o.Defaults.Version == retried.Annotations[platform.VersionAnnotation], true)
	})
}

// waitReads waits until the operator has made a further pass. Every pass reads the clock, and the argument readCount is
// the number of reads so far.
func waitReads(w *world.World, clock *world.Later, readCount int64) {
	w.T.Helper()
	kit.Wait(w.T, "a pass of the restarted operator", func(context.Context) error {
		return world.Want(clock.ReadCount.Load() > readCount, true)
	})
}

// TestChangedDefaultsLeaveServer checks that an operator with changed defaults writes to no object of a running Connect
// server, and that the next server has the changed defaults.
func TestChangedDefaultsLeaveServer(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	stop := resources.RunServers(w, withDefaults(w, firstDefaults), clock.Now)
	sc := resources.Server(w, "x", func(sc *v1alpha1.SparkConnect) { sc.Spec.Image = nil })

	pod := resources.ReadyServer(w, sc, 1)
	if pod.Labels["defaults"] != "before" || pod.Spec.Containers[0].Image != "example.org/before:4.1" {
		t.Errorf("the server has the labels %v and the image %s", pod.Labels, pod.Spec.Containers[0].Image)
	}

	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
		resources.Holds("Ready", metav1.ConditionTrue, "Running"))
	stop()

	then := versions(w, &v1alpha1.SparkConnectList{})
	readCount := clock.ReadCount.Load()
	resources.RunServers(w, withDefaults(w, changedDefaults), clock.Now)
	waitReads(w, clock, readCount)
	other := resources.Server(w, "other")
	resources.ServerPod(w, other, 1)
	sameVersions(t, then, versions(w, &v1alpha1.SparkConnectList{}))

	resources.PatchServer(w, "x", `{"spec":{"sparkConf":{"spark.sql.ansi.enabled":"true"}}}`)

	if edited := resources.ServerPod(w, sc, 2); edited.Labels["defaults"] != "after" ||
		edited.Spec.Containers[0].Image != "example.org/after:4.1" {
		t.Errorf("the edited server has the labels %v and the image %s", edited.Labels, edited.Spec.Containers[0].Image)
	}
}

// TestChangedDefaultsLeaveCluster checks that an operator with changed defaults writes to no object of a running
// cluster, and that an edit of the cluster uses the changed defaults.
func TestChangedDefaultsLeaveCluster(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	stop := resources.RunClusters(w, withDefaults(w, firstDefaults), clock.Now)
	resources.CreateCluster(w, "c", func(sc *resources.SparkCluster) { sc.Spec.SparkConf = nil })
	w.Ready("c-master-0")
	w.Ready("c-worker-0")
	healthy := resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1),
		resources.ClusterHolds("Ready", metav1.ConditionTrue),
		resources.ClusterHolds("ObjectsApplied", metav1.ConditionTrue),
		func(sc *resources.SparkCluster) error { return world.Want(sc.Status.Operator.CompleteAt != nil, true) })

	master := resources.Set(w, "c-master").Spec.Template
	if master.Labels["defaults"] != "before" || master.Spec.Containers[0].Image != "example.org/before:4.1" ||
		master.Spec.Containers[0].Env[0].Name != "DEFAULTS" {
		t.Errorf("the master's template is %+v", master)
	}

	stop()

	then := versions(w, &sparkv1.SparkClusterList{}, &appsv1.StatefulSetList{})
	readCount := clock.ReadCount.Load()
	resources.RunClusters(w, withDefaults(w, changedDefaults), clock.Now)
	waitReads(w, clock, readCount)
	resources.CreateCluster(w, "other")
	resources.Set(w, "other-master",
		func(set *appsv1.StatefulSet) error { return world.Want(set.Spec.Template.Labels["defaults"], "after") })
	sameVersions(t, then, versions(w, &sparkv1.SparkClusterList{}, &appsv1.StatefulSetList{}))

	resources.PatchCluster(w, "c", `{"spec":{"sparkConf":{"spark.worker.timeout":"70"}}}`)
	resources.Set(w, "c-master",
		func(set *appsv1.StatefulSet) error { return world.Want(set.Spec.Template.Labels["defaults"], "after") })
	resources.Set(w, "c-worker",
		func(set *appsv1.StatefulSet) error { return world.Want(set.Spec.Template.Labels["defaults"], "after") })
	kit.Wait(t, "the version of the changed defaults", func(context.Context) error {
		got := resources.GetCluster(w, "c").Status.Operator.Defaults
		return world.Want(got != nil && got.Version != healthy.Status.Operator.Defaults.Version, true)
	})
}

// TestChangedDefaultsLeaveApacheApplication checks that an operator with changed defaults writes to no object of a
// running application of spark.apache.org, and that the next attempt has the changed defaults.
func TestChangedDefaultsLeaveApacheApplication(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	stop := resources.RunApache(w, withDefaults(w, firstDefaults), clock.Now)
	app := resources.CreateApache(w, "pi", func(app *resources.ApacheApp) {
		delete(app.Spec.SparkConf, "spark.kubernetes.container.image")
		delete(app.Spec.SparkConf, "spark.executor.instances")
	})

	driver := resources.ReadyDriver(w, app, 1)
	if driver.Labels["defaults"] != "before" || driver.Spec.Containers[0].Image != "example.org/before:4.1" {
		t.Errorf("the driver has the labels %v and the image %s", driver.Labels, driver.Spec.Containers[0].Image)
	}

	executor := apacheExecutor(w, app, driver, 1)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy, func(app *resources.ApacheApp) error {
		return world.Want(app.Status.Executors != nil && app.Status.Executors.Running == 1, true)
	})
	stop()

	then := versions(w, &sparkv1.SparkApplicationList{})
	readCount := clock.ReadCount.Load()
	clock.Advance(10 * time.Minute)
	resources.RunApache(w, withDefaults(w, changedDefaults), clock.Now)
	waitReads(w, clock, readCount)

	other := resources.CreateApache(w, "other")
	if pod := resources.ApacheDriver(w, other, 1); pod.Labels["defaults"] != "after" {
		t.Errorf("the labels of a new driver are %v", pod.Labels)
	}

	sameVersions(t, then, versions(w, &sparkv1.SparkApplicationList{}))
}
