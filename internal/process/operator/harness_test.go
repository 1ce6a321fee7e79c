package operator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // for code without the operator's logger, such as an informer
	kit.Main(m)
}

// quiet, arrival and budgetInterval are delays of the operator that tests have to wait for.
const (
	quiet          = 2 * time.Second  // from the last change of the executors to the status write
	arrival        = 30 * time.Second // the longest delay of a status write while initial executors are missing
	budgetInterval = 15 * time.Second // from a rejected request for a budget to the next request
)

// world is the namespace of a test. Its methods create and read objects, and play the kubelet.
type world struct {
	*scene.World
	registry *prometheus.Registry // of the operator that was started last
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{World: scene.New(t), registry: prometheus.NewRegistry()}
}

// testConfig returns a configuration that serves the given namespaces, with every endpoint and the leader election
// switched off.
func testConfig(namespaces ...string) config.Configuration {
	cfg := config.Default()
	cfg.Namespaces.Names = namespaces
	cfg.LeaderElection.Enabled = new(false)
	cfg.Metrics.BindAddress, cfg.Health.BindAddress = config.Off, config.Off
	cfg.Controller.Workers = 4
	// Objects that lead to drivers from outside the cluster are created; see TestNothingOutside.
	cfg.Exposure.Enabled = true
	return cfg
}

// serveAlone starts an operator that serves only one kind.
func serveAlone(w *world, cfg config.Configuration, clock controller.Clock, kind func(*Operator) controller.Kind, change []func(*Environment)) (stop func()) {
	w.T.Helper()

	env := w.environment()
	for _, c := range change {
		c(&env)
	}

	op, err := newOperator(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}

	op.optional.Interval = 100 * time.Millisecond // the control plane may have just started and serve no definition yet
	if err := AddWhenServed(w.T.Context(), op, kind(op), clock); err != nil {
		w.T.Fatal(err)
	}
	return w.run(op)
}

func (w *world) environment() Environment {
	w.T.Helper()
	w.registry = prometheus.NewRegistry() // each operator counts from zero, as a process does
	return Environment{Rest: kit.Rest(w.T), Log: w.Logger(), Registerer: w.registry, SkipNameValidation: true}
}

// run starts an operator and returns a function that stops it. An operator that still runs at the end of the test is
// stopped then.
func (w *world) run(op *Operator) (stop func()) {
	w.T.Helper()

	ctx, cancel := context.WithCancel(context.Background())

	done := make(chan error, 1)
	go func() { done <- op.Start(ctx) }()

	stop = sync.OnceFunc(func() {
		cancel()

		if err := <-done; err != nil {
			w.T.Errorf("the operator ended with %v", err)
		}
	})
	w.T.Cleanup(stop)
	return stop
}

// runIdle starts an operator without reconcilers, and waits until its caches contain the SparkApplications.
func (w *world) runIdle() *Operator {
	w.T.Helper()

	op, err := newOperator(w.T.Context(), testConfig(w.Namespace), w.environment())
	if err != nil {
		w.T.Fatal(err)
	}

	w.run(op)

	if _, err := op.GetCache().GetInformer(w.T.Context(), &v1beta2.SparkApplication{}); err != nil {
		w.T.Fatal(err)
	}

	if !op.GetCache().WaitForCacheSync(w.T.Context()) {
		w.T.Fatal("the caches are not full")
	}
	return op
}

// reconciler returns a reconciler of SparkApplications that uses the caches and clients of an operator. No controller
// calls the reconciler: the test itself starts its passes.
func (w *world) reconciler(op *Operator, change func(*controller.Options)) *controller.Reconciler {
	w.T.Helper()

	options := controller.Options{
		Kind: kinds.SparkApplications(config.Default, nil), Client: op.GetClient(), Live: op.GetAPIReader(), Events: op.recorder, Metrics: op.metrics,
		Clock: time.Now, Scope: scene.Everywhere{}, Explainer: explain.New(op.GetAPIReader(), op.GetClient(), nil), Optional: op.optional,
		ShutdownTimeout: time.Minute,
	}
	change(&options)
	return controller.New(options)
}

// runTiny starts an operator that serves only the given kind of package tiny.
func (w *world) runTiny(kind controller.Kind, change ...func(*Environment)) (stop func()) {
	w.T.Helper()
	return w.runTinyBy(time.Now, kind, change...)
}

// runTinyBy starts an operator that serves only the given kind of package tiny and uses the given clock.
func (w *world) runTinyBy(clock controller.Clock, kind controller.Kind, change ...func(*Environment)) (stop func()) {
	w.T.Helper()

	env := w.environment()
	for _, c := range change {
		c(&env)
	}

	op, err := newOperator(w.T.Context(), testConfig(w.Namespace), env)
	if err != nil {
		w.T.Fatal(err)
	}

	if err := Add(w.T.Context(), op, kind, clock); err != nil {
		w.T.Fatal(err)
	}
	return w.run(op)
}

// waitState waits until the application is in the given state, and returns the application.
func (w *world) waitState(name string, state v1beta2.ApplicationStateType) *v1beta2.SparkApplication {
	w.T.Helper()

	app := &v1beta2.SparkApplication{}
	kit.Wait(w.T, fmt.Sprintf("%s to be %q", name, state), func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, app); err != nil {
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
	w.T.Helper()

	pod := &corev1.Pod{}
	kit.Wait(w.T, "pod "+name, func(ctx context.Context) error {
		return w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, pod)
	})
	return pod
}

// kubelet sets a pod's phase and the state of its first container, as a kubelet would.
func (w *world) kubelet(pod string, phase corev1.PodPhase, state corev1.ContainerState) {
	w.T.Helper()
	object := w.waitPod(pod)
	before := object.DeepCopy()
	object.Status.Phase = phase

	object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: object.Spec.Containers[0].Name, State: state}}
	if err := w.API.Status().Patch(w.T.Context(), object, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}
