package fields

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/bounds"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// MemoryQuantity converts a memory size in Spark's notation, such as "2g", to a binary quantity, such as 2Gi. Unlike
// Spark, it also accepts a fraction. A text that only Kubernetes can read, such as "2Gi", is parsed as a quantity.
func MemoryQuantity(text string) (resource.Quantity, error) {
	if bytes, err := conf.ParseSize(text, conf.MiB); err == nil && bytes > 0 {
		return *resource.NewQuantity(bytes, resource.BinarySI), nil
	}

	size := strings.TrimSpace(text)
	if number := strings.TrimSuffix(strings.ToLower(size), "b"); strings.TrimRight(number, "kmgtp") != number {
		last := len(number) - 1
		size = number[:last] + map[string]string{"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti", "p": "Pi"}[number[last:]]
	}

	q, err := bounds.Quantity(size)
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return q, fault
	}

	if err != nil || q.Sign() <= 0 {
		return q, fmt.Errorf("%q is not a memory size; write one such as 512m, 2g or 2Gi", text)
	}
	return q, nil
}

func checkMemoryLimit(text string) error {
	_, err := MemoryQuantity(text)
	return err
}

// checkOverhead is like sparkoperator.CheckMemorySize, but it accepts 0.
func checkOverhead(text string) error {
	if size, err := conf.ParseSize(text, conf.MiB); err == nil && size == 0 {
		return nil
	}
	return sparkoperator.CheckMemorySize(text)
}

// checkCPU rejects a text that is not an amount of CPU of 0 or more. The library for quantities also reads a unit
// without a number.
func checkCPU(text string) error {
	_, err := bounds.Quantity(strings.TrimSpace(text))
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return fault
	}

	if err != nil || strings.HasPrefix(strings.TrimSpace(text), "-") || !strings.ContainsAny(text, "0123456789") {
		return fmt.Errorf("%q is not an amount of CPU; write one such as 500m or 2", text)
	}
	return nil
}

// checkFactor rejects a factor that Spark does not accept (MEMORY_OVERHEAD_FACTOR in Spark's Config.scala: at least 0).
// With 0, the overhead is Spark's least, 384 MiB.
func checkFactor(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.Signbit(n) || math.IsNaN(n) {
		return fmt.Errorf("%q is not a number of 0 or more; write one such as 0.2", text)
	}
	return nil
}

// DriverMaster returns the address of the API server in the form that the client inside the driver accepts
// (KubernetesClusterManager): a plain URL, or "local[*]" for a driver without executors.
//
// Many users write the address as in spark.master, with the prefix k8s://. The client does not accept this prefix, so
// DriverMaster removes it.
func DriverMaster(text string) string {
	address, prefixed := strings.CutPrefix(text, "k8s://")
	if prefixed && !strings.Contains(address, "://") {
		return "https://" + address
	}
	return address
}

func driverMaster(_ string, value any) string {
	return DriverMaster(sparkoperator.StringValue(value.(*string)))
}

// templateContainer returns the name by which Spark finds its container in a role's pod template
// (rawtemplate.Container).
func templateContainer(role string, template any) string {
	name := map[string]string{"driver": sparkoperator.DriverContainer, "executor": sparkoperator.ExecutorContainer}[role]
	return rawtemplate.Container(template.(*runtime.RawExtension), name)
}

func escalation(_ string, context any) string {
	if allow := rawtemplate.PrivilegeEscalation(context.(*corev1.SecurityContext)); allow != nil {
		return strconv.FormatBool(*allow)
	}
	return ""
}

// grace returns the seconds until executors are killed. A negative value means 1, as in Kubernetes.
func grace(_ string, value any) string {
	seconds := value.(*int64)
	switch {
	case seconds == nil:
		return ""
	case *seconds < 0:
		return "1s"
	}
	return strconv.FormatInt(*seconds, 10) + "s"
}

func milliseconds(_ string, value any) string {
	if n := value.(*int64); n != nil {
		return strconv.FormatInt(*n, 10) + "ms"
	}
	return ""
}

// tracking returns whether executors with shuffle data are kept. Without an external shuffle service, which Spark lacks
// on Kubernetes, dynamic allocation needs shuffle tracking.
func tracking(_ string, value any) string {
	wanted := value.(*bool)
	return strconv.FormatBool(wanted == nil || *wanted)
}

// positive accepts numbers of executors above 0. `sparkctl submit` leaves other texts in sparkConf.
func positive(text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	return err == nil && n > 0
}

// withoutKueue returns the labels that reach pods.
func withoutKueue(labels any) map[string]string {
	kept := map[string]string{}
	for key, value := range labels.(map[string]string) {
		if !strings.HasPrefix(key, sparkoperator.KueuePrefix) {
			kept[key] = value
		}
	}
	return kept
}

func keysOfSecrets(value any) map[string]string {
	keys := map[string]string{}
	for name, ref := range value.(map[string]v1beta2.NameKey) {
		keys[name] = ref.Name + ":" + ref.Key
	}
	return keys
}

func pathsOfSecrets(value any) map[string]string {
	paths := map[string]string{}
	for _, secret := range value.([]v1beta2.SecretInfo) {
		paths[secret.Name] = secret.Path
	}
	return paths
}
