package configured_test

import (
	"bytes"
	"io"
	"net/http"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// overloaded returns a change of an environment: the API server answers the first creations of a resource as a server
// that is overloaded, with a Retry-After hint, then as a server that is down. The number counts these answers.
func overloaded(resource string, answers *atomic.Int32) func(*operator.Environment) {
	return func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
				if request.Method != http.MethodPost || path.Base(request.URL.Path) != resource || answers.Load() >= 4 {
					return next.RoundTrip(request)
				}

				response := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: request}
				if answers.Add(1) <= 2 {
					response.StatusCode = http.StatusTooManyRequests
					response.Header.Set("Retry-After", "1")
				}
				return response, nil
			})
		})
	}
}

// TestOverloadIsNoRejection checks that answers of an overloaded API server end neither an attempt nor a cluster: their
// objects are created when it answers again, and no state reports a failure.
func TestOverloadIsNoRejection(t *testing.T) {
	t.Parallel()

	t.Run("application", func(t *testing.T) {
		t.Parallel()
		w, answers := world.New(t), &atomic.Int32{}
		resources.RunApache(w, world.Config(w.Namespace), time.Now, overloaded("pods", answers))
		app := resources.CreateApache(w, "pi")
		resources.ReadyDriver(w, app, 1)

		checkHistory(t, resources.GetApache(w, "pi"), resources.Ran())

		if n := answers.Load(); n != 4 {
			t.Errorf("%d requests were answered by an overloaded server", n)
		}
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		w, answers := world.New(t), &atomic.Int32{}
		resources.Kubelets(w)
		resources.RunClusters(w, world.Config(w.Namespace), time.Now, overloaded("statefulsets", answers))
		resources.CreateCluster(w, "c")

		got := resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1), resources.ClusterHolds("Ready", metav1.ConditionTrue))

		var states []sparkv1.ClusterStateSummary
		for _, key := range []string{"0", "1", "2"} {
			if state, ok := got.Status.StateTransitionHistory[key]; ok {
				states = append(states, state.CurrentStateSummary)
			}
		}

		if diff := cmp.Diff([]sparkv1.ClusterStateSummary{sparkv1.ClusterSubmitted, sparkv1.ClusterRunningHealthy}, states); diff != "" {
			t.Errorf("the states (-want +got):\n%s", diff)
		}
	})
}
