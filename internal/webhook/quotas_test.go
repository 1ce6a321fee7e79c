package webhook_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// others contains a valid object of each kind other than SparkApplication.
var others = map[string]string{
	"ScheduledSparkApplication": `
apiVersion: sparkoperator.k8s.io/v1beta2
kind: ScheduledSparkApplication
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  template: {type: Java, mode: cluster, sparkVersion: 4.1.4, image: i, mainClass: a.B, mainApplicationFile: local:///a.jar, driver: {}, executor: {}}
`,
	"SparkConnect": `
apiVersion: sparkoperator.k8s.io/v1alpha1
kind: SparkConnect
metadata: {name: notebooks}
spec: {sparkVersion: 4.1.4, image: i, server: {}, executor: {instances: 1}}
`,
	"SparkApplication": `
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: pi}
spec: {mainClass: a.B, jars: "local:///a.jar", sparkConf: {spark.kubernetes.container.image: i}, runtimeVersions: {sparkVersion: 4.1.4}}
`,
	"SparkCluster": `
apiVersion: spark.apache.org/v1
kind: SparkCluster
metadata: {name: prod}
spec:
  runtimeVersions: {sparkVersion: 4.1.4}
  clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}
  sparkConf: {spark.kubernetes.container.image: i}
`,
}

// quota creates or replaces the only ResourceQuota of the namespace.
func (h *hooked) quota(hard map[string]string) {
	h.T.Helper()

	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "compute"}}
	if err := client.IgnoreNotFound(h.API.Delete(h.T.Context(), quota.DeepCopy())); err != nil {
		h.T.Fatal(err)
	}

	quota.Spec.Hard = corev1.ResourceList{}
	for name, amount := range hard {
		quota.Spec.Hard[corev1.ResourceName(name)] = resource.MustParse(amount)
	}

	h.Create(quota)
}

// TestQuotas checks, for every kind, which objects are refused because they can never fit a quota of their namespace.
// An object that needs exactly the allowed amounts is admitted, even if other pods use the quota now.
func TestQuotas(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.change(func(h *hooked) { h.enforced = true })

	for name, c := range map[string]struct {
		object    *unstructured.Unstructured
		pods, cpu string // the exact needs
		small     string
		want      string
	}{
		"an application": {h.object(`spec: {driver: {cores: 2, sidecars: [{name: s, image: i, resources: {requests: {cpu: 250m}}}]}, executor: {instances: 3, cores: 2}}`), "4", "8250m", "8",
			`spec: can never run in this namespace: 1 driver and 3 executors need 8250m of cpu together, and the ResourceQuota "compute" allows 8 in all; request less, or let an administrator raise the quota`},
		"dynamic allocation": {h.object(`spec: {dynamicAllocation: {enabled: true, initialExecutors: 5, minExecutors: 1, maxExecutors: 100}}`), "6", "6", "5",
			"1 driver and 5 executors need 6 of cpu"},
		"spark-submit": {h.object(`spec: {submission: {mode: SparkSubmit}, driver: {cores: 3}}`), "3", "5", "4",
			"1 driver and 2 executors need 5 of cpu"},
		"a schedule": {h.object(others["ScheduledSparkApplication"], `spec: {template: {executor: {instances: 4}}}`),
			"5", "5", "4", "1 driver and 4 executors need 5 of cpu"},
		"a server": {h.object(others["SparkConnect"],
			`spec: {dynamicAllocation: {enabled: true, initialExecutors: 3}}`), "4", "4", "3",
			"1 server and 3 executors need 4 of cpu"},
		"another application": {h.object(others["SparkApplication"],
			`spec: {sparkConf: {spark.executor.instances: "3"}}`), "4", "4", "3",
			"1 driver and 3 executors need 4 of cpu"},
		"a cluster": {h.object(others["SparkCluster"],
			`spec: {clusterTolerations: {instanceConfig: {initWorkers: 3, minWorkers: 3, maxWorkers: 3}},
			workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, resources: {requests: {cpu: 2}}}]}}}}}`), "4", "6", "5", "1 master and 3 workers need 6 of cpu"},
	} {
		h.quota(map[string]string{"pods": c.pods, "cpu": c.cpu})

		if err := h.dryRun(c.object); err != nil {
			t.Errorf("%s: an exact quota: %v", name, err)
		}

		h.quota(map[string]string{"cpu": c.small, "limits.memory": "1Ei"})

		if err := h.dryRun(c.object); !byWebhook(err) || !strings.Contains(refusalMessage(err), c.want) {
			t.Errorf("%s: refused with %v, want %q", name, err, c.want)
		}
	}

	h.change(func(h *hooked) { h.enforced = false })

	if err := h.dryRun(h.object(`spec: {executor: {instances: 1000}}`)); err != nil {
		t.Errorf("switched off: %v", err)
	}
}

// TestQuotaOfAnUpdate checks updates of an object that already exceeds a quota. An update is refused only if the object
// then exceeds the quota by more than before. Users can therefore suspend and shrink an application after its quota was
// lowered.
func TestQuotaOfAnUpdate(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.change(func(h *hooked) { h.enforced = true })

	object := h.object(`spec: {executor: {instances: 10}}`)
	if err := h.user.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}

	h.quota(map[string]string{"pods": "5", "cpu": "100"})

	for _, c := range []struct {
		patch   string
		refused bool
	}{
		{`{"spec":{"suspend":true}}`, false},
		{`{"spec":{"executor":{"instances":11}}}`, true},
		{`{"spec":{"executor":{"instances":10,"cores":2}}}`, false},
		{`{"spec":{"executor":{"cores":200}}}`, true},
		{`{"spec":{"executor":{"instances":8,"cores":1}}}`, false},
		{`{"spec":{"executor":{"instances":10}}}`, true},
		{`{"spec":{"executor":{"instances":4}}}`, false},
		{`{"spec":{"executor":{"instances":5}}}`, true},
	} {
		err := h.user.Patch(t.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(c.patch)))
		if c.refused != (err != nil) || err != nil && !byWebhook(err) {
			t.Errorf("%s: %v, want it to be refused: %t", c.patch, err, c.refused)
		}
	}
}

// TestUnknownQuotas checks that an object is admitted with a warning if the quotas cannot be read.
func TestUnknownQuotas(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.warnings.take()
	h.change(func(h *hooked) { h.enforced, h.unread = true, errors.New("no cache") })

	if err := h.dryRun(h.object()); err != nil {
		t.Error(err)
	}

	if got := strings.Join(h.warnings.take(), "\n"); !strings.Contains(got,
		"not compared with the ResourceQuotas of its namespace") {
		t.Errorf("warnings %q", got)
	}

	if !strings.Contains(h.Log.String(), "no cache") {
		t.Error("the error is not logged")
	}
}
