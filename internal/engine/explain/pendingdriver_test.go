package explain_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestPendingDriverIsExplained checks a driver whose wait reason is only in an Event of the driver pod. The status
// shows this reason until the driver waits for another reason or starts.
func TestPendingDriverIsExplained(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunTiny(tiny.Kind())
	w.Application("pi")
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	driver := w.WaitPod("pi-driver")
	tell := func(name, kind, reason, message string) {
		w.Create(&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.Namespace, Name: driver.Name,
				UID: driver.UID},
			Type: kind, Reason: reason, Message: message,
			LastTimestamp: metav1.NewTime(time.Now().Add(time.Second)), // later, in seconds, than the Event before
		})
	}
	tell("mount", corev1.EventTypeWarning, "FailedMount", `secret "missing" not found`)
	w.WaitCause("pi", "FailedMount")

	if message := w.Get("pi").Status.AppState.ErrorMessage; message != `secret "missing" not found` {
		t.Errorf("the message is %q", message)
	}

	w.Kubelet("pi-driver", corev1.PodPending, world.Waiting("ImagePullBackOff", "no such image"))
	w.WaitCause("pi", "ImagePullBackOff")
	w.Kubelet("pi-driver", corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
}
