package controller

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/testkit"
)

// lateness holds back what watches of pods tell, as a connection does on which nothing comes any more: the cache shows what was, and requests go through.
type lateness struct {
	mu   sync.Mutex
	gate chan struct{} // closed when what was held goes on; nil while nothing is held
}

// begin holds back what comes from now on, until the function that it returns is called.
func (l *lateness) begin() (end func()) {
	gate := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = gate
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.gate = nil
		close(gate)
	})
}

func (l *lateness) wait(request *http.Request) {
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	if gate == nil {
		return
	}
	select {
	case <-gate:
	case <-request.Context().Done():
	}
}

// over is a transport whose watches of pods may be late.
func (l *lateness) over(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Query().Get("watch") != "" && strings.HasSuffix(request.URL.Path, "/pods") {
			response.Body = lateBody{response.Body, l, request}
		}
		return response, err
	})
}

type lateBody struct {
	io.ReadCloser
	late    *lateness
	request *http.Request
}

// Read implements io.Reader.
func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.late.wait(b.request)
	return n, err
}

// TestDriverIsRenamedBeforeItsLaunchIsStored: somebody gives the driver another name after it was made, before that was written down, and the cache does not
// show it yet. No name keeps a second one from being made then: what was made is looked for, and goes before the next attempt's is made.
func TestDriverIsRenamedBeforeItsLaunchIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	late := &lateness{}
	var hold, rename sync.Once
	var end func()
	w.runReal(func(env *Environment) {
		env.Rest.Wrap(late.over)
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(request *http.Request) (*http.Response, error) {
				switch {
				case request.Method == http.MethodDelete && strings.HasSuffix(request.URL.Path, "/pods/pi-driver"):
					end() // it was found
					fallthrough
				case request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/pods"):
					return next.RoundTrip(request)
				}
				var beside corev1.PodList
				if err := w.api.List(request.Context(), &beside, client.InNamespace(w.namespace)); err != nil || len(beside.Items) > 0 {
					t.Errorf("a driver is made beside %d others (%v)", len(beside.Items), err)
				}
				hold.Do(func() { end = late.begin() })
				response, err := next.RoundTrip(request)
				rename.Do(func() { // to one that is the first of both, so that the other would be nobody's
					patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"driver":{"podName":"a-driver"}}}`))
					app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "pi"}}
					if err := w.api.Patch(request.Context(), app, patch); err != nil {
						t.Error(err)
					}
				})
				return response, err
			})
		})
	})
	app := w.application("pi", withDriver)
	if name := w.driverOf(app, 2).Name; name != "a-driver" {
		t.Errorf("the driver of the edited spec is %s", name)
	}
}

// TestDriverStartsUnseen: a driver starts in time, and the cache does not show that when the time is over. It is looked for live, and goes on.
func TestDriverStartsUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	late, made := &lateness{}, &requests{}
	w.runReal(func(env *Environment) {
		env.Rest.Wrap(late.over)
		env.Rest.Wrap(made.over)
	})
	app := w.application("pi", withDriver, timeouts(v1beta2.Timeouts{DriverStartSeconds: new(int64(5))}))
	w.waitState("pi", v1beta2.ApplicationStateSubmitted)
	driver := w.driverOf(app, 1)
	end, before := late.begin(), made.since(nil)
	w.kubelet(driver.Name, corev1.PodRunning, running())
	testkit.Wait(t, "a live read", func(context.Context) error { return want(made.since(before)["GET pods"] > 0, true) })
	end()
	w.waitState("pi", v1beta2.ApplicationStateRunning)
	if now := w.driverOf(app, 1); now.UID != driver.UID || now.DeletionTimestamp != nil {
		t.Errorf("the driver is %+v", now.ObjectMeta)
	}
}
