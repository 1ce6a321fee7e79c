package operator

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

func TestSkippedWritesAreNotReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runTiny(tiny.Kind())
	w.Application("pi")
	w.kubelet("pi-driver", corev1.PodRunning, running())
	w.waitState("pi", v1beta2.ApplicationStateRunning)
	version := w.Get("pi").ResourceVersion
	// This pod event changes nothing for the application.
	driver := w.waitPod("pi-driver")
	if err := w.API.Patch(t.Context(), driver, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))); err != nil {
		t.Fatal(err)
	}
	// The next event is handled after it.
	w.Application("later")
	w.waitState("later", v1beta2.ApplicationStateSubmitted)

	if got := w.Get("pi").ResourceVersion; got != version {
		t.Error("written although nothing changed")
	}

	kit.Wait(t, "both to be counted", func(context.Context) error { return want(w.metric("sparkoperator_status_writes_total"), 3.0) })
}
