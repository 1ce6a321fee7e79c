package controller

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/internal/testkit/scene"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // what has no operator's logger, such as an informer
	testkit.Main(m)
}

// world is one test's namespace, with what the tests of this package alone do there.
type world struct{ *scene.World }

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{scene.New(t)}
}

// powerless returns a client for a service account that was granted nothing.
func (w *world) powerless() client.Client {
	w.T.Helper()
	rc := testkit.Rest(w.T)
	rc.Impersonate.UserName = "system:serviceaccount:" + w.Namespace + ":powerless"
	c, err := client.New(rc, client.Options{Scheme: w.API.Scheme()})
	if err != nil {
		w.T.Fatal(err)
	}
	return c
}

// foreignPod is a pod that has nothing to do with any application but its name.
func foreignPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs"}}},
	}
}

func exited(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Message: message, StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
	}}
}

// seldom is a schedule whose time does not come while a test runs.
const seldom = "0 0 29 2 *"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func withDriver(app *v1beta2.SparkApplication) {
	app.Spec.Driver.Cores, app.Spec.Driver.Memory = new(int32(1)), new("512m")
	app.Spec.Driver.ServiceAccount = new("default")
	app.Spec.Executor.Cores, app.Spec.Executor.Memory, app.Spec.Executor.Instances = new(int32(1)), new("512m"), new(int32(1))
}
