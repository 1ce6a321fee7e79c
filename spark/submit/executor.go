package submit

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

const (
	profileLabel   = "spark-exec-resourceprofile-id"
	defaultProfile = "0" // the ID of an application's first resource profile
	executorVolume = "spark-conf-volume-exec"
	scriptKey      = "spark.kubernetes.decommission.script"
	graceKey       = "spark.kubernetes.executor.terminationGracePeriodSeconds"
)

// executorSteps are Spark's executor feature steps, in Spark's order (KubernetesExecutorBuilder.buildFromFeatures).
var executorSteps = []struct {
	name  string
	apply func(*execution) error
}{
	{"BasicExecutorFeatureStep", basicExecutorStep},
	{"ExecutorKubernetesCredentialsFeatureStep", executorAccountStep},
	{"MountSecretsFeatureStep", shared(mountSecretsStep)},
	{"EnvSecretsFeatureStep", shared(envSecretsStep)},
	{"MountVolumesFeatureStep", executorVolumesStep},
	{"HadoopConfExecutorFeatureStep", executorHadoopStep},
	{"LocalDirsFeatureStep", shared(localDirsStep)},
}

// shared adapts a step that drivers and executors have in common.
func shared(step func(*draft) error) func(*execution) error {
	return func(e *execution) error { return step(e.draft) }
}

// Executor returns the pod that the driver of a submission would create for the executor with this ID (Spark counts
// from 1). The pod has the default resource profile. Executor builds the pod as Spark of the Request's version would,
// from the configuration and the template that Build gives the driver (KubernetesExecutorBuilder and its feature steps,
// ExecutorPodsAllocator), and changes the pod as its admission would (Request.Admitted). The argument driver is the UID
// of the driver pod, which owns and controls the executor; if driver is empty, the pod has no owner.
//
// Only drivers create executors. This pod serves two other purposes: the operator sends it to the API server in a dry
// run, to find out whether the API server would accept it, and computes quotas and queues from it. The pod equals
// Spark's own except for values that exist only in a running driver:
//   - The prefix of the pod's name and the name of the ConfigMap have the same form and length as in Spark, but other
//     digits. If spark.kubernetes.executor.podNamePrefix is set, it is the prefix.
//   - The secret of spark.authenticate is missing.
//   - If the executors use the IP address of the driver's pod, the pod contains documentationAddress instead.
//   - Claims on demand have the names that Spark gives them, but are not created.
//   - The template's fields that the types of k8s.io/api do not have are missing.
//
// Executor accepts requests for which Build needs a JVM (Error.NotNative). It rejects all other requests that Build
// rejects, with the same error.
func Executor(r Request, id int, driver types.UID) (*corev1.Pod, error) {
	d, err := runSteps(r)
	if err != nil {
		return nil, err
	}
	e, err := newExecution(d, id, driver)
	if err != nil {
		return nil, AsError(err)
	}
	excluded, err := excludedExecutorSteps(e.draft)
	if err != nil {
		return nil, AsError(err)
	}
	for _, s := range executorSteps {
		if slices.Contains(excluded, s.name) {
			continue
		}
		if err := s.apply(e); err != nil {
			return nil, AsError(err)
		}
	}
	e.pod.APIVersion, e.pod.Kind = "v1", "Pod"
	e.pod.Spec.Containers = append(e.pod.Spec.Containers, e.spark)
	if err := admit.Apply(e.pod); err != nil {
		return nil, FieldErrorf("Executor", "%v", err)
	}
	if err := e.checkVolumes("Executor", e.pod, e.r.Executor); err != nil {
		return nil, err
	}
	return e.pod, nil
}

// newExecution returns the draft of an executor. The draft has the configuration and the pod template that the driver
// reads.
func newExecution(d *draft, id int, driver types.UID) (*execution, error) {
	files, err := d.confFiles()
	if err != nil {
		return nil, err
	}
	e := &execution{
		draft: &draft{
			r: d.r, q: d.q, kind: d.kind, role: RoleExecutor, conf: d.props, props: d.props, pod: &corev1.Pod{},
			spark: corev1.Container{Name: overlay.ExecutorContainer},
		},
		id: strconv.Itoa(id), driver: driver, user: lastValue(d.spark.Env, "SPARK_USER"), files: slices.Sorted(maps.Keys(files)),
	}
	e.name = namePrefix(e.draft) + "-exec-" + e.id
	// The driver passes its own local directories on to executors.
	e.r.Environment = map[string]string{"SPARK_LOCAL_DIRS": lastValue(d.spark.Env, "SPARK_LOCAL_DIRS")}
	if !d.hasExecutorTemplate() {
		return e, nil
	}
	text, err := executorTemplate(d)
	if err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal([]byte(text), e.pod); err != nil {
		return nil, FieldErrorf("ExecutorTemplate", "is not a pod template: %s", conf.Shorten(err.Error()))
	}
	// The driver uses the first container of the template as the Spark container.
	e.spark, e.pod.Spec.Containers = e.pod.Spec.Containers[0], e.pod.Spec.Containers[1:]
	return e, nil
}

// execution is the draft of one executor, with the values that it needs in addition to the configuration.
type execution struct {
	*draft
	id, name string
	driver   types.UID
	user     string   // SPARK_USER of the driver
	files    []string // names of the files in the driver's SPARK_CONF_DIR
}

func lastValue(env []corev1.EnvVar, name string) (value string) {
	for _, v := range env {
		if v.Name == name {
			value = v.Value
		}
	}
	return value
}

// namePrefix returns the prefix of executor names: the prefix that the user sets or, by default, a prefix in the form
// that the driver builds from the application's name and a random ID.
func namePrefix(d *draft) string {
	if prefix, _ := d.conf.Get("spark.kubernetes.executor.podNamePrefix"); prefix != "" {
		return prefix
	}
	return ResourceNamePrefix(d.r.AppName, digest("executors/"+d.r.AppID, 16))
}

func excludedExecutorSteps(d *draft) ([]string, error) {
	if !d.q.excludedSteps {
		return nil, nil
	}
	names, err := d.conf.List("spark.kubernetes.executor.pod.excludedFeatureSteps", nil)
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], featurePackage)
	}
	return names, err
}

// basicExecutorStep builds the Spark container and the pod of an executor (BasicExecutorFeatureStep).
func basicExecutorStep(e *execution) error {
	for _, part := range []func(*execution) error{
		shared(basicImage), shared(basicResources), shared(basicDevices), executorPort, executorEnv, executorMeta, shared(basicPlacement), executorLife, executorConfigMap,
	} {
		if err := part(e); err != nil {
			return err
		}
	}
	e.spark.Args = append(e.spark.Args, "executor")
	if e.q.resizePolicy {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			e.spark.ResizePolicy = append(e.spark.ResizePolicy, corev1.ContainerResizePolicy{ResourceName: name, RestartPolicy: corev1.NotRequired})
		}
	}
	return nil
}

// executorMemory returns the memory of an executor pod: heap, overhead, Python's memory and off-heap memory
// (ResourceProfile).
func executorMemory(e *draft) (resource.Quantity, error) {
	const key = "spark.executor.memory"
	heap, err := e.conf.Size(key, 1024, conf.MiB)
	if err != nil {
		return resource.Quantity{}, err
	}
	least := int64(384)
	if e.q.minOverhead {
		if least, err = e.conf.Size("spark.executor.minMemoryOverhead", least, conf.MiB); err != nil {
			return resource.Quantity{}, err
		}
	}
	factor, err := e.conf.Float(factorKey, 0.1)
	if err == nil {
		factor, err = e.conf.Float("spark.executor.memoryOverheadFactor", factor)
	}
	if err != nil {
		return resource.Quantity{}, err
	}
	overhead, err := e.conf.Size("spark.executor.memoryOverhead", max(truncate(factor*float64(heap)), least), conf.MiB)
	if err != nil {
		return resource.Quantity{}, err
	}
	extra, err := executorExtraMemory(e)
	if err != nil {
		return resource.Quantity{}, err
	}
	total := heap
	for _, part := range []int64{overhead, extra} {
		if part < 0 || total > math.MaxInt64>>20-part {
			return resource.Quantity{}, KeyErrorf(key, "memory plus overhead is more than a Kubernetes quantity can hold; reduce it")
		}
		total += part
	}
	return mebibytes(total), nil
}

// executorExtraMemory returns Python's memory and the off-heap memory of the JVM, in MiB.
func executorExtraMemory(e *draft) (extra int64, err error) {
	if e.kind == typePython {
		if extra, err = e.conf.Size("spark.executor.pyspark.memory", 0, conf.MiB); err != nil {
			return 0, err
		}
	}
	offHeap, err := e.conf.Bool("spark.memory.offHeap.enabled", false)
	if err != nil || !offHeap {
		return extra, err
	}
	size, err := e.conf.Size("spark.memory.offHeap.size", 0, 1)
	return extra + size>>20, err
}

// executorPort declares the block manager's port on the container. It declares no port if the configured port is zero,
// which means any port.
func executorPort(e *execution) error {
	const key = "spark.blockManager.port"
	port, err := e.conf.Int(key, blockManagerPort)
	if err != nil || port == 0 {
		return err
	}
	e.spark.Ports = append(e.spark.Ports, corev1.ContainerPort{Name: blockManagerPortName, ContainerPort: int32(port)})
	return nil
}

// executorEnv sets the executor's environment variables: the variables that Spark always sets, the variables of the
// user, and the variables in which Spark passes the options of the JVM.
func executorEnv(e *execution) error {
	heap, err := e.conf.Size("spark.executor.memory", 1024, conf.MiB)
	if err != nil {
		return err
	}
	cores, err := e.conf.Int("spark.executor.cores", 1)
	if err != nil {
		return err
	}
	host, err := driverAddress(e.draft)
	if err != nil {
		return err
	}
	port, err := e.conf.Int("spark.driver.port", driverPort)
	if err != nil {
		return err
	}
	e.env("SPARK_USER", e.user)
	e.env("SPARK_DRIVER_URL", fmt.Sprintf("spark://CoarseGrainedScheduler@%s:%d", host, port))
	e.env("SPARK_EXECUTOR_CORES", strconv.Itoa(cores))
	e.env("SPARK_EXECUTOR_MEMORY", fmt.Sprintf("%dm", heap))
	e.env("SPARK_APPLICATION_ID", e.r.AppID)
	e.env("SPARK_CONF_DIR", confDir)
	e.env("SPARK_EXECUTOR_ID", e.id)
	e.env("SPARK_RESOURCE_PROFILE_ID", defaultProfile)
	const prefix = "spark.executorEnv."
	for name, value := range e.conf.WithPrefix(prefix) {
		if errs := validation.IsRelaxedEnvVarName(name); len(errs) > 0 {
			return KeyErrorf(prefix+name, "%q is not a valid name of an environment variable: %s", name, errs[0])
		}
		e.env(name, value)
	}
	if path, err := e.conf.String("spark.executor.extraClassPath", ""); err != nil {
		return err
	} else if path != "" {
		e.env("SPARK_CLASSPATH", path)
	}
	options, err := executorOptions(e)
	if err != nil {
		return err
	}
	for i, option := range options {
		e.env(fmt.Sprint("SPARK_JAVA_OPT_", i), option)
	}
	for _, field := range [...][2]string{{"SPARK_EXECUTOR_POD_IP", "status.podIP"}, {"SPARK_EXECUTOR_POD_NAME", "metadata.name"}} {
		e.spark.Env = append(e.spark.Env, corev1.EnvVar{Name: field[0], ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field[1]},
		}})
	}
	return nil
}

// executorOptions returns the options of the executor's JVM: the options of every executor, the user's options, and
// the settings that an executor needs before it can request the other settings from the driver
// (SparkConf.isExecutorStartupConf).
func executorOptions(e *execution) ([]string, error) {
	text, err := e.conf.String("spark.executor.extraJavaOptions", "")
	if err != nil {
		return nil, err
	}
	ids := e.ids()
	if size := replacedSize(text, e.r.AppID, e.id); size > maxArguments {
		return nil, KeyErrorf("spark.executor.extraJavaOptions", "is %d bytes long with {{APP_ID}} and {{EXECUTOR_ID}} replaced; the limit is %d bytes", size, maxArguments)
	}
	options := append(moduleOptions(e.draft), conf.SplitExecutorOptions(ids.Replace(text))...)
	for key, value := range e.conf.All() {
		if startsExecutors(e.draft, key) {
			options = append(options, "-D"+key+"="+value)
		}
	}
	return options, nil
}

func startsExecutors(d *draft, key string) bool {
	for _, prefix := range []string{"spark.auth", "spark.rpc", "spark.network", "spark.port."} {
		if strings.HasPrefix(key, prefix) {
			return key != "spark.authenticate.secret"
		}
	}
	return d.q.major >= 4 && strings.HasPrefix(key, "spark.ssl") && !strings.Contains(key, "Password") ||
		strings.HasPrefix(key, "spark.") && strings.HasSuffix(key, ".port")
}

// maxArguments is the maximum length of the options of a JVM. Linux allows 2 MiB for all arguments and environment
// variables of a process.
const maxArguments = 1 << 20

// replacedSize returns the length that text has after the markers of IDs in it are replaced.
func replacedSize(text, application, executor string) int {
	return len(text) + strings.Count(text, "{{APP_ID}}")*(len(application)-len("{{APP_ID}}")) +
		strings.Count(text, "{{EXECUTOR_ID}}")*(len(executor)-len("{{EXECUTOR_ID}}"))
}

// ids returns a replacer of the markers {{APP_ID}} and {{EXECUTOR_ID}} by the IDs of the application and the executor.
func (e *execution) ids() *strings.Replacer {
	return strings.NewReplacer("{{APP_ID}}", e.r.AppID, "{{EXECUTOR_ID}}", e.id)
}

// executorMeta sets the pod's name, labels, annotations and owner (KubernetesExecutorConf).
func executorMeta(e *execution) error {
	pod := e.pod
	pod.Name, pod.Namespace = e.name, e.r.Namespace
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	for key, value := range e.conf.WithPrefix("spark.kubernetes.executor.label.") {
		if e.q.appIDInLabels {
			value = e.ids().Replace(value)
		}
		pod.Labels[key] = value
	}
	maps.Copy(pod.Labels, map[string]string{
		VersionLabel: versionLabel(e.r.SparkVersion, e.q), SelectorLabel: e.r.AppID, AppNameKey: AppNameLabel(e.r.AppName),
		RoleLabel: RoleExecutor, ExecutorIDLabel: e.id, profileLabel: defaultProfile,
	})
	for key, value := range e.conf.WithPrefix("spark.kubernetes.executor.annotation.") {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[key] = e.ids().Replace(value)
	}
	if e.driver != "" {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "Pod", Name: e.r.DriverPodName, UID: e.driver, Controller: new(true),
		})
	}
	pod.Spec.Hostname = hostname(pod.Name)
	return nil
}

var (
	hostnameStart = regexp.MustCompile(`^[^0-9A-Za-z_]+`)
	hostnameOther = regexp.MustCompile(`[^0-9A-Za-z_-]+`)
)

// hostname returns the host name of the executor whose pod has this name. It keeps the end of a long name, because the
// end contains the executor's ID, and replaces characters that a host name cannot have.
func hostname(name string) string {
	name = name[max(0, len(name)-validation.LabelValueMaxLength):]
	return hostnameOther.ReplaceAllString(hostnameStart.ReplaceAllString(name, ""), "_")
}

// executorLife sets the pod's restart policy and grace period and the container's preStop hook.
func executorLife(e *execution) error {
	e.pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	allocator, err := e.conf.String("spark.kubernetes.allocation.pods.allocator", "direct")
	if err != nil {
		return err
	}
	if allocator == "statefulset" || allocator == "deployment" {
		e.pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if e.q.executorGrace {
		grace, err := e.conf.Duration(graceKey, 30*time.Second, time.Second)
		if err != nil {
			return err
		}
		e.pod.Spec.TerminationGracePeriodSeconds = new(int64(grace / time.Second))
	}
	if decommission, err := e.conf.Bool("spark.decommission.enabled", false); err != nil || !decommission {
		return err
	}
	script, err := e.conf.String(scriptKey, "/opt/decom.sh")
	e.spark.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{script}}}}
	return err
}

// executorConfigMap mounts the ConfigMap that the driver creates from its own configuration files.
func executorConfigMap(e *execution) error {
	without, err := e.conf.Bool("spark.kubernetes.executor.disableConfigMap", false)
	if err != nil || without {
		return err
	}
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{
		Name: "spark-exec-" + digest("executors/"+e.r.AppID, 16) + "-conf-map",
	}}
	for _, file := range e.files {
		source.Items = append(source.Items, corev1.KeyToPath{Key: file, Path: file, Mode: new(int32(0o644))})
	}
	e.mount(corev1.Volume{Name: executorVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: confDir})
	return nil
}

// executorAccountStep sets the pod's service account: the account of the template, else the account that the
// configuration names for executors, else the driver's account. From the template, it reads only the deprecated field
// serviceAccount and ignores serviceAccountName, as Spark's ExecutorKubernetesCredentialsFeatureStep does.
func executorAccountStep(e *execution) error {
	if e.pod.Spec.DeprecatedServiceAccount != "" {
		return nil
	}
	account, err := e.firstOf(executorAccountKey, driverAccountKey)
	if account != "" {
		e.pod.Spec.ServiceAccountName, e.pod.Spec.DeprecatedServiceAccount = account, account
	}
	return err
}

// executorVolumesStep mounts the volumes that the configuration declares (MountVolumesFeatureStep).
func executorVolumesStep(e *execution) error {
	volumes, err := e.volumes(RoleExecutor)
	if err != nil {
		return err
	}
	for i, v := range volumes {
		source, err := e.volumeSource(v, fmt.Sprint(e.name, "-pvc-", i))
		if err != nil {
			return err
		}
		mount, err := e.volumeMount(v)
		if err != nil {
			return err
		}
		e.mount(corev1.Volume{Name: v.name, VolumeSource: source}, mount)
	}
	return nil
}

// executorHadoopStep mounts the driver's Hadoop configuration (HadoopConfExecutorFeatureStep).
func executorHadoopStep(e *execution) error {
	name, err := e.conf.String("spark.kubernetes.executor.hadoopConfigMapName", "")
	if err != nil || name == "" {
		return err
	}
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	e.mount(corev1.Volume{Name: hadoopVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: hadoopDir})
	e.env("HADOOP_CONF_DIR", hadoopDir)
	return nil
}
