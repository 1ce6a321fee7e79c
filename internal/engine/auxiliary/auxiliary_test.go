package auxiliary_test

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
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// editOptions changes an application's spec.
func editOptions(w *world.World, name string, change func(*v1beta2.SparkApplicationSpec)) {
	w.T.Helper()
	app := w.Get(name)
	before := app.DeepCopy()
	change(&app.Spec)

	if err := w.API.Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// TestUIService checks the Service of an application's UI. The operator creates it at the launch, reports it in the
// first status, and sends no other write for it. The Service is deleted together with the driver pod, and not when the
// driver ends. The status still contains the Service's name and address after that.
func TestUIService(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	made := &world.Requests{}
	w.RunReal(func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.Next = next; return made })
	})
	app := w.Application("pi", scene.WithDriver)
	got := w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	service := w.UIService("pi")

	wantInfo := v1beta2.DriverInfo{PodName: world.DriverName("pi"), WebUIServiceName: "pi-ui-svc", WebUIPort: 4040,
		WebUIAddress: service.Spec.ClusterIP + ":4040"}
	if diff := cmp.Diff(wantInfo, got.Status.DriverInfo); diff != "" {
		t.Errorf("driverInfo (-want +got):\n%s", diff)
	}

	if c := world.Condition(got, world.Exposed); c.Status != metav1.ConditionTrue {
		t.Errorf("Exposed is %+v", c)
	}

	driver := w.DriverOf(app, 1)
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

	w.Execute(driver, scene.Exited(0, ""))

	got = w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.DriverInfo != wantInfo {
		t.Errorf("in the end driverInfo is %+v", got.Status.DriverInfo)
	}

	if c := world.Condition(got, world.Exposed); c.Type != "" {
		t.Errorf("in the end Exposed is %+v", c)
	}
	// A later change in the status shows that the pass before has ended.
	editOptions(w, "pi", func(spec *v1beta2.SparkApplicationSpec) { spec.TimeToLiveSeconds = new(int64(3600)) })
	kit.Wait(t, "a pass over the ended application", func(context.Context) error {
		return world.Want(w.Get("pi").Status.ObservedGeneration, w.Get("pi").Generation)
	})

	costs := made.Since(nil)
	// The two Services are the driver's Service for its executors and the Service of the UI.
	if costs["POST services"] != 2 || costs["GET services"] > 1 || costs["PATCH services"] > 0 ||
		costs["DELETE services"] > 0 || costs["PATCH sparkapplications/status"] > 4 {
		t.Errorf("the whole life of the application causes the requests %v", costs)
	}

	if now := w.UIService("pi"); now.UID != service.UID || now.DeletionTimestamp != nil {
		t.Errorf("the Service of the retained driver was replaced or is being deleted: %+v", now.ObjectMeta)
	}

	if err := w.API.Delete(t.Context(), w.WaitPod(driver.Name), client.GracePeriodSeconds(0)); err != nil {
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
	w := world.New(t)
	c := &keeping{}
	c.keeps.Store(true)

	later := &atomic.Int64{}
	w.RunWith(world.Config(w.Namespace), func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
		func(env *operator.Environment) {
			env.Wrap = func(inner client.Client) client.Client { c.Client = inner; return c }
		})
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	service := w.UIService("pi")
	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)

	if err := w.API.Delete(t.Context(), w.WaitPod(driver.Name), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the remaining objects to be reported", func(context.Context) error {
		w.TriggerPass("pi")
		c := world.Condition(w.Get("pi"), world.Exposed)
		return errors.Join(world.Want(c.Status, metav1.ConditionFalse), world.Want(c.Reason, apianswer.ReasonForbidden),
			world.Want(c.Message, "Service pi-ui-svc: policy: it stays"))
	})
	c.keeps.Store(false)
	later.Store(int64(time.Minute))
	w.TriggerPass("pi")
	w.WaitGone(service)
	kit.Wait(t, "the report to disappear", func(context.Context) error {
		return world.Want(world.Condition(w.Get("pi"), world.Exposed).Type, "")
	})
}

// keeping is a client that rejects the deletion of Services.
type keeping struct {
	client.Client
	keeps atomic.Bool
}

func (c *keeping) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if dependents.KindOf(object) == "Service" && c.keeps.Load() {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 403,
			Reason: metav1.StatusReasonForbidden, Message: "policy: it stays"}}
	}
	return c.Client.Delete(ctx, object, options...)
}

// TestUIServiceGoesWithItsAttempt checks that every attempt has a Service for its UI. A suspension deletes the Service.
// A resumption creates one for the next attempt, and a Service that somebody deletes is created again. A restart moves
// the Service to the new attempt.
func TestUIServiceGoesWithItsAttempt(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.OnFailure(1))
	w.Ready(w.DriverOf(app, 1).Name)
	first := w.UIService("pi")
	w.Suspend("pi", true)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitGone(first.DeepCopy())

	if info := w.Get("pi").Status.DriverInfo; info.WebUIServiceName != "" || info.WebUIAddress != "" {
		t.Errorf("driverInfo of the suspended application is %+v", info)
	}

	w.Suspend("pi", false)
	w.Ready(w.DriverOf(app, 2).Name)

	second := w.UIService("pi", func(s *corev1.Service) error { return world.Want(identity.Attempt(s), 2) })
	if err := w.API.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}

	third := w.UIService("pi", func(s *corev1.Service) error { return world.Want(s.UID != second.UID, true) })
	kit.Wait(t, "the new address", func(context.Context) error {
		return world.Want(w.Get("pi").Status.DriverInfo.WebUIAddress, third.Spec.ClusterIP+":4040")
	})
	w.Kubelet(world.DriverName("pi"), corev1.PodFailed, scene.Exited(1, "again"))
	w.DriverOf(app, 3)
	w.UIService("pi", func(s *corev1.Service) error { return world.Want(identity.Attempt(s), 3) })

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	w.WaitNothingOf(app)
}

// TestUIServiceOfTheNextAttempt checks that the UI's Service stays after a failure of the driver. The next attempt
// adopts the Service, updates it to the current options, and keeps its address.
func TestUIServiceOfTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	later := &atomic.Int64{}
	w.RunWith(world.Config(w.Namespace), func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	app := w.Application("pi", scene.WithDriver, world.OnFailure(1), func(app *v1beta2.SparkApplication) {
		app.Spec.RestartPolicy.OnFailureRetryInterval = new(int64(3600))
	})
	w.Ready(w.DriverOf(app, 1).Name)
	first := w.UIService("pi")
	w.Kubelet(world.DriverName("pi"), corev1.PodFailed, scene.Exited(1, "again"))
	w.WaitState("pi", v1beta2.ApplicationStateFailing)
	editOptions(w, "pi", func(spec *v1beta2.SparkApplicationSpec) {
		spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(int32(80))}
	})

	if now := w.UIService("pi"); now.UID != first.UID || identity.Attempt(now) != 1 {
		t.Errorf("while the retry waits there is %+v", now.ObjectMeta)
	}

	later.Store(int64(2 * time.Hour))
	w.TriggerPass("pi")
	driver := w.DriverOf(app, 2)

	second := w.UIService("pi", func(s *corev1.Service) error {
		return errors.Join(world.Want(identity.Attempt(s), 2), world.Want(s.Spec.Ports[0].Port, 80))
	})
	if second.UID != first.UID || second.Spec.ClusterIP != first.Spec.ClusterIP || len(second.Spec.Ports) != 1 {
		t.Errorf("the Service of attempt 2 is %+v", second)
	}

	if !labels.SelectorFromSet(second.Spec.Selector).Matches(labels.Set(driver.Labels)) {
		t.Errorf("the Service selects %v, the driver has %v", second.Spec.Selector, driver.Labels)
	}

	kit.Wait(t, "the port in the status", func(context.Context) error {
		return world.Want(w.Get("pi").Status.DriverInfo.WebUIAddress, first.Spec.ClusterIP+":80")
	})
}

// TestUIServiceIsUpdatedInPlace checks that an edit of the Service's options does not restart the run, keeps what
// others added to the Service, and removes fields that are no longer wanted.
func TestUIServiceIsUpdatedInPlace(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	made := &world.Requests{}
	w.RunReal(func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.Next = next; return made })
	})
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{
			ServicePort: new(int32(80)), ServicePortName: new("web"),
			ServiceLabels: map[string]string{"team": "a", identity.AppUIDLabel: "mine",
				"sparkoperator.k8s.io/app-name": "mine"},
			ServiceAnnotations: map[string]string{"first": "1", "both": "1"},
		}
	})
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)

	before := w.UIService("pi")
	if before.Labels["team"] != "a" || before.Labels[identity.AppUIDLabel] != string(app.UID) ||
		before.Labels["sparkoperator.k8s.io/app-name"] != "pi" {
		t.Errorf("the labels are %v", before.Labels)
	}

	theirs := before.DeepCopy()
	metav1.SetMetaDataAnnotation(&theirs.ObjectMeta, "theirs", "kept")

	if err := w.API.Patch(t.Context(), theirs, client.MergeFrom(before), client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}

	for _, port := range []int32{81, 82} { // the second update starts from the result of the first
		editOptions(w, "pi", func(spec *v1beta2.SparkApplicationSpec) {
			spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{
				ServicePort: &port, ServiceType: new(corev1.ServiceTypeNodePort),
				ServiceAnnotations: map[string]string{"both": fmt.Sprint(port)},
			}
		})

		after := w.UIService("pi", func(s *corev1.Service) error { return world.Want(s.Spec.Ports[0].Port, port) })
		if after.UID != before.UID || after.Spec.ClusterIP != before.Spec.ClusterIP {
			t.Error("the Service was replaced")
		}

		wantAnnotations := map[string]string{"theirs": "kept", "both": fmt.Sprint(port)}
		if diff := cmp.Diff(wantAnnotations, after.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}

		if p := after.Spec.Ports; len(p) != 1 || p[0].Name != "spark-driver-ui-port" ||
			after.Spec.Type != corev1.ServiceTypeNodePort || after.Labels["team"] != "" {
			t.Errorf("the ports are %+v of type %s, the labels %v", p, after.Spec.Type, after.Labels)
		}

		kit.Wait(t, "the new port in the status", func(context.Context) error {
			info := w.Get("pi").Status.DriverInfo
			return errors.Join(world.Want(info.WebUIPort, port),
				world.Want(info.WebUIAddress, fmt.Sprintf("%s:%d", before.Spec.ClusterIP, port)))
		})
	}

	patches := made.Since(nil)["PATCH services"]

	editOptions(w, "pi", func(spec *v1beta2.SparkApplicationSpec) { spec.SparkConf = nil; spec.SparkUIOptions = nil })
	w.UIService("pi", func(s *corev1.Service) error { return world.Want(s.Spec.Type, corev1.ServiceTypeClusterIP) })
	w.TriggerPass("pi")
	w.Execute(driver, scene.Exited(0, ""))

	got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.ExecutionAttempts != 1 {
		t.Errorf("%d runs, want 1", got.Status.ExecutionAttempts)
	}
	// The first two updates send three requests: one changes the ownership of the created fields, and each edit is one.
	if last := made.Since(nil)["PATCH services"]; patches != 3 || last != 4 {
		t.Errorf("%d requests for two updates, %d for three", patches, last)
	}
}

// TestUIServiceOfSomebodyElse checks that the operator never changes somebody else's Service that has the name of the
// UI's Service. The application continues to run, reports the conflict once, and gets its Service when the name is
// free.
func TestUIServiceOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-ui-svc"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}, Selector: map[string]string{"a": "b"}},
	}
	w.Create(theirs)

	made := &world.Requests{}
	later := &atomic.Int64{}
	w.RunWith(world.Config(w.Namespace), func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
		func(env *operator.Environment) {
			env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.Next = next; return made })
		})
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	w.WaitState("pi", v1beta2.ApplicationStateRunning)

	got := w.WaitExposed("pi", metav1.ConditionFalse, dependents.ReasonNameTaken, `"pi-ui-svc"`,
		"does not belong to this resource", "the application continues to run")
	if got.Status.DriverInfo.WebUIServiceName != "" {
		t.Errorf("driverInfo is %+v", got.Status.DriverInfo)
	}

	for i := range 20 {
		w.Create(w.Executor(app, driver, i+1))
	}

	// While none runs, the counts are debounced longer (debounce.go).
	w.Kubelet("pi-exec-1", corev1.PodRunning, world.Running())
	kit.Wait(t, "the executors in the status", func(context.Context) error {
		if counts := w.Get("pi").Status.Executors; counts == nil || counts.Pending != 19 {
			return fmt.Errorf("the counts are %+v", counts)
		}
		return nil
	})

	if asked := made.Since(nil)["POST services"]; asked > 3 {
		t.Errorf("the creation was repeated %d times", asked-1)
	}

	w.WaitEvent(app, dependents.ReasonNameTaken, "does not belong to this resource")

	if reported := w.EventsOf(app)[dependents.ReasonNameTaken]; strings.Contains(reported, "\n") {
		t.Errorf("reported more than once:\n%s", reported)
	}

	still := &corev1.Service{}
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(theirs), still); err != nil ||
		still.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("somebody else's Service was changed: %v", err)
	}

	if err := w.API.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}

	later.Store(int64(time.Minute))
	w.TriggerPass("pi")
	w.UIService("pi", func(s *corev1.Service) error { return world.Want(metav1.IsControlledBy(s, app), true) })
	w.WaitExposed("pi", metav1.ConditionTrue, world.Exposed)
}

// TestUIServiceIsAdopted checks that the operator adopts a Service that a crashed operator created before it stored the
// status. It creates no second Service.
func TestUIServiceIsAdopted(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	deaf := &statusless{}
	stop := w.RunReal(func(env *operator.Environment) {
		env.Wrap = func(c client.Client) client.Client { deaf.Client = c; return deaf }
	})
	app := w.Application("pi", scene.WithDriver)
	w.DriverOf(app, 1)
	made := w.UIService("pi")

	stop()

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateNew {
		t.Fatalf("the status was written: %s", state)
	}

	w.RunReal()

	got := w.WaitExposed("pi", metav1.ConditionTrue, world.Exposed)
	if now := w.UIService("pi"); now.UID != made.UID ||
		got.Status.DriverInfo.WebUIAddress != made.Spec.ClusterIP+":4040" {
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
		{"a transient error that lasts", apierrors.NewServiceUnavailable("the end"), 1 << 30,
			auxiliary.ReasonUnavailable},
		{"a policy denies Services",
			apierrors.NewForbidden(corev1.Resource("services"), "pi-ui-svc",
				errors.New("policy: no such Services here")), 1 << 30, apianswer.ReasonForbidden},
		{"the operator has no right",
			apierrors.NewForbidden(corev1.Resource("services"), "pi-ui-svc",
				errors.New(`User "op" cannot create resource`)), 1 << 30, apianswer.ReasonOperatorForbidden},
		{"the API server finds the Service invalid", apierrors.NewBadRequest("this port is not good"), 1 << 30,
			apianswer.ReasonInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			c := &unwilling{err: test.err}
			c.times.Store(test.times)
			w.RunReal(func(env *operator.Environment) {
				env.Wrap = func(inner client.Client) client.Client { c.Client = inner; return c }
			})
			app := w.Application("pi", scene.WithDriver)
			driver := w.DriverOf(app, 1)
			w.Ready(driver.Name)
			w.WaitState("pi", v1beta2.ApplicationStateRunning)

			if test.reason == "" {
				w.UIService("pi")
				w.WaitExposed("pi", metav1.ConditionTrue, world.Exposed)
			} else {
				w.WaitExposed("pi", metav1.ConditionFalse, test.reason, "Service pi-ui-svc: ")
				w.WaitEvent(app, test.reason, "Service pi-ui-svc")
			}

			w.Execute(driver, scene.Exited(0, ""))
			w.WaitState("pi", v1beta2.ApplicationStateCompleted)
			w.WaitPod(driver.Name)
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
