package submit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
)

// quirks describes one Spark line, such as 4.1, by the differences from other lines that affect a submission. In
// everything else, the lines from 3.5 to 4.3 are the same.
type quirks struct {
	major, minor int

	// appIDInLabels: {{APP_ID}} is replaced in driver labels too, not only in annotations (from 4.0).
	appIDInLabels bool
	// minOverhead: spark.driver.minMemoryOverhead is read (from 4.0). Earlier lines use 384 MiB.
	minOverhead bool
	// legacyAccess: a claim on demand is ReadWriteOnce instead of ReadWriteOncePod if no key sets the mode (until 3.5).
	legacyAccess bool
	// volumeExtras: claims can have labels and annotations, volumes can have subPathExpr and hostPath types, and small
	// sizes need a unit (from 4.0).
	volumeExtras bool
	// connectPort: the pod and the Service have port 15002 of Spark Connect (from 4.1).
	connectPort bool
	// connectGRPC: port 15002 has appProtocol grpc (from 4.2).
	connectGRPC bool
	// imageVersion: {{SPARK_VERSION}} is replaced in image names (from 4.1).
	imageVersion bool
	// excludedSteps: spark.kubernetes.driver.pod.excludedFeatureSteps is read (from 4.1).
	excludedSteps bool
	// pythonVersion: spark.kubernetes.pyspark.pythonVersion is read, and may only be 3 (until 4.0).
	pythonVersion bool
	// networkPolicy: executors accept only connections from their own application (from 4.2, SPARK-55653).
	networkPolicy bool
	// volcanoShipped: Spark's images contain VolcanoFeatureStep (from 4.2). Earlier lines need a custom build.
	volcanoShipped bool
	// podGroupJSON: spark.kubernetes.scheduler.volcano.podGroupTemplateJson is read (from 4.2).
	podGroupJSON bool
	// privilegeEscalation: allowPrivilegeEscalation is set, and is false by default (from 4.3, SPARK-57493).
	privilegeEscalation bool
	// publishNotReady: publishNotReadyAddresses of the Service is set (from 4.3).
	publishNotReady bool
	// proxyUserFirst: SPARK_USER is the proxy user even if the submitter's environment has SPARK_USER (from 4.3).
	proxyUserFirst bool
	// executorGrace: Spark sets terminationGracePeriodSeconds of executors (from 4.1).
	executorGrace bool
	// resizePolicy: executors declare that their CPU and memory can be changed without a restart (from 4.2).
	resizePolicy bool
	// driverPodIP: spark.kubernetes.executor.useDriverPodIP is read (from 4.1).
	driverPodIP bool
	// driverPodIPDefault: spark.kubernetes.executor.useDriverPodIP is true by default (from 4.3).
	driverPodIPDefault bool
	// vectorModule: the JVMs load the module of vector instructions (from 4.0).
	vectorModule bool
	// moduleOptions are the last options in the result of the function moduleOptions.
	moduleOptions []string
}

// lines is the table of Spark lines, oldest first. Each line is a copy of its predecessor with changes.
var lines = func() []quirks {
	v35 := quirks{major: 3, minor: 5, legacyAccess: true, pythonVersion: true, moduleOptions: []string{"-Djdk.reflect.useDirectMethodHandle=false"}}

	v40 := v35
	v40.minor, v40.major = 0, 4
	v40.appIDInLabels, v40.minOverhead, v40.volumeExtras = true, true, true
	v40.legacyAccess = false
	const reflection = "-Dio.netty.tryReflectionSetAccessible=true"
	v40.vectorModule, v40.moduleOptions = true, append(slices.Clip(v35.moduleOptions), reflection)

	v41 := v40
	v41.minor = 1
	v41.connectPort, v41.imageVersion, v41.excludedSteps, v41.executorGrace = true, true, true, true
	v41.pythonVersion = false
	v41.driverPodIP = true
	netty := []string{"-Dio.netty.allocator.type=pooled", "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE"}
	const native = "--enable-native-access=ALL-UNNAMED"
	v41.moduleOptions = slices.Concat(v40.moduleOptions, netty, []string{native})

	v42 := v41
	v42.minor = 2
	v42.networkPolicy, v42.connectGRPC = true, true
	v42.volcanoShipped, v42.podGroupJSON, v42.resizePolicy = true, true, true
	v42.moduleOptions = slices.Concat([]string{reflection}, netty, []string{"--sun-misc-unsafe-memory-access=allow", native})

	v43 := v42
	v43.minor = 3
	v43.privilegeEscalation, v43.publishNotReady, v43.proxyUserFirst = true, true, true
	v43.driverPodIPDefault = true
	return []quirks{v35, v40, v41, v42, v43}
}()

// SupportedVersions returns the names of the supported Spark lines, such as "4.1", oldest first.
func SupportedVersions() []string {
	out := make([]string, len(lines))
	for i, q := range lines {
		out[i] = q.String()
	}
	return out
}

// String returns the name of the line, such as "4.1".
func (q quirks) String() string { return fmt.Sprintf("%d.%d", q.major, q.minor) }

var versionPattern = regexp.MustCompile(`^v?([0-9]{1,4})\.([0-9]{1,4})(?:[.-].*)?$`)

// quirksFor returns the line for a declared version. The warning is empty if the table of lines contains the version.
func quirksFor(version string) (q quirks, warning string) {
	oldest, newest := lines[0], lines[len(lines)-1]
	match := versionPattern.FindStringSubmatch(version)
	if match == nil {
		return newest, fmt.Sprintf("Spark version %q is not a version such as %s.0; the pods are built as for Spark %s", version, newest, newest)
	}
	// The pattern matches only digits that Atoi accepts.
	major, _ := strconv.Atoi(match[1])
	minor, _ := strconv.Atoi(match[2])
	for _, line := range lines {
		if line.major == major && line.minor == minor {
			return line, ""
		}
	}
	if major < oldest.major || major == oldest.major && minor < oldest.minor {
		return oldest, fmt.Sprintf("Spark %s is older than the oldest supported line, %s; the pods are built as for Spark %s", version, oldest, oldest)
	}
	if major == 3 {
		// There is no line between 3.5 and 4.0; a later 3.x would be like 3.5.
		return oldest, fmt.Sprintf("Spark %s is not a supported version; the pods are built as for Spark %s", version, oldest)
	}
	return newest, fmt.Sprintf("Spark %s is newer than the newest supported line, %s; the pods are built as for Spark %s", version, newest, newest)
}

// LineOf returns the major and minor number of the line that Build uses for a declared version, such as 4 and 1 for
// "4.1.4".
func LineOf(version string) (major, minor int) {
	q, _ := quirksFor(version)
	return q.major, q.minor
}

// versionLabel returns the value of the label spark-version. It is the declared version, or the name of the line if the
// declared version is not a valid label value.
func versionLabel(declared string, q quirks) string {
	if declared == "" || len(validation.IsValidLabelValue(declared)) > 0 {
		return q.String()
	}
	return declared
}
