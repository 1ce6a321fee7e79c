package plain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// TestFollowMapsPodsToStates changes the phases of an application's pods one at a time, and checks the status after
// each change.
func TestFollowMapsPodsToStates(t *testing.T) {
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{byApplication: func(x any) ([]string, error) { return []string{keyOf(x)}, nil }})
	set := func(name, role string, phase corev1.PodPhase) {
		t.Helper()

		err := index.Add(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name,
				Labels: map[string]string{"sparkoperator.k8s.io/app-name": "a", "spark-role": role}},
			Status: corev1.PodStatus{Phase: phase},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	two := int32(2)
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	app.Spec.Executor.Instances = &two

	p, current := &program{pods: index}, progress{stage: submitted}
	for _, step := range []struct {
		name, role string
		phase      corev1.PodPhase
		stage      stage
		state      v1beta2.ApplicationStateType
		reason     string
		executors  map[string]v1beta2.ExecutorState
	}{
		{"d", "driver", corev1.PodPending, submitted, "", "", nil},
		{"d", "driver", corev1.PodRunning, driverRunning, v1beta2.ApplicationStateRunning, "SparkDriverRunning", nil},
		{"x1", "executor", corev1.PodRunning, driverRunning, v1beta2.ApplicationStateRunning, "", nil},
		{"x2", "executor", corev1.PodRunning, executorsRunning, v1beta2.ApplicationStateRunning, "",
			map[string]v1beta2.ExecutorState{"x1": v1beta2.ExecutorStateRunning, "x2": v1beta2.ExecutorStateRunning}},
		{"x1", "executor", corev1.PodFailed, executorsRunning, v1beta2.ApplicationStateRunning, "",
			map[string]v1beta2.ExecutorState{"x1": v1beta2.ExecutorStateRunning, "x2": v1beta2.ExecutorStateRunning}},
		{"d", "driver", corev1.PodSucceeded, ended, v1beta2.ApplicationStateCompleted, "SparkDriverCompleted",
			map[string]v1beta2.ExecutorState{"x1": v1beta2.ExecutorStateCompleted,
				"x2": v1beta2.ExecutorStateCompleted}},
	} {
		set(step.name, step.role, step.phase)

		reason, err := p.follow(app, "n/a", &current)
		if err != nil || reason != step.reason || current.stage != step.stage ||
			current.status.AppState.State != step.state {
			t.Errorf("%s is %s: %q, stage %d, %s, %v", step.name, step.phase, reason, current.stage,
				current.status.AppState.State, err)
		}

		if diff := cmp.Diff(step.executors, current.status.ExecutorState); diff != "" {
			t.Errorf("%s is %s: %s", step.name, step.phase, diff)
		}
	}
}
