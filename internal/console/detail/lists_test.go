package detail

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/paged"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// noted is a connection that notes the addresses of its requests.
type noted struct {
	http.RoundTripper
	addresses []string
}

func (n *noted) RoundTrip(r *http.Request) (*http.Response, error) {
	n.addresses = append(n.addresses, r.URL.String())
	return n.RoundTripper.RoundTrip(r)
}

// TestListsArePaged checks that a page of the console reads pods and Events in pages of 100: all of them, or about as
// many as are kept. The driver is among the pods in any case, whatever its name is. Sparkctl reads all of them in pages
// of 500. Both read lists of other objects in such pages.
func TestListsArePaged(t *testing.T) {
	const executors = 255 // and 512 Events

	w := scene.New(t)
	app := w.Application("large")

	event := func(name string, of types.UID) {
		w.Create(&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.Namespace, Name: "pod", UID: of},
		})
	}
	create := func(name, role string) {
		pod := scene.ForeignPod(w.Namespace, name)
		pod.Labels = map[string]string{identity.AppUIDLabel: string(app.UID), identity.RoleLabel: role}
		w.Create(pod)
		event(name, pod.UID)
		event("other-"+name, "other")
	}

	for i := range executors {
		create(fmt.Sprintf("large-%03d", i), identity.RoleExecutor)
	}

	create("large-driver", identity.RoleDriver)

	rc, requests := kit.Rest(t), &noted{}
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { requests.RoundTripper = next; return requests })

	c, err := kube.New(rc, w.Namespace)
	if err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct{ max, pods, podPages, events, eventPages int }{
		{1000, 256, 3, 256, 6},
		{150, 201, 3, 200, 2}, // the driver has a page of its own, and 200 of the first 200 Events belong to the pods
	} {
		l := paged.Limits{Page: 100, Kept: test.max}
		bounded := func(err error) bool { return errors.Is(err, paged.ErrMore) == (test.max == 150) }

		pods, err := l.Pods(t.Context(), c.WithWatch, app)
		if len(pods) != test.pods || !bounded(err) || pods[0].Name != "large-driver" {
			t.Errorf("at most %d: %d pods, the first is %s, and the error is %v", test.max, len(pods), pods[0].Name, err)
		}

		requests.arePaged(t, 100, test.podPages)

		events, err := l.Events(t.Context(), c.WithWatch, app, pods)
		if len(events) != test.events || !bounded(err) {
			t.Errorf("at most %d: %d Events, and the error is %v", test.max, len(events), err)
		}

		requests.arePaged(t, 100, test.eventPages)
	}

	pods, err := c.Pods(t.Context(), app)
	if err != nil || len(pods) != 256 || pods[0].Name != "large-driver" {
		t.Errorf("sparkctl: %d pods and the error %v", len(pods), err)
	}

	requests.arePaged(t, 500, 1)

	if events, err := c.Events(t.Context(), app, pods); err != nil || len(events) != 256 {
		t.Errorf("sparkctl: %d Events and the error %v", len(events), err)
	}

	requests.arePaged(t, 500, 2)

	items, err := paged.Items[metav1.PartialObjectMetadata](t.Context(), c, "/api/v1/namespaces/"+w.Namespace+"/events")
	if err != nil || len(items) != 512 || items[0].Name == items[500].Name {
		t.Errorf("%d items and the error %v", len(items), err)
	}

	requests.arePaged(t, 500, 2)

	names, err := c.Namespaces(t.Context())
	if err != nil || !slices.Contains(names, w.Namespace) {
		t.Errorf("the namespaces %q do not contain %q, and the error is %v", names, w.Namespace, err)
	}

	requests.arePaged(t, 500, (len(names)+499)/500)
}

// arePaged checks the number of requests since its last call, and how many objects each request may return.
func (n *noted) arePaged(t *testing.T, size, want int) {
	t.Helper()

	unlimited := func(address string) bool { return !strings.Contains(address, fmt.Sprintf("limit=%d", size)) }
	if len(n.addresses) != want || slices.ContainsFunc(n.addresses, unlimited) {
		t.Errorf("the requests are %q, want %d pages of %d", n.addresses, want, size)
	}

	n.addresses = nil
}
