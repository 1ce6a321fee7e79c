package connect

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

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
		container := cmp.Or(own["spark.kubernetes."+role.name+".podTemplateContainerName"], role.container)
		taken := platform.TakenByConf(own, role.name).AndLabels(labels)

		template, used := s.Fill(rawtemplate.Bytes(*role.template), role.name, platform.Container{Name: container}, taken)
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
