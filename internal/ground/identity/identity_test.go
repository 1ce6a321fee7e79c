package identity

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

var applications = schema.GroupKind{Group: "sparkoperator.k8s.io", Kind: "SparkApplication"}

// application returns an owner reference to the SparkApplication "pi".
func application(uid types.UID, change ...func(*metav1.OwnerReference)) metav1.OwnerReference {
	ref := metav1.OwnerReference{
		APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: "pi", UID: uid,
		Controller: new(true),
	}
	for _, c := range change {
		c(&ref)
	}
	return ref
}

func notController(ref *metav1.OwnerReference) { ref.Controller = nil }

func ofVersion(version string) func(*metav1.OwnerReference) {
	return func(ref *metav1.OwnerReference) { ref.APIVersion = version }
}

func kindOf(kind string) func(*metav1.OwnerReference) {
	return func(ref *metav1.OwnerReference) { ref.Kind = kind }
}

func named(name string) func(*metav1.OwnerReference) {
	return func(ref *metav1.OwnerReference) { ref.Name = name }
}

func podWith(labels map[string]string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: labels,
		OwnerReferences: owners}}
}

func serviceWith(labels map[string]string, owners ...metav1.OwnerReference) *corev1.Service {
	return &corev1.Service{ObjectMeta: podWith(labels, owners...).ObjectMeta}
}

func TestRoles(t *testing.T) {
	type judged struct{ Watched, WatchedWithClusters, Launched, Driver, ClusterPod bool }
	for role, want := range map[string]judged{
		RoleDriver:    {Watched: true, WatchedWithClusters: true, Launched: true, Driver: true},
		RoleServer:    {Watched: true, WatchedWithClusters: true, Launched: true, Driver: true},
		RoleSubmitter: {Watched: true, WatchedWithClusters: true, Launched: true},
		RoleExecutor:  {Watched: true, WatchedWithClusters: true},
		RoleMaster:    {WatchedWithClusters: true, ClusterPod: true},
		RoleWorker:    {WatchedWithClusters: true, ClusterPod: true},
		"other":       {},
		"":            {},
	} {
		pod := podWith(map[string]string{RoleLabel: role, "a": "b"})
		set := labels.Set(pod.Labels)

		got := judged{
			SparkPods(false).Matches(set), SparkPods(true).Matches(set), IsLaunched(pod), IsDriver(pod),
			IsClusterPod(pod),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("role %q (-want +got):\n%s", role, diff)
		}

		if found := LaunchedPodsNamed("a", "b").Matches(set); found != want.Launched {
			t.Errorf("role %q: a live list of launched pods has it: %t", role, found)
		}
	}
}

func TestSelectors(t *testing.T) {
	// The keys are the selectors as the API server receives them.
	for want, got := range map[string]labels.Selector{
		AppUIDLabel: Dependents(),
		"a=b":       PodsNamed("a", "b"),
		"a=b," + RoleLabel + " in (connect-server,driver,submitter)": LaunchedPodsNamed("a", "b"),
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestIsAuxiliary(t *testing.T) {
	for name, test := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"the UI Service":     {map[string]string{lifecycle.ContentLabel: "digest"}, true},
		"the driver Service": {map[string]string{submit.SelectorLabel: "spark-1"}, false},
		"the driver Service with a user's label": {
			map[string]string{submit.SelectorLabel: "spark-1", lifecycle.ContentLabel: "digest"}, false,
		},
		"a Service of somebody else": {nil, false},
	} {
		if got := IsAuxiliary(serviceWith(test.labels)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestAttempt(t *testing.T) {
	for text, want := range map[string]int32{"3": 3, "": 0, "x": 0, "-1": 0, "2147483647": 1<<31 - 1, "2147483648": 0} {
		if got := Attempt(podWith(map[string]string{AttemptLabel: text})); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}

	if got := Attempt(podWith(nil)); got != 0 {
		t.Errorf("without a label: %d", got)
	}
}

func TestIndexKeys(t *testing.T) {
	for name, test := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"pod of this operator": {map[string]string{AppUIDLabel: "u", sparkoperator.LabelAppName: "x"},
			[]string{"u"}},
		"driver of another operator": {map[string]string{sparkoperator.LabelAppName: "x"},
			[]string{sparkoperator.LabelAppName + "=x"}},
		"server of another operator with an application's label": {
			map[string]string{ConnectNameLabel: "x", sparkoperator.LabelAppName: "x"},
			[]string{sparkoperator.LabelAppName + "=x", ConnectNameLabel + "=x"},
		},
		"pod of another operator of spark.apache.org": {
			map[string]string{ApacheAppNameLabel: "x", ClusterNameLabel: "y"},
			[]string{ApacheAppNameLabel + "=x", ClusterNameLabel + "=y"},
		},
		"driver without an operator": {map[string]string{RoleLabel: RoleDriver}, nil},
	} {
		if diff := cmp.Diff(test.want, IndexKeys(podWith(test.labels))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCustomResource checks that an event of a dependent queues the owner in the dependent's namespace, and no other
// custom resource.
func TestCustomResource(t *testing.T) {
	const nameLabel = sparkoperator.LabelAppName

	ours := map[string]string{AppUIDLabel: "u"}
	for name, test := range map[string]struct {
		dependent *corev1.Pod
		nameLabel string
		want      string
	}{
		"owner and label agree": {podWith(ours, application("u")), nameLabel, "pi"},
		"among other owners": {
			podWith(ours, application("v", named("other")), application("u", notController)), nameLabel, "pi",
		},
		"owner of another version": {
			podWith(ours, application("u", ofVersion("sparkoperator.k8s.io/v2"))), nameLabel, "pi",
		},
		"owner of another group": {podWith(ours, application("u", ofVersion("spark.apache.org/v1"))),
			nameLabel, ""},
		"owner of another kind":       {podWith(ours, application("u", kindOf("SparkConnect"))), nameLabel, ""},
		"a label that does not agree": {podWith(ours, application("v")), nameLabel, ""},
		"the name, without an owner":  {podWith(map[string]string{nameLabel: "pi"}), nameLabel, "pi"},
		"the name, with another owner": {
			podWith(map[string]string{AppUIDLabel: "u", nameLabel: "pi"}, application("v", named("other"))),
			nameLabel, "pi",
		},
		"a kind without a name label": {podWith(map[string]string{nameLabel: "pi", "": "pi"}), "", ""},
		"neither label":               {podWith(nil, application("u")), nameLabel, ""},
	} {
		want := types.NamespacedName{}
		if test.want != "" {
			want = types.NamespacedName{Namespace: "ns", Name: test.want}
		}

		key, found := CustomResource(test.dependent, applications, test.nameLabel)
		if key != want || found != (test.want != "") {
			t.Errorf("%s: %s, found %t", name, key, found)
		}
	}
}

func TestSoleOwner(t *testing.T) {
	agrees := map[string]string{AppUIDLabel: "1"}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want types.UID
	}{
		"driver of an application":      {podWith(agrees, application("1")), "1"},
		"owner of another version":      {podWith(agrees, application("1", ofVersion("sparkoperator.k8s.io/v2"))), "1"},
		"pod of another operator":       {podWith(nil, application("1")), "1"},
		"a label that does not agree":   {podWith(map[string]string{AppUIDLabel: "2"}, application("1")), ""},
		"no owner":                      {podWith(agrees), ""},
		"not the controller":            {podWith(agrees, application("1", notController)), ""},
		"owner of another kind":         {podWith(agrees, application("1", kindOf("SparkConnect"))), ""},
		"owner of another group":        {podWith(agrees, application("1", ofVersion("example.com/v1beta2"))), ""},
		"owner with an invalid version": {podWith(agrees, application("1", ofVersion("a/b/c"))), ""},
		"two owners": {
			podWith(agrees, application("1"),
				metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "3"}), "",
		},
	} {
		var got types.UID
		if ref := SoleOwner(test.pod, applications); ref != nil {
			got = ref.UID
		}

		if got != test.want {
			t.Errorf("%s: owner %q, want %q", name, got, test.want)
		}
	}
}

// TestWhose checks BelongsTo and Inherited. A pod must belong to an owner only if the owner is its controller. An
// object must be inherited only if it lacks AppUIDLabel and the owner is its controller.
func TestWhose(t *testing.T) {
	owner := podWith(nil)
	owner.UID = "u"

	ours := map[string]string{AppUIDLabel: "u"}
	for name, test := range map[string]struct {
		object               client.Object
		belongs, isInherited bool
	}{
		"a controlled pod":            {podWith(ours, application("u")), true, false},
		"a controlled unlabelled pod": {podWith(nil, application("u")), true, false},
		"an owned pod":                {podWith(ours, application("u", notController)), false, false},
		"a labelled pod":              {podWith(ours), false, false},
		"a controlled Service":        {serviceWith(ours, application("u")), true, false},
		"an owned Service":            {serviceWith(ours, application("u", notController)), true, false},
		"another operator's Service":  {serviceWith(nil, application("u")), true, true},
		"another's owned Service":     {serviceWith(nil, application("u", notController)), true, false},
		"somebody else's Service":     {serviceWith(nil, application("v")), false, false},
		"a labelled, unowned Service": {serviceWith(ours), false, false},
		"a Service with several owners": {serviceWith(ours, application("v"), application("u", notController)), true,
			false},
	} {
		if got := BelongsTo(test.object, owner); got != test.belongs {
			t.Errorf("%s belongs to the owner: %t", name, got)
		}

		if got := Inherited(test.object, owner); got != test.isInherited {
			t.Errorf("%s is inherited: %t", name, got)
		}
	}
}

// TestWhyFreed checks that WhyNameFrees returns a reason for the names of orphans and of objects that are being
// deleted, and for no other names.
func TestWhyFreed(t *testing.T) {
	owner := podWith(nil)

	owner.Name, owner.UID = "pi", "second"
	for name, test := range map[string]struct {
		owners   []metav1.OwnerReference
		deleting bool
		want     string
	}{
		"of an earlier application": {[]metav1.OwnerReference{application("first")}, false,
			"of the same name"},
		"of an earlier application, being deleted": {[]metav1.OwnerReference{application("first")}, true,
			"of the same name"},
		"of this application, not its controller": {
			[]metav1.OwnerReference{application("second", notController)}, false, "",
		},
		"of an application of another name": {[]metav1.OwnerReference{application("first", named("pie"))}, false, ""},
		"of another API": {
			[]metav1.OwnerReference{application("first", ofVersion("spark.apache.org/v1"))}, false, "",
		},
		"of another kind": {
			[]metav1.OwnerReference{application("first", kindOf("ScheduledSparkApplication"))}, false, "",
		},
		"of another kind, being deleted": {
			[]metav1.OwnerReference{application("first", kindOf("ReplicaSet"))}, true,
			`owned by ReplicaSet "pi") and is being deleted`,
		},
		"without an owner":                {nil, false, ""},
		"without an owner, being deleted": {nil, true, "it has no owner"},
	} {
		pod := podWith(nil, test.owners...)
		if test.deleting {
			pod.DeletionTimestamp = new(metav1.Now())
		}

		why := WhyNameFrees(pod, "Pod", owner, applications)
		if (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
			t.Errorf("%s: %q, want %q", name, why, test.want)
		}
	}
}

// TestVerifyRejectsOtherNamespacesAndMissingIdentity checks that the operator creates nothing outside the owner's
// namespace and nothing without identity, whatever a dialect renders.
func TestVerifyRejectsOtherNamespacesAndMissingIdentity(t *testing.T) {
	owner := podWith(nil)

	owner.UID = "u"
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		fault  string
	}{
		"correct":           {func(*corev1.Pod) {}, ""},
		"another namespace": {func(p *corev1.Pod) { p.Namespace = "kube-system" }, "kube-system"},
		"no label":          {func(p *corev1.Pod) { delete(p.Labels, AppUIDLabel) }, "owner reference"},
		"no owner":          {func(p *corev1.Pod) { p.OwnerReferences = nil }, "owner reference"},
		"another attempt":   {func(p *corev1.Pod) { p.Labels[AttemptLabel] = "2" }, "the wrong attempt 2"},
	} {
		pod := podWith(map[string]string{AppUIDLabel: "u", AttemptLabel: "1"}, application("u"))
		test.change(pod)

		err := Verify(pod, owner, 1)
		if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInSet(t *testing.T) {
	controller := func(version, kind string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: "set", UID: "set", Controller: new(true)}
	}
	for _, ref := range []metav1.OwnerReference{
		controller("apps/v1", "StatefulSet"), controller("apps/v1", "ReplicaSet"), controller("apps/v1", "DaemonSet"),
		controller("v1", "Pod"), controller("example.com/v1", "StatefulSet"),
	} {
		want := slices.Contains([]string{"StatefulSet", "ReplicaSet"}, ref.Kind) && ref.APIVersion == "apps/v1"
		if got := InSet(podWith(nil, ref)); got != want {
			t.Errorf("%s %s: %t", ref.APIVersion, ref.Kind, got)
		}

		if notController(&ref); InSet(podWith(nil, ref)) {
			t.Errorf("%s %s keeps a pod that it does not control", ref.APIVersion, ref.Kind)
		}
	}

	driver := podWith(map[string]string{submit.SelectorLabel: "spark-1", AttemptLabel: "1", RoleLabel: RoleDriver})
	executor := podWith(map[string]string{submit.SelectorLabel: "spark-1", AttemptLabel: "1", RoleLabel: RoleExecutor})

	later := podWith(map[string]string{submit.SelectorLabel: "spark-1", AttemptLabel: "2"})
	if SetDriverOf(driver) != SetDriverOf(executor) || SetDriverOf(driver) == SetDriverOf(later) {
		t.Errorf("the driver is %v, its executor's %v, a later one's %v",
			SetDriverOf(driver), SetDriverOf(executor), SetDriverOf(later))
	}
}
