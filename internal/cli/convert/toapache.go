package convert

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// imageUser is the user in the official images. It is also the value of SPARK_USER in most drivers.
const imageUser = "spark"

// noFile is the main file of an application that consists only of a class in the image. spark-submit uses the same
// text.
const noFile = "spark-internal"

// These are Spark configuration keys that a conversion sets or removes.
const (
	confException = "spark.kubernetes.driver.annotateExitException"
	confPrefix    = "spark.kubernetes.executor.podNamePrefix"
	confUser      = "spark.kubernetes.driverEnv.SPARK_USER"
)

// toApache converts an application of sparkoperator.k8s.io to spark.apache.org.
func toApache(o preview.Operator, app *v1beta2.SparkApplication) (Result, error) {
	s, err := preview.SubmissionOf(o, app)
	if err != nil {
		return Result{}, err
	}

	spec := &app.Spec
	out := &sparkv1.SparkApplication{ObjectMeta: metadata(app)}
	out.SetGroupVersionKind(sparkv1.SchemeGroupVersion.WithKind("SparkApplication"))
	var n notes
	out.Spec.RuntimeVersions.SparkVersion, out.Spec.Suspend = spec.SparkVersion, spec.Suspend
	out.Spec.DriverArgs, out.Spec.ProxyUser = s.Arguments, s.ProxyUser
	apacheConf(o, app, s.Conf)
	apacheProgram(&out.Spec, &s)

	out.Spec.SparkConf = s.Conf.Map()
	if out.Spec.DriverSpec, err = apacheTemplate(s.DriverTemplate, func(t *template) {
		if spec.Driver.MemoryLimit != nil {
			t.dropMemoryLimit()
		}
	}); err != nil {
		return Result{}, err
	}

	if len(s.ExecutorTemplate) > 0 {
		t, err := readExecutor(s.ExecutorTemplate)
		if err != nil {
			return Result{}, err
		}

		t.spec()["enableServiceLinks"] = t.links
		out.Spec.ExecutorSpec = t.podTemplate()
	}

	for _, config := range s.ConfigMaps {
		out.Spec.ConfigMapSpecs = append(out.Spec.ConfigMapSpecs, sparkv1.ConfigMapSpec{Name: config.Name, Data: config.Data})
	}

	out.Spec.ApplicationTolerations = tolerations(spec, &n)
	apacheServices(app, &out.Spec, &n)
	apacheComments(app, &n)
	apacheDefaults(&out.Spec, &n)
	return Result{Objects: []client.Object{out}, Comments: n}, nil
}

// apacheConf removes the configuration keys that the operator sets for every application of spark.apache.org. It adds
// the keys without which the driver would change.
func apacheConf(o preview.Operator, app *v1beta2.SparkApplication, c *conf.Conf) {
	set := func(key string) bool { _, ok := app.Spec.SparkConf[key]; return ok }

	for _, role := range []string{"driver", "executor"} {
		// In the converted templates, Spark's container is the first one, which Spark uses by default.
		c.Delete(fields.ContainerName(role))
	}

	if app.Spec.Driver.PodName == nil && !set(fields.DriverPodName) {
		c.Delete(fields.DriverPodName)
	}

	for _, key := range []string{confException, confPrefix} {
		if !set(key) {
			c.Delete(key)
		}
	}

	keepUser(o, app, value(app.Spec.ProxyUser, ""), c)
}

// keepUser sets the environment variable SPARK_USER of a driver if it might otherwise differ in the other API group.
// The two API groups set it differently for a driver with a proxy user. It is set by a configuration key, because Spark
// overrides the variable of a pod template.
func keepUser(o preview.Operator, app client.Object, proxy string, c *conf.Conf) {
	if user := effectiveUser(o, app); user != imageUser || proxy != "" {
		c.SetIfMissing(confUser, user)
	}
}

// effectiveUser returns the value of the environment variable SPARK_USER in an application's driver. If the value is
// known only when the pod runs, effectiveUser returns the default.
func effectiveUser(o preview.Operator, app client.Object) (user string) {
	parts, err := driverParts(o, app)
	if err != nil {
		return imageUser // the comparison of the driver pods returns the error
	}

	for part, value := range parts {
		if strings.HasSuffix(part, ".env[SPARK_USER].value") && utiljson.Unmarshal([]byte(value), &user) == nil {
			return user
		}
	}
	return imageUser
}

// apacheProgram sets the fields that name the program and its files. It removes the keys of these fields from the
// configuration.
func apacheProgram(out *sparkv1.ApplicationSpec, s *preview.Submission) {
	out.MainClass = s.MainClass
	files := s.Resource

	field, key := &out.Jars, fields.Application.Key("spec.jars")
	switch {
	case files == noFile:
		return
	case strings.HasSuffix(files, ".py"):
		field, key = &out.PyFiles, fields.Application.Key("spec.pyFiles")
		out.MainClass = fields.PythonRunner
	case strings.HasSuffix(files, ".R"), strings.HasSuffix(files, ".r"):
		out.SparkRFiles = files
		field = nil
	}

	if field != nil {
		if more, _ := s.Conf.Get(key); more != "" && more == strings.TrimSpace(more) {
			files += "," + more

			s.Conf.Delete(key)
		}

		*field = files
	}

	if files, _ := s.Conf.Get(fields.Application.Key("spec.files")); files != "" {
		out.Files = files

		s.Conf.Delete(fields.Application.Key("spec.files"))
	}
}

// apacheTemplate returns the driver's pod template, or nil if the driver needs none.
func apacheTemplate(text []byte, change func(*template)) (*sparkv1.PodTemplate, error) {
	if len(text) == 0 {
		return nil, nil
	}

	t, err := readDriver(text)
	if err != nil {
		return nil, err
	}

	change(t)

	if t.plain() {
		return nil, nil
	}
	return t.podTemplate(), nil
}

func (t *template) podTemplate() *sparkv1.PodTemplate {
	return &sparkv1.PodTemplate{PodTemplateSpec: &runtime.RawExtension{Raw: t.json()}}
}

// apacheComments adds comments about fields that have no counterpart in spark.apache.org.
func apacheComments(app *v1beta2.SparkApplication, n *notes) {
	spec := &app.Spec

	scheduler := ""
	if spec.BatchScheduler != nil {
		scheduler = *spec.BatchScheduler
	}

	n.dropped(
		droppedField{spec.Mode == v1beta2.DeployModeClient, "spec", "spec.mode", "none is needed: in both API groups the driver runs in its own pod"},
		droppedField{spec.FailureRetries != nil, "spec", "spec.failureRetries", "it has no effect in the source either"},
		droppedField{spec.RetryInterval != nil, "spec", "spec.retryInterval", "it has no effect in the source either"},
		droppedField{spec.BatchScheduler != nil, "spec.sparkConf", "spec.batchScheduler",
			"the pods keep the scheduler name " + scheduler + ", but the operator creates no group for them"},
		droppedField{spec.BatchSchedulerOptions != nil, "spec.sparkConf", "spec.batchSchedulerOptions", "set the labels and annotations that the scheduler reads"},
		droppedField{spec.DriverPodDisruptionBudget != nil && *spec.DriverPodDisruptionBudget, "spec", "spec.driverPodDisruptionBudget",
			"create a PodDisruptionBudget that selects the label spark.operator/spark-app-name"},
		droppedField{spec.Submission != nil, "spec", "spec.submission", "the operator's configuration decides (submission.mode)"},
		droppedField{spec.SparkUIOptions != nil, "spec", "spec.sparkUIOptions",
			"no Service of the web UI is created; describe one, and its Ingress or route, in driverServiceIngressList or driverHttpRouteList"},
	)

	if spec.Driver.MemoryLimit != nil {
		n.dropped(droppedField{true, "spec.driverSpec", "spec.driver.memoryLimit", "the limit is the heap plus spark.driver.memoryOverhead"})
		(*n)[len(*n)-1].Pod = []string{`spec\.containers\[[^]]+\]\.resources\.limits\.memory`}
	}

	if value(spec.SparkConfigMap, "") != "" {
		n.dropped(droppedField{true, "spec.driverSpec", "spec.sparkConfigMap", "its files are mounted at " + overlay.SparkConfDir +
			", but the driver's SPARK_CONF_DIR stays Spark's own directory"})
		(*n)[len(*n)-1].Pod = []string{`spec\.containers\[[^]]+\]\.env\[SPARK_CONF_DIR\]\.value`}
	}

	n.dropped(droppedField{spec.Executor.MemoryLimit != nil, "spec.executorSpec", "spec.executor.memoryLimit", "it has no effect in the source either"})
	n.add("spec.driverSpec", "This API group sets allowPrivilegeEscalation: false in containers of the driver that do not set it.").Pod =
		[]string{`spec\.(containers|initContainers)\[[^]]+\]\.securityContext\.allowPrivilegeEscalation`}
}

// apacheDefaults adds comments about configuration keys whose default in spark.apache.org differs from that of the
// source.
func apacheDefaults(out *sparkv1.ApplicationSpec, n *notes) {
	defaults := map[string]string{
		"spark.authenticate": "true", "spark.io.encryption.enabled": "true", "spark.kubernetes.executor.useDriverPodIP": "true",
	}

	if !fields.Restarts(out) {
		defaults[fields.Application.Key("spec.applicationTolerations.resourceRetainPolicy")] = "false"
		if !fields.DynamicAllocation(out) {
			defaults[fields.Application.Key("spec.applicationTolerations.restartConfig.restartPolicy")] = "false"
		}
	}

	var unset []string
	for _, key := range slices.Sorted(maps.Keys(defaults)) {
		if _, ok := out.SparkConf[key]; !ok {
			unset = append(unset, key+": "+defaults[key])
		}
	}

	if len(unset) > 0 {
		n.add("spec.sparkConf", "This API group has its own defaults for keys that are not set here: %s.", strings.Join(unset, ", "))
	}
}
