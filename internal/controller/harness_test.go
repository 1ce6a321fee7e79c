package controller

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/kind"
	"github.com/sparkoperator/spark-operator/internal/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // what has no operator's logger, such as an informer
	testkit.Main(m)
}

// lines is a writer that tests read back: the operator's log.
type lines struct {
	mu   sync.Mutex
	text []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// world is one test's namespace and the means to look into it and to play the kubelet there.
type world struct {
	t         testing.TB
	namespace string
	api       client.Client
	log       *lines
	registry  *prometheus.Registry
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{
		t: t, namespace: testkit.Namespace(t), api: testkit.Client(t, v1beta2.AddToScheme, v1alpha1.AddToScheme, sparkv1.AddToScheme),
		log: &lines{}, registry: prometheus.NewRegistry(),
	}
}

// testConfig serves the namespaces given, with every endpoint off and without an election.
func testConfig(namespaces ...string) config.Configuration {
	cfg := config.Default()
	cfg.Namespaces.Names = namespaces
	cfg.LeaderElection.Enabled = new(false)
	cfg.Metrics.BindAddress, cfg.Health.BindAddress = config.Off, config.Off
	cfg.Controller.Workers = 4
	cfg.Exposure.Enabled = true // what custom resources ask for outside the cluster is made; see TestNothingOutside
	return cfg
}

// serveAlone starts an operator that serves one kind alone.
func serveAlone(w *world, cfg config.Configuration, clock Clock, kind func(*Operator) Kind, change []func(*Environment)) (stop func()) {
	w.t.Helper()
	env := w.environment()
	for _, c := range change {
		c(&env)
	}
	op, err := newOperator(w.t.Context(), cfg, env)
	if err != nil {
		w.t.Fatal(err)
	}
	op.optional.Interval = 100 * time.Millisecond // the definitions of a control plane that began just now
	if err := AddWhenServed(w.t.Context(), op, kind(op), clock); err != nil {
		w.t.Fatal(err)
	}
	return w.run(op)
}

// logger writes to the world's log, and to the test's.
func (w *world) logger() logr.Logger {
	w.t.Helper()
	log, err := telemetry.NewLogger(io.MultiWriter(w.log, testLog{w.t}), "info", "text")
	if err != nil {
		w.t.Fatal(err)
	}
	return log
}

func (w *world) environment() Environment {
	w.t.Helper()
	w.registry = prometheus.NewRegistry() // each operator begins to count anew, as a process does
	return Environment{Rest: testkit.Rest(w.t), Log: w.logger(), Registerer: w.registry, SkipNameValidation: true}
}

// testLog shows the operator's log with the test's, when that fails or with -v.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

// powerless returns a client for a service account that was granted nothing.
func (w *world) powerless() client.Client {
	w.t.Helper()
	rc := testkit.Rest(w.t)
	rc.Impersonate.UserName = "system:serviceaccount:" + w.namespace + ":powerless"
	c, err := client.New(rc, client.Options{Scheme: w.api.Scheme()})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// run starts an operator and returns how to stop it; it is stopped with the test at the latest.
func (w *world) run(op *Operator) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- op.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("the operator ended with %v", err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

// runIdle starts an operator that reconciles nothing by itself, and waits until its caches have the SparkApplications.
func (w *world) runIdle() *Operator {
	w.t.Helper()
	op, err := newOperator(w.t.Context(), testConfig(w.namespace), w.environment())
	if err != nil {
		w.t.Fatal(err)
	}
	w.run(op)
	if _, err := op.GetCache().GetInformer(w.t.Context(), &v1beta2.SparkApplication{}); err != nil {
		w.t.Fatal(err)
	}
	if !op.GetCache().WaitForCacheSync(w.t.Context()) {
		w.t.Fatal("the caches are not full")
	}
	return op
}

// reconciler makes one of SparkApplications from what an operator has, for passes that a test asks for.
func (w *world) reconciler(op *Operator, change func(*Options)) *Reconciler {
	w.t.Helper()
	options := Options{
		Kind: kinds.SparkApplications(config.Default()), Client: op.GetClient(), Live: op.GetAPIReader(), Events: op.recorder, Metrics: op.metrics,
		Clock: time.Now, Scope: everywhere{}, Explainer: explain.New(op.GetAPIReader(), op.GetClient(), nil), Optional: op.optional,
		ShutdownTimeout: time.Minute,
	}
	change(&options)
	return New(options)
}

// runTiny starts an operator with the tiny kind.
func (w *world) runTiny(kind Kind, change ...func(*Environment)) (stop func()) {
	w.t.Helper()
	return w.runTinyBy(time.Now, kind, change...)
}

// runTinyBy starts one that goes by a clock.
func (w *world) runTinyBy(clock Clock, kind Kind, change ...func(*Environment)) (stop func()) {
	w.t.Helper()
	env := w.environment()
	for _, c := range change {
		c(&env)
	}
	op, err := newOperator(w.t.Context(), testConfig(w.namespace), env)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := Add(w.t.Context(), op, kind, clock); err != nil {
		w.t.Fatal(err)
	}
	return w.run(op)
}

// application creates a SparkApplication.
func (w *world) application(name string, change ...func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	w.t.Helper()
	app := &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1beta2.SparkApplicationSpec{
			Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", Image: new("docker.io/apache/spark:4.1.4"),
			MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
		},
	}
	for _, c := range change {
		c(app)
	}
	w.create(app)
	return app
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	if err := w.api.Create(w.t.Context(), object); err != nil {
		w.t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// foreignPod is a pod that has nothing to do with any application but its name.
func foreignPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs"}}},
	}
}

func (w *world) get(name string) *v1beta2.SparkApplication {
	w.t.Helper()
	app := &v1beta2.SparkApplication{}
	if err := w.api.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, app); err != nil {
		w.t.Fatal(err)
	}
	return app
}

// waitState waits until the application is in the state, and returns it.
func (w *world) waitState(name string, state v1beta2.ApplicationStateType) *v1beta2.SparkApplication {
	w.t.Helper()
	app := &v1beta2.SparkApplication{}
	testkit.Wait(w.t, fmt.Sprintf("%s to be %q", name, state), func(ctx context.Context) error {
		if err := w.api.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, app); err != nil {
			return err
		}
		if app.Status.AppState.State != state {
			return fmt.Errorf("it is %q (%s)", app.Status.AppState.State, app.Status.AppState.ErrorMessage)
		}
		return nil
	})
	return app
}

// waitPod waits until a pod exists, and returns it.
func (w *world) waitPod(name string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{}
	testkit.Wait(w.t, "pod "+name, func(ctx context.Context) error {
		return w.api.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, pod)
	})
	return pod
}

// waitGone waits until an object does not exist any more.
func (w *world) waitGone(object client.Object) {
	w.t.Helper()
	testkit.Wait(w.t, fmt.Sprintf("%T %s to be gone", object, object.GetName()), func(ctx context.Context) error {
		err := w.api.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil {
			return fmt.Errorf("it is still there")
		}
		return client.IgnoreNotFound(err)
	})
}

// kubelet sets a pod's phase and the state of its first container, as a kubelet would.
func (w *world) kubelet(pod string, phase corev1.PodPhase, state corev1.ContainerState) {
	w.t.Helper()
	object := w.waitPod(pod)
	before := object.DeepCopy()
	object.Status.Phase = phase
	object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: object.Spec.Containers[0].Name, State: state}}
	if err := w.api.Status().Patch(w.t.Context(), object, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
}

func exited(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Message: message, StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
	}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// eventsOf returns the Events about an application, as reason to messages, one a line.
func (w *world) eventsOf(app client.Object) map[string]string {
	w.t.Helper()
	var list corev1.EventList
	if err := w.api.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	told := map[string]string{}
	for _, event := range list.Items {
		if event.InvolvedObject.UID == app.GetUID() {
			told[event.Reason] = strings.TrimPrefix(told[event.Reason]+"\n"+event.Message, "\n")
		}
	}
	return told
}

// tinyKind is the smallest kind that goes the whole road: one attempt, no retries, no dialect. What matters to these tests is what the
// reconciler makes of its decisions.
func tinyKind() Kind {
	return Kind{
		Name:     "tiny",
		New:      func() client.Object { return &v1beta2.SparkApplication{} },
		Status:   typed.Of(func(app *v1beta2.SparkApplication) any { return &app.Status }),
		Decide:   typed.Decides(tinyDecide),
		Progress: kind.Progress{Standing: kinds.SparkApplications(config.Default()).Progress.Standing},
		Render:   typed.Renders(tinyRender),
		Events: typed.With(func(_ *v1beta2.SparkApplication, plan lifecycle.Plan) []Event {
			var events []Event
			for _, t := range plan.Trail {
				events = append(events, Event{Type: corev1.EventTypeNormal, Reason: "Tiny" + string(t.To), Message: t.Cause.Message})
			}
			return events
		}),
	}
}

func tinyDecide(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	var plan lifecycle.Plan
	was := lifecycle.Phase("")
	if app.Status.Operator != nil {
		was = lifecycle.Phase(app.Status.Operator.Phase)
	}
	to := func(phase lifecycle.Phase, state v1beta2.ApplicationStateType, outcome lifecycle.Outcome, cause lifecycle.Cause, do ...lifecycle.Action) lifecycle.Plan {
		plan.Next.Phase, plan.Do = phase, do
		if phase != was {
			plan.Trail = []lifecycle.Transition{{From: was, To: phase, Attempt: 1, Outcome: outcome, Cause: cause, At: now}}
		}
		app.Status.AppState = v1beta2.ApplicationState{State: state, ErrorMessage: cause.Message}
		app.Status.SubmissionID = cause.Reason // the tests read the reason here
		app.Status.Operator = &v1beta2.OperatorStatus{Phase: string(phase), Attempt: 1}
		return plan
	}
	whole := lifecycle.Action{Part: lifecycle.Attempt, Attempt: 1, Verb: lifecycle.Delete}
	driver := seen.Driver(1)
	switch {
	case was.Terminal():
		plan.Next.Phase = was
		return plan
	case seen.Refusal != nil:
		return to(lifecycle.Done, v1beta2.ApplicationStateFailed, lifecycle.Refused, *seen.Refusal, whole)
	case was == lifecycle.New && len(seen.Remains) > 0 && seen.Remains[0] != 1 || was == lifecycle.New && seen.Driver(7) != nil:
		plan.Next.Phase = was // the rest of an older attempt goes first
		plan.Do = []lifecycle.Action{{Part: lifecycle.Attempt, Attempt: 7, Verb: lifecycle.Delete}}
		return plan
	case was == lifecycle.New:
		return to(lifecycle.Launched, v1beta2.ApplicationStateSubmitted, "", lifecycle.Cause{},
			lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1})
	case driver == nil && seen.Confirmed:
		return to(lifecycle.Done, v1beta2.ApplicationStateFailed, lifecycle.Lost, lifecycle.Cause{Reason: "Lost"}, whole)
	case driver == nil:
		plan.Next.Phase = was
		plan.Do = []lifecycle.Action{{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod, Attempt: 1}}
		return plan
	}
	switch driver.Phase {
	case lifecycle.DriverRunning:
		return to(lifecycle.Running, v1beta2.ApplicationStateRunning, "", lifecycle.Cause{})
	case lifecycle.DriverSucceeded:
		return to(lifecycle.Retained, v1beta2.ApplicationStateCompleted, lifecycle.Succeeded, lifecycle.Cause{})
	case lifecycle.DriverFailed:
		return to(lifecycle.Retained, v1beta2.ApplicationStateFailed, lifecycle.Failed, driver.Why)
	}
	return to(lifecycle.Launched, v1beta2.ApplicationStateSubmitted, "", driver.Why)
}

func tinyRender(app *v1beta2.SparkApplication, action lifecycle.Action, _ time.Time) (submit.Objects, error) {
	meta := func(suffix string) metav1.ObjectMeta { return tinyMeta(app, suffix, action.Attempt) }
	immutable := &corev1.ConfigMap{ObjectMeta: meta("conf"), Immutable: new(true), Data: map[string]string{"class": *app.Spec.MainClass}}
	service := &corev1.Service{ObjectMeta: meta("svc"), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{identity.AppUIDLabel: string(app.UID)},
		Ports: []corev1.ServicePort{{Name: "rpc", Port: 7078, TargetPort: intstr.FromInt32(7078)}},
	}}
	return submit.Objects{Before: []submit.Object{immutable, service}, Driver: tinyDriver(app, action.Attempt)}, nil
}

func tinyMeta(app *v1beta2.SparkApplication, suffix string, attempt int32) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: app.Namespace, Name: app.Name + "-" + suffix,
		Labels: map[string]string{identity.AppUIDLabel: string(app.UID), identity.AttemptLabel: strconv.Itoa(int(attempt))},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(app, v1beta2.GroupVersion.WithKind("SparkApplication")),
		},
	}
}

func tinyDriver(app *v1beta2.SparkApplication, attempt int32) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: tinyMeta(app, "driver", attempt), Spec: corev1.PodSpec{
		RestartPolicy:      corev1.RestartPolicyNever,
		ServiceAccountName: "default",
		Containers:         []corev1.Container{{Name: overlay.DriverContainer, Image: *app.Spec.Image}},
	}}
	pod.Labels[identity.RoleLabel] = identity.RoleDriver
	return pod
}

// waitCause waits until the tiny kind's status tells the reason.
func (w *world) waitCause(name, reason string) {
	w.t.Helper()
	testkit.Wait(w.t, name+" to tell "+reason, func(context.Context) error { return want(w.get(name).Status.SubmissionID, reason) })
}
