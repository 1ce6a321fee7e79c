package application

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Faults returns the errors in the spec that make every launch of the application impossible.
func (d Dialect) Faults(app *v1beta2.SparkApplication, now time.Time) []*dialect.FieldError {
	_, _, faults := d.tryAttempt(app, 1, now)
	return faults
}

// ruleFaults returns the violations of the platform's rules by an attempt. The argument objects contains the objects of
// the attempt. The argument submitter is not nil if spark-submit creates the driver pod; objects.Driver is then the pod
// that runs spark-submit. The argument executor renders an executor.
func (d Dialect) ruleFaults(app *v1beta2.SparkApplication, attempt int32, now time.Time, objects submit.Objects, submitter *lifecycle.Cause, executor func() (*corev1.Pod, error)) []*dialect.FieldError {
	if d.Rules == nil {
		return nil
	}
	subject := &dialect.Subject{
		Labels:   app.Labels,
		Settings: func() []dialect.Setting { return settings(app) },
		Pods: func() ([]dialect.Pod, []*dialect.FieldError) {
			pods, err := d.builtPods(app, attempt, now, objects, submitter, executor)
			return pods, dialect.AsFaults(err)
		},
		Workers:  func() dialect.Workers { return workers(app) },
		Services: dialect.DriverServices(app.Spec.SparkConf),
	}
	if annotations := app.Spec.Driver.ServiceAnnotations; len(annotations) > 0 {
		subject.Services = append(subject.Services, dialect.Exposing{Kind: dialect.ServiceKind, Annotations: annotations, AnnotationsField: "spec.driver.serviceAnnotations"})
	}
	if batch := app.Spec.BatchSchedulerOptions; batch != nil {
		subject.PriorityClasses = []dialect.FieldValue{{Field: "spec.batchSchedulerOptions.priorityClassName", Value: sparkoperator.StringValue(batch.PriorityClassName)}}
	}
	faults := d.Rules.Faults(subject)
	return append(faults, d.exposure(app, lifecycle.Memory{Attempt: attempt}).Refused...)
}

// settings returns the Spark configuration of the application. Each key comes with the field that sets it. If the
// configuration is invalid, settings returns nothing; another function (Dialect.request) reports the error.
func settings(app *v1beta2.SparkApplication) (all []dialect.Setting) {
	c, err := sparkConf(app)
	if err != nil {
		return nil
	}
	for key, value := range c.All() {
		setting := dialect.Setting{Key: key, Value: value, Field: typedField(app, key)}
		text, written := app.Spec.SparkConf[key]
		switch {
		case written && text == value:
			setting.Field = sparkConfField(key)
		case strings.HasPrefix(key, "spark.dynamicAllocation."):
			setting.Field = "spec.dynamicAllocation"
		case key == "spark.executor.instances" && app.Spec.Executor.Instances == nil:
			setting.Field = "" // this API's default
		}
		all = append(all, setting)
	}
	return all
}

// workers returns the largest number of executors that an application can have, and the field that sets it.
func workers(app *v1beta2.SparkApplication) dialect.Workers {
	if driverOnly(&app.Spec) {
		return dialect.Workers{Field: "spec.executor.instances"}
	}
	c, err := sparkConf(app)
	if err != nil {
		return dialect.Workers{Field: "spec.executor.instances"}
	}
	return dialect.ExecutorWorkers(c, 1, "spec.executor.instances", "spec.dynamicAllocation.maxExecutors")
}

// builtPods returns the pods that the rules check for an attempt: the driver, one executor, and the pod that runs
// spark-submit, if any.
func (d Dialect) builtPods(app *v1beta2.SparkApplication, attempt int32, now time.Time, objects submit.Objects, submitter *lifecycle.Cause, rendered func() (*corev1.Pod, error)) ([]dialect.Pod, error) {
	driver := objects.Driver
	var pods []dialect.Pod
	if submitter != nil {
		r, err := d.request(app, attempt, now)
		if err != nil {
			return nil, err
		}
		if driver, err = submit.Driver(r); err != nil {
			return nil, asUserError(app, err)
		}
		runner := ofRole(app, "driver", &app.Spec.Driver.SparkPodSpec, dialect.PodOf("spark-submit", "spec.driver", &objects.Driver.ObjectMeta, &objects.Driver.Spec))
		runner.Container = nil
		runner.AccountField = sparkConfField(submit.RunnerAccountKey)
		pods = append(pods, runner)
	}
	pods = append(pods, ofRole(app, "driver", &app.Spec.Driver.SparkPodSpec, dialect.PodOf("driver", "spec.driver", &driver.ObjectMeta, &driver.Spec)))
	if driverOnly(&app.Spec) {
		return pods, nil
	}
	executor, err := rendered()
	if err != nil {
		return nil, asUserError(app, err)
	}
	pod := ofRole(app, "executor", &app.Spec.Executor.SparkPodSpec, dialect.PodOf("executor", "spec.executor", &executor.ObjectMeta, &executor.Spec))
	pod.Worker = true
	return append(pods, pod), nil
}

// ofRole completes the description of a pod: it adds the fields of the custom resource that set the pod's image and
// service account.
func ofRole(app *v1beta2.SparkApplication, role string, spec *v1beta2.SparkPodSpec, pod dialect.Pod) dialect.Pod {
	pod.AccountField = accountField(&app.Spec, role)
	pod.EnvField = func(name string) string { return typedField(app, envPrefix(role)+name) }
	pod.OwnCommand = dialect.TemplateCommand(spec.Template, pod.Container)
	switch {
	case sparkoperator.StringValue(spec.Image) != "":
		pod.ImageField = "spec." + role + ".image"
	case sparkoperator.StringValue(app.Spec.Image) != "":
		pod.ImageField = "spec.image"
	}
	return pod
}

// accountField returns the field that sets the service account of a role's pods. If no field sets it, the result is the
// typed field. For an executor, the field may be that of the driver, which also overrides the field serviceAccountName
// of the executor's template. Only the deprecated field serviceAccount of this template precedes both typed fields (see
// submit.Executor).
func accountField(spec *v1beta2.SparkApplicationSpec, role string) string {
	pod, typed := podSpec(spec, role), "spec."+role+".serviceAccount"
	template := dialect.PodTemplate(pod.Template).Spec
	templated := dialect.TemplateAccountField("spec."+role+".template", &template)
	switch {
	case role == "executor" && template.DeprecatedServiceAccount != "":
		return templated
	case sparkoperator.StringValue(pod.ServiceAccount) != "":
		return typed
	case role == "executor" && sparkoperator.StringValue(spec.Driver.ServiceAccount) != "":
		return "spec.driver.serviceAccount"
	case template.ServiceAccountName+template.DeprecatedServiceAccount != "":
		return templated
	}
	return typed
}
