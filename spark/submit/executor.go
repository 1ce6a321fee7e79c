package submit

import (
	"encoding/json"
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
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// Labels of executors (org.apache.spark.deploy.k8s.Constants).
const (
	ExecutorIDLabel = "spark-exec-id"
	profileLabel    = "spark-exec-resourceprofile-id"
)

const (
	defaultProfile = "0" // the id of the resource profile that an application begins with
	executorVolume = "spark-conf-volume-exec"
	scriptKey      = "spark.kubernetes.decommission.script"
	graceKey       = "spark.kubernetes.executor.terminationGracePeriodSeconds"
)

// executorSteps are Spark's, in Spark's order (KubernetesExecutorBuilder.buildFromFeatures).
var executorSteps = []struct {
	name  string
	apply func(*draft) error
}{
	{"BasicExecutorFeatureStep", basicExecutorStep},
	{"ExecutorKubernetesCredentialsFeatureStep", executorAccountStep},
	{"MountSecretsFeatureStep", mountSecretsStep},
	{"EnvSecretsFeatureStep", envSecretsStep},
	{"MountVolumesFeatureStep", executorVolumesStep},
	{"HadoopConfExecutorFeatureStep", executorHadoopStep},
	{"LocalDirsFeatureStep", localDirsStep},
}

// Executor returns the pod that the driver of a submission asks the API server for when it wants the executor of an id, which Spark counts
// from 1: what Spark of the Request's version makes of the configuration and the template that Build gives the driver, with the default
// resource profile (KubernetesExecutorBuilder and its feature steps, ExecutorPodsAllocator). Driver is the UID of the driver pod, its owner and
// controller; without one the pod has none.
//
// Nobody but a driver creates executors. This one is for asking the API server what it would say (a server-side dry run), and for sizing quotas
// and queues. It is like Spark's own but for what only a running driver knows: the name's prefix, unless spark.kubernetes.executor.podNamePrefix
// says it, and the name of the ConfigMap are of the same form and length; the secret of spark.authenticate is missing; claims on demand are named
// as Spark names them and not made. Fields of the template that k8s.io/api does not know are missing.
//
// What only a JVM could do for the driver (Error.NotNative) does not matter here. Anything else that Build refuses is refused with the same error.
func Executor(r Request, id int, driver types.UID) (*corev1.Pod, error) {
	d, err := stepped(r)
	if err != nil {
		return nil, err
	}
	e, err := d.executor(id, driver)
	if err != nil {
		return nil, asError(err)
	}
	excluded, err := e.excludedExecutorSteps()
	if err != nil {
		return nil, asError(err)
	}
	for _, s := range executorSteps {
		if slices.Contains(excluded, s.name) {
			continue
		}
		if err := s.apply(e); err != nil {
			return nil, asError(err)
		}
	}
	e.pod.APIVersion, e.pod.Kind = "v1", "Pod"
	e.pod.Spec.Containers = append(e.pod.Spec.Containers, e.spark)
	return e.pod, nil
}

// executor is a draft of an executor: it reads what the driver reads, and begins with the template that the driver begins with.
func (d *draft) executor(id int, driver types.UID) (*draft, error) {
	files, err := d.confFiles()
	if err != nil {
		return nil, err
	}
	e := &draft{
		r: d.r, q: d.q, kind: d.kind, role: RoleExecutor, conf: d.props, props: d.props, pod: &corev1.Pod{},
		spark: corev1.Container{Name: overlay.ExecutorContainer},
		of:    executorOf{id: strconv.Itoa(id), driver: driver, user: lastValue(d.spark.Env, "SPARK_USER"), files: slices.Sorted(maps.Keys(files))},
	}
	e.of.name = e.namePrefix() + "-exec-" + e.of.id
	// The driver hands on the directories that it was given itself.
	e.r.Environment = map[string]string{"SPARK_LOCAL_DIRS": lastValue(d.spark.Env, "SPARK_LOCAL_DIRS")}
	if len(d.r.ExecutorTemplate) == 0 && d.r.Executor.IsZero() {
		return e, nil
	}
	text, err := executorTemplate(d)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), e.pod); err != nil {
		return nil, fieldError("ExecutorTemplate", "is no pod template: %s", conf.Shorten(err.Error()))
	}
	// The template has the Spark container first, which is what the driver takes.
	e.spark, e.pod.Spec.Containers = e.pod.Spec.Containers[0], e.pod.Spec.Containers[1:]
	return e, nil
}

// executorOf is what an executor's draft knows beside the configuration.
type executorOf struct {
	id, name string
	driver   types.UID
	user     string   // of the driver
	files    []string // of the driver's SPARK_CONF_DIR
}

func lastValue(env []corev1.EnvVar, name string) (value string) {
	for _, v := range env {
		if v.Name == name {
			value = v.Value
		}
	}
	return value
}

// namePrefix begins the executors' names: the user's, or one like the driver makes of the application's name and a fresh id.
func (d *draft) namePrefix() string {
	if prefix, _ := d.conf.Get("spark.kubernetes.executor.podNamePrefix"); prefix != "" {
		return prefix
	}
	return ResourceNamePrefix(d.r.AppName, digest("executors/"+d.r.AppID, 16))
}

func (d *draft) excludedExecutorSteps() ([]string, error) {
	if !d.q.excludedSteps {
		return nil, nil
	}
	names, err := d.conf.List("spark.kubernetes.executor.pod.excludedFeatureSteps", nil)
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], featurePackage)
	}
	return names, err
}

// basicExecutorStep makes the container and the pod around it (BasicExecutorFeatureStep).
func basicExecutorStep(e *draft) error {
	for _, part := range []func(*draft) error{
		basicImage, basicResources, basicDevices, executorPort, executorEnv, executorMeta, basicPlacement, executorLife, executorConfigMap,
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

// executorMemory is the heap and what the process needs beside it, Python's and off-heap memory apart (ResourceProfile).
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
	more, err := executorMore(e)
	if err != nil {
		return resource.Quantity{}, err
	}
	total := heap
	for _, part := range []int64{overhead, more} {
		if part < 0 || total > math.MaxInt64>>20-part {
			return resource.Quantity{}, keyError(key, "together with its overhead it is more memory than can be written")
		}
		total += part
	}
	return mebibytes(total), nil
}

// executorMore is Python's memory and that which the JVM takes beside its heap, in MiB.
func executorMore(e *draft) (more int64, err error) {
	if e.kind == typePython {
		if more, err = e.conf.Size("spark.executor.pyspark.memory", 0, conf.MiB); err != nil {
			return 0, err
		}
	}
	offHeap, err := e.conf.Bool("spark.memory.offHeap.enabled", false)
	if err != nil || !offHeap {
		return more, err
	}
	size, err := e.conf.Size("spark.memory.offHeap.size", 0, 1)
	return more + size>>20, err
}

// executorPort declares the block manager's port; zero, any port, cannot be.
func executorPort(e *draft) error {
	const key = "spark.blockManager.port"
	port, err := e.conf.Int(key, blockManagerPort)
	if err != nil || port == 0 {
		return err
	}
	e.spark.Ports = append(e.spark.Ports, corev1.ContainerPort{Name: blockManagerPortName, ContainerPort: int32(port)})
	return nil
}

// executorEnv are Spark's variables, the user's, and the options of the JVM, which go by variables too.
func executorEnv(e *draft) error {
	heap, err := e.conf.Size("spark.executor.memory", 1024, conf.MiB)
	if err != nil {
		return err
	}
	cores, err := e.conf.Int("spark.executor.cores", 1)
	if err != nil {
		return err
	}
	host, _ := e.conf.Get("spark.driver.host")
	port, err := e.conf.Int("spark.driver.port", driverPort)
	if err != nil {
		return err
	}
	e.env("SPARK_USER", e.of.user)
	e.env("SPARK_DRIVER_URL", fmt.Sprintf("spark://CoarseGrainedScheduler@%s:%d", host, port))
	e.env("SPARK_EXECUTOR_CORES", strconv.Itoa(cores))
	e.env("SPARK_EXECUTOR_MEMORY", fmt.Sprintf("%dm", heap))
	e.env("SPARK_APPLICATION_ID", e.r.AppID)
	e.env("SPARK_CONF_DIR", confDir)
	e.env("SPARK_EXECUTOR_ID", e.of.id)
	e.env("SPARK_RESOURCE_PROFILE_ID", defaultProfile)
	const prefix = "spark.executorEnv."
	for name, value := range e.conf.WithPrefix(prefix) {
		if errs := validation.IsRelaxedEnvVarName(name); len(errs) > 0 {
			return keyError(prefix+name, "%q is no name of an environment variable: %s", name, errs[0])
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

// executorOptions are the user's options of the JVM, and as such what executors need before they can ask the driver for the rest
// (SparkConf.isExecutorStartupConf).
func executorOptions(e *draft) ([]string, error) {
	text, err := e.conf.String("spark.executor.extraJavaOptions", "")
	if err != nil {
		return nil, err
	}
	ids := e.ids()
	if size := replacedSize(text, e.r.AppID, e.of.id); size > maxArguments {
		return nil, keyError("spark.executor.extraJavaOptions", "is %d bytes long with {{APP_ID}} and {{EXECUTOR_ID}} replaced; the limit is %d bytes", size, maxArguments)
	}
	options, _ := conf.SplitJavaOptions(ids.Replace(text))
	for key, value := range e.conf.All() {
		if e.startsExecutors(key) {
			options = append(options, "-D"+key+"="+value)
		}
	}
	return options, nil
}

func (d *draft) startsExecutors(key string) bool {
	for _, prefix := range []string{"spark.auth", "spark.rpc", "spark.network", "spark.port."} {
		if strings.HasPrefix(key, prefix) {
			return key != "spark.authenticate.secret"
		}
	}
	return d.q.major >= 4 && strings.HasPrefix(key, "spark.ssl") && !strings.Contains(key, "Password") ||
		strings.HasPrefix(key, "spark.") && strings.HasSuffix(key, ".port")
}

// maxArguments is the length of the options of a JVM. Linux takes 2 MiB for all arguments and variables of a process.
const maxArguments = 1 << 20

// replacedSize is the length of a text after ids replaced the markers in it.
func replacedSize(text, application, executor string) int {
	return len(text) + strings.Count(text, "{{APP_ID}}")*(len(application)-len("{{APP_ID}}")) +
		strings.Count(text, "{{EXECUTOR_ID}}")*(len(executor)-len("{{EXECUTOR_ID}}"))
}

// ids replaces what stands for the application's and the executor's id.
func (d *draft) ids() *strings.Replacer {
	return strings.NewReplacer("{{APP_ID}}", d.r.AppID, "{{EXECUTOR_ID}}", d.of.id)
}

// executorMeta names, labels and owns the pod (KubernetesExecutorConf).
func executorMeta(e *draft) error {
	pod := e.pod
	pod.Name, pod.Namespace = e.of.name, e.r.Namespace
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
		RoleLabel: RoleExecutor, ExecutorIDLabel: e.of.id, profileLabel: defaultProfile,
	})
	for key, value := range e.conf.WithPrefix("spark.kubernetes.executor.annotation.") {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[key] = e.ids().Replace(value)
	}
	if e.of.driver != "" {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "Pod", Name: e.r.DriverPodName, UID: e.of.driver, Controller: new(true),
		})
	}
	pod.Spec.Hostname = hostname(pod.Name)
	return nil
}

var (
	hostnameStart = regexp.MustCompile(`^[^0-9A-Za-z_]+`)
	hostnameOther = regexp.MustCompile(`[^0-9A-Za-z_-]+`)
)

// hostname is the end of a pod's name, where the executor's id is.
func hostname(name string) string {
	name = name[max(0, len(name)-labelLimit):]
	return hostnameOther.ReplaceAllString(hostnameStart.ReplaceAllString(name, ""), "_")
}

// executorLife is how the pod ends and whether it comes again.
func executorLife(e *draft) error {
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

// executorConfigMap mounts the ConfigMap that the driver makes of its own configuration files.
func executorConfigMap(e *draft) error {
	without, err := e.conf.Bool("spark.kubernetes.executor.disableConfigMap", false)
	if err != nil || without {
		return err
	}
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{
		Name: "spark-exec-" + digest("executors/"+e.r.AppID, 16) + "-conf-map",
	}}
	for _, file := range e.of.files {
		source.Items = append(source.Items, corev1.KeyToPath{Key: file, Path: file, Mode: new(int32(0o644))})
	}
	e.mount(corev1.Volume{Name: executorVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: confDir})
	return nil
}

// executorAccountStep gives the pod a service account: the template's, the executors' or the driver's
// (ExecutorKubernetesCredentialsFeatureStep, which looks at the older of the two fields only).
func executorAccountStep(e *draft) error {
	if e.pod.Spec.DeprecatedServiceAccount != "" {
		return nil
	}
	account, err := e.firstOf("spark.kubernetes.authenticate.executor.serviceAccountName", "spark.kubernetes.authenticate.driver.serviceAccountName")
	if account != "" {
		e.pod.Spec.ServiceAccountName, e.pod.Spec.DeprecatedServiceAccount = account, account
	}
	return err
}

// executorVolumesStep mounts the volumes that configuration declares (MountVolumesFeatureStep).
func executorVolumesStep(e *draft) error {
	volumes, err := e.volumes(RoleExecutor)
	if err != nil {
		return err
	}
	for i, v := range volumes {
		source, err := e.volumeSource(v, fmt.Sprint(e.of.name, "-pvc-", i))
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
func executorHadoopStep(e *draft) error {
	name, err := e.conf.String("spark.kubernetes.executor.hadoopConfigMapName", "")
	if err != nil || name == "" {
		return err
	}
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	e.mount(corev1.Volume{Name: hadoopVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: hadoopDir})
	e.env("HADOOP_CONF_DIR", hadoopDir)
	return nil
}
