package statuswrite_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

func TestSkippedWritesAreNotReported(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunTiny(tiny.Kind())
	w.Application("pi")
	w.Kubelet("pi-driver", corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	version := w.Get("pi").ResourceVersion
	// This pod event changes nothing for the application.
	driver := w.WaitPod("pi-driver")
	if err := w.API.Patch(t.Context(), driver,
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))); err != nil {
		t.Fatal(err)
	}
	// The next event is handled after it.
	w.Application("later")
	w.WaitState("later", v1beta2.ApplicationStateSubmitted)

	if got := w.Get("pi").ResourceVersion; got != version {
		t.Error("written although nothing changed")
	}

	kit.Wait(t, "both to be counted",
		func(context.Context) error { return world.Want(w.Metric("sparkoperator_status_writes_total"), 3.0) })
}
