package operator

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	sparkapp "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// These tests begin with the state that another operator of sparkoperator.k8s.io/v1beta2 leaves: its statuses and its
// objects, none of which has a label of ours (docs/migrate-kubeflow.md).

// theirs describes an application as the kubeflow operator leaves it to this operator.
type theirs struct {
	name  string
	state v1beta2.ApplicationStateType
	spec  func(*v1beta2.SparkApplication)
	// status changes the status that createInherited writes.
	status func(*v1beta2.SparkApplicationStatus)
	// driver is the phase of its driver pod; "" if there is none.
	driver corev1.PodPhase
	// unowned leaves out the driver's owner, as old versions without a webhook did.
	unowned bool
}

func theirSubmission(name string) string {
	return "5a0b7c52-0000-4000-8000-" + fmt.Sprintf("%012x", len(name))
}

// createInherited creates an application, its pods, its other objects and its status, as the other operator leaves
// them. It returns the application.
func (w *world) createInherited(a theirs) *v1beta2.SparkApplication {
	w.T.Helper()

	change := []func(*v1beta2.SparkApplication){scene.WithDriver}
	if a.spec != nil {
		change = append(change, a.spec)
	}

	app := w.Application(a.name, change...)

	ref := *metav1.NewControllerRef(app, v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))
	if a.state != v1beta2.ApplicationStateNew {
		w.createAuxiliary(app, ref)
		w.theirStatus(app, a)
	}

	if a.driver == "" {
		return app
	}

	driver := w.theirPod(app, app.Name+"-driver", identity.RoleDriver, ref)
	if a.unowned {
		driver.OwnerReferences = nil
	}

	w.Create(driver)
	w.phase(driver, a.driver)
	w.createDriverObjects(driver)
	executor := w.theirPod(app, app.Name+"-exec-1", identity.RoleExecutor, metav1.OwnerReference{
		APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID,
	})
	executor.Labels["spark-exec-id"], executor.Labels["spark-version"] = "1", app.Spec.SparkVersion
	executor.OwnerReferences = append(executor.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)})
	w.Create(executor)
	w.phase(executor, a.driver)
	return app
}

func (w *world) theirPod(app *v1beta2.SparkApplication, name, role string, owner metav1.OwnerReference) *corev1.Pod {
	container := map[string]string{identity.RoleDriver: overlay.DriverContainer, identity.RoleExecutor: overlay.ExecutorContainer}[role]
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{owner},
			Labels: map[string]string{
				sparkoperator.LabelAppName: app.Name, sparkoperator.LabelLaunchedBy: "true", sparkoperator.LabelSubmissionID: theirSubmission(app.Name),
				"sparkoperator.k8s.io/mutated-by-spark-operator": "true",
				// The version is that of the Spark in that operator's image, which submitted it.
				identity.RoleLabel: role, "spark-app-selector": "spark-" + app.Name, "spark-version": "4.0.4",
			},
		},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: "default", TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: container, Image: "spark"}}},
	}
}

// phase plays the kubelet for a pod that the other operator created: it sets the phase of the pod and a container state
// that matches the phase.
func (w *world) phase(pod *corev1.Pod, phase corev1.PodPhase) {
	switch phase {
	case corev1.PodRunning:
		w.kubelet(pod.Name, phase, running())
	case corev1.PodSucceeded:
		w.kubelet(pod.Name, phase, scene.Exited(0, ""))
	case corev1.PodFailed:
		w.kubelet(pod.Name, phase, scene.Exited(1, "boom"))
	}
}

// createAuxiliary creates the auxiliary objects that the other operator creates for an application: the monitoring
// ConfigMap, the UI Service and, if the spec requests it, the driver's budget.
func (w *world) createAuxiliary(app *v1beta2.SparkApplication, ref metav1.OwnerReference) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{ref},
			Labels: map[string]string{sparkoperator.LabelCreatedBy: "true", sparkoperator.LabelAppName: app.Name}}
	}
	w.Create(&corev1.ConfigMap{ObjectMeta: meta(app.Name + "-prom-conf"), Data: map[string]string{"metrics.properties": "theirs"}})
	w.Create(&corev1.Service{ObjectMeta: meta(app.Name + "-ui-svc"), Spec: corev1.ServiceSpec{
		Selector: map[string]string{sparkoperator.LabelAppName: app.Name, identity.RoleLabel: identity.RoleDriver},
		Ports:    []corev1.ServicePort{{Name: "spark-driver-ui-port", Port: 4040, TargetPort: intstr.FromInt32(4040)}},
	}})

	if b := app.Spec.DriverPodDisruptionBudget; b != nil && *b {
		w.Create(&policyv1.PodDisruptionBudget{ObjectMeta: meta(app.Name + "-driver"), Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{sparkoperator.LabelAppName: app.Name, identity.RoleLabel: identity.RoleDriver}},
		}})
	}
}

// createDriverObjects creates the objects that Spark itself creates for a driver and that the driver owns.
func (w *world) createDriverObjects(driver *corev1.Pod) {
	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: driver.Name + "-conf-map", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)}}}
	w.Create(&corev1.ConfigMap{ObjectMeta: *meta.DeepCopy()})
	meta.Name = driver.Name + "-svc"
	w.Create(&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: maps.Clone(driver.Labels), Ports: []corev1.ServicePort{{Name: "driver-rpc-port", Port: 7078}},
	}})
}

func (w *world) theirStatus(app *v1beta2.SparkApplication, a theirs) {
	before := app.DeepCopy()
	s := &app.Status
	s.AppState.State = a.state
	s.SubmissionID, s.SubmissionAttempts, s.ExecutionAttempts = theirSubmission(app.Name), 1, 1
	s.LastSubmissionAttemptTime = metav1.NewTime(time.Now().Add(-time.Minute))
	s.SparkApplicationID, s.DriverInfo.PodName = "spark-"+app.Name, app.Name+"-driver"

	s.DriverInfo.WebUIServiceName = app.Name + "-ui-svc"
	if a.status != nil {
		a.status(s)
	}

	if err := w.API.Status().Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// uidOf waits until a pod exists, and returns its UID.
func (w *world) uidOf(pod string) types.UID { return w.waitPod(pod).UID }

// waitOurs waits until this operator has written the status of an application, and then until the application is in the
// given state.
func (w *world) waitOurs(name string, state v1beta2.ApplicationStateType) *v1beta2.SparkApplication {
	w.T.Helper()
	kit.Wait(w.T, name+" to be taken over", func(context.Context) error { return want(w.Get(name).Status.Operator != nil, true) })
	return w.waitState(name, state)
}

func endedThen(s *v1beta2.SparkApplicationStatus) { s.TerminationTime = metav1.NewTime(time.Now()) }

func cleared(s *v1beta2.SparkApplicationStatus) {
	s.SparkApplicationID, s.DriverInfo = "", v1beta2.DriverInfo{}
}

// TestTakeOverRunning checks that a running application of the other operator continues to its end with its existing
// driver.
func TestTakeOverRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	left := []theirs{
		{name: "running", state: v1beta2.ApplicationStateRunning, driver: corev1.PodRunning},
		{name: "budgeted", state: v1beta2.ApplicationStateRunning, driver: corev1.PodRunning, spec: func(a *v1beta2.SparkApplication) { a.Spec.DriverPodDisruptionBudget = new(true) }},
		{name: "submitted", state: v1beta2.ApplicationStateSubmitted, driver: corev1.PodPending},
		{name: "unknown", state: v1beta2.ApplicationStateUnknown, driver: corev1.PodRunning},
		{name: "unowned", state: v1beta2.ApplicationStateRunning, driver: corev1.PodRunning, unowned: true},
		{name: "unwritten", state: v1beta2.ApplicationStateNew, driver: corev1.PodRunning},
		// The other operator submitted it twice. The second submission failed because the driver of the first one runs.
		{name: "met-itself", state: v1beta2.ApplicationStateFailedSubmission, driver: corev1.PodRunning, status: func(s *v1beta2.SparkApplicationStatus) {
			s.SubmissionID, s.ExecutionAttempts = "5a0b7c52-0000-4000-8000-ffffffffffff", 0
			s.AppState.ErrorMessage = "failed to run spark-submit: driver pod already exist"
		}},
		{name: "not-found", state: v1beta2.ApplicationStateFailed, driver: corev1.PodRunning, status: func(s *v1beta2.SparkApplicationStatus) {
			endedThen(s)
			s.AppState.ErrorMessage = "driver pod not found"
		}},
	}

	drivers := map[string]types.UID{}
	for _, a := range left {
		w.createInherited(a)
		drivers[a.name] = w.uidOf(driverName(a.name))
	}

	w.runReal()

	for _, a := range left {
		t.Run(a.name, func(t *testing.T) {
			if a.driver == corev1.PodPending {
				w.waitOurs(a.name, v1beta2.ApplicationStateSubmitted)
				w.kubelet(driverName(a.name), corev1.PodRunning, running())
				w.kubelet(a.name+"-exec-1", corev1.PodRunning, running())
			}

			got := w.waitOurs(a.name, v1beta2.ApplicationStateRunning)
			if got.Status.SubmissionID != theirSubmission(a.name) || got.Status.SubmissionAttempts != 1 || got.Status.ExecutionAttempts != 1 ||
				got.Status.SparkApplicationID != "spark-"+a.name || got.Status.AppState.ErrorMessage != "" {
				t.Errorf("status %+v", got.Status)
			}

			kit.Wait(t, "the executor of the application", func(context.Context) error {
				c := w.Get(a.name).Status.Executors
				if c == nil {
					return fmt.Errorf("no counts")
				}
				return want(c.Running, int32(1))
			})
			w.kubelet(driverName(a.name), corev1.PodSucceeded, scene.Exited(0, ""))

			got = w.waitState(a.name, v1beta2.ApplicationStateCompleted)
			if uid := w.uidOf(driverName(a.name)); uid != drivers[a.name] {
				t.Errorf("the driver was replaced")
			}

			if c := condition(got, sparkapp.ConditionSparkVersionMismatch); c.Type != "" {
				t.Errorf("the status reports the Spark version of the other operator's image: %s", c.Message)
			}

			reported := func(context.Context) error {
				if w.EventsOf(got)[dialect.EventTakenOver] == "" && a.state != v1beta2.ApplicationStateNew {
					return fmt.Errorf("no event reports the take-over")
				}
				return nil
			}
			kit.Wait(t, "the event", reported)
		})
	}

	t.Run("the budget is ours, and goes with the end", func(t *testing.T) {
		w.WaitGone(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: driverName("budgeted")}})
	})
}

// TestTakeOverEnded checks inherited applications whose run has ended, or that wait for their next attempt. Each
// continues according to its spec and to the numbers of attempts in its status.
func TestTakeOverEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	retry := func(a *v1beta2.SparkApplication) {
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: new(int32(1)), OnFailureRetryInterval: new(int64(1)),
			OnSubmissionFailureRetries: new(int32(1)), OnSubmissionFailureRetryInterval: new(int64(1))}
	}
	suspended := func(a *v1beta2.SparkApplication) { a.Spec.Suspend = new(true) }
	failed := func(s *v1beta2.SparkApplicationStatus) {
		endedThen(s)
		s.AppState.ErrorMessage = "driver container failed with ExitCode: 1, Reason: Error"
	}

	long := func(s *v1beta2.SparkApplicationStatus) {
		failed(s)
		s.TerminationTime = metav1.NewTime(time.Now().Add(-time.Hour))
	}
	for _, c := range []struct {
		theirs
		becomes v1beta2.ApplicationStateType // "gone" if the application expires
		attempt int                          // of our driver; 0 if this operator creates none
	}{
		{theirs{name: "failing-once-more", state: v1beta2.ApplicationStateFailing, driver: corev1.PodFailed, spec: retry, status: failed}, v1beta2.ApplicationStateSubmitted, 2},
		{theirs{name: "failing-no-more", state: v1beta2.ApplicationStateFailing, driver: corev1.PodFailed, spec: retry, status: func(s *v1beta2.SparkApplicationStatus) {
			failed(s)
			s.SubmissionAttempts, s.ExecutionAttempts = 2, 2
		}}, v1beta2.ApplicationStateFailed, 0},
		{theirs{name: "refused-once-more", state: v1beta2.ApplicationStateFailedSubmission, spec: retry, status: func(s *v1beta2.SparkApplicationStatus) { s.ExecutionAttempts = 0 }},
			v1beta2.ApplicationStateSubmitted, 2},
		{theirs{name: "rerun", state: v1beta2.ApplicationStatePendingRerun, status: cleared}, v1beta2.ApplicationStateSubmitted, 2},
		{theirs{name: "rerun-with-rest", state: v1beta2.ApplicationStatePendingRerun, status: cleared, driver: corev1.PodFailed}, v1beta2.ApplicationStateSubmitted, 2},
		{theirs{name: "invalidating", state: v1beta2.ApplicationStateInvalidating, driver: corev1.PodRunning}, v1beta2.ApplicationStateSubmitted, 2},
		{theirs{name: "suspending", state: v1beta2.ApplicationStateSuspending, driver: corev1.PodRunning, spec: suspended}, v1beta2.ApplicationStateSuspended, 0},
		{theirs{name: "suspended", state: v1beta2.ApplicationStateSuspended, spec: suspended, status: cleared}, v1beta2.ApplicationStateSuspended, 0},
		{theirs{name: "resuming", state: v1beta2.ApplicationStateResuming, status: cleared}, v1beta2.ApplicationStateSubmitted, 2},
		{theirs{name: "succeeding", state: v1beta2.ApplicationStateSucceeding, driver: corev1.PodSucceeded, status: endedThen}, v1beta2.ApplicationStateCompleted, 0},
		{theirs{name: "completed", state: v1beta2.ApplicationStateCompleted, driver: corev1.PodSucceeded, status: endedThen}, v1beta2.ApplicationStateCompleted, 0},
		{theirs{name: "expired", state: v1beta2.ApplicationStateCompleted, status: long, spec: func(a *v1beta2.SparkApplication) { a.Spec.TimeToLiveSeconds = new(int64(1800)) }}, "gone", 0},
		{theirs{name: "living", state: v1beta2.ApplicationStateCompleted, status: long, spec: func(a *v1beta2.SparkApplication) { a.Spec.TimeToLiveSeconds = new(int64(7200)) }},
			v1beta2.ApplicationStateCompleted, 0},
		{theirs{name: "failed", state: v1beta2.ApplicationStateFailed, driver: corev1.PodFailed, status: failed}, v1beta2.ApplicationStateFailed, 0},
		{theirs{name: "driver-gone", state: v1beta2.ApplicationStateRunning}, v1beta2.ApplicationStateFailed, 0},
	} {
		w.createInherited(c.theirs)
		defer func() {
			t.Run(c.name, func(t *testing.T) { w.checkTaken(t, c.theirs, c.becomes, c.attempt) })
		}()
	}

	w.runReal()
}

func (w *world) checkTaken(t *testing.T, a theirs, becomes v1beta2.ApplicationStateType, attempt int) {
	if becomes == "gone" {
		w.WaitGone(&v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: a.name}})
		return
	}

	if attempt > 0 {
		driver := w.driverOf(w.Get(a.name), attempt)
		w.kubelet(driver.Name, corev1.PodRunning, running())
		w.waitOurs(a.name, v1beta2.ApplicationStateRunning)
		w.kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
		w.waitState(a.name, v1beta2.ApplicationStateCompleted)
		return
	}

	got := w.waitOurs(a.name, becomes)

	var pods corev1.PodList
	if err := w.API.List(t.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{sparkoperator.LabelAppName: a.name, identity.RoleLabel: identity.RoleDriver}); err != nil {
		t.Fatal(err)
	}

	keeps := a.driver == corev1.PodSucceeded || a.driver == corev1.PodFailed
	if keeps != (len(pods.Items) == 1) {
		t.Errorf("the application has %d drivers", len(pods.Items))
	}

	if becomes == v1beta2.ApplicationStateSuspended {
		before := got.DeepCopy()

		got.Spec.Suspend = new(false)
		if err := w.API.Patch(t.Context(), got, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}

		w.driverOf(got, 2)
	}
}

// TestTakeOverReplacesWhatIsNamedAlike checks an existing ConfigMap with the name that our attempt needs. If the other
// operator created it for the application, this operator replaces it. If it belongs to somebody else, this operator
// keeps it and creates no driver.
func TestTakeOverReplacesWhatIsNamedAlike(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kind := tiny.Kind()
	mine := w.Application("mine")
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "mine-conf",
		Labels:          map[string]string{sparkoperator.LabelCreatedBy: "true"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(mine, v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))}}})
	users := w.Application("users")
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "users-conf", OwnerReferences: []metav1.OwnerReference{{
		// Kubernetes deletes the ConfigMap with the application. The owner reference has no other effect.
		APIVersion: v1beta2.SchemeGroupVersion.String(), Kind: "SparkApplication", Name: users.Name, UID: users.UID,
	}}}})
	w.runTiny(kind)
	w.waitState("mine", v1beta2.ApplicationStateSubmitted)

	config := &corev1.ConfigMap{}
	if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "mine-conf"}, config); err != nil || identity.Attempt(config) != 1 || config.Data["class"] == "" {
		t.Errorf("the ConfigMap is %+v, %v", config, err)
	}

	err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "users-driver"}, &corev1.Pod{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a driver exists without its ConfigMap: %v", err)
	}
}

// TestTakeOverOfAuxiliaryObjects checks that objects of the other operator that have the names of our auxiliary objects
// become ours. Objects that clients use, such as the UI's Service, are changed in place. Objects that a driver mounts
// are replaced by the next attempt.
func TestTakeOverOfAuxiliaryObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	monitored := func(a *v1beta2.SparkApplication) {
		a.Spec.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: true, Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/prometheus/exporter.jar"}}
	}
	running := w.createInherited(theirs{name: "running", state: v1beta2.ApplicationStateRunning, driver: corev1.PodRunning, spec: monitored})
	rerun := w.createInherited(theirs{name: "rerun", state: v1beta2.ApplicationStatePendingRerun, status: cleared, spec: monitored})
	w.runReal()

	labels := func(object client.Object, name string) map[string]string {
		if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object); err != nil {
			t.Fatal(err)
		}
		return object.GetLabels()
	}

	w.waitOurs("running", v1beta2.ApplicationStateRunning)

	before := &corev1.Service{}
	labels(before, "running-ui-svc")
	kit.Wait(t, "the UI's Service to be adopted", func(context.Context) error {
		return want(labels(&corev1.Service{}, "running-ui-svc")[identity.AppUIDLabel], string(running.UID))
	})

	if after := (&corev1.Service{}); labels(after, "running-ui-svc") == nil || after.UID != before.UID || after.Spec.ClusterIP != before.Spec.ClusterIP {
		t.Error("the UI's Service was replaced although clients may use it")
	}

	if config := (&corev1.ConfigMap{}); labels(config, "running-prom-conf")[identity.AppUIDLabel] != "" || config.Data["metrics.properties"] != "theirs" {
		t.Errorf("the running driver's metrics configuration was changed: %v", config.Data)
	}

	w.driverOf(rerun, 2)

	if config := (&corev1.ConfigMap{}); labels(config, "rerun-prom-conf")[identity.AttemptLabel] != "2" || config.Data["metrics.properties"] == "theirs" {
		t.Errorf("the new driver's metrics configuration is %v", config)
	}
}

// TestTakeOverOfTheLease checks that this operator does nothing while the other operator holds the lease, which has the
// same name for both operators.
func TestTakeOverOfTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.Namespace)
	cfg.LeaderElection.Enabled, cfg.LeaderElection.Namespace = new(true), w.Namespace
	cfg.LeaderElection.LeaseDuration.Duration, cfg.LeaderElection.RenewDeadline.Duration, cfg.LeaderElection.RetryPeriod.Duration = 3*time.Second, 2*time.Second, 500*time.Millisecond
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: cfg.LeaderElection.LeaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("spark-operator-controller-6d5f_theirs"), LeaseDurationSeconds: new(int32(3)),
		AcquireTime: new(metav1.NowMicro()), RenewTime: new(metav1.NowMicro()), LeaseTransitions: new(int32(1)),
	}}
	w.Create(lease)
	w.createInherited(theirs{name: "pi", state: v1beta2.ApplicationStateRunning, driver: corev1.PodRunning})

	op, err := NewOperator(t.Context(), cfg, w.environment())
	if err != nil {
		t.Fatal(err)
	}

	w.run(op)
	// The other operator renews its lease for longer than this operator would wait for a lease without renewals.
	for range 10 {
		before := lease.DeepCopy()

		lease.Spec.RenewTime = new(metav1.NowMicro())
		if err := w.API.Patch(t.Context(), lease, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			t.Fatalf("somebody else has the lease: %v", err)
		}

		if w.Get("pi").Status.Operator != nil {
			t.Fatal("the application was taken over while the other operator renewed")
		}

		select {
		case <-op.Elected():
			t.Fatal("both operators lead at the same time")
		case <-time.After(500 * time.Millisecond):
		}
	}

	w.waitOurs("pi", v1beta2.ApplicationStateRunning)
}

// TestTakeOverDelete checks that the pods of an inherited application are deleted if somebody deletes the application
// in the foreground.
func TestTakeOverDelete(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, cascade)
	w := newWorld(t)
	app := w.createInherited(theirs{name: "pi", state: v1beta2.ApplicationStateRunning, driver: corev1.PodRunning})
	w.runReal()
	w.waitOurs("pi", v1beta2.ApplicationStateRunning)

	if err := w.API.Delete(t.Context(), app, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: driverName("pi")}})
	w.WaitGone(app)
}
