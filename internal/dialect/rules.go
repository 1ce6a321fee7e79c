package dialect

import (
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Rules are the rules of the platform for the namespace of a custom resource. Their methods are pure. A dialect without
// rules (nil) allows everything that is valid.
type Rules interface {
	// Faults returns a fault for each rule that the custom resource breaks.
	Faults(*Subject) []*FieldError
	// ExposureFaults returns a fault for each rule that an Ingress, a route or a Service breaks.
	ExposureFaults(*Exposing) []*FieldError
}

// Subject holds the parts of a custom resource to which rules of the platform can apply: its labels, its Spark
// configuration, and the pods that the operator and the driver would create.
type Subject struct {
	// Labels are the labels of the custom resource.
	Labels map[string]string
	// Settings returns the Spark configuration, from sparkConf and from typed fields. Merge adds the other places that
	// set keys.
	Settings func() []Setting
	// Pods returns the pods. If they cannot be computed, it returns the fault.
	Pods func() ([]Pod, []*FieldError)
	// Workers returns the number of executors or workers.
	Workers func() Workers
	// PriorityClasses are priority classes that the custom resource names for objects other than pods.
	PriorityClasses []FieldValue
	// Services describe the annotations of the Service that a driver has by its Spark configuration (DriverServices).
	Services []Exposing
}

// FieldValue is a value, and the field of the custom resource that sets it.
type FieldValue struct{ Field, Value string }

// Setting is a key of the Spark configuration. Field is the field of the custom resource that sets the key; it is empty
// if only the operator sets the key.
type Setting struct {
	Key, Value, Field string
	// Outside is true if an option of a JVM or a variable sets the key (Merge). The operator computes the pods without
	// such keys.
	Outside bool
	// Driver is true if Outside is true and a driver or a server reads the key.
	Driver bool
}

// Pod is a pod, or a group of equal pods, that the operator or the driver would create.
type Pod struct {
	// Role names the pod in messages, such as "driver".
	Role string
	// Field is the field of the custom resource that describes the pod. ImageField and AccountField are the fields of
	// the Spark container's image and of the service account.
	Field, ImageField, AccountField string
	// Image is the image of the Spark container.
	Image string
	// Worker is true for executors and workers, whose number Workers returns. All other pods exist once.
	Worker bool
	// Container is the Spark container. It is nil for the pod that runs spark-submit, which has the driver's variables
	// and volumes.
	Container *corev1.Container
	// EnvField returns the field that sets a variable of the Spark container, or "" if it is not known.
	EnvField func(name string) string
	// OwnCommand is true if the custom resource changes the command line of the Spark container.
	OwnCommand bool
	// OptionFiles are files with options of the JVM that the operator writes.
	OptionFiles []string
	Meta        *metav1.ObjectMeta
	Spec        *corev1.PodSpec
}

// Workers contains the maximum number of executors or workers that a custom resource may have at the same time. Field
// is the field of the custom resource that sets the maximum.
type Workers struct {
	Field string
	Max   int64
	// Unlimited is true if nothing limits the number, or if the operator cannot determine it.
	Unlimited bool
}

// ServiceKind is the kind of an Exposing that is a Service.
const ServiceKind = "Service"

// Exposing is an Ingress, a route or a Service that the custom resource requests. It contains only values from the
// custom resource, not values from the operator's configuration.
type Exposing struct {
	Kind string
	// Hosts are the host names. An empty value means all hosts.
	Hosts []FieldValue
	// Class is the class of the Ingress.
	Class FieldValue
	// Annotations are the annotations of the object, and AnnotationsField is the field that sets them.
	Annotations      map[string]string
	AnnotationsField string
}

// These are keys with a number of executors.
const (
	keyInstances        = "spark.executor.instances"
	keyMaximum          = "spark.dynamicAllocation.maxExecutors"
	keyStreamingMaximum = "spark.streaming.dynamicAllocation.maxExecutors"
)

// serviceKey is the prefix of keys that annotate the driver's Service.
const serviceKey = "spark.kubernetes.driver.service.annotation."

// DriverServices returns the annotations of the driver's Service that sparkConf sets. It reads the map of the custom
// resource and not the whole configuration, because rules judge them in every review.
func DriverServices(sparkConf map[string]string) (all []Exposing) {
	for key, value := range sparkConf {
		if name, ok := strings.CutPrefix(key, serviceKey); ok {
			all = append(all, Exposing{Kind: ServiceKind, Annotations: map[string]string{name: value}, AnnotationsField: ConfField(key)})
		}
	}

	slices.SortFunc(all, func(a, b Exposing) int { return strings.Compare(a.AnnotationsField, b.AnnotationsField) })
	return all
}

// ServiceFaults returns a fault for each rule that the annotations of a Service break. The argument rules may be nil.
func ServiceFaults(rules Rules, field string, annotations map[string]string) []*FieldError {
	if rules == nil || len(annotations) == 0 {
		return nil
	}
	return rules.ExposureFaults(&Exposing{Kind: ServiceKind, Annotations: annotations, AnnotationsField: field})
}

// executorCount returns the maximum number of executors with a Spark configuration, and whether the number is
// unlimited. The result key is the key that sets the maximum. The argument fallback is the number of executors if the
// configuration sets none.
//
// The result is never lower than the number that Spark reads, because the result is compared with a limit.
// executorCount replaces references such as ${spark.n}, as the driver does. A value that it cannot read counts as
// unlimited, because Spark may be able to read it: the driver has environment variables, and Java accepts digits of
// every script.
func executorCount(c *conf.Conf, fallback int) (key string, most int64, unlimited bool) {
	c = c.Clone()
	for _, key := range setAtLaunch {
		c.Set(key, "unknown") // so that a number with a reference to the key cannot be read
	}

	dynamic, err := c.Bool("spark.dynamicAllocation.enabled", false)

	streaming, wrong := c.Bool("spark.streaming.dynamicAllocation.enabled", false)
	if err != nil || wrong != nil {
		return keyInstances, math.MaxInt32, true
	}

	keys := []string{keyInstances}
	if dynamic {
		keys[0] = keyMaximum
	}

	if streaming { // a program that opens no StreamingContext still has the executors of the other key
		keys = append(keys, keyStreamingMaximum)
	}

	key = keys[0]
	for _, at := range keys {
		if at != keyInstances {
			fallback = math.MaxInt32 // Spark's default is Int.MaxValue
		}

		n, err := c.Int(at, fallback)
		if err != nil || at != keyInstances && n == math.MaxInt32 {
			return at, math.MaxInt32, true
		}

		if int64(n) > most {
			key, most = at, int64(n)
		}
	}
	return key, most, false
}

// ExecutorWorkers returns the maximum number of executors with a Spark configuration. The arguments instances and
// maximum are the fields of the custom resource for a fixed number and for the maximum of dynamic allocation.
func ExecutorWorkers(c *conf.Conf, fallback int, instances, maximum string) (w Workers) {
	var key string
	key, w.Max, w.Unlimited = executorCount(c, fallback)

	w.Field = map[string]string{keyInstances: instances, keyMaximum: maximum}[key]
	if w.Field == "" {
		w.Field = ConfField(key)
	}
	return w
}

// setAtLaunch are the keys for which the driver may have another number than the configuration of the custom resource,
// because the launch or the driver itself sets them.
var setAtLaunch = []string{
	"spark.app.id", "spark.app.name", "spark.kubernetes.namespace", "spark.kubernetes.driver.pod.name",
	"spark.driver.port", "spark.driver.blockManager.port",
}

// PodOf describes a pod to which the rules of the platform apply. The image in the description is that of the last
// container, because Spark puts its own container after the other containers of a template.
func PodOf(role, field string, meta *metav1.ObjectMeta, spec *corev1.PodSpec) Pod {
	p := Pod{Role: role, Field: field, ImageField: field, AccountField: field, Meta: meta, Spec: spec}
	if n := len(spec.Containers); n > 0 {
		p.Container = &spec.Containers[n-1]
		p.Image = p.Container.Image
	}
	return p
}

// ExecutorNumber returns the number of executors in the text of a configuration key. A negative number counts as 0. A
// text that is not an int32 counts as not set: Spark fails with such a number, and until then the operator must not
// wait for two billion executors.
func ExecutorNumber(text string) (n int32, set bool) {
	parsed, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return 0, false
	}
	return int32(max(parsed, 0)), true
}
