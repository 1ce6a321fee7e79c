package specification

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// noImage is the message for an application without an image. Spark's keys for images cannot be set in sparkConf.
const noImage = "the driver and the executors need an image: set spec.image, or driver.image and executor.image"

// FieldError converts an error of the package submit into an error that names the field of the custom resource that
// set the value: a typed field or an entry of sparkConf. The argument c is the configuration of the application.
func FieldError(app *v1beta2.SparkApplication, c *conf.Conf, refused *submit.Error) *dialect.FieldError {
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
			return dialect.ConfField(key)
		}
	}
	// A missing key of a volume is reported for another key of the same volume, which may be in sparkConf.
	if volume := volumeKeys.FindString(key); volume != "" {
		for other := range app.Spec.SparkConf {
			if strings.HasPrefix(other, volume) {
				return dialect.ConfField(key)
			}
		}
	}
	return cmp.Or(TypedField(app, key), dialect.ConfField(key))
}

// TypedField returns the field that sets a configuration key if sparkConf does not contain the key's effective value.
// It returns "" if no field sets the key. The result is an entry of sparkConf if monitoring adds an option to this
// entry.
func TypedField(app *v1beta2.SparkApplication, key string) string {
	for _, role := range []string{"driver", "executor"} {
		if name, ok := strings.CutPrefix(key, fields.EnvPrefix(role)); ok {
			if field := envField(&app.Spec, role, name); field != "" {
				return field
			}
		}
	}
	return cmp.Or(monitoring.Field(app, key), fields.Application.FieldOf(app, key))
}

// SettingField is like TypedField, but it names spec.dynamicAllocation as a whole.
func SettingField(app *v1beta2.SparkApplication, key string) string {
	const allocation = "spec.dynamicAllocation"

	field := TypedField(app, key)
	if strings.HasPrefix(field, allocation) {
		return allocation
	}
	return field
}

// envField returns the field that sets the configuration key of an environment variable of a role, or "" if neither
// sparkConfigMap, env nor secrets set it. The field sparkConfigMap overrides env, which overrides secrets, which
// override envVars (envConf).
func envField(spec *v1beta2.SparkApplicationSpec, role, name string) string {
	pod := sparkoperator.PodSpec(spec, role)
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
