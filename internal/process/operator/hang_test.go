package operator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/intake/access"
	"github.com/sparkoperator/spark-operator/internal/intake/watchdog"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// advanceWatchdog advances the time of a watchdog by d.
func advanceWatchdog(h *watchdog.Watchdog, d time.Duration) {
	for range d / watchdog.Tick {
		h.Count()
	}
}

// runHanging starts an operator that serves the given kind. It returns the operator, and a function that waits until
// the probe at a path answers with the given HTTP status.
func runHanging(w *world.World, kind contract.Kind) (op *operator.Operator, probe func(path string, status int)) {
	w.T.Helper()
	cfg := world.Config(w.Namespace)
	cfg.Health.BindAddress = kit.FreeAddress(w.T.(*testing.T))

	op, err := operator.NewEmpty(w.T.Context(), cfg, w.Environment())
	if err != nil {
		w.T.Fatal(err)
	}

	if err := operator.Add(w.T.Context(), op, kind, time.Now); err != nil {
		w.T.Fatal(err)
	}

	w.Run(op)
	return op, func(path string, status int) {
		w.T.Helper()
		kit.Wait(w.T, path, func(ctx context.Context) error {
			got, _, err := world.Fetch(ctx, "http://"+cfg.Health.BindAddress+path)
			return errors.Join(err, world.Want(got, status))
		})
	}
}

// TestHangingPass checks a pass whose decision does not end. /readyz fails first, and /healthz fails later. Both pass
// again when the decision ends.
func TestHangingPass(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	kind, hold, at := tiny.Kind(), make(chan struct{}), make(chan struct{}, 1)
	kind.OnDecide = func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		if app.Name == "hangs" {
			at <- struct{}{}

			<-hold
		}
		return tiny.Decide(app, seen, now)
	}
	op, probe := runHanging(w, kind)
	probe("/readyz", http.StatusOK)
	w.Application("hangs")
	<-at
	advanceWatchdog(op.Hangs(), time.Minute+watchdog.PassSlow)
	probe("/readyz", http.StatusInternalServerError)
	probe("/healthz", http.StatusOK)
	advanceWatchdog(op.Hangs(), watchdog.Limit)
	probe("/healthz", http.StatusInternalServerError)
	close(hold)

	go func() {
		for range at { // its later passes
		}
	}()

	probe("/healthz", http.StatusOK)
	probe("/readyz", http.StatusOK)
}

// TestHangingNamespace checks an operator whose passes in one namespace never end and occupy as many workers as they
// can get. An application in another namespace still gets its driver.
func TestHangingNamespace(t *testing.T) {
	t.Parallel()
	hostile, calm := world.New(t), world.New(t)
	kind, hold, at := tiny.Kind(), make(chan struct{}), make(chan struct{}, 100)
	kind.OnDecide = func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		if app.Namespace == hostile.Namespace {
			at <- struct{}{}

			<-hold
		}
		return tiny.Decide(app, seen, now)
	}
	cfg := world.Config(hostile.Namespace, calm.Namespace)

	op, err := operator.NewEmpty(t.Context(), cfg, hostile.Environment())
	if err != nil {
		t.Fatal(err)
	}

	if err := operator.Add(t.Context(), op, kind, time.Now); err != nil {
		t.Fatal(err)
	}

	hostile.Run(op)

	for i := range 3 * cfg.Controller.Workers {
		hostile.Application(fmt.Sprint("hangs-", i))
	}

	for range operator.FirstPasses(cfg.Controller.Workers) { // as many as make first passes at a time
		<-at
	}

	calm.Application("pi")
	calm.WaitPod("pi-driver")
	close(hold)
}

// slowApplication is a SparkApplication whose decoding hangs if its spec contains the text "hangs".
type slowApplication struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              slowSpec `json:"spec"`
}

type slowSpec struct{ text []byte }

var slowHold = make(chan struct{})

func (s *slowSpec) UnmarshalJSON(data []byte) error {
	if strings.Contains(string(data), "hangs") {
		<-slowHold
	}

	s.text = data
	return nil
}

func (s slowSpec) MarshalJSON() ([]byte, error) { return s.text, nil }

func (s *slowApplication) DeepCopyObject() runtime.Object {
	c := *s
	return &c
}

type slowList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []slowApplication `json:"items"`
}

func (s *slowList) DeepCopyObject() runtime.Object {
	c := *s
	return &c
}

// TestHangingDecode checks that the probes fail if the decoding of an object never ends, whether a watch or a list
// delivers the object.
func TestHangingDecode(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	scheme := runtime.NewScheme()
	kind := v1beta2.GroupVersion.WithKind("SparkApplication")
	scheme.AddKnownTypeWithName(kind, &slowApplication{})
	scheme.AddKnownTypeWithName(v1beta2.GroupVersion.WithKind("SparkApplicationList"), &slowList{})
	metav1.AddToGroupVersion(scheme, v1beta2.GroupVersion)

	noStreams := func(next http.RoundTripper) http.RoundTripper { return unstreamed{next} }
	for name, wrap := range map[string]func(http.RoundTripper) http.RoundTripper{"by watch": nil, "by list": noStreams} {
		h := watchdog.New(logr.Discard())

		rc := kit.Rest(t)
		if wrap != nil {
			rc.Wrap(wrap)
		}

		client, err := rest.HTTPClientFor(rc)
		if err != nil {
			t.Fatal(err)
		}

		c, err := operator.NewCache(h, access.New(scheme, w.Logger(), nil), rc, cache.Options{Scheme: scheme, HTTPClient: client, DefaultNamespaces: map[string]cache.Config{w.Namespace: {}}})
		if err != nil {
			t.Fatal(err)
		}

		if name == "by watch" {
			if _, err := c.GetInformer(t.Context(), &slowApplication{}, cache.BlockUntilSynced(false)); err != nil {
				t.Fatal(err)
			}
		}

		go func() { _ = c.Start(t.Context()) }()

		w.Application(strings.ReplaceAll(name, " ", "-"), func(app *v1beta2.SparkApplication) { app.Spec.MainClass = new("hangs") })

		if name == "by list" {
			if _, err := c.GetInformer(t.Context(), &slowApplication{}, cache.BlockUntilSynced(false)); err != nil {
				t.Fatal(err)
			}
		}

		kit.Wait(t, name, func(context.Context) error {
			advanceWatchdog(h, watchdog.DecodeSlow)

			if h.Ready(nil) == nil {
				return errors.New("nothing hangs")
			}
			return nil
		})

		if err := h.Ready(nil); !strings.Contains(err.Error(), strings.TrimPrefix(name, "by ")) {
			t.Errorf("the error is %v, want it to name the source: %s", err, name)
		}

		advanceWatchdog(h, watchdog.Limit)

		if h.Alive(nil) == nil {
			t.Errorf("%s: /healthz passes", name)
		}

		close(slowHold)
		kit.Wait(t, name+", decoded", func(context.Context) error { return h.Alive(nil) })

		slowHold = make(chan struct{})
	}
}

// unstreamed is a transport that makes the API server answer as if it did not support streaming lists.
type unstreamed struct{ next http.RoundTripper }

func (u unstreamed) RoundTrip(request *http.Request) (*http.Response, error) {
	if !request.URL.Query().Has("sendInitialEvents") {
		return u.next.RoundTrip(request)
	}
	const invalid = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`
	return &http.Response{StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(invalid)), Request: request}, nil
}
