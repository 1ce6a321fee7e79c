// Package line has the table of Spark's release lines and of their differences that affect a submission.
package line

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Line describes one Spark line, such as 4.1, by the differences from other lines that affect a submission. In
// everything else, the lines from 3.5 to 4.3 are the same.
type Line struct {
	Major, Minor int

	// AppIDInLabels: {{APP_ID}} is replaced in driver labels too, not only in annotations (from 4.0).
	AppIDInLabels bool
	// MinOverhead: spark.driver.minMemoryOverhead is read (from 4.0). Earlier lines use 384 MiB.
	MinOverhead bool
	// LegacyAccess: a claim on demand is ReadWriteOnce instead of ReadWriteOncePod if no key sets the mode (until 3.5).
	LegacyAccess bool
	// VolumeExtras: claims can have labels and annotations, volumes can have subPathExpr and hostPath types, and small
	// sizes need a unit (from 4.0).
	VolumeExtras bool
	// ConnectPort: the pod and the Service have port 15002 of Spark Connect (from 4.1).
	ConnectPort bool
	// ConnectGRPC: port 15002 has appProtocol grpc (from 4.2).
	ConnectGRPC bool
	// ImageVersion: {{SPARK_VERSION}} is replaced in image names (from 4.1).
	ImageVersion bool
	// ExcludedSteps: spark.kubernetes.driver.pod.excludedFeatureSteps is read (from 4.1).
	ExcludedSteps bool
	// PythonVersion: spark.kubernetes.pyspark.pythonVersion is read, and may only be 3 (until 4.0).
	PythonVersion bool
	// NetworkPolicy: executors accept only connections from their own application (from 4.2, SPARK-55653).
	NetworkPolicy bool
	// VolcanoShipped: Spark's images contain VolcanoFeatureStep (from 4.2). Earlier lines need a custom build.
	VolcanoShipped bool
	// PodGroupJSON: spark.kubernetes.scheduler.volcano.podGroupTemplateJson is read (from 4.2).
	PodGroupJSON bool
	// PrivilegeEscalation: allowPrivilegeEscalation is set, and is false by default (from 4.3, SPARK-57493).
	PrivilegeEscalation bool
	// PublishNotReady: publishNotReadyAddresses of the Service is set (from 4.3).
	PublishNotReady bool
	// ProxyUserFirst: SPARK_USER is the proxy user even if the submitter's environment has SPARK_USER (from 4.3).
	ProxyUserFirst bool
	// ExecutorGrace: Spark sets terminationGracePeriodSeconds of executors (from 4.1).
	ExecutorGrace bool
	// ResizePolicy: executors declare that their CPU and memory can be changed without a restart (from 4.2).
	ResizePolicy bool
	// DriverPodIP: spark.kubernetes.executor.useDriverPodIP is read (from 4.1).
	DriverPodIP bool
	// DriverPodIPDefault: spark.kubernetes.executor.useDriverPodIP is true by default (from 4.3).
	DriverPodIPDefault bool
	// VectorModule: the JVMs load the module of vector instructions (from 4.0).
	VectorModule bool
	// ModuleOptions are the last options in the result of package executor's moduleOptions.
	ModuleOptions []string
}

// Lines is the table of Spark lines, oldest first. Each line is a copy of its predecessor with changes.
var Lines = func() []Line {
	v35 := Line{Major: 3, Minor: 5, LegacyAccess: true, PythonVersion: true, ModuleOptions: []string{"-Djdk.reflect.useDirectMethodHandle=false"}}

	v40 := v35
	v40.Minor, v40.Major = 0, 4
	v40.AppIDInLabels, v40.MinOverhead, v40.VolumeExtras = true, true, true
	v40.LegacyAccess = false
	const reflection = "-Dio.netty.tryReflectionSetAccessible=true"
	v40.VectorModule, v40.ModuleOptions = true, append(slices.Clip(v35.ModuleOptions), reflection)

	v41 := v40
	v41.Minor = 1
	v41.ConnectPort, v41.ImageVersion, v41.ExcludedSteps, v41.ExecutorGrace = true, true, true, true
	v41.PythonVersion = false
	v41.DriverPodIP = true
	netty := []string{"-Dio.netty.allocator.type=pooled", "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE"}
	const native = "--enable-native-access=ALL-UNNAMED"
	v41.ModuleOptions = slices.Concat(v40.ModuleOptions, netty, []string{native})

	v42 := v41
	v42.Minor = 2
	v42.NetworkPolicy, v42.ConnectGRPC = true, true
	v42.VolcanoShipped, v42.PodGroupJSON, v42.ResizePolicy = true, true, true
	v42.ModuleOptions = slices.Concat([]string{reflection}, netty, []string{"--sun-misc-unsafe-memory-access=allow", native})

	v43 := v42
	v43.Minor = 3
	v43.PrivilegeEscalation, v43.PublishNotReady, v43.ProxyUserFirst = true, true, true
	v43.DriverPodIPDefault = true
	return []Line{v35, v40, v41, v42, v43}
}()

// String returns the name of the line, such as "4.1".
func (q Line) String() string { return fmt.Sprintf("%d.%d", q.Major, q.Minor) }

// VersionPattern matches a version. Its groups are the major and the minor number. An underscore stands for a dot, as
// in v4_2_0, the form of the Apache Spark project's own examples.
var VersionPattern = regexp.MustCompile(`^v?([0-9]{1,4})[._]([0-9]{1,4})(?:[._-].*)?$`)

// Of returns the line for a declared version. The warning is empty if the table of lines contains the version.
func Of(version string) (q Line, warning string) {
	oldest, newest := Lines[0], Lines[len(Lines)-1]

	match := VersionPattern.FindStringSubmatch(version)
	if match == nil {
		return newest, fmt.Sprintf("Spark version %q is not a version such as %s.0; the pods are built as for Spark %s", version, newest, newest)
	}
	// The pattern matches only digits that Atoi accepts.
	major, _ := strconv.Atoi(match[1])

	minor, _ := strconv.Atoi(match[2])
	for _, line := range Lines {
		if line.Major == major && line.Minor == minor {
			return line, ""
		}
	}

	if major < oldest.Major || major == oldest.Major && minor < oldest.Minor {
		return oldest, fmt.Sprintf("Spark %s is older than the oldest supported line, %s; the pods are built as for Spark %s", version, oldest, oldest)
	}

	if major == 3 {
		// There is no line between 3.5 and 4.0; a later 3.x would be like 3.5.
		return oldest, fmt.Sprintf("Spark %s is not a supported version; the pods are built as for Spark %s", version, oldest)
	}
	return newest, fmt.Sprintf("Spark %s is newer than the newest supported line, %s; the pods are built as for Spark %s", version, newest, newest)
}

// Label returns the value of the label spark-version. It is the declared version, or the name of the line if the
// declared version is not a valid label value.
func Label(declared string, q Line) string {
	if declared == "" || len(validation.IsValidLabelValue(declared)) > 0 {
		return q.String()
	}
	return declared
}
