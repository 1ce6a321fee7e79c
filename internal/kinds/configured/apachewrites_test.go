package configured_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestWritesOfAnApacheLife counts the writes of an application of spark.apache.org that succeeds, from its creation to
// the state ResourceReleased. Decision 0069 says why each is needed.
func TestWritesOfAnApacheLife(t *testing.T) {
	t.Parallel()
	w, made := world.New(t), &world.Requests{}
	began := time.Now() // the clock stands still, so that no driver is reported as pending on a busy machine
	stop := resources.RunApache(w, world.Config(w.Namespace), func() time.Time { return began }, func(env *operator.Environment) {
		env.Rest.Wrap(made.Over)
	})

	app := resources.CreateApache(w, "pi")
	driver := resources.ReadyDriver(w, app, 1)
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	stop() // every Event is written

	got := made.Since(nil)
	maps.DeleteFunc(got, func(what string, _ int) bool { return strings.HasPrefix(what, "GET ") })

	want := map[string]int{
		"POST configmaps": 1, "POST services": 1, "POST pods": 1, // the launch
		// DriverRequested; then DriverStarted to RunningHealthy, Succeeded, ResourceReleased
		"PATCH sparkapplications/status": 4,
		"DELETE configmaps":              1, "DELETE services": 1, "DELETE pods": 1, // after Succeeded is stored
		"POST events": 4, // one for each status
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
