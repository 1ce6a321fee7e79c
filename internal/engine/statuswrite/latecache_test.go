package statuswrite_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestDriverIsRenamedBeforeItsLaunchIsStored checks an edit of spec.driver.podName just after the driver was created,
// when neither the status nor the cache shows the driver yet. The API server would now accept a second driver, because
// its name differs. The operator must therefore find the first driver by a live read, and delete it before it creates
// the next one.
func TestDriverIsRenamedBeforeItsLaunchIsStored(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	hears := &world.LaggingWatch{Resource: "pods"}
	var hold, rename sync.Once
	var end func()
	w.RunReal(func(env *operator.Environment) {
		env.Rest.Wrap(hears.Over)
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
				switch {
				case request.Method == http.MethodDelete && strings.HasSuffix(request.URL.Path, "/pods/pi-driver"):
					end() // the operator has found the first driver, so its cache may show pods again
					fallthrough
				case request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/pods"):
					return next.RoundTrip(request)
				}

				var beside corev1.PodList
				if err := w.API.List(request.Context(), &beside, client.InNamespace(w.Namespace)); err != nil ||
					len(beside.Items) > 0 {
					t.Errorf("the operator creates a driver although %d pods exist (%v)", len(beside.Items), err)
				}

				hold.Do(func() { end = hears.Begin() })

				response, err := next.RoundTrip(request)
				rename.Do(func() { // the new name sorts before the old one, so a second driver would hide the first
					patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"driver":{"podName":"a-driver"}}}`))

					app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi"}}
					if err := w.API.Patch(request.Context(), app, patch); err != nil {
						t.Error(err)
					}
				})
				return response, err
			})
		})
	})

	app := w.Application("pi", scene.WithDriver)
	if name := w.DriverOf(app, 2).Name; name != "a-driver" {
		t.Errorf("the driver of the edited spec has the name %s", name)
	}
}

// TestDriverStartsUnseen checks a driver that starts before its deadline although the cache does not show that. At the
// deadline a live read finds that the driver runs, and the driver continues to run.
func TestDriverStartsUnseen(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	hears, made := &world.LaggingWatch{Resource: "pods"}, &world.Requests{}
	w.RunReal(func(env *operator.Environment) {
		env.Rest.Wrap(hears.Over)
		env.Rest.Wrap(made.Over)
	})
	app := w.Application("pi", scene.WithDriver, world.Timeouts(v1beta2.Timeouts{DriverStartSeconds: new(int64(5))}))
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	driver := w.DriverOf(app, 1)
	end, before := hears.Begin(), made.Since(nil)

	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	kit.Wait(t, "a live read", func(context.Context) error {
		return world.Want(made.Since(before)["GET pods"] > 0,
			true)
	})
	end()
	w.WaitState("pi", v1beta2.ApplicationStateRunning)

	if now := w.DriverOf(app, 1); now.UID != driver.UID || now.DeletionTimestamp != nil {
		t.Errorf("the driver is %+v", now.ObjectMeta)
	}
}
