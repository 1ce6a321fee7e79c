package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Namespaces of what is deleted.
const (
	appsNamespace          = "deletion"
	bareNamespace          = "bare"
	uncountedNamespace     = "uncounted"
	uncountedBareNamespace = "uncounted-bare"
)

// bareName begins the names of bare pods.
const bareName = "bare"

// withoutUI is an operator that makes one Service an application, as a bare pod has here, instead of two: that of the driver's web UI is left out.
const withoutUI = "ui: {service: false}\n"

// appsWithoutUI is the case of applications of such an operator.
const appsWithoutUI = "applications without a UI Service"

// Deletion measures how long it takes until applications whose drivers run are gone with all that they had, when all are deleted at once; and the same of as many
// bare pods, each with a ConfigMap and a Service that it owns, which the control plane's garbage collector takes away. The same workers delete both.
func Deletion(n int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) error {
		for _, of := range [...]struct{ in, settings string }{{figure.Applications, ""}, {appsWithoutUI, withoutUI}} {
			if err := deleteBoth(ctx, w, s, n, of.in, of.settings); err != nil {
				return fmt.Errorf("%s: %w", of.in, err)
			}
		}
		s.Say(figure.Deletion, "%s of each are deleted by %d workers. Bare pods are copies of driver pods, each with a ConfigMap and a Service that it owns. An application has two of "+
			"each: a ConfigMap for its executors' template, and the Service of its UI. A twentieth as many of each are deleted before and not counted.", figure.Count(n), senders)
		return nil
	}
}

// deleteBoth measures applications of an operator with some settings; with its defaults, bare pods too. Those are first: should anything of theirs be left to be done
// when the control plane looks calm, it makes the applications slower and not what they are compared with.
func deleteBoth(ctx context.Context, w *world.World, s *Sink, n int, in, settings string) (err error) {
	r, err := raise(ctx, w, settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	few := max(1, n/20) // what is done for the first time is not counted, of either
	if err := r.stand(ctx, driversAlone("uncounted", uncountedNamespace, few)); err != nil {
		return err
	}
	if err := r.stand(ctx, driversAlone("deleted", appsNamespace, n)); err != nil {
		return err
	}
	if settings == "" {
		if err := r.deleteBare(ctx, s, n, few); err != nil {
			return fmt.Errorf("bare pods: %w", err)
		}
	}
	if _, err := r.remove(ctx, world.Applications, uncountedNamespace, "uncounted", few); err != nil {
		return err
	}
	apps, err := r.gone(ctx, s, in, world.Applications, appsNamespace, "deleted", n)
	if err != nil {
		return err
	}
	s.Add(apps.figures(in, n)...)
	return nil
}

// deleteBare measures n bare pods, after a few in a namespace of their own.
func (r *rig) deleteBare(ctx context.Context, s *Sink, n, few int) error {
	if err := r.bare(ctx, uncountedBareNamespace, few); err != nil {
		return err
	}
	if err := r.bare(ctx, bareNamespace, n); err != nil {
		return err
	}
	if _, err := r.remove(ctx, world.Pods, uncountedBareNamespace, bareName, few); err != nil {
		return err
	}
	bare, err := r.gone(ctx, s, figure.Pods, world.Pods, bareNamespace, bareName, n)
	if err != nil {
		return err
	}
	s.Add(bare.figures(figure.Pods, n)...)
	return nil
}

// deletion is how long a deletion took.
type deletion struct {
	asked, gone time.Duration // until all were asked for, and until nothing was left
	bill        bill
}

func (d deletion) figures(in string, n int) []figure.Figure {
	out := []figure.Figure{seconds(figure.Deletion, in, "until all were asked for", d.asked), seconds(figure.Deletion, in, figure.UntilGone, d.gone)}
	if in != figure.Pods {
		out = append(out, figure.Figure{Scenario: figure.Deletion, Case: in, Name: figure.CPU, Value: d.bill.cpu[theOperator].Seconds() * 1000 / float64(n), Unit: "ms"})
	}
	return append(out, d.bill.parts(figure.Deletion, in)...)
}

// gone deletes n objects of a namespace once the control plane is calm, and waits until the namespace is empty.
func (r *rig) gone(ctx context.Context, s *Sink, in string, of schema.GroupVersionResource, namespace, name string, n int) (d deletion, err error) {
	if err := calmIfEver(ctx, r.w, s, figure.Deletion, in); err != nil {
		return d, err
	}
	d.bill, err = charge(ctx, r.w, r.op, func() (time.Time, error) {
		began := time.Now()
		d.asked, err = r.remove(ctx, of, namespace, name, n)
		d.gone = time.Since(began)
		return time.Now(), err
	})
	return d, errors.Join(err, r.nodes.Err())
}

// remove deletes n objects of a namespace and waits until it is empty. It returns how long it took to ask for it.
func (r *rig) remove(ctx context.Context, of schema.GroupVersionResource, namespace, name string, n int) (asked time.Duration, err error) {
	began := time.Now()
	err = world.ForEach(ctx, senders, n, func(ctx context.Context, i int) error {
		return r.load.Resource(of).Namespace(namespace).Delete(ctx, numbered(name, i), metav1.DeleteOptions{})
	})
	asked = time.Since(began)
	if err == nil {
		err = r.w.Empty(ctx, namespace)
	}
	return asked, err
}

// numbered is the name of one of several.
func numbered(name string, i int) string { return fmt.Sprintf("%s-%d", name, i) }

// bare makes pods like the drivers that stand, with no application, and waits until they run.
func (r *rig) bare(ctx context.Context, namespace string, n int) error {
	if err := r.w.Namespace(ctx, namespace); err != nil {
		return err
	}
	list, err := r.w.Core.CoreV1().Pods(appsNamespace).List(ctx, metav1.ListOptions{LabelSelector: "spark-role=driver", Limit: 1})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return errors.New("there is no driver to copy")
	}
	want := r.nodes.Counts().Running + int64(n)
	err = world.ForEach(ctx, senders, n, func(ctx context.Context, i int) error {
		return r.barePod(ctx, &list.Items[0], namespace, numbered(bareName, i))
	})
	if err != nil {
		return err
	}
	return world.Until(ctx, "the bare pods to run", func() (bool, error) { return r.nodes.Counts().Running >= want, r.nodes.Err() })
}

// barePod makes one pod of a driver's spec, its ConfigMap and its Service.
func (r *rig) barePod(ctx context.Context, driver *corev1.Pod, namespace, name string) error {
	core, create := r.w.Core.CoreV1(), metav1.CreateOptions{}
	labels := map[string]string{"bare": name}
	made, err := core.Pods(namespace).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: bareSpec(driver.Spec)}, create)
	if err != nil {
		return err
	}
	owned := metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: made.UID}}}
	if _, err := core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: owned, Data: map[string]string{"spark.properties": "spark.app.name=" + name}}, create); err != nil {
		return err
	}
	_, err = core.Services(namespace).Create(ctx, &corev1.Service{ObjectMeta: owned, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: labels, Ports: []corev1.ServicePort{{Name: "driver-rpc-port", Port: 7078}},
	}}, create)
	return err
}

// bareSpec is what a driver asked for, without what was decided about it since.
func bareSpec(of corev1.PodSpec) corev1.PodSpec {
	spec := *of.DeepCopy()
	spec.NodeName, spec.Priority, spec.PreemptionPolicy, spec.Tolerations = "", nil, nil, nil
	token := false
	spec.AutomountServiceAccountToken = &token // its volume is in the copy
	return spec
}
