package connect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

const hadoopPrefix = "spark.hadoop."

// connectConf returns the configuration of a server. Its sources are, in ascending precedence: sparkConf without the
// keys of foreignCredentials, hadoopConf, the labels of the SparkConnect, and the typed fields. connect.Build sets
// further keys, which override all sources.
func connectConf(sc *v1alpha1.SparkConnect) *conf.Conf {
	spec := &sc.Spec
	c := conf.FromMap(spec.SparkConf)
	c.Delete(foreignCredentials(spec)...)

	for _, key := range slices.Sorted(maps.Keys(spec.HadoopConf)) {
		c.Set(hadoopPrefix+strings.TrimPrefix(key, hadoopPrefix), spec.HadoopConf[key])
	}

	for _, key := range slices.Sorted(maps.Keys(sc.Labels)) {
		if !strings.HasPrefix(key, sparkoperator.KueuePrefix) {
			c.Set("spark.kubernetes.driver.label."+key, sc.Labels[key])
			c.Set("spark.kubernetes.executor.label."+key, sc.Labels[key])
		}
	}

	for key, value := range connectTyped(sc).All() {
		c.Set(key, value)
	}
	return c
}

// connectTyped returns the configuration keys that the typed fields set.
func connectTyped(sc *v1alpha1.SparkConnect) *conf.Conf {
	c, spec := conf.New(), &sc.Spec
	fields.Connect.Configure(c, sc)

	if key, vendor := gpuKey(spec); key != "" {
		c.Set(key+"amount", strconv.FormatInt(spec.Executor.GPU.Quantity, 10))
		c.Set(key+"vendor", vendor)
	}
	return c
}

// gpuKey returns the beginning of the keys that spec.executor.gpu sets, and the domain of the resource. The key is ""
// if the executors get no GPU.
func gpuKey(spec *v1alpha1.SparkConnectSpec) (key, vendor string) {
	gpu := spec.Executor.GPU
	if gpu == nil || gpu.Name == "" || gpu.Quantity <= 0 {
		return "", ""
	}

	vendor, name, _ := strings.Cut(gpu.Name, "/")
	return "spark.executor.resource." + name + ".", vendor
}

// validGPU rejects a resource without a domain, and a name that would become another key.
func validGPU(sc *v1alpha1.SparkConnect) []*dialect.FieldError {
	key, vendor := gpuKey(&sc.Spec)
	if key == "" {
		return nil
	}

	name := sc.Spec.Executor.GPU.Name
	if vendor == name || strings.Contains(name[len(vendor)+1:], ".") || len(validation.IsQualifiedName(name)) > 0 {
		return []*dialect.FieldError{{Field: "spec.executor.gpu.name", Message: fmt.Sprintf("%q is not the name of a device; write DOMAIN/NAME, such as nvidia.com/gpu", conf.Shorten(name))}}
	}
	return nil
}

// sparkInstances is Spark's default number of executors (spark.executor.instances).
const sparkInstances = 2

// connectExecutors returns the number of executors that a server needs at all times. With dynamic allocation, it is
// Spark's minimum.
func connectExecutors(sc *v1alpha1.SparkConnect) int32 {
	effective := func(path string) string { return fields.Connect.Effective(sc, sc.Spec.SparkConf, path) }
	if strings.EqualFold(strings.TrimSpace(effective("spec.dynamicAllocation.enabled")), "true") {
		least, _ := dialect.ExecutorNumber(effective("spec.dynamicAllocation.minExecutors"))
		return least
	}

	if instances, set := dialect.ExecutorNumber(effective("spec.executor.instances")); set {
		return instances
	}
	return sparkInstances
}

// foreignCredentials returns the keys of sparkConf that set credentials for the API server. The server uses the service
// account of its pod instead: credentials in these keys would be visible in its command line, and they would be
// useless, because the operator sets the master.
func foreignCredentials(spec *v1alpha1.SparkConnectSpec) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(spec.SparkConf)) {
		if strings.HasPrefix(key, sparkoperator.CredentialPrefix) && !strings.HasSuffix(key, ".serviceAccountName") {
			keys = append(keys, key)
		}
	}
	return keys
}

// warnings returns the warnings about a server that was built. The argument sc is the SparkConnect with or without the
// platform's defaults.
func (a *attempt) warnings(sc *v1alpha1.SparkConnect) []string {
	c, _ := a.Configuration()
	return slices.Concat(a.withoutEffect(sc), inConnectFields(sc, a.made.Warnings), dialect.AllocatorWarnings(c, a.StatefulSets), Sources.TemplateWarnings(sc.Spec.Server.Template, sc.Spec.Executor.Template))
}

// withoutEffect returns warnings about fields of a valid spec that have no effect, and about a Spark version without a
// Connect server.
func (a *attempt) withoutEffect(sc *v1alpha1.SparkConnect) (warnings []string) {
	spec := &sc.Spec
	c, _ := a.Configuration()

	c = c.Clone()
	for _, key := range foreignCredentials(spec) {
		c.Set(key, spec.SparkConf[key]) // has a warning of its own
	}

	warnings = dialect.Overridden(spec.SparkConf, c, func(key string) string {
		if strings.HasPrefix(key, "spark.dynamicAllocation.") {
			return "spec.dynamicAllocation"
		}

		if _, name, label := strings.Cut(key, ".label."); label {
			return "metadata.labels[" + name + "]"
		}
		return connectKeyField(sc, key)
	})
	for _, key := range foreignCredentials(spec) {
		warnings = append(warnings, fmt.Sprintf("spec.sparkConf[%s]: has no effect: the server uses the service account of its pod; "+
			"set another account in spec.server.template.spec.serviceAccountName", key))
	}

	for _, key := range slices.Sorted(maps.Keys(spec.HadoopConf)) {
		if other, both := spec.HadoopConf[hadoopPrefix+key]; both && other != spec.HadoopConf[key] {
			warnings = append(warnings, fmt.Sprintf("spec.hadoopConf[%s]: has no effect: spec.hadoopConf[%s] sets the same key and overrides it; remove one of them", key, hadoopPrefix+key))
		}
	}

	if key, _ := gpuKey(spec); key != "" && spec.SparkConf[key+"discoveryScript"] == "" {
		warnings = append(warnings, fmt.Sprintf("spec.executor.gpu: executors end at their start, because they cannot find their GPUs; "+
			"set %sdiscoveryScript in spec.sparkConf to the path of a script in the image", key))
	}

	if !strings.HasPrefix(strings.TrimPrefix(spec.SparkVersion, "v"), "3.") || includesConnect(spec.SparkConf) {
		return warnings
	}
	return append(warnings, fmt.Sprintf("spec.sparkVersion: the distribution of Spark %s has no Connect server; use 4.0.0 or newer, or name the artifact in sparkConf: "+
		"spark.jars.packages org.apache.spark:spark-connect_2.12:%s", spec.SparkVersion, spec.SparkVersion))
}

// serviceWarnings returns a notice for each part of spec.server.service that has no effect. Decide reports these
// notices once for each generation of the SparkConnect. It does not wait for the launch of a server, because an edit of
// this field launches no server.
func (a *attempt) serviceWarnings() (notices []lifecycle.Notice) {
	sc := a.sc

	warnings := inConnectFields(sc, connect.ServiceWarnings(a.standingRequest(), sc.Spec.Server.Service))
	if base := sc.Spec.Server.Service; base != nil && !equality.Semantic.DeepEqual(base.Status, corev1.ServiceStatus{}) {
		warnings = append(warnings, "spec.server.service: status has no effect, because the cluster writes it; remove the field status")
	}

	for _, text := range warnings {
		notices = append(notices, lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: dialect.EventSubmissionWarning, Message: text}})
	}
	return notices
}

// includesConnect reports whether a configuration adds the artifact of the Connect server. It returns true for any
// added jars, because they may contain the artifact.
func includesConnect(sparkConf map[string]string) bool {
	return strings.Contains(sparkConf["spark.jars.packages"], "spark-connect") || sparkConf["spark.jars"] != "" || sparkConf["spark.driver.extraClassPath"] != ""
}
