package scene

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// Noon is a fixed time that tests use as the current time.
var Noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// Seldom is a schedule that does not become due while a test runs, except on February 29.
const Seldom = "0 0 29 2 *"

// Powerless returns a client for a service account without any rights.
func (w *World) Powerless() client.Client {
	w.T.Helper()
	rc := kit.Rest(w.T)
	rc.Impersonate.UserName = "system:serviceaccount:" + w.Namespace + ":powerless"

	c, err := client.New(rc, client.Options{Scheme: w.API.Scheme()})
	if err != nil {
		w.T.Fatal(err)
	}
	return c
}

// ForeignPod returns a pod that belongs to no application. It has no labels and no owner, but tests may give it the
// name of an application's pod.
func ForeignPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs"}}},
	}
}

// Exited returns the state of a container that ended just now.
func Exited(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Message: message, StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
	}}
}

// WithDriver sets the resources of an application: a small driver and one small executor.
func WithDriver(app *v1beta2.SparkApplication) {
	app.Spec.Driver.Cores, app.Spec.Driver.Memory = new(int32(1)), new("512m")
	app.Spec.Driver.ServiceAccount = new("default")
	app.Spec.Executor.Cores, app.Spec.Executor.Memory, app.Spec.Executor.Instances = new(int32(1)), new("512m"), new(int32(1))
}

// Everywhere is the scope of a reconciler that serves all namespaces.
type Everywhere struct{}

// Serves reports that every namespace is served.
func (Everywhere) Serves(context.Context, string) (bool, error) { return true, nil }

// Watched returns the namespaces of the scope. The one value in it stands for all namespaces.
func (Everywhere) Watched() []string { return []string{metav1.NamespaceAll} }
