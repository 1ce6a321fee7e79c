package operator_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestBothFamilies checks an application in each API group and a cluster, all with the same name. The end or the
// deletion of one of these objects does not affect the other two.
func TestBothFamilies(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunBoth(world.Config(w.Namespace))
	theirs := w.Application("pi", scene.WithDriver)
	ours := resources.CreateApache(w, "pi")
	cluster := resources.CreateCluster(w, "pi")
	first, second := w.RunningDriver(theirs, 1), resources.ReadyDriver(w, ours, 1)
	w.Ready("pi-master-0")
	w.Ready("pi-worker-0")
	resources.WaitCluster(w, "pi", sparkv1.ClusterRunningHealthy)

	if first.Name != "pi-driver" || second.Name != "pi-0-driver" || first.Labels[identity.ApacheAppNameLabel] != "" || second.Labels[identity.AppUIDLabel] != string(ours.UID) {
		t.Errorf("the drivers are %s with %v and %s with %v", first.Name, first.Labels, second.Name, second.Labels)
	}

	for _, kind := range []string{"sparkapplication", configured.ApacheApplicationName, configured.ClusterName} {
		if n := standingNow(w, kind); n != 1 {
			t.Errorf("%v of %s are counted", n, kind)
		}
	}

	w.Remove(resources.GetApache(w, "pi"))
	w.WaitGone(ours)
	w.WaitGone(second)

	if resources.UIDOf(w, first.Name) != first.UID {
		t.Error("the other API's driver was replaced")
	}

	w.Kubelet(first.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	w.Remove(w.Get("pi"))
	w.WaitGone(theirs)
	resources.WaitCluster(w, "pi", sparkv1.ClusterRunningHealthy)
	w.MustExist(cluster)
}

// standingNow returns the number of custom resources of a kind according to the gauge sparkoperator_applications.
func standingNow(w *world.World, kind string) (sum float64) {
	w.T.Helper()

	families, err := w.Registry.Gather()
	if err != nil {
		w.T.Fatal(err)
	}

	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if family.GetName() == "sparkoperator_applications" && label.GetName() == "kind" && label.GetValue() == kind {
					sum += m.GetGauge().GetValue()
				}
			}
		}
	}
	return sum
}

// TestFamilySwitchedOff checks that the operator does not change the objects of an API group that is switched off.
func TestFamilySwitchedOff(t *testing.T) {
	t.Parallel()

	for name, off := range map[string]func(*config.Configuration){
		"sparkoperator.k8s.io": func(cfg *config.Configuration) { cfg.SparkOperator.Enabled = new(false) },
		"spark.apache.org":     func(cfg *config.Configuration) { cfg.Apache.Enabled = new(false) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			cfg := world.Config(w.Namespace)
			off(&cfg)
			w.RunBoth(cfg)

			theirs, ours := w.Application("theirs", scene.WithDriver), resources.CreateApache(w, "ours")
			if cfg.Applications() {
				w.DriverOf(theirs, 1)
				w.WaitState("theirs", v1beta2.ApplicationStateSubmitted)

				if live := resources.GetApache(w, "ours"); live.ResourceVersion != ours.ResourceVersion {
					t.Errorf("the object was changed: %+v", live.Status)
				}
				return
			}

			resources.ApacheDriver(w, ours, 1)
			resources.WaitApache(w, "ours", sparkv1.ApplicationDriverRequested)

			if live := w.Get("theirs"); live.ResourceVersion != theirs.ResourceVersion {
				t.Errorf("the object was changed: %+v", live.Status)
			}
		})
	}
}

// TestFamilyWithoutDefinitions checks an operator without the definitions of one API group. It serves the other API
// group. Once the missing definitions are installed, it serves both groups without a restart.
func TestFamilyWithoutDefinitions(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	var hidden atomic.Bool
	hidden.Store(true)
	w.RunBoth(world.Config(w.Namespace), func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
				if hidden.Load() && strings.HasPrefix(request.URL.Path, "/apis/sparkoperator.k8s.io") {
					return &http.Response{
						StatusCode: http.StatusNotFound, Request: request, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(bytes.NewReader([]byte("404 page not found"))),
					}, nil
				}

				response, err := next.RoundTrip(request)
				if err == nil && hidden.Load() && strings.Trim(request.URL.Path, "/") == "apis" {
					err = withoutGroup(response)
				}
				return response, err
			})
		})
	})
	ours := resources.CreateApache(w, "ours")
	driver := resources.ReadyDriver(w, ours, 1)
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	resources.WaitApache(w, "ours", sparkv1.ApplicationResourceReleased)
	w.WaitLog("A kind is not served yet")
	hidden.Store(false)
	w.RunningDriver(w.Application("theirs", scene.WithDriver), 1)
}

// withoutGroup changes the response that lists the API groups, in either of its formats, so that it does not contain
// sparkoperator.k8s.io.
func withoutGroup(response *http.Response) error {
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}

	hidden := bytes.ReplaceAll(text, []byte("sparkoperator.k8s.io"), []byte("hiddenoperator.k8s.io"))
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(hidden)), int64(len(hidden))
	response.Header.Del("Content-Length")
	return nil
}
