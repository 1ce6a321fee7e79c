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

// TestListsArePaged checks that pods and Events are read in pages of 100: all of them, or about as many as are kept.
// The driver is among the pods in any case, whatever its name is.
func TestListsArePaged(t *testing.T) {
	const executors = 210

	w := scene.New(t)
	app := w.Application("large")

	event := func(name string, of types.UID) {
		w.Create(&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.Namespace, Name: "pod", UID: of},
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
		{1000, 211, 3, 211, 5},
		{150, 201, 3, 200, 2}, // the driver has a page of its own, and 200 of the first 200 Events belong to the pods
	} {
		l := lists{c, test.max}
		bounded := func(err error) bool { return errors.Is(err, errMore) == (test.max == 150) }
		requests.addresses = nil

		pods, err := l.pods(t.Context(), app)
		if len(pods) != test.pods || !bounded(err) || pods[0].Name != "large-driver" {
			t.Errorf("at most %d: %d pods, the first is %s, and the error is %v", test.max, len(pods), pods[0].Name, err)
		}

		arePaged(t, requests.addresses, test.podPages)

		requests.addresses = nil

		events, err := l.events(t.Context(), app, pods)
		if len(events) != test.events || !bounded(err) {
			t.Errorf("at most %d: %d Events, and the error is %v", test.max, len(events), err)
		}

		arePaged(t, requests.addresses, test.eventPages)
	}
}

// arePaged checks the number of requests, each of which reads 100 objects.
func arePaged(t *testing.T, addresses []string, want int) {
	t.Helper()

	if len(addresses) != want || slices.ContainsFunc(addresses, func(a string) bool { return !strings.Contains(a, "limit=100") }) {
		t.Errorf("the requests are %q, want %d pages of 100", addresses, want)
	}
}
