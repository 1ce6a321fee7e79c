package start

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// at returns the time that is n seconds after a fixed one.
func at(n int) *metav1.Time {
	return &metav1.Time{Time: time.Date(2026, 11, 29, 12, 0, n, 0, time.UTC)}
}

// pod returns a pod of attempt 1 whose creation, assignment to a node and start of the container are the given numbers
// of seconds after the fixed time. Numbers that are missing have not happened.
func pod(name string, seconds ...int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{lifecycle.AttemptLabel: "1"}}}
	p.CreationTimestamp = *at(seconds[0])

	if len(seconds) > 1 {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: *at(seconds[1])}}
	}

	if len(seconds) > 2 {
		p.Spec.Containers = []corev1.Container{{Name: "spark", Image: "spark:4"}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "spark", ImageID: "spark@sha256:1",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *at(seconds[2])}}}}
	}
	return p
}

func driver(seconds ...int) []lifecycle.Driver {
	return []lifecycle.Driver{lifecycle.DriverFacts(pod("driver", seconds...), "spark")}
}

func executor(seconds ...int) lifecycle.Executor {
	return lifecycle.ExecutorFacts(pod("executor", seconds...))
}

func TestNext(t *testing.T) {
	whole := &statusv1.OperatorStart{Attempt: 1, DriverCreated: at(0), DriverScheduled: at(1), DriverStarted: at(4), DriverImage: "spark:4", DriverImageID: "spark@sha256:1",
		ExecutorCreated: at(9), ExecutorScheduled: at(9), ExecutorStarted: at(12)}

	for name, test := range map[string]struct {
		stored  *statusv1.OperatorStart
		attempt int32
		seen    lifecycle.Observed
		want    *statusv1.OperatorStart
	}{
		"nothing yet":           {attempt: 1},
		"before the first":      {seen: lifecycle.Observed{Drivers: driver(0)}},
		"the driver waits":      {attempt: 1, seen: lifecycle.Observed{Drivers: driver(3)}, want: &statusv1.OperatorStart{Attempt: 1, DriverCreated: at(3)}},
		"the driver pulls":      {attempt: 1, seen: lifecycle.Observed{Drivers: driver(3, 5)}, want: &statusv1.OperatorStart{Attempt: 1, DriverCreated: at(3), DriverScheduled: at(5)}},
		"pods of another start": {attempt: 2, seen: lifecycle.Observed{Drivers: driver(0, 1, 4), Executors: []lifecycle.Executor{executor(9)}}},
		"all at once": {attempt: 1, want: whole, seen: lifecycle.Observed{
			Drivers: driver(0, 1, 4), Executors: []lifecycle.Executor{executor(10, 11, 12), executor(9, 9, 15), executor(20)},
		}},
		"the pods are gone": {stored: whole, attempt: 1, want: whole},
		"the next attempt":  {stored: whole, attempt: 2},
		"a later executor":  {stored: whole, attempt: 1, want: whole, seen: lifecycle.Observed{Executors: []lifecycle.Executor{executor(30, 31, 33)}}},
		"what was not yet seen": {attempt: 1, stored: &statusv1.OperatorStart{Attempt: 1, DriverCreated: at(0)},
			seen: lifecycle.Observed{Drivers: driver(2, 3)}, want: &statusv1.OperatorStart{Attempt: 1, DriverCreated: at(0), DriverScheduled: at(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.stored.DeepCopy()

			got := Next(test.stored, test.attempt, test.seen)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}

			if diff := cmp.Diff(before, test.stored); diff != "" {
				t.Errorf("the stored start changed:\n%s", diff)
			}
		})
	}
}

// TestAnyOrder checks that passes which see the same pods in any parts and any order, and passes that are repeated,
// leave no time out and change no time that is stored.
func TestAnyOrder(t *testing.T) {
	for range 500 {
		var stored *statusv1.OperatorStart
		for range 6 {
			seen := lifecycle.Observed{}
			if rand.N(2) == 0 {
				seen.Drivers = driver([]int{0, 1, 4}[:1+rand.N(3)]...)
			}

			for range rand.N(3) {
				seen.Executors = append(seen.Executors, executor([]int{9, 10, 12}[:1+rand.N(3)]...))
			}

			next := Next(stored, 1, seen)
			if again := Next(next, 1, seen); !cmp.Equal(next, again) {
				t.Fatalf("a repeated pass changes %v to %v", next, again)
			}

			if stored != nil {
				kept := Next(next, 1, lifecycle.Observed{})
				if stored.DriverCreated != nil && !cmp.Equal(stored.DriverCreated, kept.DriverCreated) ||
					stored.ExecutorStarted != nil && !cmp.Equal(stored.ExecutorStarted, kept.ExecutorStarted) {
					t.Fatalf("%v became %v", stored, kept)
				}
			}

			stored = next
		}

		want := &statusv1.OperatorStart{Attempt: 1, DriverCreated: at(0), DriverScheduled: at(1), DriverStarted: at(4), DriverImage: "spark:4", DriverImageID: "spark@sha256:1",
			ExecutorCreated: at(9), ExecutorScheduled: at(10), ExecutorStarted: at(12)}

		got := Next(stored, 1, lifecycle.Observed{Drivers: driver(0, 1, 4), Executors: []lifecycle.Executor{executor(9, 10, 12)}})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	}
}
