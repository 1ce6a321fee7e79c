package application

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// specFields maps Spark configuration keys, and fields of submit.Request, to the fields of a SparkApplication that set
// them. With this map, errors name the field that the user wrote.
var specFields = map[string]string{
	"MainClass":        "spec.mainClass",
	"Resource":         "spec.mainApplicationFile",
	"Arguments":        "spec.arguments",
	"ProxyUser":        "spec.proxyUser",
	"SparkVersion":     "spec.sparkVersion",
	"DriverTemplate":   "spec.driver.template",
	"ExecutorTemplate": "spec.executor.template",
	"Driver":           "spec.driver",
	"Executor":         "spec.executor",
	"DriverPodName":    "spec.driver.podName",
	"Conf":             "spec.sparkConf",
	"Namespace":        "metadata.namespace",
	"Labels":           "metadata.labels",
	// The names of the objects begin with the application's name.
	"ResourceNamePrefix": "metadata.name",
	"ConfigMapName":      "metadata.name",

	"spark.driver.extraJavaOptions":                             "spec.driver.javaOptions",
	"spark.executor.extraJavaOptions":                           "spec.executor.javaOptions",
	"spark.executor.instances":                                  "spec.executor.instances",
	"spark.kubernetes.container.image":                          "spec.image",
	"spark.kubernetes.container.image.pullPolicy":               "spec.imagePullPolicy",
	"spark.kubernetes.container.image.pullSecrets":              "spec.imagePullSecrets",
	"spark.kubernetes.memoryOverheadFactor":                     "spec.memoryOverheadFactor",
	"spark.kubernetes.pyspark.pythonVersion":                    "spec.pythonVersion",
	"spark.kubernetes.executor.terminationGracePeriodSeconds":   "spec.executor.terminationGracePeriodSeconds",
	"spark.kubernetes.authenticate.driver.serviceAccountName":   "spec.driver.serviceAccount",
	"spark.kubernetes.authenticate.executor.serviceAccountName": "spec.executor.serviceAccount",
	"spark.jars":              "spec.deps.jars",
	"spark.files":             "spec.deps.files",
	"spark.archives":          "spec.deps.archives",
	"spark.submit.pyFiles":    "spec.deps.pyFiles",
	"spark.jars.packages":     "spec.deps.packages",
	"spark.jars.excludes":     "spec.deps.excludePackages",
	"spark.jars.repositories": "spec.deps.repositories",
}

// roleFields maps configuration keys of a role to the fields of the driver or executor that set them. The keys of the
// map lack the prefix "spark.ROLE." or "spark.kubernetes.ROLE.".
var roleFields = map[string]string{
	"cores": "cores", "memory": "memory", "memoryOverhead": "memoryOverhead",
	"request.cores": "coreRequest", "limit.cores": "coreLimit", "container.image": "image", "master": "kubernetesMaster",
	"scheduler.name": "schedulerName", "podTemplateContainerName": "template", "deleteOnTermination": "deleteOnTermination",
	"securityContext.allowPrivilegeEscalation": "securityContext.allowPrivilegeEscalation",
}

// families lists the fields of the spec whose values are maps, such as nodeSelector. Each entry of such a map sets a
// configuration key that begins with the given prefix. ROLE in a prefix or a field stands for "driver" or "executor".
var families = []struct{ prefix, field string }{
	{"spark.kubernetes.node.selector.", "spec.nodeSelector"},
	{"spark.kubernetes.ROLE.node.selector.", "spec.ROLE.nodeSelector"},
	{"spark.kubernetes.ROLE.annotation.", "spec.ROLE.annotations"},
	{"spark.kubernetes.ROLE.service.annotation.", "spec.ROLE.serviceAnnotations"},
	{"spark.kubernetes.ROLE.service.label.", "spec.ROLE.serviceLabels"},
	{"spark.kubernetes.ROLE.secretKeyRef.", "spec.ROLE.envSecretKeyRefs"},
	{"spark.kubernetes.driverEnv.", "spec.driver.envVars"},
	{executorEnvPrefix, "spec.executor.envVars"},
	{"spark.hadoop.", "spec.hadoopConf"},
}

// noImage is the message for an application without an image. Spark's keys for images cannot be set in sparkConf.
const noImage = "the driver and the executors need an image: set spec.image, or driver.image and executor.image"

// asFieldError converts an error of the package submit into an error that names the field of the custom resource that
// set the value: a typed field or an entry of sparkConf. The argument c is the configuration of the application.
func asFieldError(app *v1beta2.SparkApplication, c *conf.Conf, refused *submit.Error) *dialect.FieldError {
	field := specFields[refused.Field]
	switch {
	case refused.Key != "":
		field = keyField(app, c, refused.Key)
	case field == "":
		field = overlayField(refused.Field)
	}
	if refused.Key == "spark.kubernetes.container.image" && refused.Missing {
		return &dialect.FieldError{Field: "spec.image", Message: noImage, Incomplete: true}
	}
	return &dialect.FieldError{Field: field, Message: refused.Message, Incomplete: refused.Missing}
}

// overlayField returns the field of the custom resource that sets the given part of an overlay, for example
// "spec.volumes" for Driver.Volumes. Some parts are set by fields of the spec, and the others by fields of the driver
// or executor.
func overlayField(name string) string {
	role, part, _ := strings.Cut(name, ".")
	whole := specFields[role]
	list, _, _ := strings.Cut(part, "[")
	switch list {
	case "Volumes":
		return "spec.volumes"
	case "HadoopConfigMap":
		return "spec.hadoopConfigMap"
	case "SparkConfigMap":
		return "spec.sparkConfigMap"
	case "ConfigMaps", "VolumeMounts", "Ports", "InitContainers", "Sidecars", "MemoryLimit":
		return whole + "." + strings.ToLower(part[:1]) + part[1:]
	}
	return cmp.Or(whole, "spec")
}

// volumeKeys matches the prefix that all configuration keys of one volume have in common.
var volumeKeys = regexp.MustCompile(`^spark\.kubernetes\.(?:driver|executor)\.volumes\.[^.]+\.[^.]+\.`)

// keyField returns the field of the custom resource that sets a key of the configuration c.
func keyField(app *v1beta2.SparkApplication, c *conf.Conf, key string) string {
	if text, ok := app.Spec.SparkConf[key]; ok {
		if effective, _ := c.Get(key); effective == text {
			return sparkConfField(key)
		}
	}
	// A missing key of a volume is reported for another key of the same volume, which may be in sparkConf.
	if volume := volumeKeys.FindString(key); volume != "" {
		for other := range app.Spec.SparkConf {
			if strings.HasPrefix(other, volume) {
				return sparkConfField(key)
			}
		}
	}
	return cmp.Or(typedField(app, key), sparkConfField(key))
}

func sparkConfField(key string) string { return fmt.Sprintf("spec.sparkConf[%s]", key) }

// typedField returns the field that sets a configuration key if sparkConf does not contain the key's effective value.
// It returns "" if no field sets the key. The result is an entry of sparkConf if monitoring adds an option to this
// entry.
func typedField(app *v1beta2.SparkApplication, key string) string {
	for _, role := range []string{"driver", "executor"} {
		if name, ok := strings.CutPrefix(key, envPrefix(role)); ok {
			if field := envField(&app.Spec, role, name); field != "" {
				return field
			}
		}
	}
	if field := cmp.Or(monitoringField(app, key), specFields[key]); field != "" {
		return field
	}
	for _, role := range []string{"driver", "executor"} {
		if field := roleField(app, role, key); field != "" {
			return field
		}
	}
	return ""
}

// envField returns the field that sets the configuration key of an environment variable of a role, or "" if neither
// sparkConfigMap, env nor secrets set it. The field sparkConfigMap overrides env, which overrides secrets, which
// override envVars (podConf, executorConf).
func envField(spec *v1beta2.SparkApplicationSpec, role, name string) string {
	pod := podSpec(spec, role)
	switch {
	case name == "SPARK_CONF_DIR" && sparkoperator.StringValue(spec.SparkConfigMap) != "":
		return "spec.sparkConfigMap"
	case slices.ContainsFunc(pod.Env, func(v corev1.EnvVar) bool { return v.Name == name }):
		return "spec." + role + ".env"
	case slices.ContainsFunc(pod.Secrets, func(s v1beta2.SecretInfo) bool {
		known, ok := secretFiles[s.Type]
		return ok && known.variable == name
	}):
		return "spec." + role + ".secrets"
	}
	return ""
}

// monitoringField returns "spec.monitoring" if this field sets a configuration key (monitoringConf). If it adds the
// exporter to the user's options of a JVM, monitoringField returns the entry of sparkConf that contains these options,
// or "" if javaOptions contains them.
//
// The rules of the platform also judge the keys of metrics that have no role, although the operator chooses most of
// their values. Otherwise users could configure any sink in metricsProperties in spite of a rule that denies
// spark.metrics.conf.
func monitoringField(app *v1beta2.SparkApplication, key string) string {
	const field = "spec.monitoring"
	m, driver, executor := monitoringOf(&app.Spec), &app.Spec.Driver, &app.Spec.Executor
	switch {
	case app.Spec.Monitoring == nil:
		return ""
	case key == confUIPrometheus, strings.HasPrefix(key, "spark.metrics."):
		return field
	}
	for _, annotated := range []struct {
		prefix   string
		own      map[string]string
		exporter bool // the exporter overrides the annotations of the user; the servlet does not
	}{
		{confDriverAnnotation, driver.Annotations, m.agent("driver")},
		{confExecutorAnnotation, executor.Annotations, m.agent("executor")},
		{confServiceAnnotation, driver.ServiceAnnotations, false},
	} {
		name, ok := strings.CutPrefix(key, annotated.prefix)
		if !ok || name != scrapeAnnotation && name != portAnnotation && name != pathAnnotation {
			continue
		}
		if _, own := annotated.own[name]; annotated.exporter || !own {
			return field
		}
	}
	for role, java := range map[string]*string{"driver": driver.JavaOptions, "executor": executor.JavaOptions} {
		if key != "spark."+role+".extraJavaOptions" || !m.agent(role) || sparkoperator.StringValue(java) != "" {
			continue
		}
		if _, written := app.Spec.SparkConf[key]; written {
			return sparkConfField(key)
		}
		return field
	}
	return ""
}

// podSpec returns the fields that driver and executor have in common. The argument role is "driver" or "executor".
func podSpec(spec *v1beta2.SparkApplicationSpec, role string) *v1beta2.SparkPodSpec {
	if role == "driver" {
		return &spec.Driver.SparkPodSpec
	}
	return &spec.Executor.SparkPodSpec
}

func roleField(app *v1beta2.SparkApplication, role, key string) string {
	for _, prefix := range []string{"spark." + role + ".", "spark.kubernetes." + role + "."} {
		if rest, ok := strings.CutPrefix(key, prefix); ok && roleFields[rest] != "" {
			return "spec." + role + "." + roleFields[rest]
		}
	}
	for _, f := range families {
		if name, ok := strings.CutPrefix(key, strings.ReplaceAll(f.prefix, "ROLE", role)); ok {
			return fmt.Sprintf("%s[%s]", strings.ReplaceAll(f.field, "ROLE", role), name)
		}
	}
	kube := "spark.kubernetes." + role + "."
	if name, ok := strings.CutPrefix(key, kube+"label."); ok {
		if _, own := podSpec(&app.Spec, role).Labels[name]; !own {
			return fmt.Sprintf("metadata.labels[%s]", name)
		}
		return fmt.Sprintf("spec.%s.labels[%s]", role, name)
	}
	switch {
	case strings.HasPrefix(key, kube+"volumes."):
		return "spec.volumes"
	case strings.HasPrefix(key, kube+"secrets."):
		return "spec." + role + ".secrets"
	}
	return ""
}
