// Package scene sets up tests of the operator on a real API server. It gives each test its own namespace. In that
// namespace, its functions perform the actions of users and of other Kubernetes components.
package scene

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// World is the namespace of one test, with clients to create and change objects in it.
type World struct {
	T         testing.TB
	Namespace string
	API       client.Client // has the rights of an administrator, and no cache
	Log       *Lines        // the output of this world's loggers
}

// New creates a namespace for a test and returns its World. The namespace is deleted at the end of the test.
func New(t testing.TB) *World {
	t.Helper()
	return &World{
		T: t, Namespace: kit.Namespace(t), API: kit.Client(t, v1beta2.AddToScheme, v1alpha1.AddToScheme, sparkv1.AddToScheme),
		Log: &Lines{},
	}
}

// Lines is a writer whose content a test can read.
type Lines struct {
	mu   sync.Mutex
	text []byte
}

// Write appends to the content.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.text = append(l.text, p...)
	return len(p), nil
}

// String returns the whole content.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// testLog is a writer to the test's log, which is shown if the test fails or runs with -v. It drops what is written
// after the test: the manager of a replica that has lost its lease does not wait for the goroutine that stops it.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	if l.t.Context().Err() == nil {
		l.t.Logf("%s", p)
	}
	return len(p), nil
}

// Application creates a small SparkApplication in the API server. Before that, the given functions may change it.
func (w *World) Application(name string, change ...func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	w.T.Helper()

	app := &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec: v1beta2.SparkApplicationSpec{
			Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", Image: new("docker.io/apache/spark:4.1.4"),
			MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
		},
	}
	for _, c := range change {
		c(app)
	}

	w.Create(app)
	return app
}

// Create creates an object in the API server.
func (w *World) Create(object client.Object) {
	w.T.Helper()

	if err := w.API.Create(w.T.Context(), object); err != nil {
		w.T.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// Get returns the SparkApplication of a name from the API server.
func (w *World) Get(name string) *v1beta2.SparkApplication {
	w.T.Helper()

	app := &v1beta2.SparkApplication{}
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, app); err != nil {
		w.T.Fatal(err)
	}
	return app
}

// EventsOf returns the messages of the Events about an application, by their reason. Each message is one line.
func (w *World) EventsOf(app client.Object) map[string]string {
	w.T.Helper()

	var list corev1.EventList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		w.T.Fatal(err)
	}

	reported := map[string]string{}
	for _, event := range list.Items {
		if event.InvolvedObject.UID == app.GetUID() {
			reported[event.Reason] = strings.TrimPrefix(reported[event.Reason]+"\n"+event.Message, "\n")
		}
	}
	return reported
}

// WaitGone waits until an object no longer exists.
func (w *World) WaitGone(object client.Object) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("%T %s to be gone", object, object.GetName()), func(ctx context.Context) error {
		err := w.API.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil {
			return fmt.Errorf("it is still there")
		}
		return client.IgnoreNotFound(err)
	})
}

// Logger returns a logger that writes to the World's log and to the test's log.
func (w *World) Logger() logr.Logger {
	w.T.Helper()

	log, err := telemetry.NewLogger(io.MultiWriter(w.Log, testLog{w.T}), "info", "text")
	if err != nil {
		w.T.Fatal(err)
	}
	return log
}

// Bind binds a pod to a node. From then on, the API server keeps a deleted pod until the node's kubelet removes it.
func (w *World) Bind(pod *corev1.Pod, node string) {
	w.T.Helper()

	if err := w.API.SubResource("binding").Create(w.T.Context(), pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}); err != nil {
		w.T.Fatal(err)
	}
}

// BindAway binds a pod to a node of its own without a kubelet, so that a deleted pod stays until the test removes it.
// The node exists, because the pod garbage collector of Kubernetes deletes pods of nodes that have not existed for
// 40 s. It remembers nodes by their names, so the pods of another test would count, too.
func (w *World) BindAway(pod *corev1.Pod) {
	w.T.Helper()

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "away-" + string(pod.UID)}, Spec: corev1.NodeSpec{Unschedulable: true}}
	if err := w.API.Create(w.T.Context(), node); err != nil {
		w.T.Fatal(err)
	}

	w.T.Cleanup(func() {
		if err := w.API.Delete(context.Background(), node); err != nil {
			w.T.Error(err)
		}
	})

	w.Bind(pod, node.Name)
}

// Stays returns the kind and name of each pod and ConfigMap that still exists in the namespace.
func (w *World) Stays() (names []string) {
	w.T.Helper()
	var pods corev1.PodList

	var maps corev1.ConfigMapList
	for _, list := range []client.ObjectList{&pods, &maps} {
		if err := w.API.List(w.T.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.T.Fatal(err)
		}
	}

	for _, pod := range pods.Items {
		names = append(names, "pod "+pod.Name)
	}

	for _, configMap := range maps.Items {
		if configMap.Name != "kube-root-ca.crt" {
			names = append(names, "map "+configMap.Name)
		}
	}

	slices.Sort(names)
	return names
}

// Remove deletes an object from the API server.
func (w *World) Remove(object client.Object) {
	w.T.Helper()

	if err := w.API.Delete(w.T.Context(), object); err != nil {
		w.T.Fatal(err)
	}
}

// Patch changes an application as kubectl patch does.
func (w *World) Patch(name, change string) {
	w.T.Helper()

	if err := w.API.Patch(w.T.Context(), w.Get(name), client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
		w.T.Fatal(err)
	}
}

// TakesItsTime makes a pod outlive its deletion, as during a grace period. It binds the pod to a node and adds a
// finalizer. The pod exists until the test calls the returned function.
//
// The node is necessary because the pod garbage collector of Kubernetes marks deleted pods without a node as failed
// every 20 s.
func (w *World) TakesItsTime(pod *corev1.Pod) (goes func()) {
	w.T.Helper()
	w.BindAway(pod)

	patch := func(finalizers string) {
		w.T.Helper()

		text := fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, finalizers)

		err := w.API.Patch(context.Background(), pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
		if client.IgnoreNotFound(err) != nil {
			w.T.Error(err)
		}
	}
	patch(`["example.com/grace"]`)
	w.T.Cleanup(func() { patch("null") })
	return func() {
		w.Stopped(pod)
		patch("null")
	}
}

// Stopped removes a pod at once, as a kubelet does after it has stopped the pod's containers.
func (w *World) Stopped(pod *corev1.Pod) {
	w.T.Helper()

	if err := w.API.Delete(context.Background(), pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		w.T.Error(err)
	}
}

// EditSchedule changes a schedule's spec by a merge patch.
func (w *World) EditSchedule(name, spec string) {
	w.T.Helper()
	w.PatchSchedule(name, fmt.Sprintf(`{"spec":%s}`, spec))
}

// EndRun writes a final state into the status of a run, as the operator would at the end of the run.
func (w *World) EndRun(name string, state v1beta2.ApplicationStateType) {
	w.T.Helper()
	run := w.Get(name)
	before := run.DeepCopy()
	run.Status.AppState.State = state

	run.Status.TerminationTime = metav1.Now()
	if err := w.API.Status().Patch(w.T.Context(), run, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// PatchSchedule changes a schedule by a merge patch.
func (w *World) PatchSchedule(name, patch string) {
	w.T.Helper()

	s := &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	if err := w.API.Patch(w.T.Context(), s, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// RunsOf returns the names of the existing runs of a schedule.
func (w *World) RunsOf(s *v1beta2.ScheduledSparkApplication) []string {
	w.T.Helper()

	var list v1beta2.SparkApplicationList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		w.T.Fatal(err)
	}

	var names []string
	for i := range list.Items {
		if identity.OwnedBy(&list.Items[i], s.UID) {
			names = append(names, list.Items[i].Name)
		}
	}

	slices.Sort(names)
	return names
}

// Schedule creates a ScheduledSparkApplication in the API server. Before that, the given functions may change it.
func (w *World) Schedule(name, times string, change ...func(*v1beta2.ScheduledSparkApplication)) *v1beta2.ScheduledSparkApplication {
	w.T.Helper()

	s := &v1beta2.ScheduledSparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec: v1beta2.ScheduledSparkApplicationSpec{Schedule: times, Template: v1beta2.SparkApplicationSpec{
			Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", Image: new("docker.io/apache/spark:4.1.4"),
			MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
		}},
	}
	for _, c := range change {
		c(s)
	}

	w.Create(s)
	return s
}

// WaitSchedule waits until a schedule's status satisfies a condition, and returns the schedule.
func (w *World) WaitSchedule(name, what string, holds func(*v1beta2.ScheduledSparkApplicationStatus) bool) *v1beta2.ScheduledSparkApplication {
	w.T.Helper()

	s := &v1beta2.ScheduledSparkApplication{}
	kit.Wait(w.T, name+": "+what, func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, s); err != nil {
			return err
		}

		if !holds(&s.Status) {
			return fmt.Errorf("its status is %+v", s.Status)
		}
		return nil
	})
	return s
}

// Warn creates a warning Event about a pod.
func (w *World) Warn(uid types.UID, name, reason, message string) {
	w.T.Helper()
	w.Create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: w.Namespace, GenerateName: "event-"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.Namespace, Name: name, UID: uid},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: metav1.Now(),
	})
}

// WaitCause waits until the status of an application of package tiny contains a reason.
func (w *World) WaitCause(name, reason string) {
	w.T.Helper()
	kit.Wait(w.T, name+" to report "+reason, func(context.Context) error {
		if got := w.Get(name).Status.SubmissionID; got != reason {
			return fmt.Errorf("the reason is %q", got)
		}
		return nil
	})
}
