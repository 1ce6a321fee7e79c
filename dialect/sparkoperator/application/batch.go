package application

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/gang"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Batch is what the operator's configuration says about batch schedulers.
type Batch struct {
	// Enabled lets applications be scheduled as a whole. Without it spec.batchScheduler is the name of the pods' scheduler and no more, which their
	// owner is told.
	Enabled bool
	// Default is the batch scheduler of applications that name no scheduler at all; empty means none.
	Default string
	// KubeSchedulers are the names of schedulers with the coscheduling plugin.
	KubeSchedulers []string
}

// names are the batch schedulers that an application may choose.
func (b Batch) names() []string {
	return append([]string{gang.VolcanoScheduler, gang.YuniKornScheduler}, slices.Sorted(slices.Values(b.KubeSchedulers))...)
}

const (
	batchField        = "spec.batchScheduler"
	batchOptionsField = "spec.batchSchedulerOptions"
)

// batchScheduler is what schedules an application as a whole: the scheduler that the spec names, or else the operator's default. It is empty where
// that is nobody's business but the pods'.
func (d Dialect) batchScheduler(app *v1beta2.SparkApplication) string {
	if name := sparkoperator.Value(app.Spec.BatchScheduler); name != "" {
		return name
	}
	if !d.Batch.Enabled || d.Batch.Default == "" {
		return ""
	}
	for _, own := range ownSchedulers(&app.Spec) {
		if own != d.Batch.Default {
			return "" // it has made its choice
		}
	}
	return d.Batch.Default
}

// ownSchedulers are those that the application names for its pods, in whichever way Spark or this API lets it.
func ownSchedulers(spec *v1beta2.SparkApplicationSpec) (names []string) {
	for _, name := range []string{
		sparkoperator.Value(spec.Driver.SchedulerName), sparkoperator.Value(spec.Executor.SchedulerName), spec.SparkConf[allSchedulerKey],
		spec.SparkConf[schedulerKey("driver")], spec.SparkConf[schedulerKey("executor")],
		dialect.PodTemplate(spec.Driver.Template).Spec.SchedulerName, dialect.PodTemplate(spec.Executor.Template).Spec.SchedulerName,
	} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

const allSchedulerKey = "spark.kubernetes.scheduler.name"

func schedulerKey(role string) string { return "spark.kubernetes." + role + ".scheduler.name" }

// gangKind is how an application is scheduled as a whole.
type gangKind string

const (
	noGang           gangKind = "" // of pods that only have the scheduler's name
	volcanoGang      gangKind = "Volcano"
	yunikornGang     gangKind = "YuniKorn"
	coschedulingGang gangKind = "coscheduling"
)

// gangOf tells by whom and how an application is scheduled, or that nobody knows the scheduler that it names.
func (d Dialect) gangOf(app *v1beta2.SparkApplication) (scheduler string, kind gangKind, err error) {
	scheduler = d.batchScheduler(app)
	switch {
	case scheduler == "" || !d.Batch.Enabled:
		return scheduler, noGang, nil
	case scheduler == gang.VolcanoScheduler:
		return scheduler, volcanoGang, nil
	case scheduler == gang.YuniKornScheduler:
		return scheduler, yunikornGang, nil
	case slices.Contains(d.Batch.KubeSchedulers, scheduler):
		return scheduler, coschedulingGang, nil
	}
	return "", noGang, &sparkoperator.FieldError{Field: batchField, Message: fmt.Sprintf("%q is no batch scheduler that the operator knows; it knows %s. "+
		"A kube-scheduler with the coscheduling plugin is made known by the operator's configuration (batchScheduler.kubeSchedulerNames); "+
		"for a scheduler that needs no pod group use spec.driver.schedulerName and spec.executor.schedulerName",
		conf.Shorten(scheduler), strings.Join(d.Batch.names(), ", "))}
}

// schedule gives the pods of a request the scheduler's name and what makes them one gang, by configuration, which Spark sets over a template. Where
// an application says itself to which group its driver belongs, that is its own.
func (d Dialect) schedule(app *v1beta2.SparkApplication, r *submit.Request) error {
	scheduler, kind, err := d.gangOf(app)
	if err != nil || scheduler == "" {
		return err
	}
	if err := validBatchOptions(kind, app.Spec.BatchSchedulerOptions); err != nil {
		return err
	}
	for _, role := range []string{"driver", "executor"} {
		r.Conf.Set(schedulerKey(role), scheduler)
	}
	switch kind {
	case volcanoGang:
		join(app, r.Conf, "annotation", gang.VolcanoAnnotation, gang.VolcanoName(app.Name))
	case coschedulingGang:
		join(app, r.Conf, "label", gang.CoschedulingLabel, gang.CoschedulingName(app.Name))
	case yunikornGang:
		return taskGroups(app, r)
	}
	return nil
}

// join names the group of driver and executors, unless the application does so for its driver.
func join(app *v1beta2.SparkApplication, c *conf.Conf, what, key, group string) {
	if ownGroup(app, what, key) {
		return
	}
	c.Set("spark.kubernetes.driver."+what+"."+key, group)
	if !says(&app.Spec, "executor", what, key) {
		c.Set("spark.kubernetes.executor."+what+"."+key, group)
	}
}

// ownGroup reports whether the application says to which group its driver belongs, or lets Spark's own step for Volcano make one.
func ownGroup(app *v1beta2.SparkApplication, what, key string) bool {
	return says(&app.Spec, "driver", what, key) || key == gang.VolcanoAnnotation && strings.Contains(app.Spec.SparkConf[featureSteps], "VolcanoFeatureStep")
}

// says reports whether the spec gives the pods of a role a label or an annotation.
func says(spec *v1beta2.SparkApplicationSpec, role, what, key string) bool {
	pod := &spec.Driver.SparkPodSpec
	if role == "executor" {
		pod = &spec.Executor.SparkPodSpec
	}
	template := dialect.PodTemplate(pod.Template)
	typed, raw := pod.Labels, template.Labels
	if what == "annotation" {
		typed, raw = pod.Annotations, template.Annotations
	}
	return cmp.Or(typed[key], raw[key], spec.SparkConf["spark.kubernetes."+role+"."+what+"."+key]) != ""
}

// taskGroups says on the pods, by what they ask for and how many of them there are, what YuniKorn is to keep free.
func taskGroups(app *v1beta2.SparkApplication, r *submit.Request) error {
	if options := app.Spec.BatchSchedulerOptions; options != nil && sparkoperator.Value(options.Queue) != "" {
		for _, role := range []string{"driver", "executor"} {
			r.Conf.Set("spark.kubernetes."+role+".label."+gang.QueueLabel, *options.Queue)
		}
	}
	tasks, err := tasksOf(app, *r)
	if err != nil {
		return err
	}
	groups, err := gang.TaskGroups(
		gang.Named{Task: tasks[0], Name: gang.DriverTaskGroup, Labels: app.Spec.Driver.Labels},
		gang.Named{Task: tasks[1], Name: gang.ExecutorTaskGroup, Labels: app.Spec.Executor.Labels})
	if err != nil {
		return err
	}
	r.Conf.Set("spark.kubernetes.driver.annotation."+gang.TaskGroupAnnotation, gang.DriverTaskGroup)
	r.Conf.Set("spark.kubernetes.executor.annotation."+gang.TaskGroupAnnotation, gang.ExecutorTaskGroup)
	// JSON is not for a configuration, in which "${" and "{{" have a meaning.
	r.Conf.Delete("spark.kubernetes.driver.annotation." + gang.TaskGroupsAnnotation)
	r.Driver.Annotations = maps.Clone(r.Driver.Annotations)
	if r.Driver.Annotations == nil {
		r.Driver.Annotations = map[string]string{}
	}
	r.Driver.Annotations[gang.TaskGroupsAnnotation] = groups
	return nil
}

// tasksOf are the driver and the executors that the application begins with.
func tasksOf(app *v1beta2.SparkApplication, r submit.Request) ([2]gang.Task, error) {
	driver, err := submit.Driver(r)
	if err != nil {
		return [2]gang.Task{}, ofUser(app, err)
	}
	tasks := [2]gang.Task{{Pod: driver, Count: 1}}
	if n := initialExecutors(&app.Spec); n > 0 {
		executor, err := submit.Executor(r, 1, "")
		if err != nil {
			return tasks, ofUser(app, err)
		}
		tasks[1] = gang.Task{Pod: executor, Count: n}
	}
	return tasks, nil
}

func ofUser(app *v1beta2.SparkApplication, err error) error {
	if refused, ok := errors.AsType[*submit.Error](err); ok {
		return asFieldError(app, refused)
	}
	return err
}

// podGroup is the object by which a scheduler knows the gang, where it wants one and the application has none of its own. It is made before the
// driver pod, and goes with the attempt.
func (d Dialect) podGroup(app *v1beta2.SparkApplication, attempt int32, r submit.Request) ([]submit.Object, error) {
	_, kind, err := d.gangOf(app)
	if err != nil {
		return nil, err
	}
	g := gang.Group{
		Namespace: app.Namespace, Owner: ownerReference(app),
		Labels: attemptLabels(app, attempt, submissionID(app, attempt)),
	}
	switch {
	case kind == volcanoGang && !ownGroup(app, "annotation", gang.VolcanoAnnotation):
		g.Name = gang.VolcanoName(app.Name)
	case kind == coschedulingGang && !ownGroup(app, "label", gang.CoschedulingLabel):
		g.Name = gang.CoschedulingName(app.Name)
	default:
		return nil, nil
	}
	if options := app.Spec.BatchSchedulerOptions; options != nil {
		g.Queue, g.PriorityClassName, g.MinResources = sparkoperator.Value(options.Queue), sparkoperator.Value(options.PriorityClassName), options.Resources
	}
	if len(g.MinResources) == 0 {
		tasks, err := tasksOf(app, r)
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

// validBatchOptions finds what the scheduler's API server, or Spark, would refuse under another name.
func validBatchOptions(kind gangKind, options *v1beta2.BatchSchedulerConfiguration) error {
	if options == nil {
		return nil
	}
	if queue := sparkoperator.Value(options.Queue); queue != "" {
		var problems []string
		switch kind {
		case volcanoGang:
			problems = validation.IsDNS1123Subdomain(queue)
		case yunikornGang:
			problems = validation.IsValidLabelValue(queue)
		}
		if len(problems) > 0 {
			return &sparkoperator.FieldError{Field: batchOptionsField + ".queue", Message: fmt.Sprintf("%q is no name of a queue: %s", conf.Shorten(queue), problems[0])}
		}
	}
	if class := sparkoperator.Value(options.PriorityClassName); class != "" && kind == volcanoGang {
		if problems := validation.IsDNS1123Subdomain(class); len(problems) > 0 {
			return &sparkoperator.FieldError{Field: batchOptionsField + ".priorityClassName", Message: fmt.Sprintf("%q is no name of a priority class: %s", conf.Shorten(class), problems[0])}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(options.Resources)) {
		if amount := options.Resources[name]; amount.Sign() < 0 {
			return &sparkoperator.FieldError{Field: fmt.Sprintf("%s.resources[%s]", batchOptionsField, name), Message: "is less than nothing; write an amount such as 4 or 8Gi"}
		}
	}
	return nil
}

// batchWarnings tell what of the spec has no effect with the scheduler, or the configuration, that there is.
func (d Dialect) batchWarnings(app *v1beta2.SparkApplication) (warnings []string) {
	scheduler, kind, err := d.gangOf(app)
	switch {
	case err != nil:
		return nil
	case scheduler != "" && !d.Batch.Enabled:
		warnings = append(warnings, fmt.Sprintf("%s: batch schedulers are switched off by the operator's configuration (batchScheduler.enabled): "+
			"driver and executors are given to the scheduler %q and to no group or queue", batchField, conf.Shorten(scheduler)))
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
		{"queue", sparkoperator.Value(options.Queue) != "", []gangKind{volcanoGang, yunikornGang}},
		{"priorityClassName", sparkoperator.Value(options.PriorityClassName) != "", []gangKind{volcanoGang}},
		{"resources", len(options.Resources) > 0, []gangKind{volcanoGang, coschedulingGang}},
	} {
		switch {
		case !o.set || slices.Contains(o.served, kind):
		case kind == noGang:
			warnings = append(warnings, fmt.Sprintf("%s.%s: has no effect without a batch scheduler", batchOptionsField, o.name))
		default:
			warnings = append(warnings, fmt.Sprintf("%s.%s: has no meaning for %s", batchOptionsField, o.name, kind))
		}
	}
	return warnings
}

// mayMake reports whether the operator has the right to make a PodGroup, and will see it: Spark's own step for Volcano makes one too.
func (b Batch) mayMake(object submit.Object) bool {
	return b.Enabled && object.GetObjectKind().GroupVersionKind() == gang.VolcanoKind
}
