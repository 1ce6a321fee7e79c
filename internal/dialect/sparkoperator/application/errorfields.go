package application

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// noImage is the message for an application without an image. Spark's keys for images cannot be set in sparkConf.
const noImage = "the driver and the executors need an image: set spec.image, or driver.image and executor.image"

// asFieldError converts an error of the package submit into an error that names the field of the custom resource that
// set the value: a typed field or an entry of sparkConf. The argument c is the configuration of the application.
func asFieldError(app *v1beta2.SparkApplication, c *conf.Conf, refused *submit.Error) *dialect.FieldError {
	field := partField(refused.Field)
	if refused.Key != "" {
		field = keyField(app, c, refused.Key)
	}

	if refused.Missing && field == "spec.image" {
		return &dialect.FieldError{Field: field, Message: noImage, Incomplete: true}
	}
	return &dialect.FieldError{Field: field, Message: refused.Message, Incomplete: refused.Missing}
}

// partField returns the field of the custom resource that sets the given part of a submit.Request, for example
// "spec.driver.ports[1].name" for Driver.Ports[1].name. Only of volumes it names the whole list, because an overlay
// contains only those that the pod mounts, so their numbers differ.
func partField(name string) string {
	part, _, _ := strings.Cut(name, "[")
	role, _, _ := strings.Cut(part, ".")

	field := fields.Application.FieldOfPart(part)
	if field == "" || field == "spec.volumes" {
		return cmp.Or(field, fields.Application.FieldOfPart(role), "spec")
	}
	return field + strings.TrimPrefix(name, part)
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
	return cmp.Or(monitoringField(app, key), fields.Application.FieldOf(app, key))
}

// settingField is like typedField, but it names spec.dynamicAllocation as a whole.
func settingField(app *v1beta2.SparkApplication, key string) string {
	const allocation = "spec.dynamicAllocation"

	field := typedField(app, key)
	if strings.HasPrefix(field, allocation) {
		return allocation
	}
	return field
}

// envField returns the field that sets the configuration key of an environment variable of a role, or "" if neither
// sparkConfigMap, env nor secrets set it. The field sparkConfigMap overrides env, which overrides secrets, which
// override envVars (envConf).
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
		{podKey("driver", "annotations"), driver.Annotations, m.agent("driver")},
		{podKey("executor", "annotations"), executor.Annotations, m.agent("executor")},
		{podKey("driver", "serviceAnnotations"), driver.ServiceAnnotations, false},
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
		if key != podKey(role, "javaOptions") || !m.agent(role) || sparkoperator.StringValue(java) != "" {
			continue
		}

		if _, written := app.Spec.SparkConf[key]; written {
			return sparkConfField(key)
		}
		return field
	}
	return ""
}
