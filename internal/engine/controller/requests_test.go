package controller_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestRequestsOfALife checks which requests a successful application causes from its creation to its end: the operator
// creates objects and events and writes the status, and sends no read.
func TestRequestsOfALife(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	made := &world.Requests{}
	// The clock stands still: on a busy machine drivers are pending for longer than pendingGrace, which would cause
	// reads of Events.
	began := time.Now()
	stop := w.RunTinyBy(func() time.Time { return began }, tiny.Kind(), func(env *operator.Environment) {
		env.Rest.Wrap(made.Over)
	})
	// The first life syncs the caches and opens the connections.
	playLife(w, "first")

	before := made.Since(nil)

	playLife(w, "second")
	stop() // every event is written

	got := made.Since(before)
	// The first life's events may be written late; they are the same as the second's.
	events := got["POST events"]
	delete(got, "POST events")

	want := map[string]int{"POST configmaps": 1, "POST services": 1, "POST pods": 1,
		"PATCH sparkapplications/status": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}

	if events < 3 || events > 6 {
		t.Errorf("%d events", events)
	}

	for resource, content := range map[string]string{
		"pods": "application/vnd.kubernetes.protobuf", "configmaps": "application/vnd.kubernetes.protobuf",
		"events": "application/vnd.kubernetes.protobuf", "sparkapplications/status": "application/merge-patch+json",
	} {
		if got := made.Contents[resource]; got != content {
			t.Errorf("%s are sent with the content type %s, want %s", resource, got, content)
		}
	}
}

// playLife plays one application from its creation to its end.
func playLife(w *world.World, name string) {
	w.T.Helper()
	w.Application(name)
	w.WaitState(name, v1beta2.ApplicationStateSubmitted)
	w.Kubelet(name+"-driver", corev1.PodRunning, world.Running())
	w.WaitState(name, v1beta2.ApplicationStateRunning)
	w.Kubelet(name+"-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitState(name, v1beta2.ApplicationStateCompleted)
}

// TestManyAtOnce creates many applications at once, and checks that each gets exactly one driver.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunTiny(tiny.Kind())

	const n = 40
	for i := range n {
		w.Application(fmt.Sprintf("pi-%d", i))
	}

	for i := range n {
		w.WaitState(fmt.Sprintf("pi-%d", i), v1beta2.ApplicationStateSubmitted)
	}

	var pods corev1.PodList
	if err := w.API.List(t.Context(), &pods); err != nil {
		t.Fatal(err)
	}

	names := map[string]bool{}
	for _, pod := range pods.Items {
		if pod.Namespace == w.Namespace {
			names[pod.Name] = true
		}
	}

	if len(names) != n {
		t.Errorf("%d drivers for %d applications: %v", len(names), n, slices.Sorted(maps.Keys(names)))
	}
}
