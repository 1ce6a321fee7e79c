package convert

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
)

// toSparkOperator converts an application of spark.apache.org to sparkoperator.k8s.io.
func toSparkOperator(o preview.Operator, source *sparkv1.SparkApplication) (Result, error) {
	var n notes

	app, local, err := withoutMaster(source, &n)
	if err != nil {
		return Result{}, err
	}

	s, err := preview.SubmissionOf(o, app)
	if err != nil {
		return Result{}, err
	}

	ownConf(o, app, &s, &n)

	driver, err := readTemplates(&s)
	if err != nil {
		return Result{}, err
	}

	s.SparkVersion, s.Namespace, s.Master = app.Spec.RuntimeVersions.SparkVersion, metav1.NamespaceDefault, manifest.DefaultMaster

	s.AppName = app.Name
	if s.Resource == "" {
		s.Resource = noFile
	}

	made, err := manifest.FromRequest(s.Request)
	if err != nil {
		return Result{}, err
	}

	out := made.Application
	out.ObjectMeta = metadata(app)

	spec := &out.Spec
	if suspend := app.Spec.Suspend; suspend != nil && *suspend {
		spec.Suspend = suspend
	}

	if driver != nil && driver.onlyEscalation() {
		spec.Driver.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)}
	} else if driver != nil && !driver.plain() {
		spec.Driver.Template = &runtime.RawExtension{Raw: driver.json()}
	}

	if local != "" {
		spec.Driver.KubernetesMaster = &local
	}

	if t := app.Spec.ApplicationTolerations; t != nil {
		fromTolerations(t, spec, &n)
	} else {
		spec.Timeouts = timeouts(nil, &n)
	}

	sparkOperatorComments(app, &n)
	deniedKeys(o, out, &n)
	return Result{Objects: append(configMaps(app), out), Comments: n}, nil
}

// withoutMaster returns a copy of the application without spark.master, which users cannot set in sparkoperator.k8s.io.
// If the master is local, the driver runs all tasks itself. In this case the result local is the value of spark.master.
func withoutMaster(source *sparkv1.SparkApplication, n *notes) (app *sparkv1.SparkApplication, local string, err error) {
	app = source.DeepCopy()

	const field = "spec.sparkConf[" + fields.Master + "]"
	switch master := app.Spec.SparkConf[fields.Master]; {
	case strings.HasPrefix(master, "spark://"):
		return nil, "", fmt.Errorf("%s: %s has no counterpart of a driver that uses the executors of a standalone cluster; keep this application: the operator serves both API groups",
			field, SparkOperator)
	case strings.HasPrefix(master, "local"):
		local = master

		n.add("spec.driver.kubernetesMaster", "%s: the driver runs all tasks itself here too, but its %s is the API server.", field, fields.Master)
	case master != "":
		n.dropped(droppedField{true, "spec", field, "the operator sets the address of the API server; spec.driver.kubernetesMaster changes it for the driver"})
	}

	delete(app.Spec.SparkConf, fields.Master)
	return app, local, nil
}

// ownConf removes the configuration keys that the operator sets for every application of sparkoperator.k8s.io. It adds
// the keys without which the driver would change.
func ownConf(o preview.Operator, app *sparkv1.SparkApplication, s *preview.Submission, n *notes) {
	set := func(key string) bool { return app.Spec.SparkConf[key] != "" }

	c := s.Conf
	for _, role := range []string{"driver", "executor"} {
		c.Delete(fields.ContainerName(role))
	}

	c.Delete(fields.DriverPodName)

	if set(fields.DriverPodName) {
		s.DriverPodName = app.Spec.SparkConf[fields.DriverPodName]
	}

	for _, key := range []string{confException, confPrefix} {
		if _, ok := app.Spec.SparkConf[key]; !ok {
			c.Delete(key)
		}
	}

	for _, version := range []struct{ field, value, label string }{
		{"scalaVersion", app.Spec.RuntimeVersions.ScalaVersion, own + "scala-version"},
		{"jdkVersion", app.Spec.RuntimeVersions.JDKVersion, own + "jdk-version"},
	} {
		c.Delete("spark.kubernetes.driver.label."+version.label, "spark.kubernetes.executor.label."+version.label)
		n.dropped(droppedField{version.value != "", "spec.sparkVersion", "spec.runtimeVersions." + version.field, "it was only a label of the pods, with the value " + version.value})
	}

	n.dropped(droppedField{set(fields.AppID), "spec", "spec.sparkConf[" + fields.AppID + "]", "the operator chooses an id for each attempt"})
	keepUser(o, app, app.Spec.ProxyUser, c)
}

// readTemplates removes the operator's defaults from both pod templates. It replaces the executors' template in s, and
// returns the driver's template.
func readTemplates(s *preview.Submission) (driver *template, err error) {
	if len(s.DriverTemplate) > 0 {
		if driver, err = readDriver(s.DriverTemplate); err != nil {
			return nil, err
		}
	}

	s.DriverTemplate = nil
	if len(s.ExecutorTemplate) > 0 {
		executor, err := readExecutor(s.ExecutorTemplate)
		if err != nil {
			return nil, err
		}

		s.ExecutorTemplate = executor.json()
	}
	return driver, nil
}

// fromTolerations converts restarts, timeouts and the time to live.
func fromTolerations(t *sparkv1.ApplicationTolerations, spec *v1beta2.SparkApplicationSpec, n *notes) {
	const source = tolerationsField + "."
	spec.RestartPolicy = restartPolicy(t.RestartConfig, n)

	spec.Timeouts = timeouts(t.ApplicationTimeoutConfig, n)
	if ttl := value(t.TTLAfterStopMillis, -1); ttl >= 0 {
		spec.TimeToLiveSeconds = new(secondsOf(ttl))
		if *spec.TimeToLiveSeconds*1000 != ttl {
			n.add("spec.timeToLiveSeconds", "%sttlAfterStopMillis: %d ms become %d s, because the time is in whole seconds here.", source, ttl, *spec.TimeToLiveSeconds)
		}
	}

	instances := value(t.InstanceConfig, sparkv1.InstanceConfig{})
	n.dropped(
		droppedField{t.ResourceRetainPolicy != "", "spec", source + "resourceRetainPolicy", "the driver pod is kept as long as the application, as with Always"},
		droppedField{value(t.ResourceRetainDurationMillis, -1) >= 0, "spec", source + "resourceRetainDurationMillis", "timeToLiveSeconds deletes the application and its driver pod"},
		droppedField{instances.InitExecutors != nil, "spec.executor", source + "instanceConfig.initExecutors", "the initial number of executors counts"},
		droppedField{instances.MinExecutors != nil, "spec.executor", source + "instanceConfig.minExecutors", "the status reports how many executors run"},
		droppedField{instances.MaxExecutors != nil, "spec.executor", source + "instanceConfig.maxExecutors", "the status reports how many executors run"},
	)
}

// sparkOperatorComments adds comments about fields that have no counterpart in sparkoperator.k8s.io.
func sparkOperatorComments(app *sparkv1.SparkApplication, n *notes) {
	spec := &app.Spec
	const ui = "for the web UI use spec.sparkUIOptions, for other ports spec.driverIngressOptions"
	n.dropped(
		droppedField{len(spec.ConfigMapSpecs) > 0, "spec", "spec.configMapSpecs", "create the ConfigMaps above together with the application; they are not deleted with it"},
		droppedField{len(spec.DriverServiceIngressList) > 0, "spec", "spec.driverServiceIngressList", ui},
		droppedField{len(spec.DriverHTTPRouteList) > 0, "spec", "spec.driverHttpRouteList", "for the web UI use spec.sparkUIOptions.route"},
		droppedField{len(spec.DriverGRPCRouteList) > 0, "spec", "spec.driverGrpcRouteList", "create the Service and the route yourself"},
	)

	if spec.ExecutorSpec == nil || spec.ExecutorSpec.PodTemplateSpec == nil {
		n.add("spec.executor", "This API group always gives the driver a pod template for executors, which the driver mounts.").Pod = []string{
			`spec\.volumes\[pod-template-volume\].*`, `spec\.containers\[[^]]+\]\.volumeMounts\[/opt/spark/pod-template\].*`,
		}
	}
}

// deniedKeys removes the configuration keys that users may not set in sparkoperator.k8s.io, and adds a comment about
// each of them.
func deniedKeys(o preview.Operator, app *v1beta2.SparkApplication, n *notes) {
	faults, err := o.Faults(app)
	if err != nil {
		return // the caller repeats the call
	}

	for _, fault := range faults {
		key, ok := strings.CutPrefix(fault.Field, "spec.sparkConf[")

		key = strings.TrimSuffix(key, "]")
		if _, has := app.Spec.SparkConf[key]; !ok || !has || !strings.HasPrefix(fault.Message, "is not allowed") {
			continue
		}

		delete(app.Spec.SparkConf, key)

		n.add("spec.sparkConf", "%s: no counterpart: it %s", fault.Field, fault.Message).Pod = []string{
			`spec\.volumes\[kubernetes-credentials\].*`, `spec\.containers\[[^]]+\]\.volumeMounts\[/mnt/secrets/spark-kubernetes-credentials\].*`,
		}
	}
}

// configMaps returns the ConfigMaps in the spec of the source. The operator creates them for an application of
// spark.apache.org, but not for one of sparkoperator.k8s.io.
func configMaps(app *sparkv1.SparkApplication) (made []client.Object) {
	for i := range app.Spec.ConfigMapSpecs {
		spec := &app.Spec.ConfigMapSpecs[i]
		config := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Namespace: app.Namespace, Labels: spec.Labels, Annotations: spec.Annotations},
			Data:       spec.Data,
		}
		config.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		made = append(made, config)
	}
	return made
}
