package application

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
)

// stageDefault returns the default of a stage's timeout: the platform's default or, if there is none, the argument
// fallback.
func stageDefault(seconds *int64, fallback time.Duration) time.Duration {
	if seconds == nil {
		return fallback
	}
	return time.Duration(*seconds) * time.Second
}

// merge merges defaults into a spec. It returns the names of the settings whose values it has written into the spec's
// templates or fields. It replaces the fields that it changes instead of writing into their maps and templates, which
// the original spec shares.
func merge(spec *sparkv1.ApplicationSpec, s *platform.Settings) (filled []string) {
	own := spec.SparkConf

	spec.SparkConf = s.Conf(own, func(key string) bool { return platform.SetsFallback(own, key) })
	if image, setting := s.Image(spec.RuntimeVersions.SparkVersion); image != "" && own[platform.ImageKey] == "" {
		spec.SparkConf = platform.With(spec.SparkConf, platform.ImageKey, image)

		filled = append(filled, setting)
	}

	for _, role := range []struct {
		name     string
		template **sparkv1.PodTemplate
	}{
		{platform.Driver, &spec.DriverSpec},
		{platform.Executor, &spec.ExecutorSpec},
	} {
		written := rawTemplate(spec, role.name)
		container := cmp.Or(own[fields.ContainerName(role.name)], fields.SparkContainer(role.name))

		template, used := s.Fill(written, role.name, platform.Container{Name: container}, platform.TakenByConf(own, role.name))
		if len(used) == 0 {
			continue
		}

		if written == nil && own[fields.TemplateFile(role.name)] != "" {
			continue // the application has a template file, which only Spark can read
		}

		*role.template = &sparkv1.PodTemplate{PodTemplateSpec: &runtime.RawExtension{Raw: template}}

		filled = append(filled, used...)
	}
	return append(filled, s.UsedLimits(ownLimits(spec))...)
}

// ownLimits returns the timeouts that a spec sets. The keys of the result are the names of the corresponding platform
// settings. The value of timeouts.runSeconds is always nil, because this API has no field for the duration of the run.
// The result has no entry for the time to live: the CRD has a default for it, so a platform default would never apply.
func ownLimits(spec *sparkv1.ApplicationSpec) map[string]*int64 {
	own := fields.Tolerations(spec).ApplicationTimeoutConfig
	return map[string]*int64{
		"timeouts.driverStartSeconds": own.DriverStartTimeoutMillis, "timeouts.driverReadySeconds": own.DriverReadyTimeoutMillis,
		"timeouts.executorsStartSeconds": own.ExecutorStartTimeoutMillis, "timeouts.runSeconds": nil,
	}
}
