package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/connect"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestServersThatCannotBeMade checks that a condition and an event name the field or object that prevents the creation
// of a server. The server starts once the problem is corrected, without a restart of the operator. Other servers are
// not affected.
func TestServersThatCannotBeMade(t *testing.T) {
	t.Parallel()
	const failed, provisioning = v1alpha1.SparkConnectStateFailed, v1alpha1.SparkConnectStateProvisioning
	type story struct {
		name   string
		sc     func(*v1alpha1.SparkConnect)
		hinder func(*world) (lift func())
		after  func(*world) // what the cluster does with the server's pod
		state  v1alpha1.SparkConnectState
		reason string
		event  string
		says   []string
		stalls bool
	}

	edit := func(patch string) func(*world) func() {
		return func(w *world) func() { return func() { w.patchServer("x", patch) } }
	}
	for _, test := range []story{
		{
			name: "quota", hinder: func(w *world) func() { quota := w.noPods(); return func() { w.Remove(quota) } },
			state: failed, reason: apianswer.ReasonQuota, event: "SparkServerRefused", says: []string{"exceeded quota", "the next server starts at"},
		},
		{
			name: "pod security", hinder: func(w *world) func() {
				w.label("pod-security.kubernetes.io/enforce", `"restricted"`)
				return func() { w.label("pod-security.kubernetes.io/enforce", "null") }
			}, sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Server.Template = template(`{"spec":{"hostNetwork":true,"containers":[{"name":"spark-kubernetes-driver"}]}}`)
			},
			state: failed, reason: apianswer.ReasonPodSecurity, event: "SparkServerRefused", says: []string{"violates PodSecurity"},
		},
		{
			name: "service account", hinder: func(w *world) func() {
				return func() {
					w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "absent"}})
				}
			}, sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Server.Template = template(`{"spec":{"serviceAccountName":"absent","containers":[{"name":"spark-kubernetes-driver"}]}}`)
			},
			state: failed, reason: apianswer.ReasonServiceAccount, event: "SparkServerRefused", says: []string{`"absent"`},
		},
		{
			name: "a pod that the API server finds invalid", sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Server.Template = template(`{"spec":{"activeDeadlineSeconds":0,"containers":[{"name":"spark-kubernetes-driver"}]}}`)
			}, hinder: edit(`{"spec":{"server":{"template":null}}}`),
			state: failed, reason: lifecycle.ReasonPodInvalid, event: "SparkServerRefused", says: []string{"spec.activeDeadlineSeconds"},
		},
		{
			name: "a pod that the operator finds invalid", sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Server.Template = template(`{"spec":{"containers":[{"name":"Not_A_Name"}]}}`)
			}, hinder: edit(`{"spec":{"server":{"template":null}}}`),
			state: failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid", says: []string{"spec.containers[0].name"}, stalls: true,
		},
		{
			name: "an invalid template of the server", sc: func(sc *v1alpha1.SparkConnect) { sc.Spec.Server.Template = template(`{"spec":{"containers":"none"}}`) },
			hinder: edit(`{"spec":{"server":{"template":null}}}`),
			state:  failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid", says: []string{"spec.server.template"}, stalls: true,
		},
		{
			name: "an invalid template of the executors", sc: func(sc *v1alpha1.SparkConnect) { sc.Spec.Executor.Template = template(`{"spec":7}`) },
			hinder: edit(`{"spec":{"executor":{"template":null}}}`),
			state:  failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid", says: []string{"spec.executor.template"}, stalls: true,
		},
		{
			name: "no image", sc: func(sc *v1alpha1.SparkConnect) { sc.Spec.Image = nil }, hinder: edit(`{"spec":{"image":"spark"}}`),
			state: failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid", says: []string{"spec.image"}, stalls: true,
		},
		{
			name: "an invalid memory size", sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Executor.Memory, sc.Spec.SparkConf = nil, map[string]string{"spark.executor.memory": "lots"}
			}, hinder: edit(`{"spec":{"executor":{"memory":"1g"}}}`),
			state: failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid", says: []string{"spec.sparkConf[spark.executor.memory]"}, stalls: true,
		},
		{
			name: "an image that does not exist", hinder: edit(`{"spec":{"image":"there"}}`), after: func(w *world) {
				w.kubelet("x-server", corev1.PodPending, waiting("ImagePullBackOff", `Back-off pulling image "gone"`))
			},
			state: provisioning, reason: "ImagePullBackOff", event: "SparkServerPending", says: []string{`"gone"`},
		},
		{
			name: "somebody else's pod with the server's name", hinder: func(w *world) func() {
				pod := scene.ForeignPod(w.Namespace, "x-server")
				w.Create(pod)
				return func() { w.untouchedObject(pod); w.Remove(pod) }
			},
			state: failed, reason: dependents.ReasonNameTaken, event: "SparkServerRefused", says: []string{`Pod "x-server" already exists`},
		},
		{
			name: "somebody else's ConfigMap with the name of ours", hinder: func(w *world) func() {
				config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}
				w.Create(config)
				return func() { w.untouchedObject(config); w.Remove(config) }
			},
			state: failed, reason: dependents.ReasonNameTaken, event: "SparkServerRefused", says: []string{`ConfigMap "x-conf" already exists`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w, clock := newWorld(t), &later{}
			lift := test.hinder(w)
			w.runServers(testConfig(w.Namespace), clock.now)
			sc := w.server("x", func(sc *v1alpha1.SparkConnect) {
				if test.sc != nil {
					test.sc(sc)
				}
			})
			w.server("y", func(sc *v1alpha1.SparkConnect) { sc.Spec.Suspend = new(true) })

			if test.after != nil {
				w.serverPod(sc, 1)
				test.after(w)
			}

			w.waitServer("x", test.state, holds("Ready", metav1.ConditionFalse, test.reason, test.says...),
				holds("ServerPodReady", metav1.ConditionFalse, test.reason), holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"))
			w.waitEvent(sc, test.event, test.says[0])

			if test.stalls {
				w.waitServer("x", test.state, holds("Stalled", metav1.ConditionTrue, test.reason), absent("Reconciling"))
			}

			w.waitServer("y", v1alpha1.SparkConnectStateNotReady, holds("Suspended", metav1.ConditionTrue, "Suspended"))
			lift()
			clock.advance(connect.FirstInterval)
			w.triggerServerPass("x")
			w.playNextServer(sc)
			w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Ready", metav1.ConditionTrue, "Running"), absent("Stalled"), absent("Degraded"))
		})
	}
}

// untouchedObject checks that somebody else's object is unchanged.
func (w *world) untouchedObject(object client.Object) {
	w.T.Helper()

	now := object.DeepCopyObject().(client.Object)
	if err := w.API.Get(w.T.Context(), client.ObjectKeyFromObject(object), now); err != nil || now.GetUID() != object.GetUID() || len(now.GetLabels()) > 0 {
		w.T.Errorf("%s of somebody else was touched: %v, %+v", object.GetName(), err, now)
	}
}

// playNextServer plays the kubelet for the next server pod that the operator creates.
func (w *world) playNextServer(sc *v1alpha1.SparkConnect) {
	w.T.Helper()
	kit.Wait(w.T, "a server of "+sc.Name+" to be ready", func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: sc.Name + "-server"}, pod); err != nil {
			return err
		}

		waits := len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Waiting != nil
		return errors.Join(want(pod.Labels[identity.AppUIDLabel], string(sc.UID)), want(waits, false), want(pod.DeletionTimestamp == nil, true))
	})
	w.ready(sc.Name + "-server")
}

// TestServiceOfSomebodyElse checks that a server runs although somebody else's Service has the name that the server's
// Service needs. The operator reports once that the server has no Service, and creates the Service when the name is
// free.
func TestServiceOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-server"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.Create(theirs)
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionFalse, dependents.ReasonNameTaken, `"x-server" already exists`),
		holds("Ready", metav1.ConditionFalse, dependents.ReasonNameTaken), holds("ServerPodReady", metav1.ConditionTrue, "ServerPodReady"),
		func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.Server.ServiceName, "") })
	w.waitEvent(sc, dependents.ReasonNameTaken, "does not belong to this resource")

	quiet := w.getServer("x")
	for range 3 { // every pass reports the same
		readCount := clock.readCount.Load()
		clock.advance(time.Minute)
		w.triggerServerPass("x")
		kit.Wait(t, "a pass", func(context.Context) error { return want(clock.readCount.Load() > readCount, true) })
	}

	if now := w.getServer("x"); !now.Status.LastUpdateTime.Equal(&quiet.Status.LastUpdateTime) {
		t.Errorf("the status was written:\n%+v\n%+v", quiet.Status, now.Status)
	}

	w.untouchedObject(theirs)
	w.Remove(theirs)
	clock.advance(auxiliary.MaxInterval)
	w.triggerServerPass("x")
	w.serverService("x-server", selects(pod))
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"), holds("Ready", metav1.ConditionTrue, "Running"),
		func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.Server.ServiceName, "x-server") })
}

// TestServiceThatCannotBe checks that the server continues to run if the operator or the API server rejects the Service
// of the spec. A condition and an event give the reason.
func TestServiceThatCannotBe(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ service, reason, says string }{
		"the operator rejects the Service":   {`{"spec":{"type":"ExternalName","externalName":"else.where"}}`, "InvalidService", "spec.server.service"},
		"the API server rejects the Service": {`{"spec":{"sessionAffinity":"Sometimes"}}`, "Invalid", "spec.sessionAffinity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, clock := newWorld(t), &later{}
			w.runServers(testConfig(w.Namespace), clock.now)
			sc := w.server("x")
			pod := w.readyServer(sc, 1)
			w.patchServer("x", fmt.Sprintf(`{"spec":{"server":{"service":%s}}}`, test.service))
			w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionFalse, test.reason, test.says))
			w.waitEvent(sc, test.reason, test.says)

			if now := w.serverPod(sc, 1); now.UID != pod.UID {
				t.Error("the server was replaced")
			}

			w.patchServer("x", `{"spec":{"server":{"service":null}}}`)
			clock.advance(auxiliary.MaxInterval)
			w.triggerServerPass("x")
			w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"), holds("Ready", metav1.ConditionTrue, "Running"))
			w.serverService("x-server", selects(pod))
		})
	}
}

// TestServerWithoutRights checks a server whose template names no service account. It runs as the default account,
// which has no rights, and fails. The message names the missing right, and not only the exit code.
func TestServerWithoutRights(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	w.serverPod(sc, 1)
	w.kubelet("x-server", corev1.PodFailed, scene.Exited(1, "org.apache.spark.SparkException: External scheduler cannot be instantiated"))
	w.waitServer("x", v1alpha1.SparkConnectStateFailed, holds("Ready", metav1.ConditionFalse, apianswer.ReasonForbidden,
		`service account "default" has no right to get pods`, "Role"))
	w.waitEvent(sc, "SparkServerFailed", `service account "default" has no right`)
}

// TestExecutorsOfAServerThatCannotBeMade checks that the condition Degraded reports why no executor can be created,
// since Spark itself does not report it. The server stays Ready. While the executor is missing after the correction,
// the reason says that the API server would create one. The condition goes when Spark has created the executor.
func TestExecutorsOfAServerThatCannotBeMade(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		hinder func(*world) func()
		reason string
		says   string
	}{
		"quota": {func(w *world) func() {
			kit.NeedsControllers(w.T, quotaFigures)
			w.grantSparkRights()
			quota := &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "one-pod"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
			}
			w.Create(quota)
			return func() { w.Remove(quota) }
		}, apianswer.ReasonQuota, "exceeded quota: one-pod"},
		"rights": {func(w *world) func() { return w.grantSparkRights }, apianswer.ReasonForbidden, `service account "default" has no right to get pods`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, clock := newWorld(t), &later{}
			lift := test.hinder(w)
			w.runServers(testConfig(w.Namespace), clock.now)
			sc := w.server("x")
			pod := w.serverPod(sc, 1)
			w.ready("x-server")
			w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Degraded", metav1.ConditionTrue, test.reason, test.says), holds("Ready", metav1.ConditionTrue, "Running"))
			w.waitEvent(sc, "SparkExecutorPending", test.says)
			lift()
			clock.advance(time.Minute)
			w.triggerServerPass("x")
			w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Degraded", metav1.ConditionTrue, lifecycle.ReasonExecutorsMissing), holds("Ready", metav1.ConditionTrue, "Running"))
			executor := w.serverExecutor(pod, 1)
			w.Create(executor)
			w.ready(executor.Name)
			w.waitServer("x", v1alpha1.SparkConnectStateReady, absent("Degraded"), holds("Ready", metav1.ConditionTrue, "Running"))
		})
	}
}
