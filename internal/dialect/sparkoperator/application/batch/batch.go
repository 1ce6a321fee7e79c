// Package batch schedules the pods of a SparkApplication by a batch scheduler: it chooses the scheduler, marks the pods
// as a gang, and describes the gang to the scheduler in a PodGroup.
package batch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/gang"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Options is the part of the operator's configuration about batch schedulers.
type Options struct {
	// Enabled allows gang scheduling of applications. If false, spec.batchScheduler only sets the scheduler name of the
	// pods, and a warning reports this.
	Enabled bool
	// Default is the batch scheduler of applications that set no scheduler; empty means none.
	Default string
	// KubeSchedulers are the names of schedulers with the coscheduling plugin.
	KubeSchedulers []string
}

// names returns the names of the batch schedulers that an application may use.
func (b Options) names() []string {
	return append([]string{gang.VolcanoScheduler, gang.YuniKornScheduler}, slices.Sorted(slices.Values(b.KubeSchedulers))...)
}

const (
	batchField        = "spec.batchScheduler"
	batchOptionsField = "spec.batchSchedulerOptions"
)

// scheduler returns the name of the application's batch scheduler, or "" if it has none. This is the scheduler
// that the spec names. If the spec names none, it is the operator's default, unless another field sets a different
// scheduler for the application's pods.
func (b Options) scheduler(app *v1beta2.SparkApplication) string {
	if name := sparkoperator.StringValue(app.Spec.BatchScheduler); name != "" {
		return name
	}

	if !b.Enabled || b.Default == "" {
		return ""
	}

	for _, own := range ownSchedulers(&app.Spec) {
		if own != b.Default {
			return "" // the application chose another scheduler
		}
	}
	return b.Default
}

// ownSchedulers returns the names of the schedulers that the application sets for its pods: in typed fields, in
// templates and in Spark's configuration.
func ownSchedulers(spec *v1beta2.SparkApplicationSpec) (names []string) {
	for _, name := range []string{
		sparkoperator.StringValue(spec.Driver.SchedulerName), sparkoperator.StringValue(spec.Executor.SchedulerName), spec.SparkConf[allSchedulerKey],
		spec.SparkConf[fields.PodKey("driver", "schedulerName")], spec.SparkConf[fields.PodKey("executor", "schedulerName")],
		rawtemplate.Pod(spec.Driver.Template).Spec.SchedulerName, rawtemplate.Pod(spec.Executor.Template).Spec.SchedulerName,
	} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

const allSchedulerKey = "spark.kubernetes.scheduler.name"

// gangKind is the kind of gang scheduling of an application.
type gangKind string

const (
	noGang           gangKind = "" // the pods only have the scheduler's name
	volcanoGang      gangKind = "Volcano"
	yunikornGang     gangKind = "YuniKorn"
	coschedulingGang gangKind = "coscheduling"
)

// gangOf returns an application's batch scheduler and its kind of gang scheduling. If the operator does not support the
// scheduler, it returns an error.
func (b Options) gangOf(app *v1beta2.SparkApplication) (scheduler string, kind gangKind, err error) {
	scheduler = b.scheduler(app)
	switch {
	case scheduler == "" || !b.Enabled:
		return scheduler, noGang, nil
	case scheduler == gang.VolcanoScheduler:
		return scheduler, volcanoGang, nil
	case scheduler == gang.YuniKornScheduler:
		return scheduler, yunikornGang, nil
	case slices.Contains(b.KubeSchedulers, scheduler):
		return scheduler, coschedulingGang, nil
	}
	return "", noGang, &dialect.FieldError{Field: batchField, Incomplete: true, Message: fmt.Sprintf("%q is not a batch scheduler that the operator supports; it supports %s. "+
		"Name a kube-scheduler with the coscheduling plugin in the operator's configuration (batchScheduler.kubeSchedulerNames); "+
		"for a scheduler that needs no pod group use spec.driver.schedulerName and spec.executor.schedulerName",
		conf.Shorten(scheduler), strings.Join(b.names(), ", "))}
}

// Schedule sets the scheduler of the request's pods, and the labels and annotations that make the pods a gang. It sets
// them by configuration keys, because these override a pod template. If the application itself sets the group of its
// driver, the pods keep their own groups.
func (b Options) Schedule(app *v1beta2.SparkApplication, builder *launch.Builder) error {
	r := &builder.Submit

	scheduler, kind, err := b.gangOf(app)
	if err != nil || scheduler == "" {
		return err
	}

	if err := validBatchOptions(kind, app.Spec.BatchSchedulerOptions); err != nil {
		return err
	}

	for _, role := range []string{"driver", "executor"} {
		r.Conf.Set(fields.PodKey(role, "schedulerName"), scheduler)
	}

	switch kind {
	case volcanoGang:
		joinGroup(app, r.Conf, "annotations", gang.VolcanoAnnotation, gang.VolcanoName(app.Name))
	case coschedulingGang:
		joinGroup(app, r.Conf, "labels", gang.CoschedulingLabel, gang.CoschedulingName(app.Name))
	case yunikornGang:
		return taskGroups(app, builder)
	}
	return nil
}

// joinGroup makes the driver and the executors members of a group, by a label or an annotation. It does nothing if the
// application itself sets the driver's group. The argument what contains "labels" or "annotations", and the argument
// key is the key of the label or annotation.
func joinGroup(app *v1beta2.SparkApplication, c *conf.Conf, what, key, group string) {
	if ownGroup(app, what, key) {
		return
	}

	c.Set(fields.PodKey("driver", what)+key, group)

	if !setsKey(&app.Spec, "executor", what, key) {
		c.Set(fields.PodKey("executor", what)+key, group)
	}
}

// ownGroup reports whether the application itself determines its driver's group. It does so if it sets the label or
// annotation that names the group, or if it enables Spark's own feature step for Volcano, which creates a group. The
// argument what contains "labels" or "annotations".
func ownGroup(app *v1beta2.SparkApplication, what, key string) bool {
	return setsKey(&app.Spec, "driver", what, key) || key == gang.VolcanoAnnotation && strings.Contains(app.Spec.SparkConf[FeatureSteps], "VolcanoFeatureStep")
}

// setsKey reports whether the spec sets a label or an annotation of a role's pods, in a typed field, a template or
// sparkConf. The argument what contains "labels" or "annotations".
func setsKey(spec *v1beta2.SparkApplicationSpec, role, what, key string) bool {
	pod := &spec.Driver.SparkPodSpec
	if role == "executor" {
		pod = &spec.Executor.SparkPodSpec
	}

	template := rawtemplate.Pod(pod.Template)

	typed, raw := pod.Labels, template.Labels
	if what == "annotations" {
		typed, raw = pod.Annotations, template.Annotations
	}
	return cmp.Or(typed[key], raw[key], spec.SparkConf[fields.PodKey(role, what)+key]) != ""
}

// taskGroups sets YuniKorn's annotations, which contain the resources and the numbers of pods that YuniKorn reserves.
func taskGroups(app *v1beta2.SparkApplication, builder *launch.Builder) error {
	r := &builder.Submit
	if options := app.Spec.BatchSchedulerOptions; options != nil && sparkoperator.StringValue(options.Queue) != "" {
		for _, role := range []string{"driver", "executor"} {
			r.Conf.Set(fields.PodKey(role, "labels")+gang.QueueLabel, *options.Queue)
		}
	}

	tasks, err := tasksOf(app, builder)
	if err != nil {
		return err
	}

	groups, err := gang.TaskGroups(
		gang.Named{Task: tasks[0], Name: gang.DriverTaskGroup, Labels: app.Spec.Driver.Labels},
		gang.Named{Task: tasks[1], Name: gang.ExecutorTaskGroup, Labels: app.Spec.Executor.Labels})
	if err != nil {
		return err
	}

	r.Conf.Set(fields.PodKey("driver", "annotations")+gang.TaskGroupAnnotation, gang.DriverTaskGroup)
	r.Conf.Set(fields.PodKey("executor", "annotations")+gang.TaskGroupAnnotation, gang.ExecutorTaskGroup)
	// The JSON text is set on the pod and not by a configuration key, because "${" and "{{" have a meaning in
	// configuration values.
	r.Conf.Delete(fields.PodKey("driver", "annotations") + gang.TaskGroupsAnnotation)

	r.Driver.Annotations = maps.Clone(r.Driver.Annotations)
	if r.Driver.Annotations == nil {
		r.Driver.Annotations = map[string]string{}
	}

	r.Driver.Annotations[gang.TaskGroupsAnnotation] = groups
	return nil
}

// tasksOf returns the two tasks of a gang: the first one consists of the driver pod, and the second one of the executor
// pods with which the application starts. The second task is empty if the application starts without executors.
func tasksOf(app *v1beta2.SparkApplication, builder *launch.Builder) ([2]gang.Task, error) {
	driver, err := builder.Driver()
	if err != nil {
		return [2]gang.Task{}, err
	}

	tasks := [2]gang.Task{{Pod: driver, Count: 1}}
	if n := specification.InitialExecutors(&app.Spec); n > 0 {
		executor, err := builder.ExecutorOf("", 1, "")
		if err != nil {
			return tasks, err
		}

		tasks[1] = gang.Task{Pod: executor, Count: n}
	}
	return tasks, nil
}

// PodGroup returns the PodGroup that describes the gang to the scheduler. It returns no object if the scheduler needs
// none, or if the application sets its own group. The operator creates the PodGroup before the driver pod and deletes
// it with the attempt.
//
// The argument labels contains the labels of the attempt's objects.
func (b Options) PodGroup(app *v1beta2.SparkApplication, builder *launch.Builder, labels map[string]string) ([]submit.Object, error) {
	_, kind, err := b.gangOf(app)
	if err != nil {
		return nil, err
	}

	g := gang.Group{Namespace: app.Namespace, Owner: naming.Owner(app), Labels: labels}
	switch {
	case kind == volcanoGang && !ownGroup(app, "annotations", gang.VolcanoAnnotation):
		g.Name = gang.VolcanoName(app.Name)
	case kind == coschedulingGang && !ownGroup(app, "labels", gang.CoschedulingLabel):
		g.Name = gang.CoschedulingName(app.Name)
	default:
		return nil, nil
	}

	if options := app.Spec.BatchSchedulerOptions; options != nil {
		g.Queue, g.PriorityClassName, g.MinResources = sparkoperator.StringValue(options.Queue), sparkoperator.StringValue(options.PriorityClassName), options.Resources
	}

	if len(g.MinResources) == 0 {
		tasks, err := tasksOf(app, builder)
		if err != nil {
			return nil, err
		}

		g.MinResources = gang.Sum(tasks[:]...)
	}

	if kind == volcanoGang {
		return []submit.Object{gang.Volcano(g)}, nil
	}
	return []submit.Object{gang.Coscheduling(g)}, nil
}

// Group returns the kind and the name of the application's PodGroup. The name is "" if its batch scheduler uses none.
func (b Options) Group(app *v1beta2.SparkApplication) (kind schema.GroupVersionKind, name string) {
	switch _, scheduling, _ := b.gangOf(app); scheduling {
	case volcanoGang:
		return gang.VolcanoKind, gang.VolcanoName(app.Name)
	case coschedulingGang:
		return gang.CoschedulingKind, gang.CoschedulingName(app.Name)
	}
	return kind, ""
}

// validBatchOptions returns an error for the first invalid option. The scheduler's API or Spark would reject the option
// later, but their messages would not name the user's field.
func validBatchOptions(kind gangKind, options *v1beta2.BatchSchedulerConfiguration) error {
	if options == nil {
		return nil
	}

	if queue := sparkoperator.StringValue(options.Queue); queue != "" {
		var problems []string
		switch kind {
		case volcanoGang:
			problems = validation.IsDNS1123Subdomain(queue)
		case yunikornGang:
			problems = validation.IsValidLabelValue(queue)
		}

		if len(problems) > 0 {
			return &dialect.FieldError{Field: batchOptionsField + ".queue", Message: fmt.Sprintf("%q is not a valid queue name: %s", conf.Shorten(queue), problems[0])}
		}
	}

	if class := sparkoperator.StringValue(options.PriorityClassName); class != "" && kind == volcanoGang {
		if problems := validation.IsDNS1123Subdomain(class); len(problems) > 0 {
			return &dialect.FieldError{Field: batchOptionsField + ".priorityClassName", Message: fmt.Sprintf("%q is not a valid priority class name: %s", conf.Shorten(class), problems[0])}
		}
	}
	return nil
}

// Warnings returns a warning for each batch scheduling field of the application that has no effect, because its
// scheduler does not support the field or because the operator's configuration switches batch schedulers off.
func (b Options) Warnings(app *v1beta2.SparkApplication) (warnings []string) {
	scheduler, kind, err := b.gangOf(app)
	switch {
	case err != nil:
		return nil
	case scheduler != "" && !b.Enabled:
		warnings = append(warnings, fmt.Sprintf("%s: batch schedulers are switched off by the operator's configuration (batchScheduler.enabled): "+
			"the pods get the scheduler name %q, but no group and no queue", batchField, conf.Shorten(scheduler)))
	}

	options := app.Spec.BatchSchedulerOptions
	if options == nil {
		return warnings
	}

	for _, o := range []struct {
		name   string
		set    bool
		served []gangKind
	}{
		{"queue", sparkoperator.StringValue(options.Queue) != "", []gangKind{volcanoGang, yunikornGang}},
		{"priorityClassName", sparkoperator.StringValue(options.PriorityClassName) != "", []gangKind{volcanoGang}},
		{"resources", len(options.Resources) > 0, []gangKind{volcanoGang, coschedulingGang}},
	} {
		switch {
		case !o.set || slices.Contains(o.served, kind):
		case kind == noGang:
			warnings = append(warnings, fmt.Sprintf("%s.%s: has no effect without a batch scheduler", batchOptionsField, o.name))
		default:
			warnings = append(warnings, fmt.Sprintf("%s.%s: has no effect with %s; remove the field", batchOptionsField, o.name, kind))
		}
	}
	return warnings
}

// FeatureSteps is the configuration key that lists additional feature steps of Spark: classes that change the driver
// pod.
const FeatureSteps = "spark.kubernetes.driver.pod.featureSteps"

// ForeignKind returns the kind of the first object that the operator has no right to create. It returns "" if the
// operator may create all objects.
//
// The only such object is the PodGroup of Spark's VolcanoFeatureStep, because the operator may create PodGroups only if
// batch schedulers are enabled. spark-submit can still create the PodGroup if the service account of its pod has the
// right to do so.
func (b Options) ForeignKind(objects submit.Objects) string {
	for _, object := range objects.Before {
		if _, ok := object.(*unstructured.Unstructured); ok && !b.mayMake(object) {
			return object.GetObjectKind().GroupVersionKind().Kind
		}
	}
	return ""
}

// mayMake reports whether the operator may create an object that one of Spark's own feature steps requires. The
// operator's RBAC rules allow this only for a PodGroup of Volcano (VolcanoFeatureStep), and only if batch scheduling is
// enabled.
func (b Options) mayMake(object submit.Object) bool {
	return b.Enabled && object.GetObjectKind().GroupVersionKind() == gang.VolcanoKind
}
