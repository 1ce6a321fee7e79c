package gang

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

func someGroup() Group {
	return Group{
		Namespace: "jobs", Name: "spark-pi-pg", Labels: map[string]string{"app": "pi"},
		Owner: metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "u",
			Controller: new(true)},
		MinResources: corev1.ResourceList{"cpu": resource.MustParse("2500m"), "memory": resource.MustParse("4Gi"),
			"nvidia.com/gpu": resource.MustParse("2")},
	}
}

func TestPodGroups(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(Group) *unstructured.Unstructured
		group func(*Group)
		want  string
	}{
		{"Volcano", Volcano, func(g *Group) { g.Queue, g.PriorityClassName = "research", "high" }, `
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: spark-pi-pg
  namespace: jobs
  labels: {app: pi}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u, controller: true}]
spec: {minMember: 1, queue: research, priorityClassName: high, minResources: {cpu: 2500m, memory: 4Gi, nvidia.com/gpu: "2"}}
status: {phase: Pending}
`},
		{"Volcano with nothing", Volcano, func(g *Group) { *g = Group{Namespace: "jobs", Name: "pg"} }, `
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pg, namespace: jobs}
spec: {minMember: 1}
status: {phase: Pending}
`},
		{"coscheduling, which has no queues", Coscheduling,
			func(g *Group) { g.Queue, g.PriorityClassName = "research", "high" }, `
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata:
  name: spark-pi-pg
  namespace: jobs
  labels: {app: pi}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u, controller: true}]
spec: {minMember: 1, minResources: {cpu: 2500m, memory: 4Gi, nvidia.com/gpu: "2"}}
`},
	} {
		group := someGroup()
		c.group(&group)

		text, err := yaml.Marshal(c.build(group).Object)
		if err != nil {
			t.Fatal(err)
		}

		var got, want map[string]any
		for text, into := range map[string]*map[string]any{string(text): &got, c.want: &want} {
			if err := yaml.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestPodGroupSharesNothing checks that a PodGroup shares no memory with its input and can be copied. Copying fails for
// unstructured objects that contain a Go int.
func TestPodGroupSharesNothing(t *testing.T) {
	group := someGroup()
	object := Volcano(group)
	object.DeepCopy().GetLabels()["app"] = "x"
	labels := object.GetLabels()
	labels["app"] = "other"
	object.SetLabels(labels)

	if diff := cmp.Diff(someGroup(), group); diff != "" {
		t.Errorf("the group was changed:\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	if got := VolcanoName("pi"); got != "spark-pi-pg" {
		t.Error(got)
	}

	if got := CoschedulingName("pi"); got != "pi-pg" {
		t.Error(got)
	}

	seen := map[string]string{}
	for _, name := range []string{
		strings.Repeat("a", 60), strings.Repeat("a", 61), strings.Repeat("a", 62), strings.Repeat("a", 63),
		strings.Repeat("a", 50) + "-" + strings.Repeat("b", 12),
		strings.Repeat("a", 50) + "-" + strings.Repeat("c", 12),
	} {
		got := CoschedulingName(name)
		if problems := append(validation.IsValidLabelValue(got),
			validation.IsDNS1123Subdomain(got)...); len(problems) > 0 {
			t.Errorf("%s (%d): %v", got, len(got), problems)
		}

		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s are both %s", other, name, got)
		}

		seen[got] = name
		if !strings.HasSuffix(got, "-pg") {
			t.Errorf("%s does not end as others do", got)
		}
	}
}

func TestTaskGroups(t *testing.T) {
	driver := podOf(t, `{spec: {containers: [{resources: {requests: {cpu: 500m, memory: 1408Mi}}}]}}`)

	executor := podOf(t, `
metadata: {labels: {spark-role: executor}}
spec:
  nodeSelector: {pool: spark}
  tolerations: [{key: spot, operator: Exists}]
  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}
  containers: [{resources: {requests: {cpu: 2, memory: 2867Mi}, limits: {nvidia.com/gpu: 1}}}]
`)
	for _, c := range []struct {
		name  string
		tasks []Named
		want  string
	}{
		{"nobody", nil, `[]`},
		{"a driver alone", []Named{{Task: Task{driver, 1}, Name: DriverTaskGroup},
			{Task: Task{executor, 0}, Name: ExecutorTaskGroup}, {Task: Task{nil, 3}, Name: "x"}},
			`[{"name":"spark-driver","minMember":1,"minResource":{"cpu":"500m","memory":"1408Mi"}}]`},
		{"a gang", []Named{{Task: Task{driver, 1}, Name: DriverTaskGroup, Labels: map[string]string{"team": "a"}},
			{Task: Task{executor, 4}, Name: ExecutorTaskGroup}},
			`[{"name":"spark-driver","minMember":1,"minResource":{"cpu":"500m","memory":"1408Mi"},"labels":{"team":"a"}},` +
				`{"name":"spark-executor","minMember":4,"minResource":{"cpu":"2","memory":"2867Mi","nvidia.com/gpu":"1"},"nodeSelector":{"pool":"spark"},` +
				`"tolerations":[{"key":"spot","operator":"Exists"}],` +
				`"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}}]`},
	} {
		got, err := TaskGroups(c.tasks...)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
