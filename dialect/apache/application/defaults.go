package application

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/apache"
	"github.com/sparkoperator/spark-operator/dialect/platform"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// declared describes how the platform's defaults were merged into a spec.
type declared struct {
	conf   map[string]string // the user's sparkConf, before the merge
	filled []string          // the names of the default settings that merge wrote into the spec's templates or fields
}

// launching merges the platform's defaults into a copy of the application, for the launch of an attempt. It returns the
// copy, and an Applications value that records which settings are defaults. Callers must render the copy with this
// value and must not use the copy for anything else. If there are no defaults, or if they are merged already, launching
// returns its receiver and its argument unchanged.
func (a Applications) launching(app *sparkv1.SparkApplication) (Applications, *sparkv1.SparkApplication) {
	if a.Defaults == nil || a.declared != nil {
		return a, app
	}
	a.declared = &declared{conf: app.Spec.SparkConf}
	merged := *app
	a.declared.filled = merge(&merged.Spec, a.Defaults)
	return a, &merged
}

// asLaunched merges into the sparkConf of app the defaults with which the current attempt was launched. They may differ
// from the present defaults. The returned Applications value has the default timeouts of that launch. The caller must
// call the returned function restore afterwards, which resets sparkConf to the user's value.
func (a Applications) asLaunched(app *sparkv1.SparkApplication) (launched Applications, restore func()) {
	settings := a.Defaults
	if o := app.Status.Operator; o != nil && o.Attempt > 0 {
		settings = platform.Recall(o.Defaults)
	} else if takesOver(&app.Status) {
		settings = nil // another operator launched the attempt
	}
	if settings == nil {
		return a, func() {}
	}
	a.timeouts = settings.Timeouts
	if limit := settings.Timeouts.RunSeconds; limit != nil {
		a.Run = time.Duration(*limit) * time.Second
	}
	own := app.Spec.SparkConf
	app.Spec.SparkConf = settings.Conf(own, func(key string) bool { return platform.SetsFallback(own, key) })
	return a, func() { app.Spec.SparkConf = own }
}

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
		name, container string
		template        **sparkv1.PodTemplate
	}{
		{platform.Driver, apache.DriverContainer, &spec.DriverSpec},
		{platform.Executor, apache.ExecutorContainer, &spec.ExecutorSpec},
	} {
		container := cmp.Or(own["spark.kubernetes."+role.name+".podTemplateContainerName"], role.container)
		template, used := s.Fill(rawTemplate(*role.template), role.name, platform.Container{Name: container}, platform.TakenByConf(own, role.name))
		if len(used) == 0 {
			continue
		}
		if rawTemplate(*role.template) == nil && own["spark.kubernetes."+role.name+".podTemplateFile"] != "" {
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
	own := tolerations(spec).ApplicationTimeoutConfig
	return map[string]*int64{
		"timeouts.driverStartSeconds": own.DriverStartTimeoutMillis, "timeouts.driverReadySeconds": own.DriverReadyTimeoutMillis,
		"timeouts.executorsStartSeconds": own.ExecutorStartTimeoutMillis, "timeouts.runSeconds": nil,
	}
}

// withOrigins annotates the ConfigMap of an attempt with the version of the defaults, and with the origin of each
// default that the attempt uses.
func (a Applications) withOrigins(objects submit.Objects, r submit.Request) {
	if a.Defaults == nil || a.declared == nil {
		return
	}
	used := a.Defaults.Used(a.declared.filled, r.Conf.Get, func(key string) bool { _, own := a.declared.conf[key]; return own })
	dialect.AnnotateDefaults(objects, a.Defaults, used)
}

// explained extends an error that one of the platform's defaults has caused. The added text names the entry of the
// operator's configuration that contains the default.
func (a Applications) explained(err error) error {
	if err == nil || a.declared == nil {
		return err
	}
	faults := dialect.AsFaults(err)
	dialect.ExplainDefaults(faults, a.Defaults, a.declared.conf)
	return faults[0]
}

// encodeDefaults stores the platform's defaults in the status if this decision launched an attempt. The arguments
// before and next are the application's Memory before and after this decision.
func (a Applications) encodeDefaults(app *sparkv1.SparkApplication, before, next lifecycle.Memory) {
	if o := app.Status.Operator; o != nil && next.Attempt != before.Attempt {
		o.Defaults = a.Defaults.Remember()
	}
}
