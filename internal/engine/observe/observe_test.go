package observe

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // for code without the operator's logger, such as an informer
	kit.MainShared(m)
}

// TestSilentScheduler checks the wait reason of a pod whose scheduler reports nothing. The pod gets this reason after a
// while, unless a condition or an Event of the pod already gives a reason. The pods are as the cache keeps them.
func TestSilentScheduler(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	w.Warn("explained", "pi-driver", "FailedScheduling", "the queue is full")

	pod := func(uid types.UID, role, scheduler string, age time.Duration,
		conditions ...corev1.PodCondition) corev1.Pod {
		kept, err := trim.Pod(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.Namespace, Name: "pi-" + role, UID: uid,
				CreationTimestamp: metav1.NewTime(scene.Noon.Add(-age)),
				Labels: map[string]string{identity.AppUIDLabel: "u", identity.AttemptLabel: "1",
					identity.RoleLabel: role},
			},
			Spec: corev1.PodSpec{SchedulerName: scheduler,
				Containers: []corev1.Container{{Name: overlay.DriverContainer}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: conditions},
		})
		if err != nil {
			t.Fatal(err)
		}
		return *kept.(*corev1.Pod)
	}

	refuses := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "no room"}
	for _, test := range []struct {
		name string
		pod  corev1.Pod
		want string
	}{
		{"misspelt scheduler name", pod("s", identity.RoleDriver, "volcanoo", 10*time.Second),
			lifecycle.ReasonSchedulerSilent},
		{"misspelt scheduler name, pod waits for hours", pod("s", identity.RoleDriver, "volcanoo", 9*time.Hour),
			lifecycle.ReasonSchedulerSilent},
		{"pod waits for a moment", pod("s", identity.RoleDriver, "volcano", 9*time.Second), ""},
		{"default scheduler", pod("s", identity.RoleDriver, corev1.DefaultSchedulerName, time.Hour), ""},
		{"the scheduler has set a condition", pod("s", identity.RoleDriver, "volcano", time.Hour, refuses),
			"Unschedulable"},
		{"the scheduler has created an Event", pod("explained", identity.RoleDriver, "volcano", time.Hour),
			"FailedScheduling"},
		{"executor, misspelt scheduler name", pod("s", identity.RoleExecutor, "volcanoo", time.Minute),
			lifecycle.ReasonSchedulerSilent},
		{"executor, default scheduler", pod("s", identity.RoleExecutor, corev1.DefaultSchedulerName, time.Minute), ""},
	} {
		o := Observer{Explainer: explain.New(w.API, w.API, nil)}
		s := Observation{View: dependents.View{Now: scene.Noon,
			Owner: &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace}}}}

		var why func() lifecycle.Cause
		if test.pod.Labels[identity.RoleLabel] == identity.RoleDriver {
			s.Set.Drivers = []corev1.Pod{test.pod}
			s.Seen = s.Set.Facts()
			why = func() lifecycle.Cause { return s.Seen.Drivers[0].Why }
		} else {
			s.Set.Executors = []corev1.Pod{test.pod}
			s.Seen = s.Set.Facts()
			s.Seen.Drivers = []lifecycle.Driver{{Attempt: 1, Phase: lifecycle.DriverRunning}}
			why = func() lifecycle.Cause { return s.Seen.Executors[0].Why }
		}

		o.explain(t.Context(), &s)

		if why().Reason != test.want {
			t.Errorf("%s: %+v, want %q", test.name, why(), test.want)
		}

		if test.pod.Status.Conditions == nil && (s.RequeueAfter <= 0 || s.RequeueAfter > time.Minute) {
			t.Errorf("%s: the next pass is after %s", test.name, s.RequeueAfter)
		}
	}
}
