package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// later is a clock that advances by itself, and that a test can also advance. The field readCount is the number of
// times that the operator has read the clock; every pass reads it.
type later struct{ offset, readCount atomic.Int64 }

func (l *later) now() time.Time {
	l.readCount.Add(1)
	return time.Now().Add(time.Duration(l.offset.Load()))
}

func (l *later) advance(step time.Duration) { l.offset.Add(int64(step)) }

// runServers starts an operator that serves only SparkConnects.
func (w *world) runServers(cfg config.Configuration, clock controller.Clock, change ...func(*Environment)) (stop func()) {
	w.T.Helper()
	return serveAlone(w, cfg, clock, func(op *Operator) controller.Kind { return kinds.SparkConnects(op.Settings, nil) }, change)
}

// server creates a SparkConnect.
func (w *world) server(name string, change ...func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
	w.T.Helper()
	sc := &v1alpha1.SparkConnect{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec:       v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4", Image: new("docker.io/apache/spark:4.1.4")},
	}

	sc.Spec.Executor.Instances = new(int32(1))
	for _, c := range change {
		c(sc)
	}

	w.Create(sc)
	return sc
}

func (w *world) getServer(name string) *v1alpha1.SparkConnect {
	w.T.Helper()

	sc := &v1alpha1.SparkConnect{}
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, sc); err != nil {
		w.T.Fatal(err)
	}
	return sc
}

// patchServer patches a SparkConnect.
func (w *world) patchServer(name, patch string) {
	w.T.Helper()

	if err := w.API.Patch(w.T.Context(), w.getServer(name), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// serverPod waits for the server pod of an attempt, and returns it.
func (w *world) serverPod(sc *v1alpha1.SparkConnect, attempt int) *corev1.Pod {
	w.T.Helper()

	pod := &corev1.Pod{}
	kit.Wait(w.T, fmt.Sprintf("the server of %s, attempt %d", sc.Name, attempt), func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: sc.Name + "-server"}, pod); err != nil {
			return err
		}
		return errors.Join(want(pod.Labels[identity.AttemptLabel], fmt.Sprint(attempt)), want(pod.Labels[identity.AppUIDLabel], string(sc.UID)), want(pod.DeletionTimestamp == nil, true))
	})
	return pod
}

// waitServer waits until a SparkConnect is in the given state and meets all given conditions.
func (w *world) waitServer(name string, state v1alpha1.SparkConnectState, holds ...func(*v1alpha1.SparkConnect) error) *v1alpha1.SparkConnect {
	w.T.Helper()

	sc := &v1alpha1.SparkConnect{}
	kit.Wait(w.T, fmt.Sprintf("%s to be %q", name, state), func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, sc); err != nil {
			return err
		}

		if sc.Status.State != state {
			return fmt.Errorf("the state is %q: %+v", sc.Status.State, sc.Status.Conditions)
		}

		for _, check := range holds {
			if err := check(sc); err != nil {
				return fmt.Errorf("%w: %+v", err, sc.Status.Conditions)
			}
		}
		return nil
	})
	return sc
}

// holds returns a check that a SparkConnect has a condition with the given status and reason, whose message contains
// all the texts.
func holds(kind string, status metav1.ConditionStatus, reason string, says ...string) func(*v1alpha1.SparkConnect) error {
	return func(sc *v1alpha1.SparkConnect) error {
		c := meta.FindStatusCondition(sc.Status.Conditions, kind)
		if c == nil {
			return fmt.Errorf("there is no condition %s", kind)
		}

		if err := errors.Join(want(c.Status, status), want(c.Reason, reason)); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}

		for _, text := range says {
			if !strings.Contains(c.Message, text) {
				return fmt.Errorf("%s says %q, not %q", kind, c.Message, text)
			}
		}
		return nil
	}
}

// absent returns a check that a SparkConnect has no condition of the given type.
func absent(kind string) func(*v1alpha1.SparkConnect) error {
	return func(sc *v1alpha1.SparkConnect) error {
		return want(meta.FindStatusCondition(sc.Status.Conditions, kind) == nil, true)
	}
}

// serverService waits until a Service meets all conditions, and returns it.
func (w *world) serverService(name string, holds ...func(*corev1.Service) error) *corev1.Service {
	w.T.Helper()

	service := &corev1.Service{}
	kit.Wait(w.T, "Service "+name, func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, service); err != nil {
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

// selects returns a check that a Service selects a pod.
func selects(pod *corev1.Pod) func(*corev1.Service) error {
	return func(service *corev1.Service) error {
		for key, value := range service.Spec.Selector {
			if pod.Labels[key] != value {
				return fmt.Errorf("the Service selects %s=%s, the pod has %q", key, value, pod.Labels[key])
			}
		}
		return want(len(service.Spec.Selector) > 0, true)
	}
}

// serverExecutor returns an executor pod as a server would create it. The server's configuration gives the
// pod our labels, and the server's pod is its only owner.
func (w *world) serverExecutor(server *corev1.Pod, id int) *corev1.Pod {
	labels := map[string]string{identity.RoleLabel: identity.RoleExecutor, "spark-exec-id": fmt.Sprint(id), "spark-app-selector": "spark-" + string(server.UID)}
	for _, key := range []string{identity.AppUIDLabel, identity.AttemptLabel, identity.ConnectNameLabel, identity.ManagedLabel} {
		if value := server.Labels[key]; value != "" {
			labels[key] = value
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: fmt.Sprintf("%s-%s-exec-%d", server.Labels[identity.ConnectNameLabel], server.UID[:4], id), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: server.Name, UID: server.UID, Controller: new(true)}},
		},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: overlay.ExecutorContainer, Image: "i"}}},
	}
}

// readyServer plays the kubelet until the server pod of an attempt is Ready and the status counts one executor. It
// returns the server pod.
func (w *world) readyServer(sc *v1alpha1.SparkConnect, attempt int) *corev1.Pod {
	w.T.Helper()
	pod := w.startedServer(sc, attempt)
	w.waitServer(sc.Name, v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(want(sc.Status.Operator.Attempt, int32(attempt)), want(sc.Status.Executors["running"], 1))
	})
	return pod
}

// startedServer plays the kubelet until the server pod of an attempt is Ready and has one executor, and returns the
// server pod. In contrast to readyServer, it does not wait until the status counts the executor, which may take up to
// ten seconds.
func (w *world) startedServer(sc *v1alpha1.SparkConnect, attempt int) *corev1.Pod {
	w.T.Helper()
	pod := w.serverPod(sc, attempt)
	w.ready(pod.Name)
	executor := w.serverExecutor(pod, 1)
	w.Create(executor)
	w.kubelet(executor.Name, corev1.PodRunning, running())
	w.waitServer(sc.Name, v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return want(sc.Status.Operator.Attempt, int32(attempt))
	})
	return pod
}

// triggerServerPass triggers a pass over a SparkConnect.
func (w *world) triggerServerPass(name string) {
	w.T.Helper()
	w.patchServer(name, fmt.Sprintf(`{"metadata":{"annotations":{"poked":%q}}}`, time.Now()))
}

// waitNoServer waits until a SparkConnect has no pod and no ConfigMap.
func (w *world) waitNoServer(sc *v1alpha1.SparkConnect) {
	w.T.Helper()
	kit.Wait(w.T, "the deletion of the server of "+sc.Name, func(ctx context.Context) error {
		for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.PodList{}} {
			if err := w.API.List(ctx, list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(sc.UID)}); err != nil {
				return err
			}

			if n := metaLen(list); n != 0 {
				return fmt.Errorf("%d in %T", n, list)
			}
		}
		return nil
	})
}

func template(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
