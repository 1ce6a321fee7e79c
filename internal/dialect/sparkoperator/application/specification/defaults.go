package specification

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// Merge merges defaults into a spec. It returns the names of those defaults that it wrote into a typed field or a pod
// template. It replaces the fields that it changes and does not modify the maps and lists of the original spec. The
// argument labels contains the labels of the application, which its pods get too.
func Merge(spec *v1beta2.SparkApplicationSpec, labels map[string]string, s *platform.Settings) (filled []string) {
	own := spec.SparkConf
	if image, setting := s.Image(spec.SparkVersion); image != "" && sparkoperator.StringValue(spec.Image) == "" {
		spec.Image = &image

		filled = append(filled, setting)
	}

	for _, role := range []struct {
		name, container string
		pod             *v1beta2.SparkPodSpec
		priority        *string
	}{
		{platform.Driver, overlay.DriverContainer, &spec.Driver.SparkPodSpec, spec.Driver.PriorityClassName},
		{platform.Executor, overlay.ExecutorContainer, &spec.Executor.SparkPodSpec, spec.Executor.PriorityClassName},
	} {
		taken := takenBy(spec, labels, role.name, role.pod)
		taken.Priority = sparkoperator.StringValue(role.priority) != ""

		container := cmp.Or(own[fields.PodKey(role.name, "template")], role.container)

		template, used := s.Fill(rawtemplate.Bytes(role.pod.Template), role.name, platform.Container{Name: container}, taken)
		if len(used) > 0 {
			role.pod.Template = &runtime.RawExtension{Raw: template}
		}

		filled = append(filled, used...)
		role.pod.SecurityContext, used = platform.FillFields(role.name+".securityContext", role.pod.SecurityContext, s.Pod(role.name).SecurityContext)
		filled = append(filled, used...)
		role.pod.PodSecurityContext, used = platform.FillFields(role.name+".podSecurityContext", role.pod.PodSecurityContext, s.Pod(role.name).PodSecurityContext)
		filled = append(filled, used...)
	}

	filled = append(filled, s.UsedLimits(ownLimits(spec))...)
	user := &v1beta2.SparkApplication{Spec: *spec}
	spec.SparkConf = s.Conf(own, func(key string) bool { return TypedSets(user, key) })

	slices.Sort(filled)
	return slices.Compact(filled)
}

// ownLimits returns the timeouts and the time to live that a spec sets. Its keys are the names of the corresponding
// platform settings.
func ownLimits(spec *v1beta2.SparkApplicationSpec) map[string]*int64 {
	own := v1beta2.Timeouts{}
	if spec.Timeouts != nil {
		own = *spec.Timeouts
	}
	return map[string]*int64{
		"timeouts.driverStartSeconds": own.DriverStartSeconds, "timeouts.driverReadySeconds": own.DriverReadySeconds,
		"timeouts.executorsStartSeconds": own.ExecutorsStartSeconds, "timeouts.runSeconds": own.RunSeconds,
		"timeToLiveSeconds": spec.TimeToLiveSeconds,
	}
}

// takenBy returns which settings of a role's pods the application sets outside of the pod template, in typed fields or
// in sparkConf. Defaults must not override these settings.
func takenBy(spec *v1beta2.SparkApplicationSpec, labels map[string]string, role string, pod *v1beta2.SparkPodSpec) platform.Taken {
	set := conf.FromMap(spec.SparkConf)
	fields.Application.Configure(set, &v1beta2.SparkApplication{Spec: *spec})
	taken := platform.TakenByConf(set.Map(), role).AndLabels(labels)
	byConf := taken.Env
	taken.Env = func(name string) bool {
		return byConf(name) || slices.ContainsFunc(pod.Env, func(v corev1.EnvVar) bool { return v.Name == name }) ||
			name == "HADOOP_CONF_DIR" && sparkoperator.StringValue(spec.HadoopConfigMap) != "" ||
			name == "SPARK_CONF_DIR" && sparkoperator.StringValue(spec.SparkConfigMap) != ""
	}
	taken.PullSecrets = taken.PullSecrets || len(spec.ImagePullSecrets) > 0
	taken.Security, taken.PodSecurity = pod.SecurityContext != nil, pod.PodSecurityContext != nil
	return taken
}

// TypedSets reports whether a default of the given configuration key would override a value that the spec sets in
// another way than by this key. Few values can be overridden in this way, because usually a typed field has precedence
// over its key (fields.Application). TypedSets checks the fields over which the key has precedence, and fallbacks of
// the key (platform.FallbackKey).
func TypedSets(app *v1beta2.SparkApplication, key string) bool {
	if fields.Application.Sets(app, key, table.Yields, table.Follows, table.Replaces) {
		return true
	}

	if strings.HasPrefix(key, "spark.dynamicAllocation.") {
		d := app.Spec.DynamicAllocation
		return d != nil && !d.Enabled
	}

	for _, role := range []string{platform.Driver, platform.Executor} {
		if name, ok := strings.CutPrefix(key, fields.EnvPrefix(role)); ok {
			return fields.Application.Sets(app, fields.PodKey(role, "envSecretKeyRefs")+name)
		}
	}

	fallback := platform.FallbackKey(key)
	_, own := app.Spec.SparkConf[fallback]
	return fallback != "" && (own || fields.Application.Sets(app, fallback) || TypedSets(app, fallback))
}
