package operator

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// requests is a transport that counts an operator's requests to the API server and records the content types of their
// bodies.
type requests struct {
	next http.RoundTripper

	mu       sync.Mutex
	counts   map[string]int
	contents map[string]string
}

// over sets the transport that sends the requests, and returns the counter.
func (r *requests) over(next http.RoundTripper) http.RoundTripper {
	r.next = next
	return r
}

func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	resource := path.Base(request.URL.Path)

	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	for i, part := range parts { // .../namespaces/<namespace>/<resource>[/<name>[/status]]
		if part == "namespaces" && i+2 < len(parts) {
			resource = parts[i+2]
			if parts[len(parts)-1] == "status" {
				resource += "/status"
			}
		}
	}

	r.mu.Lock()
	if r.counts == nil {
		r.counts, r.contents = map[string]int{}, map[string]string{}
	}

	if request.URL.Query().Get("watch") == "" && !discovers(parts) {
		r.counts[request.Method+" "+resource]++
	}

	if content := request.Header.Get("Content-Type"); content != "" {
		r.contents[resource] = content
	}
	r.mu.Unlock()
	return r.next.RoundTrip(request)
}

// discovers reports whether a path belongs to discovery: /api, /api/v1, /apis, /apis/GROUP or /apis/GROUP/VERSION. The
// operator sends such requests from time to time, for kinds that a cluster may lack.
func discovers(path []string) bool {
	return path[0] == "api" && len(path) <= 2 || path[0] == "apis" && len(path) <= 3
}

// since returns the number of requests by method and resource, less the given earlier counts. It leaves out discovery
// requests.
func (r *requests) since(before map[string]int) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()

	made := map[string]int{}
	for what, n := range r.counts {
		if n -= before[what]; n > 0 {
			made[what] = n
		}
	}
	return made
}

// TestRequestsOfALife checks which requests a successful application causes from its creation to its end: the operator
// creates objects and events and writes the status, and sends no read.
func TestRequestsOfALife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := &requests{}
	// The clock stands still: on a busy machine drivers are pending for longer than pendingGrace, which would cause
	// reads of Events.
	began := time.Now()
	stop := w.runTinyBy(func() time.Time { return began }, tiny.Kind(), func(env *Environment) {
		env.Rest.Wrap(made.over)
	})
	// The first life syncs the caches and opens the connections.
	w.playLife("first")

	before := made.since(nil)

	w.playLife("second")
	stop() // every event is written

	got := made.since(before)
	// The first life's events may be written late; they are the same as the second's.
	events := got["POST events"]
	delete(got, "POST events")

	want := map[string]int{"POST configmaps": 1, "POST services": 1, "POST pods": 1, "PATCH sparkapplications/status": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}

	if events < 3 || events > 6 {
		t.Errorf("%d events", events)
	}

	for resource, content := range map[string]string{
		"pods": "application/vnd.kubernetes.protobuf", "configmaps": "application/vnd.kubernetes.protobuf",
		"events": "application/vnd.kubernetes.protobuf", "sparkapplications/status": "application/merge-patch+json",
	} {
		if got := made.contents[resource]; got != content {
			t.Errorf("%s are sent with the content type %s, want %s", resource, got, content)
		}
	}
}

// playLife plays one application from its creation to its end.
func (w *world) playLife(name string) {
	w.T.Helper()
	w.Application(name)
	w.waitState(name, v1beta2.ApplicationStateSubmitted)
	w.kubelet(name+"-driver", corev1.PodRunning, running())
	w.waitState(name, v1beta2.ApplicationStateRunning)
	w.kubelet(name+"-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitState(name, v1beta2.ApplicationStateCompleted)
}

// TestManyAtOnce creates many applications at once, and checks that each gets exactly one driver.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runTiny(tiny.Kind())

	const n = 40
	for i := range n {
		w.Application(fmt.Sprintf("pi-%d", i))
	}

	for i := range n {
		w.waitState(fmt.Sprintf("pi-%d", i), v1beta2.ApplicationStateSubmitted)
	}

	var pods corev1.PodList
	if err := w.API.List(t.Context(), &pods); err != nil {
		t.Fatal(err)
	}

	names := map[string]bool{}
	for _, pod := range pods.Items {
		if pod.Namespace == w.Namespace {
			names[pod.Name] = true
		}
	}

	if len(names) != n {
		t.Errorf("%d drivers for %d applications: %v", len(names), n, slices.Sorted(maps.Keys(names)))
	}
}
