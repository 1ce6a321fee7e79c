package operator_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// release is one installation of the operator in a cluster with several installations. Each installation serves the
// namespaces that its label selector selects. The test counts its writes.
type release struct {
	op         *operator.Operator
	namespaces config.Namespaces

	mu    sync.Mutex
	wrote map[string]map[string]int // by namespace, then by method and resource
}

// startRelease starts an operator that serves the namespaces that a label selector selects.
func startRelease(w *world.World, selector string) *release {
	w.T.Helper()

	r := &release{namespaces: config.Namespaces{Selector: selector}, wrote: map[string]map[string]int{}}
	cfg := world.Config()
	cfg.Namespaces = r.namespaces
	env := w.Environment()
	env.Rest = rest.CopyConfig(env.Rest)
	env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return world.RoundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method != http.MethodGet {
				r.note(req)
			}
			return next.RoundTrip(req)
		})
	})

	var err error
	if r.op, err = operator.NewOperator(w.T.Context(), cfg, env); err != nil {
		w.T.Fatal(err)
	}

	w.Run(r.op)
	return r
}

// note counts a write, for example as "PATCH sparkapplications/status".
func (r *release) note(req *http.Request) {
	_, inside, _ := strings.Cut(req.URL.Path, "/namespaces/")
	parts := append(strings.Split(inside, "/"), "", "", "")

	r.mu.Lock()
	defer r.mu.Unlock()

	if r.wrote[parts[0]] == nil {
		r.wrote[parts[0]] = map[string]int{}
	}
	r.wrote[parts[0]][strings.TrimSuffix(req.Method+" "+parts[1]+"/"+parts[3], "/")]++
}

// writes returns the operator's writes in a namespace so far, counted by method and resource.
func (r *release) writes(namespace string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.wrote[namespace])
}

// waitUnserved waits until the operator no longer serves a namespace.
func (r *release) waitUnserved(w *world.World) {
	w.T.Helper()
	kit.Wait(w.T, "the operator to receive the new labels", func(ctx context.Context) error {
		s, err := operator.NewScope(r.namespaces, r.op.GetClient())
		if err != nil {
			return err
		}

		served, err := s.Serves(ctx, w.Namespace)
		return world.Want(fmt.Sprint(served, err), "false <nil>")
	})
}

// finishApplications creates applications with the given names and completes them. It checks that each takes one
// attempt and has an Event.
func finishApplications(w *world.World, names ...string) {
	w.T.Helper()

	apps := map[string]*v1beta2.SparkApplication{}
	for _, name := range names {
		apps[name] = w.Application(name, scene.WithDriver)
	}

	for name, app := range apps {
		w.Execute(w.DriverOf(app, 1), scene.Exited(0, ""))

		if now := w.WaitState(name, v1beta2.ApplicationStateCompleted); now.Status.Operator.Attempt != 1 {
			w.T.Errorf("%s/%s took %d attempts", w.Namespace, name, now.Status.Operator.Attempt)
		}

		kit.Wait(w.T, "the events of "+name, func(context.Context) error { return world.Want(len(w.EventsOf(app)) > 0, true) })
	}
}

// TestDisjointSelectors checks two operators whose selectors share no namespace. Neither operator writes in a namespace
// of the other, and each application gets one driver. If a namespace moves from one operator to the other, a running
// application in the namespace keeps its driver, and the second operator handles the end of the application.
func TestDisjointSelectors(t *testing.T) {
	t.Parallel()
	a, b, moves := world.New(t), world.New(t), world.New(t)
	key := "release-" + a.Namespace // other tests share the API server
	a.Relabel(key, "a")
	b.Relabel(key, "b")
	moves.Relabel(key, "a")
	ofA, ofB := startRelease(a, key+"=a"), startRelease(b, key+"=b")

	moving := moves.Application("moving", scene.WithDriver)
	driver := moves.RunningDriver(moving, 1)

	finishApplications(a, "one", "two", "three")
	finishApplications(b, "one", "two", "three") // both operators have all names

	moves.Relabel(key, "")
	ofA.waitUnserved(moves)

	before := ofA.writes(moves.Namespace)
	if got := ofB.writes(moves.Namespace); got != nil {
		t.Errorf("the second operator wrote in a namespace that it did not serve yet: %v", got)
	}

	moves.Relabel(key, "b")
	moves.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	moves.WaitState("moving", v1beta2.ApplicationStateCompleted)
	delete(before, "POST events") // which are written later than the status

	after := ofA.writes(moves.Namespace)
	delete(after, "POST events")

	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the first operator wrote in a namespace that it no longer served (-before +after):\n%s", diff)
	}

	for _, c := range []struct {
		own   *release
		other *release
		w     *world.World
	}{{ofA, ofB, a}, {ofB, ofA, b}} {
		own := c.own.writes(c.w.Namespace)
		if own["POST pods"] != 3 || own["PATCH sparkapplications/status"] == 0 || own["POST events"] == 0 {
			t.Errorf("in a served namespace an operator wrote %v, want 3 driver pods, statuses and events", own)
		}

		if got := c.other.writes(c.w.Namespace); got != nil {
			t.Errorf("an operator wrote %v in a namespace that it does not serve", got)
		}
	}

	if n := before["POST pods"] + ofB.writes(moves.Namespace)["POST pods"]; n != 1 {
		t.Errorf("%d drivers were created for the application that moved", n)
	}

	for w, n := range map[*world.World]int{a: 3, b: 3, moves: 1} {
		var pods corev1.PodList

		err := w.API.List(t.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{identity.RoleLabel: identity.RoleDriver})
		if err != nil || len(pods.Items) != n {
			t.Errorf("there are %d drivers, want %d; %v", len(pods.Items), n, err)
		}
	}
}
