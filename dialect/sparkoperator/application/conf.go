package application

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// sparkConf returns the whole Spark configuration of an application: the user's sparkConf and hadoopConf, and the keys
// of the typed fields. A typed field overrides the same key in sparkConf, except the fields of defaultFields and the
// options of JVMs, which follow those of sparkConf.
func sparkConf(app *v1beta2.SparkApplication) (*conf.Conf, error) {
	spec := &app.Spec
	c := conf.FromMap(spec.SparkConf)
	c.Delete(confDriverPodName) // the Request has the pod's name
	for _, key := range slices.Sorted(maps.Keys(spec.HadoopConf)) {
		c.Set("spark.hadoop."+key, spec.HadoopConf[key])
	}
	setList(c, "spark.jars", spec.Deps.Jars)
	setList(c, "spark.jars.packages", spec.Deps.Packages)
	setList(c, "spark.jars.excludes", spec.Deps.ExcludePackages)
	setList(c, "spark.jars.repositories", spec.Deps.Repositories)
	setList(c, "spark.submit.pyFiles", spec.Deps.PyFiles)
	setList(c, "spark.files", spec.Deps.Files)
	setList(c, "spark.archives", spec.Deps.Archives)

	sparkoperator.Set(c, "spark.kubernetes.container.image", spec.Image)
	defaultFields(c, spec)
	setMap(c, "spark.kubernetes.node.selector.", spec.NodeSelector)
	// From Spark 4.1 on, the driver annotates its pod with the exception that ended it. This helps if the last lines of
	// the log contain only the stack trace of the exception. For Python and R programs it is not set, because their
	// driver does not know the exception. It would create a Kubernetes client after the program's last output, and the
	// client's log would push that output out of the termination message.
	if submit.IsJVM(spec.MainApplicationFile) {
		c.SetIfMissing("spark.kubernetes.driver.annotateExitException", "true")
	}
	// The operator never waits in a JVM, so the value "true" of a user would be misleading in the driver's properties.
	c.Set("spark.kubernetes.submission.waitAppCompletion", "false")

	driver, executor := &spec.Driver, &spec.Executor
	podConf(c, app, "driver", &driver.SparkPodSpec)
	podConf(c, app, "executor", &executor.SparkPodSpec)
	sparkoperator.Set(c, "spark.kubernetes.driver.request.cores", driver.CoreRequest)
	javaOptions(c, "driver", driver.JavaOptions)
	if master := sparkoperator.StringValue(driver.KubernetesMaster); master != "" {
		c.Set("spark.kubernetes.driver.master", driverMaster(master))
	}
	setMap(c, "spark.kubernetes.driver.service.annotation.", driver.ServiceAnnotations)
	setMap(c, "spark.kubernetes.driver.service.label.", driver.ServiceLabels)
	sparkoperator.Set(c, "spark.kubernetes.executor.request.cores", executor.CoreRequest)
	javaOptions(c, "executor", executor.JavaOptions)
	sparkoperator.SetNumber(c, "spark.executor.instances", executor.Instances)
	if executor.DeleteOnTermination != nil {
		c.Set("spark.kubernetes.executor.deleteOnTermination", strconv.FormatBool(*executor.DeleteOnTermination))
	}
	sparkoperator.DynamicAllocation(c, spec.DynamicAllocation)
	executorConf(c, spec)
	if !dynamicAllocationEnabled(spec) {
		c.SetIfMissing("spark.executor.instances", "1") // this API's default; Spark's own would be 2
	}
	if err := localVolumes(c, spec.Volumes, "driver", &driver.SparkPodSpec); err != nil {
		return nil, err
	}
	monitoringConf(c, app)
	return c, localVolumes(c, spec.Volumes, "executor", &executor.SparkPodSpec)
}

// defaultFields sets the keys of those typed fields that sparkConf overrides. In operators of this API, sparkConf has
// always had precedence over these fields, because the operators passed it to spark-submit after the fields.
func defaultFields(c *conf.Conf, spec *v1beta2.SparkApplicationSpec) {
	for _, field := range valuesOfDefaultFields(spec) {
		c.SetIfMissing(field[0], field[1])
	}
}

// valuesOfDefaultFields returns the keys and the values of those fields of defaultFields that the spec sets.
func valuesOfDefaultFields(spec *v1beta2.SparkApplicationSpec) [][2]string {
	return slices.DeleteFunc([][2]string{
		{"spark.kubernetes.container.image.pullPolicy", sparkoperator.StringValue(spec.ImagePullPolicy)},
		{"spark.kubernetes.container.image.pullSecrets", strings.Join(spec.ImagePullSecrets, ",")},
		{"spark.kubernetes.pyspark.pythonVersion", sparkoperator.StringValue(spec.PythonVersion)},
		{"spark.kubernetes.memoryOverheadFactor", sparkoperator.StringValue(spec.MemoryOverheadFactor)},
	}, func(field [2]string) bool { return field[1] == "" })
}

// javaOptions adds the typed options of a role's JVM to those of sparkConf. The JVM uses the last of two options that
// contradict each other.
func javaOptions(c *conf.Conf, role string, options *string) {
	key := "spark." + role + ".extraJavaOptions"
	typed := sparkoperator.StringValue(options)
	if own, _ := c.Get(key); typed != "" && typed != own {
		c.Set(key, strings.TrimSpace(own+" "+typed))
	}
}

// overriddenWarnings returns a warning for each key of sparkConf that a typed field overrides, and for each typed field
// that sparkConf overrides.
func overriddenWarnings(l *launched) []string {
	c, err := l.Configuration()
	if err != nil {
		return nil // rejected elsewhere
	}
	app, merged := l.Attempt.own, l.Attempt.app
	c = c.Clone()
	c.Set(confDriverPodName, DriverPodName(merged))
	warnings := dialect.Overridden(app.Spec.SparkConf, c, func(key string) string {
		switch {
		case key == confDriverPodName:
			return specFields["DriverPodName"]
		case strings.HasPrefix(key, "spark.dynamicAllocation."):
			return "spec.dynamicAllocation"
		}
		return typedField(merged, key)
	})
	for _, field := range valuesOfDefaultFields(&app.Spec) {
		if own, set := app.Spec.SparkConf[field[0]]; set && own != field[1] {
			warnings = append(warnings, specFields[field[0]]+": "+conf.Quote(field[0], field[1])+" has no effect: "+sparkConfField(field[0])+" sets "+conf.Quote(field[0], own)+"; remove one of them")
		}
	}
	return warnings
}

// driverMaster returns the address of the API server in the form that the client inside the driver accepts
// (KubernetesClusterManager): a plain URL, or "local[*]" for a driver without executors.
//
// Many users write the address as in spark.master, with the prefix k8s://. The client does not accept this prefix, so
// driverMaster removes it.
func driverMaster(text string) string {
	address, prefixed := strings.CutPrefix(text, "k8s://")
	if prefixed && !strings.Contains(address, "://") {
		return "https://" + address
	}
	return address
}

// driverOnly reports whether spec.driver.kubernetesMaster is local. Such an application has no executors: its driver
// runs all tasks itself.
func driverOnly(spec *v1beta2.SparkApplicationSpec) bool {
	return strings.HasPrefix(sparkoperator.StringValue(spec.Driver.KubernetesMaster), "local")
}

// podConf sets the configuration keys of the fields that driver and executor have in common. The argument role is
// "driver" or "executor".
func podConf(c *conf.Conf, app *v1beta2.SparkApplication, role string, pod *v1beta2.SparkPodSpec) {
	spark, kube := "spark."+role+".", "spark.kubernetes."+role+"."
	sparkoperator.SetNumber(c, spark+"cores", pod.Cores)
	sparkoperator.Set(c, spark+"memory", pod.Memory)
	sparkoperator.Set(c, spark+"memoryOverhead", pod.MemoryOverhead)
	sparkoperator.Set(c, kube+"limit.cores", pod.CoreLimit)
	sparkoperator.Set(c, kube+"container.image", pod.Image)
	sparkoperator.Set(c, "spark.kubernetes.authenticate."+role+".serviceAccountName", pod.ServiceAccount)

	for _, key := range slices.Sorted(maps.Keys(app.Labels)) {
		if !strings.HasPrefix(key, sparkoperator.KueuePrefix) {
			c.Set(kube+"label."+key, app.Labels[key])
		}
	}
	setMap(c, kube+"label.", pod.Labels)
	setMap(c, kube+"annotation.", pod.Annotations)
	setMap(c, kube+"node.selector.", pod.NodeSelector)
	sparkoperator.Set(c, kube+"scheduler.name", pod.SchedulerName)
	if allow := dialect.PrivilegeEscalation(pod.SecurityContext); allow != nil {
		// This key exists since Spark 4.3. Spark's default is false.
		c.Set(kube+"securityContext.allowPrivilegeEscalation", strconv.FormatBool(*allow))
	}
	if name := templateContainer(pod.Template, role); name != "" {
		c.SetIfMissing(kube+"podTemplateContainerName", name)
	}
	env := kube + "secretKeyRef."
	for _, name := range slices.Sorted(maps.Keys(pod.EnvSecretKeyRefs)) {
		ref := pod.EnvSecretKeyRefs[name]
		c.Set(env+name, ref.Name+":"+ref.Key)
	}
	setMap(c, envPrefix(role), pod.EnvVars)
	for _, secret := range pod.Secrets {
		c.Set(kube+"secrets."+secret.Name, secret.Path)
		if known, ok := secretFiles[secret.Type]; ok {
			c.Set(envPrefix(role)+known.variable, path.Join(secret.Path, known.file))
		}
	}
	typedEnv(c, &app.Spec, role, pod.Env)
}

// secretFiles contains for each type of Secret the name of its file, and the environment variable with the path of this
// file.
var secretFiles = map[v1beta2.SecretType]struct{ variable, file string }{
	v1beta2.SecretTypeGCPServiceAccount:     {"GOOGLE_APPLICATION_CREDENTIALS", "key.json"},
	v1beta2.SecretTypeHadoopDelegationToken: {"HADOOP_TOKEN_FILE_LOCATION", "hadoop.token"},
}

func setList(c *conf.Conf, key string, values []string) {
	if len(values) > 0 {
		c.Set(key, strings.Join(values, ","))
	}
}

func setMap(c *conf.Conf, prefix string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		c.Set(prefix+key, values[key])
	}
}
