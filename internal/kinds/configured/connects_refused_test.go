package configured_test

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
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
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
		hinder func(*world.World) (lift func())
		after  func(*world.World) // what the cluster does with the server's pod
		state  v1alpha1.SparkConnectState
		reason string
		event  string
		says   []string
		stalls bool
	}

	edit := func(patch string) func(*world.World) func() {
		return func(w *world.World) func() { return func() { resources.PatchServer(w, "x", patch) } }
	}
	for _, test := range []story{
		{
			name: "quota", hinder: func(w *world.World) func() { quota := w.NoPods(); return func() { w.Remove(quota) } },
			state: failed, reason: apianswer.ReasonQuota, event: "SparkServerRefused",
			says: []string{"exceeded quota", "the next server starts at"},
		},
		{
			name: "pod security", hinder: func(w *world.World) func() {
				w.Label("pod-security.kubernetes.io/enforce", `"restricted"`)
				return func() { w.Label("pod-security.kubernetes.io/enforce", "null") }
			}, sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Server.Template = resources.Template(`{"spec":{"hostNetwork":true,"containers":[{"name":"spark-kubernetes-driver"}]}}`)
			},
			state: failed, reason: apianswer.ReasonPodSecurity, event: "SparkServerRefused",
			says: []string{"violates PodSecurity"},
		},
		{
			name: "service account", hinder: func(w *world.World) func() {
				return func() {
					w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace,
						Name: "absent"}})
				}
			}, sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Server.Template = resources.Template(`{"spec":{"serviceAccountName":"absent","containers":[{"name":"spark-kubernetes-driver"}]}}`)
			},
			state: failed, reason: apianswer.ReasonServiceAccount, event: "SparkServerRefused",
			says: []string{`"absent"`},
		},
		{
			name: "a pod that the API server finds invalid", sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Server.Template = resources.Template(`{"spec":{"activeDeadlineSeconds":0,"containers":[{"name":"spark-kubernetes-driver"}]}}`)
			}, hinder: edit(`{"spec":{"server":{"template":null}}}`),
			state: failed, reason: lifecycle.ReasonPodInvalid, event: "SparkServerRefused",
			says: []string{"spec.activeDeadlineSeconds"},
		},
		{
			name: "a pod that the operator finds invalid", sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Server.Template = resources.Template(`{"spec":{"containers":[{"name":"Not_A_Name"}]}}`)
			}, hinder: edit(`{"spec":{"server":{"template":null}}}`),
			state: failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid",
			says: []string{"spec.containers[0].name"}, stalls: true,
		},
		{
			name: "an invalid template of the server", sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Server.Template = resources.Template(`{"spec":{"containers":"none"}}`)
			},
			hinder: edit(`{"spec":{"server":{"template":null}}}`),
			state:  failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid",
			says: []string{"spec.server.template"}, stalls: true,
		},
		{
			name:   "an invalid template of the executors",
			sc:     func(sc *v1alpha1.SparkConnect) { sc.Spec.Executor.Template = resources.Template(`{"spec":7}`) },
			hinder: edit(`{"spec":{"executor":{"template":null}}}`),
			state:  failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid",
			says: []string{"spec.executor.template"}, stalls: true,
		},
		{
			name: "no image", sc: func(sc *v1alpha1.SparkConnect) { sc.Spec.Image = nil },
			hinder: edit(`{"spec":{"image":"spark"}}`),
			state:  failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid", says: []string{"spec.image"},
			stalls: true,
		},
		{
			name: "an invalid memory size", sc: func(sc *v1alpha1.SparkConnect) {
				sc.Spec.Executor.Memory, sc.Spec.SparkConf = nil, map[string]string{"spark.executor.memory": "lots"}
			}, hinder: edit(`{"spec":{"executor":{"memory":"1g"}}}`),
			state: failed, reason: lifecycle.ReasonInvalid, event: "SparkConnectInvalid",
			says: []string{"spec.sparkConf[spark.executor.memory]"}, stalls: true,
		},
		{
			name: "an image that does not exist", hinder: edit(`{"spec":{"image":"there"}}`),
			after: func(w *world.World) {
				w.Kubelet("x-server", corev1.PodPending,
					world.Waiting("ImagePullBackOff", `Back-off pulling image "gone"`))
			},
			state: provisioning, reason: "ImagePullBackOff", event: "SparkServerPending", says: []string{`"gone"`},
		},
		{
			name: "somebody else's pod with the server's name", hinder: func(w *world.World) func() {
				pod := scene.ForeignPod(w.Namespace, "x-server")
				w.Create(pod)
				return func() { resources.UntouchedObject(w, pod); w.Remove(pod) }
			},
			state: failed, reason: dependents.ReasonNameTaken, event: "SparkServerRefused",
			says: []string{`Pod "x-server" already exists`},
		},
		{
			name: "somebody else's ConfigMap with the name of ours", hinder: func(w *world.World) func() {
				config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}
				w.Create(config)
				return func() { resources.UntouchedObject(w, config); w.Remove(config) }
			},
			state: failed, reason: dependents.ReasonNameTaken, event: "SparkServerRefused",
			says: []string{`ConfigMap "x-conf" already exists`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w, clock := world.New(t), &world.Later{}
			lift := test.hinder(w)
			resources.RunServers(w, world.Config(w.Namespace), clock.Now)
			sc := resources.Server(w, "x", func(sc *v1alpha1.SparkConnect) {
				if test.sc != nil {
					test.sc(sc)
				}
			})
			resources.Server(w, "y", func(sc *v1alpha1.SparkConnect) { sc.Spec.Suspend = new(true) })

			if test.after != nil {
				resources.ServerPod(w, sc, 1)
				test.after(w)
			}

			resources.WaitServer(w, "x", test.state,
				resources.Holds("Ready", metav1.ConditionFalse, test.reason, test.says...),
				resources.Holds("ServerPodReady", metav1.ConditionFalse, test.reason),
				resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"))
			w.WaitEvent(sc, test.event, test.says[0])

			if test.stalls {
				resources.WaitServer(w, "x", test.state, resources.Holds("Stalled", metav1.ConditionTrue, test.reason),
					resources.Absent("Reconciling"))
			}

			resources.WaitServer(w, "y", v1alpha1.SparkConnectStateNotReady,
				resources.Holds("Suspended", metav1.ConditionTrue, "Suspended"))
			lift()
			clock.Advance(connect.FirstInterval)
			resources.TriggerServerPass(w, "x")
			playNextServer(w, sc)
			resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
				resources.Holds("Ready", metav1.ConditionTrue, "Running"), resources.Absent("Stalled"),
				resources.Absent("Degraded"))
		})
	}
}

// playNextServer plays the kubelet for the next server pod that the operator creates.
func playNextServer(w *world.World, sc *v1alpha1.SparkConnect) {
	w.T.Helper()
	kit.Wait(w.T, "a server of "+sc.Name+" to be ready", func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: sc.Name + "-server"}, pod); err != nil {
			return err
		}

		waits := len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Waiting != nil
		return errors.Join(world.Want(pod.Labels[identity.AppUIDLabel], string(sc.UID)), world.Want(waits, false),
			world.Want(pod.DeletionTimestamp == nil, true))
	})
	w.Ready(sc.Name + "-server")
}

// TestServiceOfSomebodyElse checks that a server runs although somebody else's Service has the name that the server's
// Service needs. The operator reports once that the server has no Service, and creates the Service when the name is
// free.
func TestServiceOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-server"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.Create(theirs)
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionFalse, dependents.ReasonNameTaken, `"x-server" already exists`),
		resources.Holds("Ready", metav1.ConditionFalse, dependents.ReasonNameTaken),
		resources.Holds("ServerPodReady", metav1.ConditionTrue, "ServerPodReady"),
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Server.ServiceName, "") })
	w.WaitEvent(sc, dependents.ReasonNameTaken, "does not belong to this resource")

	quiet := resources.GetServer(w, "x")
	for range 3 { // every pass reports the same
		readCount := clock.ReadCount.Load()
		clock.Advance(time.Minute)
		resources.TriggerServerPass(w, "x")
		kit.Wait(t, "a pass", func(context.Context) error {
			return world.Want(clock.ReadCount.Load() > readCount,
				true)
		})
	}

	if now := resources.GetServer(w, "x"); !now.Status.LastUpdateTime.Equal(&quiet.Status.LastUpdateTime) {
		t.Errorf("the status was written:\n%+v\n%+v", quiet.Status, now.Status)
	}

	resources.UntouchedObject(w, theirs)
	w.Remove(theirs)
	clock.Advance(auxiliary.MaxInterval)
	resources.TriggerServerPass(w, "x")
	resources.ServerService(w, "x-server", resources.Selects(pod))
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
		resources.Holds("Ready", metav1.ConditionTrue, "Running"),
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Server.ServiceName, "x-server") })
}

// TestServiceThatCannotBe checks that the server continues to run if the operator or the API server rejects the Service
// of the spec. A condition and an event give the reason.
func TestServiceThatCannotBe(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ service, reason, says string }{
		"the operator rejects the Service": {`{"spec":{"type":"ExternalName","externalName":"else.where"}}`,
			"InvalidService", "spec.server.service"},
		"the API server rejects the Service": {`{"spec":{"sessionAffinity":"Sometimes"}}`, "Invalid",
			"spec.sessionAffinity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, clock := world.New(t), &world.Later{}
			resources.RunServers(w, world.Config(w.Namespace), clock.Now)
			sc := resources.Server(w, "x")
			pod := resources.ReadyServer(w, sc, 1)
			resources.PatchServer(w, "x", fmt.Sprintf(`{"spec":{"server":{"service":%s}}}`, test.service))
			resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
				resources.Holds("ServiceReady", metav1.ConditionFalse, test.reason, test.says))
			w.WaitEvent(sc, test.reason, test.says)

			if now := resources.ServerPod(w, sc, 1); now.UID != pod.UID {
				t.Error("the server was replaced")
			}

			resources.PatchServer(w, "x", `{"spec":{"server":{"service":null}}}`)
			clock.Advance(auxiliary.MaxInterval)
			resources.TriggerServerPass(w, "x")
			resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
				resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
				resources.Holds("Ready", metav1.ConditionTrue, "Running"))
			resources.ServerService(w, "x-server", resources.Selects(pod))
		})
	}
}

// TestServerWithoutRights checks a server whose template names no service account. It runs as the default account,
// which has no rights, and fails. The message names the missing right, and not only the exit code.
func TestServerWithoutRights(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	resources.ServerPod(w, sc, 1)
	w.Kubelet("x-server", corev1.PodFailed,
		scene.Exited(1, "org.apache.spark.SparkException: External scheduler cannot be instantiated"))
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateFailed,
		resources.Holds("Ready", metav1.ConditionFalse, apianswer.ReasonForbidden,
			`service account "default" has no right to get pods`, "Role"))
	w.WaitEvent(sc, "SparkServerFailed", `service account "default" has no right`)
}

// TestExecutorsOfAServerThatCannotBeMade checks that the condition Degraded reports why no executor can be created,
// since Spark itself does not report it. The server stays Ready. While the executor is missing after the correction,
// the reason says that the API server would create one. The condition goes when Spark has created the executor.
func TestExecutorsOfAServerThatCannotBeMade(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		hinder func(*world.World) func()
		reason string
		says   string
	}{
		"quota": {func(w *world.World) func() {
			kit.NeedsControllers(w.T, world.QuotaFigures)
			w.GrantSparkRights()
			quota := &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "one-pod"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
			}
			w.Create(quota)
			return func() { w.Remove(quota) }
		}, apianswer.ReasonQuota, "exceeded quota: one-pod"},
		"rights": {func(w *world.World) func() { return w.GrantSparkRights }, apianswer.ReasonForbidden,
			`service account "default" has no right to get pods`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, clock := world.New(t), &world.Later{}
			lift := test.hinder(w)
			resources.RunServers(w, world.Config(w.Namespace), clock.Now)
			sc := resources.Server(w, "x")
			pod := resources.ServerPod(w, sc, 1)
			w.Ready("x-server")
			resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
				resources.Holds("Degraded", metav1.ConditionTrue, test.reason, test.says),
				resources.Holds("Ready", metav1.ConditionTrue, "Running"))
			w.WaitEvent(sc, "SparkExecutorPending", test.says)
			lift()
			clock.Advance(time.Minute)
			resources.TriggerServerPass(w, "x")
			resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
				resources.Holds("Degraded", metav1.ConditionTrue, lifecycle.ReasonExecutorsMissing),
				resources.Holds("Ready", metav1.ConditionTrue, "Running"))
			executor := resources.ServerExecutor(w, pod, 1)
			w.Create(executor)
			w.Ready(executor.Name)
			resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady, resources.Absent("Degraded"),
				resources.Holds("Ready", metav1.ConditionTrue, "Running"))
		})
	}
}
