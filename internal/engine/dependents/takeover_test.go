package dependents_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// waitOurs waits until this operator has written the status of an application, and then until the application is in the
// given state.
func waitOurs(w *world.World, name string, state v1beta2.ApplicationStateType) *v1beta2.SparkApplication {
	w.T.Helper()
	kit.Wait(w.T, name+" to be taken over",
		func(context.Context) error { return world.Want(w.Get(name).Status.Operator != nil, true) })
	return w.WaitState(name, state)
}

func endedThen(s *v1beta2.SparkApplicationStatus) { s.TerminationTime = metav1.NewTime(time.Now()) }

func cleared(s *v1beta2.SparkApplicationStatus) {
	s.SparkApplicationID, s.DriverInfo = "", v1beta2.DriverInfo{}
}

// TestTakeOverRunning checks that a running application of the other operator continues to its end with its existing
// driver.
func TestTakeOverRunning(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	left := []resources.Theirs{
		{Name: "running", State: v1beta2.ApplicationStateRunning, Driver: corev1.PodRunning},
		{Name: "budgeted", State: v1beta2.ApplicationStateRunning, Driver: corev1.PodRunning,
			Spec: func(a *v1beta2.SparkApplication) { a.Spec.DriverPodDisruptionBudget = new(true) }},
		{Name: "submitted", State: v1beta2.ApplicationStateSubmitted, Driver: corev1.PodPending},
		{Name: "unknown", State: v1beta2.ApplicationStateUnknown, Driver: corev1.PodRunning},
		{Name: "unowned", State: v1beta2.ApplicationStateRunning, Driver: corev1.PodRunning, Unowned: true},
		{Name: "unwritten", State: v1beta2.ApplicationStateNew, Driver: corev1.PodRunning},
		// The other operator submitted it twice. The second submission failed because the driver of the first one runs.
		{Name: "met-itself", State: v1beta2.ApplicationStateFailedSubmission, Driver: corev1.PodRunning,
			Status: func(s *v1beta2.SparkApplicationStatus) {
				s.SubmissionID, s.ExecutionAttempts = "5a0b7c52-0000-4000-8000-ffffffffffff", 0
				s.AppState.ErrorMessage = "failed to run spark-submit: driver pod already exist"
			}},
		{Name: "not-found", State: v1beta2.ApplicationStateFailed, Driver: corev1.PodRunning,
			Status: func(s *v1beta2.SparkApplicationStatus) {
				endedThen(s)
				s.AppState.ErrorMessage = "driver pod not found"
			}},
	}

	drivers := map[string]types.UID{}
	for _, a := range left {
		resources.CreateInherited(w, a)
		drivers[a.Name] = resources.UIDOf(w, world.DriverName(a.Name))
	}

	w.RunReal()

	for _, a := range left {
		t.Run(a.Name, func(t *testing.T) {
			if a.Driver == corev1.PodPending {
				waitOurs(w, a.Name, v1beta2.ApplicationStateSubmitted)
				w.Kubelet(world.DriverName(a.Name), corev1.PodRunning, world.Running())
				w.Kubelet(a.Name+"-exec-1", corev1.PodRunning, world.Running())
			}

			got := waitOurs(w, a.Name, v1beta2.ApplicationStateRunning)
			if got.Status.SubmissionID != resources.TheirSubmission(a.Name) || got.Status.SubmissionAttempts != 1 ||
				got.Status.ExecutionAttempts != 1 ||
				got.Status.SparkApplicationID != "spark-"+a.Name || got.Status.AppState.ErrorMessage != "" {
				t.Errorf("status %+v", got.Status)
			}

			kit.Wait(t, "the executor of the application", func(context.Context) error {
				c := w.Get(a.Name).Status.Executors
				if c == nil {
					return fmt.Errorf("no counts")
				}
				return world.Want(c.Running, int32(1))
			})
			w.Kubelet(world.DriverName(a.Name), corev1.PodSucceeded, scene.Exited(0, ""))

			got = w.WaitState(a.Name, v1beta2.ApplicationStateCompleted)
			if uid := resources.UIDOf(w, world.DriverName(a.Name)); uid != drivers[a.Name] {
				t.Errorf("the driver was replaced")
			}

			if c := world.Condition(got, status.ConditionSparkVersionMismatch); c.Type != "" {
				t.Errorf("the status reports the Spark version of the other operator's image: %s", c.Message)
			}

			reported := func(context.Context) error {
				if w.EventsOf(got)[dialect.EventTakenOver] == "" && a.State != v1beta2.ApplicationStateNew {
					return fmt.Errorf("no event reports the take-over")
				}
				return nil
			}
			kit.Wait(t, "the event", reported)
		})
	}

	t.Run("the budget is ours, and goes with the end", func(t *testing.T) {
		w.WaitGone(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace,
			Name: world.DriverName("budgeted")}})
	})
}

// TestTakeOverEnded checks inherited applications whose run has ended, or that wait for their next attempt. Each
// continues according to its spec and to the numbers of attempts in its status.
func TestTakeOverEnded(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	retry := func(a *v1beta2.SparkApplication) {
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure,
			OnFailureRetries: new(int32(1)), OnFailureRetryInterval: new(int64(1)),
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
		resources.Theirs
		becomes v1beta2.ApplicationStateType // "gone" if the application expires
		attempt int                          // of our driver; 0 if this operator creates none
	}{
		{resources.Theirs{Name: "failing-once-more", State: v1beta2.ApplicationStateFailing, Driver: corev1.PodFailed,
			Spec: retry, Status: failed}, v1beta2.ApplicationStateSubmitted, 2},
		{resources.Theirs{Name: "failing-no-more", State: v1beta2.ApplicationStateFailing, Driver: corev1.PodFailed,
			Spec: retry, Status: func(s *v1beta2.SparkApplicationStatus) {
				failed(s)
				s.SubmissionAttempts, s.ExecutionAttempts = 2, 2
			}}, v1beta2.ApplicationStateFailed, 0},
		{resources.Theirs{Name: "refused-once-more", State: v1beta2.ApplicationStateFailedSubmission, Spec: retry,
			Status: func(s *v1beta2.SparkApplicationStatus) { s.ExecutionAttempts = 0 }},
			v1beta2.ApplicationStateSubmitted, 2},
		{resources.Theirs{Name: "rerun", State: v1beta2.ApplicationStatePendingRerun, Status: cleared},
			v1beta2.ApplicationStateSubmitted, 2},
		{resources.Theirs{Name: "rerun-with-rest", State: v1beta2.ApplicationStatePendingRerun, Status: cleared,
			Driver: corev1.PodFailed}, v1beta2.ApplicationStateSubmitted, 2},
		{resources.Theirs{Name: "invalidating", State: v1beta2.ApplicationStateInvalidating, Driver: corev1.PodRunning},
			v1beta2.ApplicationStateSubmitted, 2},
		{resources.Theirs{Name: "suspending", State: v1beta2.ApplicationStateSuspending, Driver: corev1.PodRunning,
			Spec: suspended}, v1beta2.ApplicationStateSuspended, 0},
		{resources.Theirs{Name: "suspended", State: v1beta2.ApplicationStateSuspended, Spec: suspended,
			Status: cleared}, v1beta2.ApplicationStateSuspended, 0},
		{resources.Theirs{Name: "resuming", State: v1beta2.ApplicationStateResuming, Status: cleared},
			v1beta2.ApplicationStateSubmitted, 2},
		{resources.Theirs{Name: "succeeding", State: v1beta2.ApplicationStateSucceeding, Driver: corev1.PodSucceeded,
			Status: endedThen}, v1beta2.ApplicationStateCompleted, 0},
		{resources.Theirs{Name: "completed", State: v1beta2.ApplicationStateCompleted, Driver: corev1.PodSucceeded,
			Status: endedThen}, v1beta2.ApplicationStateCompleted, 0},
		{resources.Theirs{Name: "expired", State: v1beta2.ApplicationStateCompleted, Status: long,
			Spec: func(a *v1beta2.SparkApplication) { a.Spec.TimeToLiveSeconds = new(int64(1800)) }}, "gone", 0},
		{resources.Theirs{Name: "living", State: v1beta2.ApplicationStateCompleted, Status: long,
			Spec: func(a *v1beta2.SparkApplication) { a.Spec.TimeToLiveSeconds = new(int64(7200)) }},
			v1beta2.ApplicationStateCompleted, 0},
		{resources.Theirs{Name: "failed", State: v1beta2.ApplicationStateFailed, Driver: corev1.PodFailed,
			Status: failed}, v1beta2.ApplicationStateFailed, 0},
		{resources.Theirs{Name: "driver-gone", State: v1beta2.ApplicationStateRunning},
			v1beta2.ApplicationStateFailed, 0},
	} {
		resources.CreateInherited(w, c.Theirs)
		defer func() {
			t.Run(c.Name, func(t *testing.T) { checkTaken(w, t, c.Theirs, c.becomes, c.attempt) })
		}()
	}

	w.RunReal()
}

func checkTaken(w *world.World, t *testing.T, a resources.Theirs, becomes v1beta2.ApplicationStateType, attempt int) {
	if becomes == "gone" {
		w.WaitGone(&v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: a.Name}})
		return
	}

	if attempt > 0 {
		driver := w.DriverOf(w.Get(a.Name), attempt)
		w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
		waitOurs(w, a.Name, v1beta2.ApplicationStateRunning)
		w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
		w.WaitState(a.Name, v1beta2.ApplicationStateCompleted)
		return
	}

	got := waitOurs(w, a.Name, becomes)

	var pods corev1.PodList
	if err := w.API.List(t.Context(), &pods, client.InNamespace(w.Namespace),
		client.MatchingLabels{sparkoperator.LabelAppName: a.Name,
			identity.RoleLabel: identity.RoleDriver}); err != nil {
		t.Fatal(err)
	}

	keeps := a.Driver == corev1.PodSucceeded || a.Driver == corev1.PodFailed
	if keeps != (len(pods.Items) == 1) {
		t.Errorf("the application has %d drivers", len(pods.Items))
	}

	if becomes == v1beta2.ApplicationStateSuspended {
		before := got.DeepCopy()

		got.Spec.Suspend = new(false)
		if err := w.API.Patch(t.Context(), got, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}

		w.DriverOf(got, 2)
	}
}

// TestTakeOverReplacesWhatIsNamedAlike checks an existing ConfigMap with the name that our attempt needs. If the other
// operator created it for the application, this operator replaces it. If it belongs to somebody else, this operator
// keeps it and creates no driver.
func TestTakeOverReplacesWhatIsNamedAlike(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	kind := tiny.Kind()
	mine := w.Application("mine")
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "mine-conf",
		Labels: map[string]string{sparkoperator.LabelCreatedBy: "true"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(mine,
			v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))}}})
	users := w.Application("users")
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "users-conf",
		OwnerReferences: []metav1.OwnerReference{{
			// Kubernetes deletes the ConfigMap with the application. The owner reference has no other effect.
			APIVersion: v1beta2.SchemeGroupVersion.String(), Kind: "SparkApplication", Name: users.Name, UID: users.UID,
		}}}})
	w.RunTiny(kind)
	w.WaitState("mine", v1beta2.ApplicationStateSubmitted)

	config := &corev1.ConfigMap{}
	if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "mine-conf"}, config); err != nil ||
		identity.Attempt(config) != 1 || config.Data["class"] == "" {
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
	w := world.New(t)
	monitored := func(a *v1beta2.SparkApplication) {
		a.Spec.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: true,
			Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/prometheus/exporter.jar"}}
	}
	running := resources.CreateInherited(w,
		resources.Theirs{Name: "running", State: v1beta2.ApplicationStateRunning, Driver: corev1.PodRunning,
			Spec: monitored})
	rerun := resources.CreateInherited(w,
		resources.Theirs{Name: "rerun", State: v1beta2.ApplicationStatePendingRerun, Status: cleared, Spec: monitored})
	w.RunReal()

	labels := func(object client.Object, name string) map[string]string {
		if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object); err != nil {
			t.Fatal(err)
		}
		return object.GetLabels()
	}

	waitOurs(w, "running", v1beta2.ApplicationStateRunning)

	before := &corev1.Service{}
	labels(before, "running-ui-svc")
	kit.Wait(t, "the UI's Service to be adopted", func(context.Context) error {
		return world.Want(labels(&corev1.Service{}, "running-ui-svc")[identity.AppUIDLabel], string(running.UID))
	})

	if after := (&corev1.Service{}); labels(after, "running-ui-svc") == nil || after.UID != before.UID ||
		after.Spec.ClusterIP != before.Spec.ClusterIP {
		t.Error("the UI's Service was replaced although clients may use it")
	}

	if config := (&corev1.ConfigMap{}); labels(config, "running-prom-conf")[identity.AppUIDLabel] != "" ||
		config.Data["metrics.properties"] != "theirs" {
		t.Errorf("the running driver's metrics configuration was changed: %v", config.Data)
	}

	w.DriverOf(rerun, 2)

	if config := (&corev1.ConfigMap{}); labels(config, "rerun-prom-conf")[identity.AttemptLabel] != "2" ||
		config.Data["metrics.properties"] == "theirs" {
		t.Errorf("the new driver's metrics configuration is %v", config)
	}
}

// TestTakeOverOfTheLease checks that this operator does nothing while the other operator holds the lease, which has the
// same name for both operators.
func TestTakeOverOfTheLease(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.LeaderElection.Enabled, cfg.LeaderElection.Namespace = new(true), w.Namespace
	cfg.LeaderElection.LeaseDuration.Duration, cfg.LeaderElection.RenewDeadline.Duration,
		cfg.LeaderElection.RetryPeriod.Duration = 3*time.Second, 2*time.Second, 500*time.Millisecond
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace,
		Name: cfg.LeaderElection.LeaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("spark-operator-controller-6d5f_theirs"), LeaseDurationSeconds: new(int32(3)),
		AcquireTime: new(metav1.NowMicro()), RenewTime: new(metav1.NowMicro()), LeaseTransitions: new(int32(1)),
	}}
	w.Create(lease)
	resources.CreateInherited(w,
		resources.Theirs{Name: "pi", State: v1beta2.ApplicationStateRunning, Driver: corev1.PodRunning})

	op, err := operator.NewOperator(t.Context(), cfg, w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	w.Run(op)
	// The other operator renews its lease for longer than this operator would wait for a lease without renewals.
	for range 10 {
		before := lease.DeepCopy()

		lease.Spec.RenewTime = new(metav1.NowMicro())
		if err := w.API.Patch(t.Context(), lease,
			client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
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

	waitOurs(w, "pi", v1beta2.ApplicationStateRunning)
}

// TestTakeOverDelete checks that the pods of an inherited application are deleted if somebody deletes the application
// in the foreground.
func TestTakeOverDelete(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, world.Cascade)
	w := world.New(t)
	app := resources.CreateInherited(w,
		resources.Theirs{Name: "pi", State: v1beta2.ApplicationStateRunning, Driver: corev1.PodRunning})
	w.RunReal()
	waitOurs(w, "pi", v1beta2.ApplicationStateRunning)

	if err := w.API.Delete(t.Context(), app, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: world.DriverName("pi")}})
	w.WaitGone(app)
}
