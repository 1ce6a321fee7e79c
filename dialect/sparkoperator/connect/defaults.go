package connect

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/platform"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// declared describes what the user wrote in a spec, before the platform's defaults were merged into it.
type declared struct {
	hash   string            // of the user's spec
	conf   map[string]string // the user's sparkConf
	filled []string          // the settings of the defaults that templates use
}

// launching merges the platform's defaults into a copy of the SparkConnect, for the creation of a server. It returns
// the copy, and a Connects value that records which settings are defaults. Callers must render the copy with this value
// and must not use the copy for anything else. If there are no defaults, or if they are merged already, launching
// returns its receiver and its argument unchanged.
func (c Connects) launching(sc *v1alpha1.SparkConnect) (Connects, *v1alpha1.SparkConnect) {
	if c.Defaults == nil || c.declared != nil {
		return c, sc
	}
	c.declared = &declared{hash: Hash(&sc.Spec), conf: sc.Spec.SparkConf}
	merged := *sc
	c.declared.filled = merge(&merged.Spec, sc.Labels, c.Defaults)
	return c, &merged
}

// asLaunched merges into sc.Spec.SparkConf the defaults with which the current server was created. They may differ from
// the present defaults. The caller must call the returned function restore afterwards, which resets sparkConf to the
// user's value.
func (c Connects) asLaunched(sc *v1alpha1.SparkConnect) (launched Connects, restore func()) {
	settings := c.Defaults
	if o := sc.Status.Operator; o != nil && o.Attempt > 0 {
		settings = platform.Recall(o.Defaults)
	} else if o == nil && sc.Status.State != v1alpha1.SparkConnectStateNew {
		settings = nil // another operator created it
	}
	if settings == nil {
		return c, func() {}
	}
	own := sc.Spec.SparkConf
	c.declared = &declared{hash: Hash(&sc.Spec), conf: own}
	sc.Spec.SparkConf = settings.Conf(own, func(key string) bool { return typedSets(&sc.Spec, key) })
	return c, func() { sc.Spec.SparkConf = own }
}

// specHash returns the hash of the spec that the user wrote.
func (c Connects) specHash(sc *v1alpha1.SparkConnect) string {
	if c.declared != nil {
		return c.declared.hash
	}
	return Hash(&sc.Spec)
}

// typedSets reports whether a default of the given configuration key would override a value that the spec sets in
// another way than by this key. This is the case for the keys of dynamic allocation if spec.dynamicAllocation disables
// it: a default must not enable it again. It is also the case if sparkConf sets the fallback of the key
// (platform.FallbackKey).
func typedSets(spec *v1alpha1.SparkConnectSpec, key string) bool {
	return platform.SetsFallback(spec.SparkConf, key) ||
		strings.HasPrefix(key, "spark.dynamicAllocation.") && spec.DynamicAllocation != nil && !spec.DynamicAllocation.Enabled
}

// merge merges defaults into a spec. It returns the names of the default image and of those defaults that it wrote into
// a pod template. It replaces the fields that it changes and does not modify the maps and lists of the original spec.
// The argument labels contains the labels of the SparkConnect, which its pods get too.
func merge(spec *v1alpha1.SparkConnectSpec, labels map[string]string, s *platform.Settings) (filled []string) {
	own := spec.SparkConf
	user := *spec
	spec.SparkConf = s.Conf(own, func(key string) bool { return typedSets(&user, key) })
	if image, setting := s.Image(spec.SparkVersion); image != "" && sparkoperator.StringValue(spec.Image) == "" && !hasImage(own) {
		// It is a key, and not spec.image, because the images of the templates override keys.
		spec.SparkConf = platform.With(spec.SparkConf, platform.ImageKey, image)
		filled = append(filled, setting)
	}
	for _, role := range []struct {
		name, container string
		template        **runtime.RawExtension
	}{
		{platform.Driver, overlay.DriverContainer, &spec.Server.Template},
		{platform.Executor, overlay.ExecutorContainer, &spec.Executor.Template},
	} {
		container := own["spark.kubernetes."+role.name+".podTemplateContainerName"]
		if container == "" {
			container = role.container
		}
		taken := platform.TakenByConf(own, role.name)
		byConf := taken.Key
		taken.Key = func(field, key string) bool {
			_, isLabel := labels[key]
			return byConf(field, key) || field == "labels" && isLabel
		}
		template, used := s.Fill(dialect.RawBytes(*role.template), role.name, platform.Container{Name: container}, taken)
		if len(used) > 0 {
			*role.template = &runtime.RawExtension{Raw: template}
		}
		filled = append(filled, used...)
	}
	return filled
}

func hasImage(conf map[string]string) bool {
	return conf[platform.ImageKey] != "" || conf["spark.kubernetes.driver.container.image"] != "" && conf["spark.kubernetes.executor.container.image"] != ""
}

// withOrigins adds to a server's ConfigMap the version of the defaults, and for each default that the server uses, the
// origin of that default.
func (c Connects) withOrigins(made connect.Objects, request connect.Request) {
	if c.Defaults == nil || c.declared == nil {
		return
	}
	used := c.Defaults.Used(c.declared.filled, request.Conf.Get, func(key string) bool { _, own := c.declared.conf[key]; return own })
	c.Defaults.Annotate(made.Config, used)
}

// explained extends those errors that one of the platform's defaults has caused. The added text names the entry of the
// operator's configuration that contains the default.
func (c Connects) explained(faults []*dialect.FieldError) []*dialect.FieldError {
	if c.declared != nil {
		dialect.ExplainDefaults(faults, c.Defaults, c.declared.conf)
	}
	return faults
}

// encodeDefaults stores the defaults in the status if this decision created a server. The argument before is the memory
// of the previous decision, and the argument next is the memory of this decision.
func (c Connects) encodeDefaults(sc *v1alpha1.SparkConnect, before, next lifecycle.Memory) {
	if o := sc.Status.Operator; o != nil && next.Attempt != before.Attempt {
		o.Defaults = c.Defaults.Remember()
	}
}
