package dependents

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// owner is the UID of the custom resource in these tests.
const owner = types.UID("app")

// attemptPod returns a pod of the first attempt, with the owner as its controller.
func attemptPod(role, name string, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name),
		Labels: map[string]string{
			identity.RoleLabel: role, identity.AppUIDLabel: string(owner), identity.AttemptLabel: "1",
			submit.SelectorLabel: "spark-1",
		},
		OwnerReferences: []metav1.OwnerReference{{Name: "pi", UID: owner, Controller: new(true)}},
	}}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

// setLabel sets a label of a pod.
func setLabel(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}

// inSet makes a controller of the given kind the only owner of a pod.
func inSet(controllerKind string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: controllerKind, Name: "spark-s-1-0", UID: "set", Controller: new(true)},
		}
	}
}

// TestSortExecutorsOfSets checks that an executor of a StatefulSet or a Deployment counts while its driver runs, and
// that the operator never deletes such an executor.
func TestSortExecutorsOfSets(t *testing.T) {
	t.Parallel()

	driver := func(changes ...func(*corev1.Pod)) corev1.Pod {
		return attemptPod(identity.RoleDriver, "driver", changes...)
	}
	executor := func(controllerKind string, changes ...func(*corev1.Pod)) corev1.Pod {
		changes = append([]func(*corev1.Pod){inSet(controllerKind)}, changes...)
		return attemptPod(identity.RoleExecutor, "executor", changes...)
	}
	version := func(pod *corev1.Pod) { pod.OwnerReferences[0].APIVersion = "example.com/v1" }
	unowned := func(pod *corev1.Pod) { pod.OwnerReferences = nil }
	failed := func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }

	foreign := func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "other" }
	for _, test := range []struct {
		name             string
		driver, executor corev1.Pod
		want             int
	}{
		{"of a StatefulSet", driver(), executor("StatefulSet"), 1},
		{"of a Deployment", driver(), executor("ReplicaSet"), 1},
		{"of a Job", driver(), executor("Job"), 0},
		{"of a StatefulSet of another API group", driver(), executor("StatefulSet", version), 0},
		{"without an owner", driver(), executor("StatefulSet", unowned), 0},
		{"of another Spark application", driver(),
			executor("StatefulSet", setLabel(submit.SelectorLabel, "spark-2")), 0},
		{"of another attempt", driver(), executor("StatefulSet", setLabel(identity.AttemptLabel, "2")), 0},
		{"of a driver without Spark's application ID", driver(setLabel(submit.SelectorLabel, "")),
			executor("StatefulSet", setLabel(submit.SelectorLabel, "")), 0},
		{"with another role", driver(), executor("StatefulSet", setLabel(identity.RoleLabel, "other")), 0},
		{"of a driver that ended", driver(failed), executor("StatefulSet"), 0},
		{"of a driver of another owner", driver(foreign), executor("StatefulSet"), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			set := SortPods([]corev1.Pod{test.executor, test.driver}, owner)
			if got := len(set.Executors); got != test.want {
				t.Errorf("%d executors, want %d", got, test.want)
			}

			for _, part := range []lifecycle.Part{lifecycle.Attempt, lifecycle.Executors} {
				action := lifecycle.Action{Verb: lifecycle.Delete, Part: part, Attempt: 1}
				for _, target := range Targets(set.Deletable(), action) {
					if target.GetLabels()[identity.RoleLabel] == identity.RoleExecutor {
						t.Errorf("deleting part %v deletes the executor", part)
					}
				}
			}
		})
	}
}

// TestMayHaveSecrets checks that the Secrets of an attempt are deleted if an object of the attempt shows that Secrets
// may exist, or if no object of the attempt remains. It also checks that Secrets are never deleted by name.
func TestMayHaveSecrets(t *testing.T) {
	t.Parallel()

	native, submitter := attemptPod(identity.RoleDriver, "driver"), attemptPod(identity.RoleSubmitter, "submitter")
	submitted := attemptPod(identity.RoleDriver, "driver", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{lifecycle.SubmitterAnnotation: "s"}
	})
	secret := func(attempt string) client.Object {
		return &corev1.Secret{ObjectMeta: attemptPod("", "s", setLabel(identity.AttemptLabel, attempt)).ObjectMeta}
	}

	runners := contract.Secrets{Runners: true}
	for _, test := range []struct {
		name    string
		set     Set
		created []client.Object
		secrets contract.Secrets
		want    bool
	}{
		{"a driver that the operator created", Set{Drivers: []corev1.Pod{native}}, nil, runners, false},
		{"a driver that spark-submit created", Set{Drivers: []corev1.Pod{submitted}}, nil, runners, true},
		{"a submitter", Set{Submitters: []corev1.Pod{submitter}}, nil, runners, true},
		{"a Secret created in this pass", Set{}, []client.Object{secret("1")}, runners, true},
		{"a Secret of another attempt", Set{Drivers: []corev1.Pod{native}}, []client.Object{secret("2")}, runners,
			false},
		{"no object", Set{}, nil, runners, true},
		{"no object, of a kind without Secrets", Set{}, nil, contract.Secrets{}, false},
		{"a server", Set{Drivers: []corev1.Pod{native}}, nil, contract.Secrets{Servers: true}, true},
	} {
		left := append(test.set.Deletable(), test.created...)
		if got := MayHaveSecrets(test.secrets, left, 1); got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}

		targets := Targets(left, lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Attempt, Attempt: 1})
		if slices.ContainsFunc(targets,
			func(o client.Object) bool { _, isSecret := o.(*corev1.Secret); return isSecret }) {
			t.Errorf("%s: a Secret is deleted by name", test.name)
		}
	}
}

// TestSortOrder checks that pods are sorted by the numbers in their names, and that pods of other owners are left out.
func TestSortOrder(t *testing.T) {
	t.Parallel()

	set := SortPods([]corev1.Pod{
		attemptPod(identity.RoleExecutor, "exec-10"), attemptPod(identity.RoleExecutor, "exec-9"),
		attemptPod(identity.RoleDriver, "b"), attemptPod(identity.RoleSubmitter, "c"),
		attemptPod(identity.RoleDriver, "a"),
		attemptPod(identity.RoleDriver, "foreign", func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "other" }),
		attemptPod(identity.RoleDriver, "owned", func(pod *corev1.Pod) { pod.OwnerReferences[0].Controller = nil }),
	}, owner)

	var got []string
	for _, object := range set.Deletable() {
		got = append(got, object.GetName())
	}

	if diff := cmp.Diff([]string{"a", "b", "c", "exec-9", "exec-10"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBehind checks that a set is behind live pods if a driver has progressed or is missing in the set, and that
// executors are compared only if the caller wants that.
func TestBehind(t *testing.T) {
	t.Parallel()

	pending := func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending }
	running := func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning }
	driver := func(change func(*corev1.Pod)) []corev1.Pod {
		return []corev1.Pod{attemptPod(identity.RoleDriver, "d", change)}
	}

	executor := []corev1.Pod{attemptPod(identity.RoleExecutor, "e", running)}
	for _, test := range []struct {
		name         string
		cached, live Set
		executors    bool
		want         bool
	}{
		{"equal", Set{Drivers: driver(running)}, Set{Drivers: driver(running)}, true, false},
		{"a driver that started", Set{Drivers: driver(pending)}, Set{Drivers: driver(running)}, false, true},
		{"a driver that is missing", Set{}, Set{Drivers: driver(running)}, false, true},
		{"a driver that is gone", Set{Drivers: driver(running)}, Set{}, true, false},
		{"an executor that is missing", Set{}, Set{Executors: executor}, true, true},
		{"an executor that is not compared", Set{}, Set{Executors: executor}, false, false},
	} {
		if got := test.cached.Behind(test.live, test.executors); got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}
	}
}
