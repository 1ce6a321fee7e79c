package resources

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// These tests begin with the state that another operator of sparkoperator.k8s.io/v1beta2 leaves: its statuses and its
// objects, none of which has a label of ours (docs/migrate-kubeflow.md).

// Theirs describes an application as the kubeflow operator leaves it to this operator.
type Theirs struct {
	Name  string
	State v1beta2.ApplicationStateType
	Spec  func(*v1beta2.SparkApplication)
	// status changes the status that createInherited writes.
	Status func(*v1beta2.SparkApplicationStatus)
	// driver is the phase of its driver pod; "" if there is none.
	Driver corev1.PodPhase
	// unowned leaves out the driver's owner, as old versions without a webhook did.
	Unowned bool
}

// TheirSubmission returns the submission ID that the other operator gave an application.
func TheirSubmission(name string) string {
	return "5a0b7c52-0000-4000-8000-" + fmt.Sprintf("%012x", len(name))
}

// CreateInherited creates an application, its pods, its other objects and its status, as the other operator leaves
// them. It returns the application.
func CreateInherited(w *world.World, a Theirs) *v1beta2.SparkApplication {
	w.T.Helper()

	change := []func(*v1beta2.SparkApplication){scene.WithDriver}
	if a.Spec != nil {
		change = append(change, a.Spec)
	}

	app := w.Application(a.Name, change...)

	ref := *metav1.NewControllerRef(app, v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))
	if a.State != v1beta2.ApplicationStateNew {
		createAuxiliary(w, app, ref)
		theirStatus(w, app, a)
	}

	if a.Driver == "" {
		return app
	}

	driver := TheirPod(w, app, app.Name+"-driver", identity.RoleDriver, ref)
	if a.Unowned {
		driver.OwnerReferences = nil
	}

	w.Create(driver)
	phase(w, driver, a.Driver)
	createDriverObjects(w, driver)
	executor := TheirPod(w, app, app.Name+"-exec-1", identity.RoleExecutor, metav1.OwnerReference{
		APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID,
	})
	executor.Labels["spark-exec-id"], executor.Labels["spark-version"] = "1", app.Spec.SparkVersion
	executor.OwnerReferences = append(executor.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)})
	w.Create(executor)
	phase(w, executor, a.Driver)
	return app
}

// TheirPod returns a pod as the other operator leaves it.
func TheirPod(w *world.World, app *v1beta2.SparkApplication, name, role string, owner metav1.OwnerReference) *corev1.Pod {
	container := map[string]string{identity.RoleDriver: overlay.DriverContainer, identity.RoleExecutor: overlay.ExecutorContainer}[role]
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{owner},
			Labels: map[string]string{
				sparkoperator.LabelAppName: app.Name, sparkoperator.LabelLaunchedBy: "true", sparkoperator.LabelSubmissionID: TheirSubmission(app.Name),
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
func phase(w *world.World, pod *corev1.Pod, phase corev1.PodPhase) {
	switch phase {
	case corev1.PodRunning:
		w.Kubelet(pod.Name, phase, world.Running())
	case corev1.PodSucceeded:
		w.Kubelet(pod.Name, phase, scene.Exited(0, ""))
	case corev1.PodFailed:
		w.Kubelet(pod.Name, phase, scene.Exited(1, "boom"))
	}
}

// createAuxiliary creates the auxiliary objects that the other operator creates for an application: the monitoring
// ConfigMap, the UI Service and, if the spec requests it, the driver's budget.
func createAuxiliary(w *world.World, app *v1beta2.SparkApplication, ref metav1.OwnerReference) {
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
func createDriverObjects(w *world.World, driver *corev1.Pod) {
	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: driver.Name + "-conf-map", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)}}}
	w.Create(&corev1.ConfigMap{ObjectMeta: *meta.DeepCopy()})
	meta.Name = driver.Name + "-svc"
	w.Create(&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: maps.Clone(driver.Labels), Ports: []corev1.ServicePort{{Name: "driver-rpc-port", Port: 7078}},
	}})
}

func theirStatus(w *world.World, app *v1beta2.SparkApplication, a Theirs) {
	before := app.DeepCopy()
	s := &app.Status
	s.AppState.State = a.State
	s.SubmissionID, s.SubmissionAttempts, s.ExecutionAttempts = TheirSubmission(app.Name), 1, 1
	s.LastSubmissionAttemptTime = metav1.NewTime(time.Now().Add(-time.Minute))
	s.SparkApplicationID, s.DriverInfo.PodName = "spark-"+app.Name, app.Name+"-driver"

	s.DriverInfo.WebUIServiceName = app.Name + "-ui-svc"
	if a.Status != nil {
		a.Status(s)
	}

	if err := w.API.Status().Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// UIDOf waits until a pod exists, and returns its UID.
func UIDOf(w *world.World, pod string) types.UID { return w.WaitPod(pod).UID }
