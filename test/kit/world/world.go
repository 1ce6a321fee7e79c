// Package world runs operators in the namespace of a test, and contains what tests of whole passes share: waits, the
// actions of the kubelet and of spark-submit, metrics, and the requests that an operator sends. It imports the
// operator, so tests that use it are in the external test package of the code that they judge.
package world

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// Quiet, arrival and budgetInterval are delays of the operator that tests have to wait for.
const (
	Quiet          = 2 * time.Second  // from the last change of the executors to the status write
	Arrival        = 30 * time.Second // the longest delay of a status write while initial executors are missing
	BudgetInterval = 15 * time.Second // from a rejected request for a budget to the next request
)

// World is the namespace of a test. Its methods create and read objects, and play the kubelet.
type World struct {
	*scene.World
	Registry *prometheus.Registry // of the operator that was started last
}

// New returns the world of a test, in a namespace of its own.
func New(t testing.TB) *World {
	t.Helper()
	return &World{World: scene.New(t), Registry: prometheus.NewRegistry()}
}

// Config returns a configuration that serves the given namespaces, with every endpoint and the leader election
// switched off.
func Config(namespaces ...string) config.Configuration {
	cfg := config.Default()
	cfg.Namespaces.Names = namespaces
	cfg.LeaderElection.Enabled = new(false)
	cfg.Metrics.BindAddress, cfg.Health.BindAddress = config.Off, config.Off
	cfg.Controller.Workers = 4
	// Objects that lead to drivers from outside the cluster are created; see TestNothingOutside.
	cfg.Exposure.Enabled = true
	return cfg
}

// ServeAlone starts an operator that serves only one kind.
func ServeAlone(w *World, cfg config.Configuration, clock controller.Clock, kind func(*operator.Operator) contract.Kind, change []func(*operator.Environment)) (stop func()) {
	w.T.Helper()

	env := w.Environment()
	for _, c := range change {
		c(&env)
	}

	op, err := operator.NewEmpty(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}

	op.Optional.Interval = 100 * time.Millisecond // the control plane may have just started and serve no definition yet
	if err := operator.AddWhenServed(w.T.Context(), op, kind(op), clock); err != nil {
		w.T.Fatal(err)
	}
	return w.Run(op)
}

// Environment returns the environment of an operator of this test.
func (w *World) Environment() operator.Environment {
	w.T.Helper()
	w.Registry = prometheus.NewRegistry() // each operator counts from zero, as a process does
	return operator.Environment{Rest: kit.Rest(w.T), Log: w.Logger(), Registerer: w.Registry, SkipNameValidation: true}
}

// Run starts an operator and returns a function that stops it. An operator that still runs at the end of the test is
// stopped then.
func (w *World) Run(op *operator.Operator) (stop func()) {
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

// RunIdle starts an operator without reconcilers, and waits until its caches contain the SparkApplications.
func (w *World) RunIdle() *operator.Operator {
	w.T.Helper()

	op, err := operator.NewEmpty(w.T.Context(), Config(w.Namespace), w.Environment())
	if err != nil {
		w.T.Fatal(err)
	}

	w.Run(op)

	if _, err := op.GetCache().GetInformer(w.T.Context(), &v1beta2.SparkApplication{}); err != nil {
		w.T.Fatal(err)
	}

	if !op.GetCache().WaitForCacheSync(w.T.Context()) {
		w.T.Fatal("the caches are not full")
	}
	return op
}

// Reconciler returns a reconciler of SparkApplications that uses the caches and clients of an operator. No controller
// calls the reconciler: the test itself starts its passes.
func (w *World) Reconciler(op *operator.Operator, change func(*controller.Options)) *controller.Reconciler {
	w.T.Helper()

	options := controller.Options{
		Kind: configured.For(kinds.SparkApplication).Build(config.Default, nil), Client: op.GetClient(), Live: op.GetAPIReader(), Events: op.Recorder, Metrics: op.Metrics, Traces: op.Traces,
		Clock: time.Now, Scope: scene.Everywhere{}, Explainer: explain.New(op.GetAPIReader(), op.GetClient(), nil), Optional: op.Optional,
		ShutdownTimeout: time.Minute,
	}
	change(&options)
	return controller.New(options)
}

// RunTiny starts an operator that serves only the given kind of package tiny.
func (w *World) RunTiny(kind contract.Kind, change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()
	return w.RunTinyBy(time.Now, kind, change...)
}

// RunTinyBy starts an operator that serves only the given kind of package tiny and uses the given clock.
func (w *World) RunTinyBy(clock controller.Clock, kind contract.Kind, change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()

	env := w.Environment()
	for _, c := range change {
		c(&env)
	}

	op, err := operator.NewEmpty(w.T.Context(), Config(w.Namespace), env)
	if err != nil {
		w.T.Fatal(err)
	}

	if err := operator.Add(w.T.Context(), op, kind, clock); err != nil {
		w.T.Fatal(err)
	}
	return w.Run(op)
}

// WaitState waits until the application is in the given state, and returns the application.
func (w *World) WaitState(name string, state v1beta2.ApplicationStateType) *v1beta2.SparkApplication {
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

// WaitPod waits until a pod exists, and returns it.
func (w *World) WaitPod(name string) *corev1.Pod {
	w.T.Helper()

	pod := &corev1.Pod{}
	kit.Wait(w.T, "pod "+name, func(ctx context.Context) error {
		return w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, pod)
	})
	return pod
}

// Kubelet sets a pod's phase and the state of its first container, as a kubelet would.
func (w *World) Kubelet(pod string, phase corev1.PodPhase, state corev1.ContainerState) {
	w.T.Helper()
	object := w.WaitPod(pod)
	before := object.DeepCopy()
	object.Status.Phase = phase

	object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: object.Spec.Containers[0].Name, State: state}}
	if err := w.API.Status().Patch(w.T.Context(), object, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// Running returns the state of a container that runs.
func Running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
}

// Waiting returns the state of a container that waits, with the reason.
func Waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}
