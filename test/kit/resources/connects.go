package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// RunServers starts an operator that serves only SparkConnects.
func RunServers(w *world.World, cfg config.Configuration, clock controller.Clock, change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()
	return world.ServeAlone(w, cfg, clock, func(op *operator.Operator) contract.Kind {
		return configured.For(kinds.SparkConnect).Build(op.Settings, nil)
	}, change)
}

// Server creates a SparkConnect.
func Server(w *world.World, name string, change ...func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
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

// GetServer returns a SparkConnect.
func GetServer(w *world.World, name string) *v1alpha1.SparkConnect {
	w.T.Helper()

	sc := &v1alpha1.SparkConnect{}
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, sc); err != nil {
		w.T.Fatal(err)
	}
	return sc
}

// PatchServer patches a SparkConnect.
func PatchServer(w *world.World, name, patch string) {
	w.T.Helper()

	if err := w.API.Patch(w.T.Context(), GetServer(w, name), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// ServerPod waits for the server pod of an attempt, and returns it.
func ServerPod(w *world.World, sc *v1alpha1.SparkConnect, attempt int) *corev1.Pod {
	w.T.Helper()

	pod := &corev1.Pod{}
	kit.Wait(w.T, fmt.Sprintf("the server of %s, attempt %d", sc.Name, attempt), func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: sc.Name + "-server"}, pod); err != nil {
			return err
		}
		return errors.Join(world.Want(pod.Labels[identity.AttemptLabel], fmt.Sprint(attempt)), world.Want(pod.Labels[identity.AppUIDLabel], string(sc.UID)), world.Want(pod.DeletionTimestamp == nil, true))
	})
	return pod
}

// WaitServer waits until a SparkConnect is in the given state and meets all given conditions.
func WaitServer(w *world.World, name string, state v1alpha1.SparkConnectState, holds ...func(*v1alpha1.SparkConnect) error) *v1alpha1.SparkConnect {
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

// Holds returns a check that a SparkConnect has a condition with the given status and reason, whose message contains
// all the texts.
func Holds(kind string, status metav1.ConditionStatus, reason string, says ...string) func(*v1alpha1.SparkConnect) error {
	return func(sc *v1alpha1.SparkConnect) error {
		c := meta.FindStatusCondition(sc.Status.Conditions, kind)
		if c == nil {
			return fmt.Errorf("there is no condition %s", kind)
		}

		if err := errors.Join(world.Want(c.Status, status), world.Want(c.Reason, reason)); err != nil {
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

// Absent returns a check that a SparkConnect has no condition of the given type.
func Absent(kind string) func(*v1alpha1.SparkConnect) error {
	return func(sc *v1alpha1.SparkConnect) error {
		return world.Want(meta.FindStatusCondition(sc.Status.Conditions, kind) == nil, true)
	}
}

// ServerService waits until a Service meets all conditions, and returns it.
func ServerService(w *world.World, name string, holds ...func(*corev1.Service) error) *corev1.Service {
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

// Selects returns a check that a Service selects a pod.
func Selects(pod *corev1.Pod) func(*corev1.Service) error {
	return func(service *corev1.Service) error {
		for key, value := range service.Spec.Selector {
			if pod.Labels[key] != value {
				return fmt.Errorf("the Service selects %s=%s, the pod has %q", key, value, pod.Labels[key])
			}
		}
		return world.Want(len(service.Spec.Selector) > 0, true)
	}
}

// ServerExecutor returns an executor pod as a server would create it. The server's configuration gives the
// pod our labels, and the server's pod is its only owner.
func ServerExecutor(w *world.World, server *corev1.Pod, id int) *corev1.Pod {
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

// ReadyServer plays the kubelet until the server pod of an attempt is Ready and the status counts one executor. It
// returns the server pod.
func ReadyServer(w *world.World, sc *v1alpha1.SparkConnect, attempt int) *corev1.Pod {
	w.T.Helper()
	pod := StartedServer(w, sc, attempt)
	WaitServer(w, sc.Name, v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(world.Want(sc.Status.Operator.Attempt, int32(attempt)), world.Want(sc.Status.Executors["running"], 1))
	})
	return pod
}

// StartedServer plays the kubelet until the server pod of an attempt is Ready and has one executor, and returns the
// server pod. In contrast to readyServer, it does not wait until the status counts the executor, which may take up to
// ten seconds.
func StartedServer(w *world.World, sc *v1alpha1.SparkConnect, attempt int) *corev1.Pod {
	w.T.Helper()
	pod := ServerPod(w, sc, attempt)
	w.Ready(pod.Name)
	executor := ServerExecutor(w, pod, 1)
	w.Create(executor)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	WaitServer(w, sc.Name, v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return world.Want(sc.Status.Operator.Attempt, int32(attempt))
	})
	return pod
}

// TriggerServerPass triggers a pass over a SparkConnect.
func TriggerServerPass(w *world.World, name string) {
	w.T.Helper()
	PatchServer(w, name, fmt.Sprintf(`{"metadata":{"annotations":{"poked":%q}}}`, time.Now()))
}

// Template returns a pod template from its JSON text.
func Template(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// PortsOf returns the names and numbers of a Service's ports as a text.
func PortsOf(s *corev1.Service) string {
	var ports []string
	for _, p := range s.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s:%d", p.Name, p.Port))
	}
	return strings.Join(ports, " ")
}

// UntouchedObject checks that somebody else's object is unchanged.
func UntouchedObject(w *world.World, object client.Object) {
	w.T.Helper()

	now := object.DeepCopyObject().(client.Object)
	if err := w.API.Get(w.T.Context(), client.ObjectKeyFromObject(object), now); err != nil || now.GetUID() != object.GetUID() || len(now.GetLabels()) > 0 {
		w.T.Errorf("%s of somebody else was touched: %v, %+v", object.GetName(), err, now)
	}
}
