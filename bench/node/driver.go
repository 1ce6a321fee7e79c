package node

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/bench/world"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator/application"
)

// executors are the pods that a driver asks for: those that Spark would make of the application, which is read for it. A real driver reads its own pod and
// the mounted configuration instead.
func (c *Cluster) executors(ctx context.Context, p pod) ([]*corev1.Pod, error) {
	d := p.driver
	if d.program.Executors == 0 {
		return nil, nil
	}
	c.counts.reads.Add(1)
	found, err := c.dyn.Resource(world.Applications).Namespace(p.namespace).Get(ctx, d.app.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var app v1beta2.SparkApplication
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &app); err != nil {
		return nil, fmt.Errorf("application %s/%s: %w", p.namespace, d.app.Name, err)
	}
	return render(&app, p)
}

// render makes the executor pods of a driver. The application's id is the driver's, whatever the status says by now.
func render(app *v1beta2.SparkApplication, p pod) (pods []*corev1.Pod, err error) {
	d := p.driver
	attempt, err := strconv.ParseInt(d.attempt, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("attempt of driver pod %s/%s: %w", p.namespace, p.name, err)
	}
	app.Status.SparkApplicationID = d.appID
	for id := range d.program.Executors {
		made, err := application.Dialect{}.Executor(app, int32(attempt), id+1, p.uid, time.Time{})
		if err != nil {
			return nil, fmt.Errorf("executor %d of driver pod %s/%s: %w", id+1, p.namespace, p.name, err)
		}
		if d.program.Placed {
			made.Spec.NodeName = p.node
		}
		pods = append(pods, made)
	}
	return pods, nil
}

// ask creates a driver's executors, and the ConfigMap that they mount before them, as Spark 4.3 does. What is there already was created by a try before.
func (c *Cluster) ask(ctx context.Context, p pod) error {
	pods, err := c.executors(ctx, p)
	if err != nil || len(pods) == 0 {
		return err
	}
	for _, made := range configMaps(pods[0], p.driver.appID) {
		c.counts.writes.Add(1)
		if _, err := c.core.CoreV1().ConfigMaps(p.namespace).Create(ctx, made, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, made := range pods {
		c.counts.writes.Add(1)
		_, err := c.core.CoreV1().Pods(p.namespace).Create(ctx, made, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err == nil {
			c.counts.asked.Add(1)
		}
	}
	return nil
}

// configMaps are those that an executor mounts.
func configMaps(executor *corev1.Pod, appID string) (made []*corev1.ConfigMap) {
	owner := metav1.GetControllerOf(executor) // alone: the template's owners are the pods'
	for _, volume := range executor.Spec.Volumes {
		if volume.ConfigMap == nil {
			continue
		}
		immutable := true
		made = append(made, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: volume.ConfigMap.Name, Labels: map[string]string{"spark-app-selector": appID, "spark-role": "executor"},
				OwnerReferences: []metav1.OwnerReference{*owner},
			},
			Data: map[string]string{"spark.properties": "spark.kubernetes.namespace=" + executor.Namespace + "\n"}, Immutable: &immutable,
		})
	}
	return made
}

// clean is what Spark does when its context stops: it deletes, by labels, the application's Services, its executors and their ConfigMaps. That of claims is left
// out: there are none.
func (c *Cluster) clean(ctx context.Context, p pod) error {
	d := p.driver
	all := metav1.ListOptions{LabelSelector: "spark-app-selector=" + d.appID}
	executors := metav1.ListOptions{LabelSelector: all.LabelSelector + ",spark-role=executor"}
	core := c.core.CoreV1()
	c.counts.writes.Add(3)
	// The typed client has no deletion of several Services.
	services := core.RESTClient().Delete().Namespace(p.namespace).Resource("services").VersionedParams(&all, scheme.ParameterCodec)
	if err := services.Do(ctx).Error(); err != nil {
		return err
	}
	if err := core.Pods(p.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, executors); err != nil {
		return err
	}
	return core.ConfigMaps(p.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, executors)
}

// patch writes a pod's status.
func (c *Cluster) patch(ctx context.Context, p pod, status corev1.PodStatus) error {
	text, err := statusPatch(p.uid, status)
	if err != nil {
		return err
	}
	c.counts.writes.Add(1)
	_, err = c.core.CoreV1().Pods(p.namespace).Patch(ctx, p.name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
	return err
}

// remove takes a pod away at once.
func (c *Cluster) remove(ctx context.Context, p pod) error {
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(p.uid))
	c.counts.writes.Add(1)
	return c.core.CoreV1().Pods(p.namespace).Delete(ctx, p.name, *options)
}
