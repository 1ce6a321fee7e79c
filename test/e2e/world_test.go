package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// labelAppUID is on every object of an application.
const labelAppUID = "sparkoperator.dev/app-uid"

// labelContent is on what stands beside a driver.
const labelContent = "sparkoperator.dev/content"

// world is the cluster as the tests see it.
type world struct{ *cluster.Cluster }

// needsEmbedded skips a test that reaches into the cluster's programs or logs where they are not ours.
func (w *world) needsEmbedded(t *testing.T, what string) {
	t.Helper()
	if !w.Embedded() {
		t.Skipf("needs %s, which only the embedded Kubernetes has: unset TEST_KUBECONFIG", what)
	}
}

// nodeName is the name of the node that tests look at and bind pods to.
func (w *world) nodeName(t *testing.T) string {
	t.Helper()
	name, err := w.NodeName(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// example reads a file of examples/ strictly, changed for the test's purpose.
func (w *world) example(t *testing.T, file string, change func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	t.Helper()
	return exampleOf(t, file, change)
}

// exampleOf is example for any kind.
func exampleOf[T any](t *testing.T, file string, change func(*T)) *T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "examples", file))
	if err != nil {
		t.Fatal(err)
	}
	var o T
	if err := yaml.UnmarshalStrict(text, &o); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if change != nil {
		change(&o)
	}
	return &o
}

// create makes an application, a schedule or a server.
func (w *world) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := w.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// await reads the application until it is as wanted. When it takes too long, the status and the events tell where it stands.
func (w *world) await(t *testing.T, app *v1beta2.SparkApplication, limit time.Duration, what string, done func(*v1beta2.SparkApplication) bool) {
	t.Helper()
	awaitObject(t, w, app, limit, what, done)
}

// awaitObject is await for any kind.
func awaitObject[T client.Object](t *testing.T, w *world, o T, limit time.Duration, what string, done func(T) bool) {
	t.Helper()
	eventually(t, limit, what, func() (string, bool) {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error(), false
		}
		if done(o) {
			return "", true
		}
		return w.describe(t, o), false
	})
}

// awaitEnd waits for COMPLETED or FAILED and wants one of them.
func (w *world) awaitEnd(t *testing.T, app *v1beta2.SparkApplication, limit time.Duration, want v1beta2.ApplicationStateType) {
	t.Helper()
	w.await(t, app, limit, "the end", func(a *v1beta2.SparkApplication) bool {
		return slices.Contains([]v1beta2.ApplicationStateType{v1beta2.ApplicationStateCompleted, v1beta2.ApplicationStateFailed}, a.Status.AppState.State)
	})
	if got := app.Status.AppState.State; got != want {
		t.Fatalf("ended as %s, want %s\n%s", got, want, w.describe(t, app))
	}
}

// describe tells what a user could read about an application, a schedule or a server.
func (w *world) describe(t *testing.T, o client.Object) string {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	status, err := yaml.Marshal(content["status"])
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.Write(status)
	for _, e := range w.events(t, o) {
		fmt.Fprintf(&text, "event %s %s: %s\n", e.Type, e.Reason, e.Message)
	}
	return text.String()
}

// events are those about the object itself, not about its pods.
func (w *world) events(t *testing.T, o client.Object) []corev1.Event {
	t.Helper()
	var list corev1.EventList
	if err := w.Client.List(t.Context(), &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"involvedObject.uid": string(o.GetUID())}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// driverLog reads the whole log of the application's driver.
func (w *world) driverLog(t *testing.T, app *v1beta2.SparkApplication) string {
	t.Helper()
	text, err := w.Core.CoreV1().Pods(app.Namespace).GetLogs(app.Status.DriverInfo.PodName, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// remove deletes an application, a schedule or a server and waits until nothing of it is left: no pod, ConfigMap or Service.
func (w *world) remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := w.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	eventually(t, 90*time.Second, "nothing of it to be left", func() (string, bool) {
		left := w.children(t, o)
		found := o.DeepCopyObject().(client.Object)
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(o), found); !apierrors.IsNotFound(err) {
			left = append(left, fmt.Sprintf("%T %s", found, o.GetName()))
		}
		return strings.Join(left, ", "), len(left) == 0
	})
}

// children lists what belongs to an object, by our label, by owner and by name: one that lost its label would be found as well. What carries
// the label of another, whose name begins alike, is not its own.
func (w *world) children(t *testing.T, of client.Object) []string {
	t.Helper()
	var found []string
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}} {
		if err := w.Client.List(t.Context(), list, client.InNamespace(of.GetNamespace())); err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(list) {
			owned := slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == of.GetUID() })
			uid, labelled := o.GetLabels()[labelAppUID]
			if owned || uid == string(of.GetUID()) || !labelled && strings.HasPrefix(o.GetName(), of.GetName()+"-") {
				found = append(found, fmt.Sprintf("%T %s", o, o.GetName()))
			}
		}
	}
	return found
}

// eventually asks until the answer is yes. The last answer's text explains a failure.
func eventually(t *testing.T, limit time.Duration, what string, ask func() (state string, done bool)) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		state, done := ask()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s; last seen:\n%s", limit, what, state)
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("waiting for %s: %v", what, t.Context().Err())
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// condition returns the condition of a type, or one of status "" when there is none.
func condition(app *v1beta2.SparkApplication, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(app.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{Type: kind}
}

func objects(list client.ObjectList) []client.Object {
	items, err := meta.ExtractList(list)
	if err != nil {
		panic(err) // only lists are handed in
	}
	found := make([]client.Object, 0, len(items))
	for _, item := range items {
		found = append(found, item.(client.Object))
	}
	return found
}

func objectNames(list client.ObjectList) []string {
	var names []string
	for _, o := range objects(list) {
		names = append(names, o.GetNamespace()+"/"+o.GetName())
	}
	return names
}

// raw is a pod template as it stands in a custom resource.
func raw(text string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: bytes.TrimSpace([]byte(text))}
}
