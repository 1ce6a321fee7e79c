package configured_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// leftServer is a SparkConnect as another operator of sparkoperator.k8s.io/v1alpha1 leaves it, with its status and its
// objects. None of these objects has a label of ours.
type leftServer struct {
	sc       *v1alpha1.SparkConnect
	config   *corev1.ConfigMap
	service  *corev1.Service
	pod      *corev1.Pod // nil if none runs
	executor *corev1.Pod
}

func createInheritedServer(w *world.World, name string, runs bool) leftServer {
	w.T.Helper()
	sc := resources.Server(w, name)
	owner := *metav1.NewControllerRef(sc, v1alpha1.SchemeGroupVersion.WithKind("SparkConnect"))
	labels := func(more map[string]string) map[string]string {
		l := map[string]string{identity.ConnectNameLabel: name}
		maps.Copy(l, more)
		return l
	}
	metaOf := func(suffix string, more map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.Namespace, Name: name + suffix, Labels: labels(more),
			OwnerReferences: []metav1.OwnerReference{owner}}
	}
	podLabels := map[string]string{sparkoperator.LabelLaunchedBy: "true", identity.RoleLabel: identity.RoleServer,
		"spark-version": "4.1.4"}
	left := leftServer{
		sc: sc,
		config: &corev1.ConfigMap{ObjectMeta: metaOf("-conf", map[string]string{sparkoperator.LabelCreatedBy: "true"}),
			Data: map[string]string{"executor-pod-template.yaml": "null\n"}},
		service: &corev1.Service{ObjectMeta: metaOf("-server", map[string]string{sparkoperator.LabelCreatedBy: "true"}),
			Spec: corev1.ServiceSpec{
				Selector: labels(podLabels),
				Ports: []corev1.ServicePort{
					{Name: "driver-rpc", Port: 7078, TargetPort: intstr.FromInt32(7078), AppProtocol: new("tcp")},
					{Name: "blockmanager", Port: 7079, TargetPort: intstr.FromInt32(7079), AppProtocol: new("tcp")},
					{Name: "web-ui", Port: 4040, TargetPort: intstr.FromInt32(4040), AppProtocol: new("http")},
					{Name: "spark-connect-server", Port: 15002, TargetPort: intstr.FromInt32(15002),
						AppProtocol: new("grpc")},
				},
			}},
	}
	w.Create(left.config)
	w.Create(left.service)

	status := v1alpha1.SparkConnectStatus{
		State: v1alpha1.SparkConnectStateNotReady, StartTime: metav1.NewTime(time.Now().Add(-time.Hour)),
		LastUpdateTime: metav1.Now(),
		Server:         v1alpha1.SparkConnectServerStatus{PodName: name + "-server", ServiceName: name + "-server"},
		Conditions: []metav1.Condition{{Type: "ServerPodReady", Status: metav1.ConditionFalse,
			Reason: "ServerPodNotReady", LastTransitionTime: metav1.Now()}},
	}
	if runs {
		left.pod = &corev1.Pod{ObjectMeta: metaOf("-server", podLabels), Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: "default",
			TerminationGracePeriodSeconds: new(int64(0)),
			// A user's template. Its first container is the server's.
			Containers: []corev1.Container{{Name: "main", Image: "spark",
				Env: []corev1.EnvVar{{Name: trim.ServerVariable, Value: "true"}}}, {Name: "logger", Image: "l"}},
		}}
		w.Create(left.pod)
		w.Ready(left.pod.Name)
		left.executor = resources.ServerExecutor(w, left.pod, 1)
		w.Create(left.executor)
		w.Kubelet(left.executor.Name, corev1.PodRunning, world.Running())

		status.State, status.Executors = v1alpha1.SparkConnectStateReady, map[string]int{"running": 1}
		status.Conditions[0].Status, status.Conditions[0].Reason = metav1.ConditionTrue, "ServerPodReady"
	}

	before := sc.DeepCopy()

	sc.Status = status
	if err := w.API.Status().Patch(w.T.Context(), sc, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
	return left
}

// TestServerIsTakenOver checks that an inherited server and its executors continue to run, and that its Service stays
// the same object and gets our additional fields. An edit replaces all inherited objects as it would replace our own.
func TestServerIsTakenOver(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	left := createInheritedServer(w, "x", true)
	stop := resources.RunServers(w, world.Config(w.Namespace), clock.Now)

	got := resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("Ready", metav1.ConditionTrue, "Running"),
		resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
		func(sc *v1alpha1.SparkConnect) error {
			return errors.Join(world.Want(sc.Status.Operator != nil, true),
				world.Want(sc.Status.Executors["running"], 1))
		})
	if !got.Status.StartTime.Equal(&left.sc.Status.StartTime) || got.Status.Operator.Attempt != 1 {
		t.Errorf("the server started at %s, attempt %d", got.Status.StartTime, got.Status.Operator.Attempt)
	}

	w.WaitEvent(left.sc, "SparkConnectTakenOver", "its server continues")

	service := resources.ServerService(w, "x-server", resources.Selects(left.pod),
		func(s *corev1.Service) error { return world.Want(s.Labels[identity.AppUIDLabel], string(left.sc.UID)) })
	if service.UID != left.service.UID || service.Spec.ClusterIP != left.service.Spec.ClusterIP ||
		service.Spec.Selector["spark-version"] != "" || resources.PortsOf(service) != "spark-connect-server:15002" {
		t.Errorf("the Service is %+v", service)
	}
	// Another process changes nothing.
	stop()
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	w.Kubelet(left.executor.Name, corev1.PodFailed, scene.Exited(1, "boom"))
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Executors["failed"], 1) })

	if uid := resources.UIDOf(w, "x-server"); uid != left.pod.UID {
		t.Fatal("the server was replaced")
	}

	if w.MustExist(left.config); left.config.Labels[identity.AppUIDLabel] != "" {
		t.Error("the ConfigMap that the server mounts was changed")
	}

	resources.PatchServer(w, "x", `{"spec":{"sparkConf":{"spark.ui.enabled":"true"}}}`)
	next := resources.ReadyServer(w, left.sc, 2)
	w.WaitGone(left.executor)

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}
	if w.MustExist(config); config.UID == left.config.UID || config.Labels[identity.AttemptLabel] != "2" {
		t.Errorf("the ConfigMap is %+v", config.ObjectMeta)
	}

	if after := resources.ServerService(w, "x-server", resources.Selects(next)); after.UID != service.UID {
		t.Errorf("the Service is %+v", after)
	}
}

// TestTakenOverServerThatEnds checks an inherited server whose pod has two containers. The user chose the name of the
// container in which Spark runs. When this container ends, the server has failed, although the other container still
// runs. The next server starts after the same backoff as for our own servers.
func TestTakenOverServerThatEnds(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	left := createInheritedServer(w, "x", true)
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Operator != nil, true) })
	w.Kubelet("x-server", corev1.PodRunning, scene.Exited(7, "")) // the logger runs on
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateFailed,
		resources.Holds("Ready", metav1.ConditionFalse, "Error", "the next server starts at"))
	clock.Advance(time.Minute)
	resources.TriggerServerPass(w, "x")

	if next := resources.ReadyServer(w, left.sc, 2); next.UID == left.pod.UID {
		t.Error("the server was not replaced")
	}
}

// TestLeftWithoutServer checks that an inherited SparkConnect without a server pod gets one. The operator replaces the
// ConfigMap and keeps the Service of the SparkConnect.
func TestLeftWithoutServer(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	left := createInheritedServer(w, "x", false)
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)

	pod := resources.ReadyServer(w, left.sc, 1)
	if service := resources.ServerService(w, "x-server", resources.Selects(pod)); service.UID != left.service.UID {
		t.Errorf("the Service is %+v", service)
	}

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}
	if w.MustExist(config); config.UID == left.config.UID ||
		config.Labels[identity.AppUIDLabel] != string(left.sc.UID) {
		t.Errorf("the ConfigMap is %+v", config.ObjectMeta)
	}
}

// TestApplicationAndServerOfOneName checks an application and a server with the same name in one namespace. Both are
// served from the same caches. Neither counts the other's pods, whether the pods are inherited or our own.
func TestApplicationAndServerOfOneName(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	left := createInheritedServer(w, "x", true)
	app := resources.CreateInherited(w,
		resources.Theirs{Name: "x", State: v1beta2.ApplicationStateRunning, Driver: corev1.PodRunning})
	w.RunReal()
	ourApp := w.Application("y", scene.WithDriver)
	ourServer := resources.Server(w, "y")
	w.Ready(w.DriverOf(ourApp, 1).Name)
	resources.ReadyServer(w, ourServer, 1)

	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(world.Want(sc.Status.Operator != nil, true), world.Want(sc.Status.Executors["running"], 1))
	})

	alone := func(name string, executors int32) {
		t.Helper()
		kit.Wait(t, "the executors of "+name, func(context.Context) error {
			status := w.Get(name).Status

			var runs int32
			if status.Executors != nil {
				runs = status.Executors.Running
			}
			return errors.Join(world.Want(status.AppState.State, v1beta2.ApplicationStateRunning),
				world.Want(runs, executors))
		})
	}
	alone("x", 1) // its own
	alone("y", 0)
	// The deletion of the application does not affect the server.
	w.Remove(app)
	w.WaitGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-driver"}})
	resources.PatchServer(w, "y", `{"spec":{"suspend":true}}`)
	waitNoServer(w, ourServer)

	for name, uid := range map[string]types.UID{"x-server": left.pod.UID, left.executor.Name: left.executor.UID,
		"y-driver": w.DriverOf(ourApp, 1).UID} {
		if got := resources.UIDOf(w, name); got != uid {
			t.Errorf("%s was changed", name)
		}
	}
}

// TestServersAreSwitchedOff checks that the operator ignores SparkConnects and serves applications if connect.enabled
// is false.
func TestServersAreSwitchedOff(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Connect.Enabled = new(false)
	made := &world.Requests{}
	env := w.Environment()
	env.Rest.Wrap(made.Over)

	op, err := operator.NewOperator(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}

	stop := w.Run(op)
	resources.Server(w, "x")
	w.DriverOf(w.Application("pi", scene.WithDriver), 1)
	stop()

	for what := range made.Since(nil) {
		if what == "GET sparkconnects" || what == "PATCH sparkconnects/status" {
			t.Errorf("the operator sent the request %s", what)
		}
	}

	if got := resources.GetServer(w, "x"); got.Status.Operator != nil ||
		got.Status.State != v1alpha1.SparkConnectStateNew {
		t.Errorf("the status is %+v", got.Status)
	}
}
