package transport

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/internal/intake/shed"
	"github.com/sparkoperator/spark-operator/test/kit"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

// counting is a transport that counts requests. Tests use it for the requests that are not about pods.
type counting struct {
	http.RoundTripper
	asked atomic.Int64
}

func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	return c.RoundTripper.RoundTrip(request)
}

// kinds returns the kept parts of pods (see names) and of lists of pods.
func kinds() shed.Kinds {
	pod := names["Pod"]
	return shed.Kinds{"Pod": pod, "PodList": shed.Fields(parts{1: shed.Whole, 2: pod})}
}

// clients returns two clients with the given content type, and a counter. The first client keeps only the parts of pods
// that the function kinds specifies. The second client keeps everything. The counter counts the requests of the first
// client that are not about pods.
func clients(t *testing.T, format string) (lean, plain kubernetes.Interface, others *counting) {
	t.Helper()
	rc := kit.Rest(t)
	rc.QPS = -1

	ordinary, err := rest.HTTPClientFor(rc)
	if err != nil {
		t.Fatal(err)
	}

	others = &counting{RoundTripper: ordinary.Transport}

	client, err := Client(rc, &http.Client{Transport: others}, kinds(), gap, nil)
	if err != nil {
		t.Fatal(err)
	}

	rc.ContentType = format

	lean, err = kubernetes.NewForConfigAndClient(rc, client)
	if err != nil {
		t.Fatal(err)
	}
	return lean, kubernetes.NewForConfigOrDie(rc), others
}

// podOf returns a pod without a node. The pod has a label that is kept and a label that is removed.
func podOf(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"a": "kept", "z": "not"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "one", Image: "image", Args: []string{"x"}}}},
	}
}

// keptPod returns the parts of podOf that kinds keeps.
func keptPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"a": "kept"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "one"}}},
	}
}

func TestClientListsAndWatches(t *testing.T) {
	lean, plain, others := clients(t, runtime.ContentTypeProtobuf)
	namespace := kit.Namespace(t)
	ctx := t.Context()
	const many = 300 // enough for a compressed response

	events, err := lean.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()

	want := map[string]*corev1.Pod{}
	for i := range many {
		name := fmt.Sprintf("p%d", i)

		want[name] = keptPod(namespace, name)
		if _, err := plain.CoreV1().Pods(namespace).Create(ctx, podOf(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	watched := map[string]*corev1.Pod{}
	for len(watched) < many {
		select {
		case event := <-events.ResultChan():
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				t.Fatalf("%s of %T", event.Type, event.Object)
			}

			pod.TypeMeta = metav1.TypeMeta{}
			watched[pod.Name] = pod
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	}

	if diff := cmp.Diff(want, watched); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}

	list, err := lean.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	listed := map[string]*corev1.Pod{}
	for _, pod := range list.Items {
		listed[pod.Name] = &pod
	}

	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}

	if list.ResourceVersion == "" {
		t.Error("a list without a version: nothing could be watched from there")
	}

	if others.asked.Load() != 0 {
		t.Errorf("%d requests about pods by the others' connection", others.asked.Load())
	}

	if _, err := lean.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{}); err != nil ||
		others.asked.Load() != 1 {
		t.Errorf("Deployments: %v, %d requests by the others' connection, want 1", err, others.asked.Load())
	}
}

// TestClientLeavesTheRest checks that errors, and responses in other formats than protobuf, are returned as the API
// server sent them.
func TestClientLeavesTheRest(t *testing.T) {
	namespace := kit.Namespace(t)
	lean, plain, _ := clients(t, runtime.ContentTypeProtobuf)

	ctx := t.Context()
	if _, err := plain.CoreV1().Pods(namespace).Create(ctx, podOf("p"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	if _, err := lean.CoreV1().Pods(namespace).Get(ctx, "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("of a pod that is not there: %v", err)
	}

	if _, err := lean.CoreV1().Pods(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "!!"}); !apierrors.IsBadRequest(err) {
		t.Errorf("of a bad selector: %v", err)
	}

	written, _, _ := clients(t, runtime.ContentTypeJSON)

	pod, err := written.CoreV1().Pods(namespace).Get(ctx, "p", metav1.GetOptions{})
	if err != nil || pod.Labels["z"] != "not" {
		t.Errorf("as JSON: %v, labels %v", err, pod.Labels)
	}

	made, err := lean.CoreV1().ConfigMaps(namespace).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"k": "v"}},
		metav1.CreateOptions{})
	if err != nil || made.Data["k"] != "v" {
		t.Errorf("a kind that is kept whole: %v, %v", err, made)
	}
}

// TestClientEnds checks that a watch ends with its context, even while its connection waits for more bytes.
func TestClientEnds(t *testing.T) {
	lean, _, _ := clients(t, runtime.ContentTypeProtobuf)
	ctx, cancel := context.WithCancel(t.Context())

	events, err := lean.CoreV1().Pods(kit.Namespace(t)).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	cancel()

	for range events.ResultChan() {
		t.Log("an event of an empty namespace")
	}
}
