package world

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// Suspended sets spec.suspend of an application. An operator that serves heldKind ignores a suspended application, so a
// test can first create objects with the names that the operator needs. The method release of the world then resumes
// the application.
func Suspended(app *v1beta2.SparkApplication) { app.Spec.Suspend = new(true) }

// HeldKind returns the minimal kind of package tiny with one change: it decides nothing while spec.suspend is set.
func HeldKind() *tiny.Applications {
	kind := tiny.Kind()
	decide := kind.OnDecide
	kind.OnDecide = func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		if app.Spec.Suspend != nil && *app.Spec.Suspend {
			return lifecycle.Plan{}
		}
		return decide(app, seen, now)
	}
	return kind
}

// Release ends the suspension of an application.
func (w *World) Release(name string) {
	w.T.Helper()

	app := w.Get(name)
	if err := w.API.Patch(w.T.Context(), app, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))); err != nil {
		w.T.Fatal(err)
	}
}

// QuotaFigures, cascade and editRules name tasks of Kubernetes' own controllers. A test that needs such a task is
// skipped if the test environment has only an API server.
const (
	QuotaFigures = "the usage in the status of a quota"
	Cascade      = "the deletion of dependents by the garbage collector"
	EditRules    = "the rules of the aggregated ClusterRoles edit and view"
)

// NoPods creates a quota that forbids every pod, and waits until it is enforced.
func (w *World) NoPods() *corev1.ResourceQuota {
	w.T.Helper()
	kit.NeedsControllers(w.T, QuotaFigures)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "no-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	w.Create(quota)
	kit.Wait(w.T, "the quota's figures", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		return Want(len(quota.Status.Hard), 1)
	})
	return quota
}

// MetaLen returns the number of objects in a list.
func MetaLen(list client.ObjectList) int {
	switch list := list.(type) {
	case *corev1.ConfigMapList:
		return len(list.Items)
	case *corev1.ServiceList:
		return len(list.Items)
	case *corev1.PodList:
		return len(list.Items)
	}
	return -1
}

// Timeouts returns a change that gives an application time limits.
func Timeouts(t v1beta2.Timeouts) func(*v1beta2.SparkApplication) {
	return func(app *v1beta2.SparkApplication) { app.Spec.Timeouts = &t }
}

// WaitDeleting waits until the deletion of a pod has been requested.
func (w *World) WaitDeleting(pod *corev1.Pod) {
	w.T.Helper()
	kit.Wait(w.T, pod.Name+" to be deleted", func(ctx context.Context) error {
		var now corev1.Pod
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(pod), &now); err != nil {
			return err
		}

		if now.DeletionTimestamp == nil {
			return fmt.Errorf("it is not")
		}
		return nil
	})
}

// GrantSparkRights gives the drivers' service account the rights that Spark needs.
func (w *World) GrantSparkRights() {
	kit.NeedsControllers(w.T, EditRules)
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "able", Namespace: w.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: w.Namespace}},
	})
}

// Label sets or removes a label of the test's namespace.
func (w *World) Label(key string, value any) {
	w.T.Helper()

	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: %v}}}`, key, value)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	if err := w.API.Patch(w.T.Context(), namespace, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// WaitReady waits until the condition Ready has the given reason and its message contains all the texts.
func (w *World) WaitReady(name, reason string, says ...string) {
	w.T.Helper()
	kit.Wait(w.T, name+" to wait for "+reason, func(context.Context) error {
		c := Condition(w.Get(name), "Ready")
		for _, text := range says {
			if !strings.Contains(c.Message, text) {
				return fmt.Errorf("Ready is %+v", c)
			}
		}
		return Want(c.Reason, reason)
	})
}

// MustExist reads an object, and fails the test if the object does not exist.
func (w *World) MustExist(object client.Object) {
	w.T.Helper()

	if err := w.API.Get(w.T.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.T.Error(err)
	}
}

// PatchWith patches an object.
func (w *World) PatchWith(object client.Object, patch string) {
	w.T.Helper()

	if err := w.API.Patch(w.T.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// StartExecutors creates n executors as a driver would, lets them run, and returns them.
func (w *World) StartExecutors(app *v1beta2.SparkApplication, driver *corev1.Pod, n int) (executors []*corev1.Pod) {
	w.T.Helper()

	for i := range n {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.Namespace, Name: fmt.Sprintf("%s-%s-exec-%d", app.Name, driver.Labels[identity.AttemptLabel], i+1),
				Labels: map[string]string{
					identity.AppUIDLabel: string(app.UID), identity.AttemptLabel: driver.Labels[identity.AttemptLabel], identity.RoleLabel: identity.RoleExecutor,
					"spark-exec-id": fmt.Sprint(i + 1), "spark-app-selector": driver.Labels["spark-app-selector"],
				},
				OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)},
					{APIVersion: v1beta2.GroupVersion.String(), Kind: "SparkApplication", Name: app.Name, UID: app.UID},
				},
			},
			Spec: corev1.PodSpec{ServiceAccountName: "default", RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: overlay.ExecutorContainer, Image: "docker.io/apache/spark:4.1.4"}}},
		}
		w.Create(pod)
		w.Kubelet(pod.Name, corev1.PodRunning, Running())
		executors = append(executors, pod)
	}
	return executors
}
