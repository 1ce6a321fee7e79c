package sparkoperator

import (
	"fmt"
	"math"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/bounds"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// CredentialPrefix is the prefix of Spark's configuration keys for credentials of the API server.
const CredentialPrefix = "spark.kubernetes.authenticate."

// MaxSeconds is the largest number of seconds that a time.Duration can represent, 292 years. A larger number would
// overflow and become negative, so that a deadline would expire at once.
const MaxSeconds = int64(math.MaxInt64 / time.Second)

// Seconds converts a number of seconds to a duration. If n is nil, it returns fallback.
func Seconds(n *int64, fallback time.Duration) time.Duration {
	if n == nil {
		return fallback
	}
	return time.Duration(min(max(*n, -MaxSeconds), MaxSeconds)) * time.Second
}

// CheckDynamicAllocation returns an error for each number of executors that would make Spark stop a driver at its start
// (ExecutorAllocationManager.validateSettings, SchedulerBackendUtils.getInitialTargetExecutorNumber). It accepts an
// initial number below the minimum, because Spark then starts with the minimum.
func CheckDynamicAllocation(d *v1beta2.DynamicAllocation) (wrong []*dialect.FieldError) {
	if d == nil || !d.Enabled {
		return nil
	}

	add := func(field, message string) {
		wrong = append(wrong, &dialect.FieldError{Field: "spec.dynamicAllocation." + field, Message: message})
	}
	const above = "is above maxExecutors, so Spark would not start; lower it, or raise maxExecutors"

	least, most, first := d.MinExecutors, d.MaxExecutors, d.InitialExecutors
	if least != nil && *least < 0 {
		add("minExecutors", "is negative, so Spark would not start; write 0 or more")
	}

	if most != nil && *most < 1 {
		add("maxExecutors", "is below 1, so Spark would not start; write 1 or more, or leave it out")
	}

	if least != nil && most != nil && *least > *most {
		add("minExecutors", above)
	}

	if first != nil && most != nil && *first > *most {
		add("initialExecutors", above)
	}
	return wrong
}

// StringValue returns the string that s points to, or "" if s is nil.
func StringValue(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// CheckTemplate returns the faults of a pod template: the values that do not fit their fields, or exceed a limit.
func CheckTemplate(field string, template *runtime.RawExtension) (faults []*dialect.FieldError) {
	if template == nil || len(template.Raw) == 0 {
		return nil
	}

	_, err := rawtemplate.Read(template)
	if err == nil {
		return nil
	}

	for _, fault := range bounds.Misfits(template.Raw, bounds.RawShape[corev1.PodTemplateSpec](), field) {
		faults = append(faults, &dialect.FieldError{Field: fault.Path, Message: fault.Message})
	}

	if len(faults) == 0 {
		faults = append(faults, &dialect.FieldError{Field: field, Message: fmt.Sprintf("is not a pod template: %v", err)})
	}
	return faults
}

// CheckMemorySize returns an error if text is not a memory size that Spark accepts.
func CheckMemorySize(text string) error {
	size, err := conf.ParseSize(text, conf.MiB)
	if err != nil || size <= 0 {
		return fmt.Errorf("%q is not a size that Spark reads; write a whole number and a unit, such as 512m or 4g", text)
	}
	return nil
}

// PodSpec returns the fields that driver and executor of an application have in common. The argument role is "driver"
// or "executor".
func PodSpec(spec *v1beta2.SparkApplicationSpec, role string) *v1beta2.SparkPodSpec {
	if role == "driver" {
		return &spec.Driver.SparkPodSpec
	}
	return &spec.Executor.SparkPodSpec
}

// versionLine matches a Spark version and captures its release line.
var versionLine = regexp.MustCompile(`^v?([0-9]+\.[0-9]+)(?:[.-].*)?$`)

// ReleaseLine returns the release line of a Spark version, such as 4.1 of 4.1.4, or "" if the text is not a version.
// The operator builds the driver pod as this release line does (native.Build).
func ReleaseLine(version string) string {
	if match := versionLine.FindStringSubmatch(version); match != nil {
		return match[1]
	}
	return ""
}
