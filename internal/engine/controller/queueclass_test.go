package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/queue"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// TestClasses checks the queue class of objects of each kind in different states.
func TestClasses(t *testing.T) {
	t.Parallel()

	remembers := func(phase lifecycle.Phase) *v1beta2.OperatorStatus {
		return &v1beta2.OperatorStatus{Phase: string(phase)}
	}
	t.Run("sparkapplication", func(t *testing.T) {
		testClasses(t, configured.For(kinds.SparkApplication).Build(config.Default, nil),
			func(app *v1beta2.SparkApplication, seen int64, phase lifecycle.Phase) {
				app.Status.ObservedGeneration, app.Status.Operator = seen, remembers(phase)
			}, true)
	})
	t.Run("apachesparkapplication", func(t *testing.T) {
		testClasses(t, configured.For(kinds.ApacheApplication).Build(config.Default, nil),
			func(app *sparkv1.SparkApplication, seen int64, phase lifecycle.Phase) {
				app.Status.ObservedGeneration, app.Status.Operator = seen,
					&sparkv1.OperatorStatus{OperatorStatus: *remembers(phase)}
			}, true)
	})
	t.Run("sparkconnect", func(t *testing.T) {
		testClasses(t, configured.For(kinds.SparkConnect).Build(config.Default, nil),
			func(sc *v1alpha1.SparkConnect, seen int64, phase lifecycle.Phase) {
				sc.Status.ObservedGeneration, sc.Status.Operator = seen,
					&v1alpha1.OperatorStatus{OperatorStatus: *remembers(phase)}
			}, true)
	})
	t.Run("sparkcluster", func(t *testing.T) {
		testClasses(t, configured.For(kinds.SparkCluster).Build(config.Default, nil),
			func(sc *sparkv1.SparkCluster, seen int64, phase lifecycle.Phase) {
				sc.Status.ObservedGeneration, sc.Status.Operator = seen,
					&sparkv1.ClusterOperatorStatus{Phase: string(phase)}
			}, true)
	})
	t.Run("scheduledsparkapplication", func(t *testing.T) {
		testClasses(t, configured.For(kinds.Schedule).Build(config.Default, nil),
			func(s *v1beta2.ScheduledSparkApplication, seen int64, _ lifecycle.Phase) {
				s.Status.ObservedGeneration = seen
			}, false)
	})
}

// TestClassOfDeletedObject checks that a deleted object is urgent while its orphans have to be deleted, but not if
// another replica swept them long ago.
func TestClassOfDeletedObject(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	r := &Reconciler{kind: tiny.Kind(), dependents: dependents.Client{Client: w.API}}
	left, class := &r.deleted, r.Class(t.Context())
	gone := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "gone", UID: "1"}}

	request := reconcile.Request{NamespacedName: identity.Key(gone)}
	if got := class(request); got != queue.Settled {
		t.Errorf("without orphans: class %d", got)
	}

	left.Note(gone)

	if got := class(request); got != queue.Leaving {
		t.Errorf("with orphans: class %d", got)
	}

	left.DropUID(identity.Key(gone), gone.UID)

	if got := class(request); got != queue.Settled {
		t.Errorf("after the orphans were swept: class %d", got)
	}
}

func testClasses[T client.Object](t *testing.T, kind contract.Kind, decided func(T, int64, lifecycle.Phase),
	ends bool) {
	over := queue.Changed // a schedule never ends
	if ends {
		over = queue.Settled
	}

	cases := []struct {
		name     string
		deleting bool
		seen     int64
		phase    lifecycle.Phase
		want     queue.Class
	}{
		{"no pass yet", false, 0, lifecycle.New, queue.Fresh},
		{"edited spec", false, 1, lifecycle.Running, queue.Fresh},
		{"edited spec after the end", false, 1, lifecycle.Done, queue.Fresh},
		{"launched", false, 2, lifecycle.Launched, queue.Changed},
		{"waiting", false, 2, lifecycle.Waiting, queue.Changed},
		{"ended", false, 2, lifecycle.Done, over},
		{"ended, driver kept", false, 2, lifecycle.Retained, over},
		{"deleted", true, 2, lifecycle.Running, queue.Leaving},
		{"deleted after the end", true, 2, lifecycle.Done, queue.Leaving},
		{"deleted before the first pass", true, 0, lifecycle.New, queue.Leaving},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			object := kind.New()
			object.SetGeneration(2)

			if c.deleting {
				object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
			}

			decided(object.(T), c.seen, c.phase)

			if got := classOf(kind, object); got != c.want {
				t.Errorf("class %d, want %d", got, c.want)
			}
		})
	}
}
