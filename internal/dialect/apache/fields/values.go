package fields

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
)

// Template returns the pod template of a role, "driver" or "executor"; nil if there is none.
func Template(spec *sparkv1.ApplicationSpec, role string) *runtime.RawExtension {
	t := spec.DriverSpec
	if role == "executor" {
		t = spec.ExecutorSpec
	}

	if t == nil {
		return nil
	}
	return t.PodTemplateSpec
}

func inlineTemplate(_ string, template any) string {
	return string(rawtemplate.Bytes(template.(*runtime.RawExtension)))
}

// templateContainer returns the name by which Spark finds its container in a role's pod template, or "" if it needs
// none, because Spark's container is the first one.
func templateContainer(role string, template any) string {
	return rawtemplate.Container(template.(*runtime.RawExtension), SparkContainer(role))
}

// SparkContainer returns the name of the Spark container in a role's pods. A pod template may set another name.
func SparkContainer(role string) string {
	if role == "executor" {
		return apache.ExecutorContainer
	}
	return apache.DriverContainer
}

// escalation returns allowPrivilegeEscalation of the Spark container in a role's pod template.
func escalation(role string, value any) string {
	spec := value.(*sparkv1.ApplicationSpec)

	containers := rawtemplate.Pod(Template(spec, role)).Spec.Containers
	if len(containers) == 0 {
		return ""
	}

	name, set := spec.SparkConf[ContainerName(role)]
	if !set {
		name = SparkContainer(role)
	}

	at := max(0, slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name }))
	if allow := rawtemplate.PrivilegeEscalation(containers[at].SecurityContext); allow != nil {
		return strconv.FormatBool(*allow)
	}
	return ""
}

// filesAfterProgram returns the form of a list whose first file is the program. The key has the other files.
func filesAfterProgram(field string) func(string, any) string {
	return func(_ string, value any) string {
		spec := value.(*sparkv1.ApplicationSpec)
		if p, _ := ProgramOf(spec); p.Field == field {
			return p.further
		}
		return ""
	}
}

// IsLabelValue reports whether a text is a valid value of a label, and not empty.
func IsLabelValue(text string) bool {
	return text != "" && len(validation.IsValidLabelValue(text)) == 0
}

// labelValue omits a version that is no valid value of a label.
func labelValue(_ string, version any) string {
	if text := version.(string); IsLabelValue(text) {
		return text
	}
	return ""
}

// deletesExecutors returns "false" if the executors of an application that is never restarted can be kept, so that
// their logs can be read. Executors of a StatefulSet or a Deployment never end: with "false" the driver would leave
// that object behind, which creates its executors again until the driver pod is deleted.
func deletesExecutors(_ string, value any) string {
	spec := value.(*sparkv1.ApplicationSpec)
	if DynamicAllocation(spec) || Restarts(spec) || cmp.Or(spec.SparkConf[dialect.AllocatorKey], "direct") != "direct" {
		return ""
	}
	return "false"
}

// deletesService returns "false" if objects are retained. A driver that stops would delete its own Service, which must
// be retained with it.
func deletesService(_ string, value any) string {
	spec := value.(*sparkv1.ApplicationSpec)
	if Restarts(spec) || cmp.Or(Tolerations(spec).ResourceRetainPolicy, sparkv1.RetainNever) == sparkv1.RetainNever {
		return ""
	}
	return "false"
}

// Restarts reports whether the restart policy allows another attempt after some outcome. Release 1.1 retains no objects
// of such an application.
func Restarts(spec *sparkv1.ApplicationSpec) bool {
	return cmp.Or(Tolerations(spec).RestartConfig.RestartPolicy, sparkv1.RestartNever) != sparkv1.RestartNever
}

// DynamicAllocation reports whether Spark itself chooses the number of executors.
func DynamicAllocation(spec *sparkv1.ApplicationSpec) bool {
	return strings.EqualFold(strings.TrimSpace(spec.SparkConf[Dynamic]), "true")
}

// Tolerations returns the tolerations of a spec, with empty structs in place of parts that are nil.
func Tolerations(spec *sparkv1.ApplicationSpec) sparkv1.ApplicationTolerations {
	var t sparkv1.ApplicationTolerations
	if spec.ApplicationTolerations != nil {
		t = *spec.ApplicationTolerations
	}

	if t.RestartConfig == nil {
		t.RestartConfig = &sparkv1.RestartConfig{}
	}

	if t.ApplicationTimeoutConfig == nil {
		t.ApplicationTimeoutConfig = &sparkv1.ApplicationTimeoutConfig{}
	}

	if t.InstanceConfig == nil {
		t.InstanceConfig = &sparkv1.InstanceConfig{}
	}
	return t
}
