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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// labelAppUID is the label on every object of an application.
const labelAppUID = "sparkoperator.dev/app-uid"

// labelContent is the label on auxiliary objects.
const labelContent = "sparkoperator.dev/content"

// suite holds the cluster under test. Its methods are the tests and their helpers.
type suite struct{ *cluster.Cluster }

// needsEmbedded skips the test if the cluster is not embedded, because the test needs the programs or logs of the
// cluster.
func (w *suite) needsEmbedded(t *testing.T, goal string) {
	t.Helper()

	if !w.Embedded() {
		t.Skipf("needs %s, which only the embedded Kubernetes has: unset TEST_KUBECONFIG", goal)
	}
}

// nodeName returns the name of the node that tests inspect and to which they bind pods.
func (w *suite) nodeName(t *testing.T) string {
	t.Helper()

	name, err := w.NodeName(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// example returns the SparkApplication in a file of examples/, after the given change. It rejects unknown fields.
func (w *suite) example(t *testing.T, file string, change func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	t.Helper()
	return exampleOf(t, file, change)
}

// exampleOf returns the object of any kind in a file of examples/, after the given change. It rejects unknown fields.
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

func (w *suite) create(t *testing.T, o client.Object) {
	t.Helper()

	if err := w.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// unreviewedClient returns a client that can write invalid objects. The webhook does not review its requests, because
// they have the operator's user name.
func (w *suite) unreviewedClient(t *testing.T) client.Client {
	t.Helper()

	config := rest.CopyConfig(w.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: operatorAccount, Groups: []string{"system:masters"}}

	c, err := client.New(config, client.Options{Scheme: w.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// await waits until done returns true for the application. After the timeout, the test fails with the status and the
// events.
func (w *suite) await(t *testing.T, app *v1beta2.SparkApplication, limit time.Duration, goal string,
	done func(*v1beta2.SparkApplication) bool) {
	t.Helper()
	awaitObject(t, w, app, limit, goal, done)
}

// awaitObject waits until done returns true for an object of any kind. After the timeout, the test fails with the
// status and the events.
func awaitObject[T client.Object](t *testing.T, w *suite, o T, limit time.Duration, goal string, done func(T) bool) {
	t.Helper()
	eventually(t, limit, goal, func() (string, bool) {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error(), false
		}

		if done(o) {
			return "", true
		}
		return w.describe(t, o), false
	})
}

// awaitEnd waits until the application is COMPLETED or FAILED, and checks that this is the wanted state.
func (w *suite) awaitEnd(t *testing.T, app *v1beta2.SparkApplication, limit time.Duration,
	want v1beta2.ApplicationStateType) {
	t.Helper()
	w.await(t, app, limit, "the end", func(a *v1beta2.SparkApplication) bool {
		return slices.Contains([]v1beta2.ApplicationStateType{v1beta2.ApplicationStateCompleted,
			v1beta2.ApplicationStateFailed}, a.Status.AppState.State)
	})

	if got := app.Status.AppState.State; got != want {
		t.Fatalf("ended as %s, want %s\n%s", got, want, w.describe(t, app))
	}
}

// describe returns the status and the events of an object as text.
func (w *suite) describe(t *testing.T, o client.Object) string {
	t.Helper()
	var text strings.Builder

	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err == nil {
		var status []byte
		status, err = yaml.Marshal(content["status"])
		text.Write(status)
	}

	if err != nil {
		fmt.Fprintln(&text, err) // an object whose spec cannot be decoded cannot be encoded either
	}

	for _, e := range w.events(t, o) {
		fmt.Fprintf(&text, "event %s %s: %s\n", e.Type, e.Reason, e.Message)
	}
	return text.String()
}

// awaitEvent waits until an event about the object itself matches. The operator writes events in the background, after
// the status that they explain.
func (w *suite) awaitEvent(t *testing.T, o client.Object, goal string, matches func(corev1.Event) bool) {
	t.Helper()
	eventually(t, 30*time.Second, goal, func() (string, bool) {
		return w.describe(t, o), slices.ContainsFunc(w.events(t, o), matches)
	})
}

// events returns the events about the object itself, without those about its pods.
func (w *suite) events(t *testing.T, o client.Object) []corev1.Event {
	t.Helper()

	var list corev1.EventList
	if err := w.Client.List(t.Context(), &list, client.InNamespace(o.GetNamespace()),
		client.MatchingFields{"involvedObject.uid": string(o.GetUID())}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// driverLog returns the whole log of the application's driver.
func (w *suite) driverLog(t *testing.T, app *v1beta2.SparkApplication) string {
	t.Helper()

	text, err := w.Core.CoreV1().Pods(app.Namespace).GetLogs(app.Status.DriverInfo.PodName,
		&corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// remove deletes an object and waits until the object and its pods, ConfigMaps and Services no longer exist.
func (w *suite) remove(t *testing.T, o client.Object) {
	t.Helper()

	if err := w.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}

	eventually(t, 90*time.Second, "deletion of the object and its dependents", func() (string, bool) {
		left := w.dependents(t, o)

		found := o.DeepCopyObject().(client.Object)
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(o), found); !apierrors.IsNotFound(err) {
			left = append(left, fmt.Sprintf("%T %s", found, o.GetName()))
		}
		return strings.Join(left, ", "), len(left) == 0
	})
}

// dependents returns the dependents of an object. It finds them by label and by owner reference. An object without the
// label also counts if its name begins with the owner's name. For objects with the label this rule does not apply,
// because the name of another owner may begin with the same text.
func (w *suite) dependents(t *testing.T, owner client.Object) []string {
	t.Helper()

	var found []string
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}} {
		if err := w.Client.List(t.Context(), list, client.InNamespace(owner.GetNamespace())); err != nil {
			t.Fatal(err)
		}

		for _, o := range objects(list) {
			owned := slices.ContainsFunc(o.GetOwnerReferences(),
				func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() })

			uid, labelled := o.GetLabels()[labelAppUID]
			if owned || uid == string(owner.GetUID()) || !labelled &&
				strings.HasPrefix(o.GetName(), owner.GetName()+"-") {
				found = append(found, fmt.Sprintf("%T %s", o, o.GetName()))
			}
		}
	}
	return found
}

// upgrade upgrades the release with further options of Helm, and keeps its other values. It waits until all pods are
// ready.
func (w *suite) upgrade(t *testing.T, options ...string) {
	t.Helper()

	args := []string{"upgrade", cluster.Release, filepath.Join(root, "charts/spark-operator"), "--namespace", cluster.Namespace,
		"--reuse-values", "--wait", "--timeout", "4m"}
	if err := w.Helm(t.Context(), append(args, options...)...); err != nil {
		t.Fatal(err)
	}
}

// eventually calls poll until its result done is true. After the timeout, the test fails with the last state that poll
// returned.
func eventually(t *testing.T, limit time.Duration, goal string, poll func() (state string, done bool)) {
	t.Helper()

	deadline := time.Now().Add(limit)
	for {
		state, done := poll()
		if done {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s; the last state was:\n%s", limit, goal, state)
		}

		select {
		case <-t.Context().Done():
			t.Fatalf("wait for %s: %v", goal, t.Context().Err())
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// condition returns the condition of a type. A missing condition has an empty status.
func condition(app *v1beta2.SparkApplication, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(app.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{Type: kind}
}

func objects(list client.ObjectList) []client.Object {
	items, err := meta.ExtractList(list)
	if err != nil {
		panic(err) // the argument is always a list
	}

	found := make([]client.Object, 0, len(items))
	for _, item := range items {
		found = append(found, item.(client.Object))
	}
	return found
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func objectNames(list client.ObjectList) []string {
	var names []string
	for _, o := range objects(list) {
		names = append(names, o.GetNamespace()+"/"+o.GetName())
	}
	return names
}

// raw returns a pod template as a raw extension.
func raw(text string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: bytes.TrimSpace([]byte(text))}
}
