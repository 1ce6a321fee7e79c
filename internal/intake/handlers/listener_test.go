package handlers

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestMissedDeletionReachesTheQueue checks that the deletion of an object during a broken watch reaches the queue.
func TestMissedDeletionReachesTheQueue(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}
	for _, test := range []struct {
		name   string
		object any
		want   []string
	}{
		{"deletion event", pod, []string{"went gone"}},
		{"missed deletion", toolscache.DeletedFinalStateUnknown{Key: "gone", Obj: pod}, []string{"went gone"}},
		{"missed deletion without a last state", toolscache.DeletedFinalStateUnknown{Key: "gone"}, nil},
		{"no object", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var reported []string
			notes := handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent,
				_ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
				reported = append(reported, "went "+e.Object.GetName())
			}}
			NewListener(pod, nil).Source(false, notes).OnDelete(test.object)

			if diff := cmp.Diff(test.want, reported); diff != "" {
				t.Error(diff)
			}
		})
	}
}
