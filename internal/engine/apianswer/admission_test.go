package apianswer_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// doublingWebhook serves a webhook that appends a volume "data" and its mount to every pod. It returns the webhook's
// URL and its CA certificate.
func doublingWebhook(t *testing.T) (url string, ca []byte) {
	t.Helper()
	kit.NeedsLoopback(t)

	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}

		patch := `[{"op":"add","path":"/spec/volumes/-","value":{"name":"data","emptyDir":{}}},
			{"op":"add","path":"/spec/containers/0/volumeMounts/-","value":{"name":"data","mountPath":"/data"}}]`

		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: []byte(patch),
			PatchType: new(admissionv1.PatchTypeJSONPatch)}
		if err := json.NewEncoder(out).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mutate--v1-pod",
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// TestLeftoverWebhookThatDoubles checks that the operator creates no pod to which a leftover webhook adds a volume a
// second time. The application does not fail, and it runs when the remedy that the event proposes is applied.
func TestLeftoverWebhookThatDoubles(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	configuration := w.Leftover(doublingWebhook(t))
	w.RunReal()
	app := w.Application("pi", world.WithVolume)
	w.WaitEvent(app, apianswer.ReasonPodMutated, "docs/migrate-kubeflow.md")

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateNew {
		t.Errorf("the application is in state %s", state)
	}
	// The remedy of docs/migrate-kubeflow.md: the webhook continues for the pods of its own operator.
	patch := `[{"op":"add","path":"/webhooks/0/objectSelector/matchExpressions","value":[{"key":"sparkoperator.dev/managed","operator":"DoesNotExist"}]}]`
	if err := w.API.Patch(t.Context(), configuration,
		client.RawPatch("application/json-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}

	driver := w.DriverOf(app, 1)
	if n := volumesNamed(driver, "data"); n != 1 {
		t.Errorf("the driver has the volume %d times", n)
	}

	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	theirs := resources.TheirPod(w, app, "theirs-exec-1", identity.RoleExecutor,
		metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID})
	theirs.Spec.Volumes = []corev1.Volume{{Name: "local",
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	theirs.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "local", MountPath: "/local"}}
	w.Create(theirs)

	if n := volumesNamed(theirs, "data"); n != 1 {
		t.Errorf("an executor of the other operator has the volume %d times", n)
	}
}

// TestLeftoverWebhookThatDoublesExecutors checks an application in which only the executors mount the volume. The
// driver starts. The status reports why the API server rejects the executors, and the remedy. The operator finds the
// reason by a dry run, which gets the same answer as Spark itself.
func TestLeftoverWebhookThatDoublesExecutors(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		webhook func(*testing.T) (string, []byte)
		reason  string
	}{
		"a webhook that adds the volume again": {doublingWebhook, apianswer.ReasonPodMutated},
		"a webhook that does not answer":       {deadWebhook, apianswer.ReasonWebhookFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.RunReal()
			w.GrantSparkRights()
			app := w.Application("pi", world.WithVolume, func(app *v1beta2.SparkApplication) {
				app.Spec.Driver.VolumeMounts, app.Spec.Executor.Instances = nil, new(int32(1))
				app.Spec.Executor.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
			})
			driver := w.DriverOf(app, 1) // exists before the webhook, which would add nothing to this pod
			w.Leftover(c.webhook(t))
			w.Ready(driver.Name)
			w.WaitReady("pi", c.reason, "kubectl get mutatingwebhookconfigurations", "docs/migrate-kubeflow.md")
			w.WaitEvent(app, "SparkExecutorPending", "docs/migrate-kubeflow.md")
		})
	}
}

// deadWebhook returns the URL and the CA certificate of a webhook that does not answer.
func deadWebhook(*testing.T) (string, []byte) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	return server.URL, nil
}

func volumesNamed(pod *corev1.Pod, name string) (n int) {
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == name {
			n++
		}
	}
	return n
}

// TestLeftoverWebhookThatIsDead checks that the application waits, reports why, and starts when somebody deletes the
// webhook's configuration.
func TestLeftoverWebhookThatIsDead(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	configuration := w.Leftover(deadWebhook(t))
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	w.WaitEvent(app, apianswer.ReasonWebhookFailed, "kubectl get mutatingwebhookconfigurations")

	if err := w.API.Delete(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}

	w.DriverOf(app, 1)
}
