package quota

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

func read[T any](t *testing.T, text string) *T {
	t.Helper()

	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// TestExceeded checks which amounts of which quotas a driver with three executors exceeds. A line of want contains the
// resource, the needed amount, the allowed amount and the counted pods.
func TestExceeded(t *testing.T) {
	const driver = `{spec: {overhead: {cpu: 100m}, containers: [{resources: {requests: {cpu: 1, memory: 1408Mi}, limits: {memory: 1408Mi}}}, {resources: {requests: {cpu: 500m}}}]}}`
	const executor = `{spec: {priorityClassName: batch, activeDeadlineSeconds: 60, containers: [{resources: {requests: {cpu: 2, memory: 2Gi}, limits: {cpu: 4, memory: 2Gi, nvidia.com/gpu: 1}}}]}}`

	const all = "1 driver and 3 executors"
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{"nothing limited", `{}`, nil},
		{"exact amounts", `{hard: {pods: 4, count/pods: 4, cpu: 7600m, requests.memory: 7552Mi, limits.cpu: 12, limits.memory: 7552Mi, requests.nvidia.com/gpu: 3}}`, nil},
		{"pods", `{hard: {pods: 3, count/pods: 2}}`, []string{"count/pods 4 2 " + all, "pods 4 3 " + all}},
		{"requests", `{hard: {cpu: 7, memory: 4Gi}}`, []string{"cpu 7600m 7 " + all, "memory 7552Mi 4Gi " + all}},
		{"requests by their long names", `{hard: {requests.cpu: 7, requests.memory: 4Gi, requests.nvidia.com/gpu: 2}}`,
			[]string{"requests.cpu 7600m 7 " + all, "requests.memory 7552Mi 4Gi " + all,
				"requests.nvidia.com/gpu 3 2 " + all}},
		{"limits", `{hard: {limits.cpu: 11, limits.memory: 1Gi}}`,
			[]string{"limits.cpu 12 11 " + all, "limits.memory 7552Mi 1Gi " + all}},
		{"resources of other objects",
			`{hard: {services: 0, requests.storage: 0, persistentvolumeclaims: 0, count/configmaps: 0}}`, nil},
		{"pods with a deadline", `{scopes: [Terminating], hard: {pods: 2}}`, []string{"pods 3 2 3 executors"}},
		{"pods without a deadline", `{scopes: [NotTerminating], hard: {pods: 0}}`, []string{"pods 1 0 1 driver"}},
		{"pods with requests", `{scopes: [NotBestEffort], hard: {pods: 3}}`, []string{"pods 4 3 " + all}},
		{"pods without requests", `{scopes: [BestEffort], hard: {pods: 0}}`, nil},
		{"another scope", `{scopes: [CrossNamespacePodAffinity], hard: {pods: 0}}`, nil},
		{"any priority class", `{scopes: [PriorityClass], hard: {pods: 0}}`, []string{"pods 3 0 3 executors"}},
		{"a priority class", `{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [batch, high]}]}, hard: {pods: 0}}`, []string{"pods 3 0 3 executors"}},
		{"another priority class", `{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}, hard: {pods: 0}}`, nil},
		{"other priority classes", `{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn, values: [high]}]}, hard: {pods: 0}}`, []string{"pods 3 0 3 executors"}},
		{"no priority class, but a default may add one",
			`{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: DoesNotExist}]}, hard: {pods: 0}}`, nil},
		{"two scopes", `{scopes: [NotTerminating], scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}, hard: {pods: 0}}`, nil},
	} {
		quota := corev1.ResourceQuota{Spec: *read[corev1.ResourceQuotaSpec](t, c.spec)}
		quota.Name = "compute"
		pods := []dialect.Pods{
			{Role: "driver", Pod: read[corev1.Pod](t, driver), Count: 1},
			{Role: "executor", Pod: read[corev1.Pod](t, executor), Count: 3},
			{Role: "worker", Pod: read[corev1.Pod](t, executor), Count: 0}, {Role: "lost", Count: 2},
		}

		var got []string
		for _, e := range Exceeded([]corev1.ResourceQuota{quota}, pods) {
			if e.Quota != "compute" {
				t.Errorf("%s: the quota is %q", c.name, e.Quota)
			}

			got = append(got, fmt.Sprint(e.Resource, " ", e.Needed.String(), " ", e.Hard.String(), " ", e.Pods))
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestExceededOfSeveralQuotas checks that the exceeded quotas are returned in the order of their names. The pods need
// more than an int64 can hold.
func TestExceededOfSeveralQuotas(t *testing.T) {
	quotas := []corev1.ResourceQuota{{Spec: *read[corev1.ResourceQuotaSpec](t, `{hard: {cpu: 1}}`)},
		{Spec: *read[corev1.ResourceQuotaSpec](t, `{hard: {memory: 1Gi}}`)}, {}}
	for i, name := range []string{"b", "a", "c"} {
		quotas[i].Name = name
	}

	pods := []dialect.Pods{{Role: "executor", Count: 2147483647,
		Pod: read[corev1.Pod](t, `{spec: {containers: [{resources: {requests: {cpu: 8E, memory: 8Ei}}}]}}`)}}

	var names []string
	for _, e := range Exceeded(quotas, pods) {
		if names = append(names, e.Quota); len(e.Needed.String()) < 8 {
			t.Errorf("%s needs %s", e.Quota, e.Needed.String())
		}
	}

	if strings.Join(names, " ") != "a b" {
		t.Errorf("the quotas are %v", names)
	}

	if got := Exceeded(nil, pods); len(got) > 0 {
		t.Errorf("without quotas: %v", got)
	}
}

// TestTrimmed checks which fields of a ResourceQuota the cache keeps. These are the fields that Exceeded reads, and no
// others.
func TestTrimmed(t *testing.T) {
	whole := read[corev1.ResourceQuota](t, `
metadata: {name: q, namespace: n, uid: u, resourceVersion: "1", annotations: {a: b}, managedFields: [{manager: m}]}
spec:
  scopes: [NotTerminating]
  scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}
  hard: {pods: 1, count/pods: 1, cpu: 1, memory: 1, ephemeral-storage: 1, requests.cpu: 1, limits.cpu: 1, hugepages-2Mi: 1, services: 1, requests.storage: 1, count/secrets: 1}
status: {hard: {pods: 1}, used: {pods: 1}}`)
	want := read[corev1.ResourceQuota](t, `
metadata: {name: q, namespace: n, uid: u, resourceVersion: "1"}
spec:
  scopes: [NotTerminating]
  scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}
  hard: {pods: 1, count/pods: 1, cpu: 1, memory: 1, ephemeral-storage: 1, requests.cpu: 1, limits.cpu: 1, hugepages-2Mi: 1}`)

	got, err := trimmed(whole)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
