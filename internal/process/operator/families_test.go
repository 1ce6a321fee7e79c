package operator

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
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// runBoth starts an operator that serves both API groups, as the binary does.
func (w *world) runBoth(cfg config.Configuration, change ...func(*Environment)) (stop func()) {
	w.T.Helper()

	env := w.environment()
	for _, c := range change {
		c(&env)
	}

	op, err := NewOperator(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}
	return w.run(op)
}

// TestBothFamilies checks an application in each API group and a cluster, all with the same name. The end or the
// deletion of one of these objects does not affect the other two.
func TestBothFamilies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runBoth(testConfig(w.Namespace))
	theirs := w.Application("pi", scene.WithDriver)
	ours := w.apacheApp("pi")
	cluster := w.sparkCluster("pi")
	first, second := w.runningDriver(theirs, 1), w.readyDriver(ours, 1)
	w.ready("pi-master-0")
	w.ready("pi-worker-0")
	w.waitCluster("pi", sparkv1.ClusterRunningHealthy)

	if first.Name != "pi-driver" || second.Name != "pi-0-driver" || first.Labels[identity.ApacheAppNameLabel] != "" || second.Labels[identity.AppUIDLabel] != string(ours.UID) {
		t.Errorf("the drivers are %s with %v and %s with %v", first.Name, first.Labels, second.Name, second.Labels)
	}

	for _, kind := range []string{"sparkapplication", kinds.ApacheApplicationName, kinds.ClusterName} {
		if n := w.standingNow(kind); n != 1 {
			t.Errorf("%v of %s are counted", n, kind)
		}
	}

	w.Remove(w.getApache("pi"))
	w.WaitGone(ours)
	w.WaitGone(second)

	if w.uidOf(first.Name) != first.UID {
		t.Error("the other API's driver was replaced")
	}

	w.kubelet(first.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitState("pi", v1beta2.ApplicationStateCompleted)
	w.Remove(w.Get("pi"))
	w.WaitGone(theirs)
	w.waitCluster("pi", sparkv1.ClusterRunningHealthy)
	w.mustExist(cluster)
}

// standingNow returns the number of custom resources of a kind according to the gauge sparkoperator_applications.
func (w *world) standingNow(kind string) (sum float64) {
	w.T.Helper()

	families, err := w.registry.Gather()
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
			w := newWorld(t)
			cfg := testConfig(w.Namespace)
			off(&cfg)
			w.runBoth(cfg)

			theirs, ours := w.Application("theirs", scene.WithDriver), w.apacheApp("ours")
			if cfg.Applications() {
				w.driverOf(theirs, 1)
				w.waitState("theirs", v1beta2.ApplicationStateSubmitted)

				if live := w.getApache("ours"); live.ResourceVersion != ours.ResourceVersion {
					t.Errorf("the object was changed: %+v", live.Status)
				}
				return
			}

			w.apacheDriver(ours, 1)
			w.waitApache("ours", sparkv1.ApplicationDriverRequested)

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
	w := newWorld(t)
	var hidden atomic.Bool
	hidden.Store(true)
	w.runBoth(testConfig(w.Namespace), func(env *Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(request *http.Request) (*http.Response, error) {
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
	ours := w.apacheApp("ours")
	driver := w.readyDriver(ours, 1)
	w.kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitApache("ours", sparkv1.ApplicationResourceReleased)
	w.waitLog("A kind is not served yet")
	hidden.Store(false)
	w.runningDriver(w.Application("theirs", scene.WithDriver), 1)
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
