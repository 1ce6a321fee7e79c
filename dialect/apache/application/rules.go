package application

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// Sources are the fields with the pods of an application.
var Sources = dialect.Sources("spec.driverSpec", "spec.executorSpec", "podTemplateSpec")

// ruleFaults returns the values of an attempt's pods that the API server would refuse, or else the violations of the
// platform's rules. The argument objects holds the attempt's objects. The argument submitter is not nil if spark-submit
// creates the driver pod; objects.Driver is then the pod that runs spark-submit. The argument executor renders an
// executor.
func (a Applications) ruleFaults(app *sparkv1.SparkApplication, attempt int32, now time.Time, objects submit.Objects, submitter *lifecycle.Cause, executor func() (*corev1.Pod, error)) []*dialect.FieldError {
	a, app = a.launching(app)
	executors := executor
	if driverOnly(&app.Spec) {
		executors = nil
	}
	if faults := Sources.Faults(app, objects.Driver, executors); len(faults) > 0 || a.Rules == nil {
		return faults
	}
	faults := a.Rules.Faults(&dialect.Subject{
		Labels:   app.Labels,
		Settings: func() []dialect.Setting { return settings(app) },
		Pods: func() ([]dialect.Pod, []*dialect.FieldError) {
			pods, err := a.builtPods(app, attempt, now, objects, submitter, executor)
			return pods, dialect.AsFaults(err)
		},
		Workers:  func() dialect.Workers { return workers(app) },
		Services: dialect.DriverServices(app.Spec.SparkConf),
	})
	for _, d := range exposedEntries(&app.Spec) {
		faults = append(faults, a.exposureFaults(d)...)
	}
	return faults
}

// exposureFaults returns the violations of the platform's rules by an entry's Service and its Ingress or route.
func (a Applications) exposureFaults(d exposedEntry) []*dialect.FieldError {
	faults := a.serviceFaults(d)
	if a.Rules != nil && a.Outside {
		faults = append(faults, a.Rules.ExposureFaults(d.exposing())...)
	}
	return faults
}

// serviceFaults returns the violations of the platform's rules by an entry's Service.
func (a Applications) serviceFaults(d exposedEntry) []*dialect.FieldError {
	return dialect.ServiceFaults(a.Rules, d.field+".serviceMetadata.annotations", d.service.Annotations)
}

// exposing returns the parts of an Ingress or route to which the platform's rules apply.
func (d exposedEntry) exposing() *dialect.Exposing {
	asked := &dialect.Exposing{Kind: d.kind.Kind, Annotations: d.meta.Annotations, AnnotationsField: d.field + "." + d.metaField + ".annotations"}
	spec := d.field + "." + d.specField
	if d.isRoute() {
		tree, _ := d.tree() // the method faults reports a spec that cannot be decoded
		hosts, _ := tree["hostnames"].([]any)
		for _, host := range hosts {
			text, _ := host.(string)
			asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: spec + ".hostnames", Value: text})
		}
		return asked
	}
	ingress, _, err := podtemplate.As[networkingv1.IngressSpec](dialect.RawBytes(d.raw))
	if err != nil || ingress == nil {
		ingress = &networkingv1.IngressSpec{}
	}
	if ingress.IngressClassName != nil {
		asked.Class = dialect.FieldValue{Field: spec + ".ingressClassName", Value: *ingress.IngressClassName}
	}
	for i := range ingress.Rules {
		asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: fmt.Sprintf("%s.rules[%d].host", spec, i), Value: ingress.Rules[i].Host})
	}
	if len(ingress.Rules) == 0 || ingress.DefaultBackend != nil {
		asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: spec}) // the default backend serves all hosts
	}
	for i := range ingress.TLS {
		for _, host := range ingress.TLS[i].Hosts {
			asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: fmt.Sprintf("%s.tls[%d].hosts", spec, i), Value: host})
		}
	}
	return asked
}

// settings returns the Spark configuration that results from the spec. Each key comes with the field that sets it. If
// the configuration cannot be computed, settings returns nothing; another function (request) reports the reason.
func settings(app *sparkv1.SparkApplication) (all []dialect.Setting) {
	p, wrong := programOf(&app.Spec)
	if wrong != nil {
		return nil
	}
	c, wrong := sparkConf(app, p)
	if wrong != nil {
		return nil
	}
	for key, value := range c.All() {
		setting := dialect.Setting{Key: key, Value: value}
		field := keyField(&app.Spec, key)
		if _, written := app.Spec.SparkConf[key]; written || field != "spec.sparkConf["+key+"]" {
			setting.Field = field
		}
		all = append(all, setting)
	}
	return all
}

// workers returns the maximum number of executors that an application may have.
func workers(app *sparkv1.SparkApplication) dialect.Workers {
	if driverOnly(&app.Spec) {
		return dialect.Workers{Field: "spec.sparkConf[spark.executor.instances]"}
	}
	return dialect.ExecutorWorkers(conf.FromMap(app.Spec.SparkConf), sparkInstances, "", "")
}

// builtPods returns the pods of an attempt: the driver, an executor, and the pod that runs spark-submit, if any.
func (a Applications) builtPods(app *sparkv1.SparkApplication, attempt int32, now time.Time, objects submit.Objects, submitter *lifecycle.Cause, rendered func() (*corev1.Pod, error)) ([]dialect.Pod, error) {
	driver := objects.Driver
	var pods []dialect.Pod
	if submitter != nil {
		r, err := a.request(app, attempt, now)
		if err != nil {
			return nil, err
		}
		if driver, err = native.Driver(r); err != nil {
			return nil, asUserError(app, err)
		}
		runner := dialect.PodOf("spark-submit", "spec.driverSpec", &objects.Driver.ObjectMeta, &objects.Driver.Spec)
		runner.Container = nil
		runner.ImageField, runner.AccountField = imageField(app, "driver"), "spec.sparkConf["+submit.RunnerAccountKey+"]"
		pods = append(pods, runner)
	}
	pod := dialect.PodOf("driver", "spec.driverSpec", &driver.ObjectMeta, &driver.Spec)
	pod.ImageField, pod.AccountField = imageField(app, "driver"), accountField(app, "driver")
	pod.OwnCommand = commands(app.Spec.DriverSpec, pod.Container)
	pods = append(pods, pod)
	if driverOnly(&app.Spec) {
		return pods, nil
	}
	executor, err := rendered()
	if err != nil {
		return nil, asUserError(app, err)
	}
	pod = dialect.PodOf("executor", "spec.executorSpec", &executor.ObjectMeta, &executor.Spec)
	pod.ImageField, pod.AccountField, pod.Worker = imageField(app, "executor"), accountField(app, "executor"), true
	pod.OwnCommand = commands(app.Spec.ExecutorSpec, pod.Container)
	return append(pods, pod), nil
}

// commands reports whether a part of the spec changes the command line of the Spark container.
func commands(part *sparkv1.PodTemplate, spark *corev1.Container) bool {
	return part != nil && dialect.TemplateCommand(part.PodTemplateSpec, spark)
}

func asUserError(app *sparkv1.SparkApplication, err error) error {
	if refused, ok := errors.AsType[*submit.Error](err); ok {
		return asFieldError(app, refused)
	}
	return err
}

// imageField returns the field that sets the image of a role's Spark container.
func imageField(app *sparkv1.SparkApplication, role string) string {
	for _, key := range []string{"spark.kubernetes." + role + ".container.image", "spark.kubernetes.container.image"} {
		if _, written := app.Spec.SparkConf[key]; written {
			return "spec.sparkConf[" + key + "]"
		}
	}
	return "spec." + role + "Spec.podTemplateSpec"
}

// accountField returns the field that sets the service account of a role's pods. For an executor, this may be the
// driver's key, which also overrides the field serviceAccountName of the executor's template. Only the deprecated field
// serviceAccount of this template precedes both keys (see native.Executor).
func accountField(app *sparkv1.SparkApplication, role string) string {
	part, keys := app.Spec.DriverSpec, []string{"spark.kubernetes.authenticate." + role + ".serviceAccountName"}
	if role == "executor" {
		part, keys = app.Spec.ExecutorSpec, append(keys, "spark.kubernetes.authenticate.driver.serviceAccountName")
	}
	var template corev1.PodTemplateSpec
	if part != nil {
		template = dialect.PodTemplate(part.PodTemplateSpec)
	}
	if role == "driver" || template.Spec.DeprecatedServiceAccount == "" {
		for _, key := range keys {
			if _, written := app.Spec.SparkConf[key]; written {
				return "spec.sparkConf[" + key + "]"
			}
		}
	}
	return dialect.TemplateAccountField("spec."+role+"Spec.podTemplateSpec", &template.Spec)
}
