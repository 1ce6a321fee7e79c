package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

const exposed = "Exposed"

// uiService waits until the UI's Service meets all the given conditions, and returns it. It triggers no pass, since the
// operator's own passes have to bring the Service into this state.
func (w *world) uiService(name string, holds ...func(*corev1.Service) error) *corev1.Service {
	w.T.Helper()

	service := &corev1.Service{}
	kit.Wait(w.T, "the UI's Service of "+name, func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name + "-ui-svc"}, service); err != nil {
			return err
		}

		for _, check := range holds {
			if err := check(service); err != nil {
				return err
			}
		}
		return nil
	})
	return service
}

// waitExposed waits until the condition Exposed has the given status and reason and its message contains all the texts,
// and returns the application.
func (w *world) waitExposed(name string, status metav1.ConditionStatus, reason string, says ...string) *v1beta2.SparkApplication {
	w.T.Helper()
	var app *v1beta2.SparkApplication
	kit.Wait(w.T, fmt.Sprintf("Exposed to be %s of %s", status, name), func(context.Context) error {
		app = w.Get(name)

		c := condition(app, exposed)
		if err := errors.Join(want(c.Status, status), want(c.Reason, reason)); err != nil {
			return fmt.Errorf("%w; it says %q", err, c.Message)
		}

		for _, text := range says {
			if !strings.Contains(c.Message, text) {
				return fmt.Errorf("it says %q, not %q", c.Message, text)
			}
		}
		return nil
	})
	return app
}

// edit changes an application's spec.
func (w *world) edit(name string, change func(*v1beta2.SparkApplicationSpec)) {
	w.T.Helper()
	app := w.Get(name)
	before := app.DeepCopy()
	change(&app.Spec)

	if err := w.API.Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// triggerPass triggers a pass over an application.
func (w *world) triggerPass(name string) {
	w.T.Helper()
	app := w.Get(name)
	before := app.DeepCopy()
	metav1.SetMetaDataAnnotation(&app.ObjectMeta, "poked", time.Now().String())

	if err := w.API.Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// TestUIService checks the Service of an application's UI. The operator creates it at the launch, reports it in the
// first status, and sends no other write for it. The Service is deleted together with the driver pod, and not when the
// driver ends. The status still contains the Service's name and address after that.
func TestUIService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := &requests{}
	w.runReal(func(env *Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.next = next; return made })
	})
	app := w.Application("pi", scene.WithDriver)
	got := w.waitState("pi", v1beta2.ApplicationStateSubmitted)
	service := w.uiService("pi")

	wantInfo := v1beta2.DriverInfo{PodName: driverName("pi"), WebUIServiceName: "pi-ui-svc", WebUIPort: 4040, WebUIAddress: service.Spec.ClusterIP + ":4040"}
	if diff := cmp.Diff(wantInfo, got.Status.DriverInfo); diff != "" {
		t.Errorf("driverInfo (-want +got):\n%s", diff)
	}

	if c := condition(got, exposed); c.Status != metav1.ConditionTrue {
		t.Errorf("Exposed is %+v", c)
	}

	driver := w.driverOf(app, 1)
	for key, value := range service.Spec.Selector {
		if driver.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, the driver has %q", key, value, driver.Labels[key])
		}
	}

	if port := service.Spec.Ports[0]; port.Name != "spark-driver-ui-port" || port.TargetPort != intstr.FromInt32(4040) {
		t.Errorf("the port is %+v", port)
	}

	if ref := metav1.GetControllerOf(service); ref == nil || ref.UID != app.UID {
		t.Errorf("the Service is owned by %+v", ref)
	}

	w.execute(driver, scene.Exited(0, ""))

	got = w.waitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.DriverInfo != wantInfo {
		t.Errorf("in the end driverInfo is %+v", got.Status.DriverInfo)
	}

	if c := condition(got, exposed); c.Type != "" {
		t.Errorf("in the end Exposed is %+v", c)
	}
	// A later change in the status shows that the pass before has ended.
	w.edit("pi", func(spec *v1beta2.SparkApplicationSpec) { spec.TimeToLiveSeconds = new(int64(3600)) })
	kit.Wait(t, "a pass over the ended application", func(context.Context) error {
		return want(w.Get("pi").Status.ObservedGeneration, w.Get("pi").Generation)
	})

	costs := made.since(nil)
	// The two Services are the driver's Service for its executors and the Service of the UI.
	if costs["POST services"] != 2 || costs["GET services"] > 1 || costs["PATCH services"] > 0 || costs["DELETE services"] > 0 || costs["PATCH sparkapplications/status"] > 4 {
		t.Errorf("the whole life of the application causes the requests %v", costs)
	}

	if now := w.uiService("pi"); now.UID != service.UID || now.DeletionTimestamp != nil {
		t.Errorf("the Service of the retained driver was replaced or is being deleted: %+v", now.ObjectMeta)
	}

	if err := w.API.Delete(t.Context(), w.waitPod(driver.Name), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(service)

	if got := w.Get("pi").Status.DriverInfo; got != wantInfo {
		t.Errorf("without its pod driverInfo is %+v", got)
	}
}

// TestAuxiliaryObjectsThatCannotBeDeleted checks that auxiliary objects that cannot be deleted at the end of an
// application delay nothing. The status of the ended application reports them, and the operator deletes them once it
// can.
func TestAuxiliaryObjectsThatCannotBeDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &keeping{}
	c.keeps.Store(true)

	later := &atomic.Int64{}
	w.runWith(testConfig(w.Namespace), func() time.Time { return time.Now().Add(time.Duration(later.Load())) }, func(env *Environment) {
		env.wrap = func(inner client.Client) client.Client { c.Client = inner; return c }
	})
	app := w.Application("pi", scene.WithDriver)
	driver := w.driverOf(app, 1)
	service := w.uiService("pi")
	w.execute(driver, scene.Exited(0, ""))
	w.waitState("pi", v1beta2.ApplicationStateCompleted)

	if err := w.API.Delete(t.Context(), w.waitPod(driver.Name), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the remaining objects to be reported", func(context.Context) error {
		w.triggerPass("pi")
		c := condition(w.Get("pi"), exposed)
		return errors.Join(want(c.Status, metav1.ConditionFalse), want(c.Reason, apianswer.ReasonForbidden), want(c.Message, "Service pi-ui-svc: policy: it stays"))
	})
	c.keeps.Store(false)
	later.Store(int64(time.Minute))
	w.triggerPass("pi")
	w.WaitGone(service)
	kit.Wait(t, "the report to disappear", func(context.Context) error {
		return want(condition(w.Get("pi"), exposed).Type, "")
	})
}

// keeping is a client that rejects the deletion of Services.
type keeping struct {
	client.Client
	keeps atomic.Bool
}

func (c *keeping) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if dependents.KindOf(object) == "Service" && c.keeps.Load() {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: "policy: it stays"}}
	}
	return c.Client.Delete(ctx, object, options...)
}

// TestUIServiceGoesWithItsAttempt checks that every attempt has a Service for its UI. A suspension deletes the Service.
// A resumption creates one for the next attempt, and a Service that somebody deletes is created again. A restart moves
// the Service to the new attempt.
func TestUIServiceGoesWithItsAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, onFailure(1))
	w.ready(w.driverOf(app, 1).Name)
	first := w.uiService("pi")
	w.suspend("pi", true)
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitGone(first.DeepCopy())

	if info := w.Get("pi").Status.DriverInfo; info.WebUIServiceName != "" || info.WebUIAddress != "" {
		t.Errorf("driverInfo of the suspended application is %+v", info)
	}

	w.suspend("pi", false)
	w.ready(w.driverOf(app, 2).Name)

	second := w.uiService("pi", func(s *corev1.Service) error { return want(identity.Attempt(s), 2) })
	if err := w.API.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}

	third := w.uiService("pi", func(s *corev1.Service) error { return want(s.UID != second.UID, true) })
	kit.Wait(t, "the new address", func(context.Context) error {
		return want(w.Get("pi").Status.DriverInfo.WebUIAddress, third.Spec.ClusterIP+":4040")
	})
	w.kubelet(driverName("pi"), corev1.PodFailed, scene.Exited(1, "again"))
	w.driverOf(app, 3)
	w.uiService("pi", func(s *corev1.Service) error { return want(identity.Attempt(s), 3) })

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	w.waitNothingOf(app)
}

// TestUIServiceOfTheNextAttempt checks that the UI's Service stays after a failure of the driver. The next attempt
// adopts the Service, updates it to the current options, and keeps its address.
func TestUIServiceOfTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	later := &atomic.Int64{}
	w.runWith(testConfig(w.Namespace), func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	app := w.Application("pi", scene.WithDriver, onFailure(1), func(app *v1beta2.SparkApplication) {
		app.Spec.RestartPolicy.OnFailureRetryInterval = new(int64(3600))
	})
	w.ready(w.driverOf(app, 1).Name)
	first := w.uiService("pi")
	w.kubelet(driverName("pi"), corev1.PodFailed, scene.Exited(1, "again"))
	w.waitState("pi", v1beta2.ApplicationStateFailing)
	w.edit("pi", func(spec *v1beta2.SparkApplicationSpec) {
		spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(int32(80))}
	})

	if now := w.uiService("pi"); now.UID != first.UID || identity.Attempt(now) != 1 {
		t.Errorf("while the retry waits there is %+v", now.ObjectMeta)
	}

	later.Store(int64(2 * time.Hour))
	w.triggerPass("pi")
	driver := w.driverOf(app, 2)

	second := w.uiService("pi", func(s *corev1.Service) error {
		return errors.Join(want(identity.Attempt(s), 2), want(s.Spec.Ports[0].Port, 80))
	})
	if second.UID != first.UID || second.Spec.ClusterIP != first.Spec.ClusterIP || len(second.Spec.Ports) != 1 {
		t.Errorf("the Service of attempt 2 is %+v", second)
	}

	if !labels.SelectorFromSet(second.Spec.Selector).Matches(labels.Set(driver.Labels)) {
		t.Errorf("the Service selects %v, the driver has %v", second.Spec.Selector, driver.Labels)
	}

	kit.Wait(t, "the port in the status", func(context.Context) error {
		return want(w.Get("pi").Status.DriverInfo.WebUIAddress, first.Spec.ClusterIP+":80")
	})
}

// TestUIServiceIsUpdatedInPlace checks that an edit of the Service's options does not restart the run, keeps what
// others added to the Service, and removes fields that are no longer wanted.
func TestUIServiceIsUpdatedInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := &requests{}
	w.runReal(func(env *Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.next = next; return made })
	})
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{
			ServicePort: new(int32(80)), ServicePortName: new("web"),
			ServiceLabels:      map[string]string{"team": "a", identity.AppUIDLabel: "mine", "sparkoperator.k8s.io/app-name": "mine"},
			ServiceAnnotations: map[string]string{"first": "1", "both": "1"},
		}
	})
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)

	before := w.uiService("pi")
	if before.Labels["team"] != "a" || before.Labels[identity.AppUIDLabel] != string(app.UID) || before.Labels["sparkoperator.k8s.io/app-name"] != "pi" {
		t.Errorf("the labels are %v", before.Labels)
	}

	theirs := before.DeepCopy()
	metav1.SetMetaDataAnnotation(&theirs.ObjectMeta, "theirs", "kept")

	if err := w.API.Patch(t.Context(), theirs, client.MergeFrom(before), client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}

	for _, port := range []int32{81, 82} { // the second update starts from the result of the first
		w.edit("pi", func(spec *v1beta2.SparkApplicationSpec) {
			spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{
				ServicePort: &port, ServiceType: new(corev1.ServiceTypeNodePort), ServiceAnnotations: map[string]string{"both": fmt.Sprint(port)},
			}
		})

		after := w.uiService("pi", func(s *corev1.Service) error { return want(s.Spec.Ports[0].Port, port) })
		if after.UID != before.UID || after.Spec.ClusterIP != before.Spec.ClusterIP {
			t.Error("the Service was replaced")
		}

		wantAnnotations := map[string]string{"theirs": "kept", "both": fmt.Sprint(port)}
		if diff := cmp.Diff(wantAnnotations, after.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}

		if p := after.Spec.Ports; len(p) != 1 || p[0].Name != "spark-driver-ui-port" || after.Spec.Type != corev1.ServiceTypeNodePort || after.Labels["team"] != "" {
			t.Errorf("the ports are %+v of type %s, the labels %v", p, after.Spec.Type, after.Labels)
		}

		kit.Wait(t, "the new port in the status", func(context.Context) error {
			info := w.Get("pi").Status.DriverInfo
			return errors.Join(want(info.WebUIPort, port), want(info.WebUIAddress, fmt.Sprintf("%s:%d", before.Spec.ClusterIP, port)))
		})
	}

	patches := made.since(nil)["PATCH services"]

	w.edit("pi", func(spec *v1beta2.SparkApplicationSpec) { spec.SparkConf = nil; spec.SparkUIOptions = nil })
	w.uiService("pi", func(s *corev1.Service) error { return want(s.Spec.Type, corev1.ServiceTypeClusterIP) })
	w.triggerPass("pi")
	w.execute(driver, scene.Exited(0, ""))

	got := w.waitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.ExecutionAttempts != 1 {
		t.Errorf("%d runs, want 1", got.Status.ExecutionAttempts)
	}
	// The first two updates send three requests: one changes the ownership of the created fields, and each edit is one.
	if last := made.since(nil)["PATCH services"]; patches != 3 || last != 4 {
		t.Errorf("%d requests for two updates, %d for three", patches, last)
	}
}

// TestUIServiceOfSomebodyElse checks that the operator never changes somebody else's Service that has the name of the
// UI's Service. The application continues to run, reports the conflict once, and gets its Service when the name is
// free.
func TestUIServiceOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-ui-svc"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}, Selector: map[string]string{"a": "b"}},
	}
	w.Create(theirs)

	made := &requests{}
	later := &atomic.Int64{}
	w.runWith(testConfig(w.Namespace), func() time.Time { return time.Now().Add(time.Duration(later.Load())) }, func(env *Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.next = next; return made })
	})
	app := w.Application("pi", scene.WithDriver)
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)
	w.waitState("pi", v1beta2.ApplicationStateRunning)

	got := w.waitExposed("pi", metav1.ConditionFalse, dependents.ReasonNameTaken, `"pi-ui-svc"`, "does not belong to this resource", "the application continues to run")
	if got.Status.DriverInfo.WebUIServiceName != "" {
		t.Errorf("driverInfo is %+v", got.Status.DriverInfo)
	}

	for i := range 20 {
		w.Create(w.executor(app, driver, i+1))
	}

	w.kubelet("pi-exec-1", corev1.PodRunning, running()) // while none runs, the counts are debounced longer (debounce.go)
	kit.Wait(t, "the executors in the status", func(context.Context) error {
		if counts := w.Get("pi").Status.Executors; counts == nil || counts.Pending != 19 {
			return fmt.Errorf("the counts are %+v", counts)
		}
		return nil
	})

	if asked := made.since(nil)["POST services"]; asked > 3 {
		t.Errorf("the creation was repeated %d times", asked-1)
	}

	w.waitEvent(app, dependents.ReasonNameTaken, "does not belong to this resource")

	if reported := w.EventsOf(app)[dependents.ReasonNameTaken]; strings.Contains(reported, "\n") {
		t.Errorf("reported more than once:\n%s", reported)
	}

	still := &corev1.Service{}
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(theirs), still); err != nil || still.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("somebody else's Service was changed: %v", err)
	}

	if err := w.API.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}

	later.Store(int64(time.Minute))
	w.triggerPass("pi")
	w.uiService("pi", func(s *corev1.Service) error { return want(metav1.IsControlledBy(s, app), true) })
	w.waitExposed("pi", metav1.ConditionTrue, exposed)
}

// TestUIServiceIsAdopted checks that the operator adopts a Service that a crashed operator created before it stored the
// status. It creates no second Service.
func TestUIServiceIsAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deaf := &statusless{}
	stop := w.runReal(func(env *Environment) {
		env.wrap = func(c client.Client) client.Client { deaf.Client = c; return deaf }
	})
	app := w.Application("pi", scene.WithDriver)
	w.driverOf(app, 1)
	made := w.uiService("pi")

	stop()

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateNew {
		t.Fatalf("the status was written: %s", state)
	}

	w.runReal()

	got := w.waitExposed("pi", metav1.ConditionTrue, exposed)
	if now := w.uiService("pi"); now.UID != made.UID || got.Status.DriverInfo.WebUIAddress != made.Spec.ClusterIP+":4040" {
		t.Errorf("driverInfo is %+v", got.Status.DriverInfo)
	}
}

// statusless is a client that fails every status write.
type statusless struct{ client.Client }

func (c *statusless) Status() client.SubResourceWriter { return failingStatus{c.Client.Status()} }

type failingStatus struct{ client.SubResourceWriter }

func (failingStatus) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return apierrors.NewInternalError(errors.New("no status today"))
}

// TestAuxiliaryObjectsThatFail checks that an application runs to its end, whatever error the API server returns for
// the creation of an auxiliary object. A rejection is reported at once, and a transient error only if it lasts.
func TestAuxiliaryObjectsThatFail(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		err    error
		times  int64
		reason string // of the condition while it fails; "" if nothing is reported
	}{
		{"a transient error, once", apierrors.NewServiceUnavailable("one moment"), 1, ""},
		{"a transient error that lasts", apierrors.NewServiceUnavailable("the end"), 1 << 30, auxiliary.ReasonUnavailable},
		{"a policy denies Services", apierrors.NewForbidden(corev1.Resource("services"), "pi-ui-svc", errors.New("policy: no such Services here")), 1 << 30, apianswer.ReasonForbidden},
		{"the operator has no right", apierrors.NewForbidden(corev1.Resource("services"), "pi-ui-svc", errors.New(`User "op" cannot create resource`)), 1 << 30, apianswer.ReasonOperatorForbidden},
		{"the API server finds the Service invalid", apierrors.NewBadRequest("this port is not good"), 1 << 30, apianswer.ReasonInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := &unwilling{err: test.err}
			c.times.Store(test.times)
			w.runReal(func(env *Environment) {
				env.wrap = func(inner client.Client) client.Client { c.Client = inner; return c }
			})
			app := w.Application("pi", scene.WithDriver)
			driver := w.driverOf(app, 1)
			w.ready(driver.Name)
			w.waitState("pi", v1beta2.ApplicationStateRunning)

			if test.reason == "" {
				w.uiService("pi")
				w.waitExposed("pi", metav1.ConditionTrue, exposed)
			} else {
				w.waitExposed("pi", metav1.ConditionFalse, test.reason, "Service pi-ui-svc: ")
				w.waitEvent(app, test.reason, "Service pi-ui-svc")
			}

			w.execute(driver, scene.Exited(0, ""))
			w.waitState("pi", v1beta2.ApplicationStateCompleted)
			w.waitPod(driver.Name)
		})
	}
}

// unwilling is a client that fails the creation of the web UI's Services a given number of times.
type unwilling struct {
	client.Client
	err   error
	times atomic.Int64
}

func (c *unwilling) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if strings.HasSuffix(object.GetName(), "-ui-svc") && c.times.Add(-1) >= 0 {
		return c.err
	}
	return c.Client.Create(ctx, object, options...)
}

// runWith starts an operator that serves SparkApplications of sparkoperator.k8s.io, with the given configuration and
// clock.
func (w *world) runWith(cfg config.Configuration, clock controller.Clock, change ...func(*Environment)) (stop func()) {
	w.T.Helper()

	env := w.environment()
	for _, c := range change {
		c(&env)
	}

	op, err := newOperator(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}

	if err := Add(w.T.Context(), op, kinds.SparkApplications(op.Settings, nil), clock); err != nil {
		w.T.Fatal(err)
	}
	return w.run(op)
}
