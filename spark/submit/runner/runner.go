// Package runner builds a pod that submits an application with the real spark-submit, in the application's own image.
// It is for requests that need a JVM, a file system's client or a file of the image (submit.Error.NotNative), and for
// users who prefer Spark's own code. It checks a request with package native, and gives spark-submit the same
// templates, overlays and configuration.
//
// # Compatibility
//
// The package is part of the library that package spark/submit describes, and follows semantic versioning with the
// module.
package runner

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// deadline is the runner pod's activeDeadlineSeconds. The time counts from the pod's start on a node and includes
// the image pull; a submission takes some ten seconds. The deadline ends a spark-submit that hangs, for example on a
// file system that does not answer.
const deadline = 1800

// The resources of a runner. Spark-submit needs some 10 CPU-seconds and 260 MiB. The heap of spark-submit is half of
// the memory limit. The option --packages and the clients of file systems use much of the heap.
const (
	requestCPU    = "250m"
	requestMemory = "1Gi"
	// jvmOptions limits the heap and the depth of stack traces. Kubernetes keeps only the last 2048 bytes of a log
	// as the pod's message, so a whole stack trace would displace the message of the exception.
	jvmOptions = "-XX:MaxRAMPercentage=50 -XX:MaxJavaStackTraceDepth=6"
)

// The path of spark-submit in every Spark image, and the names of the runner's directory and volumes.
const (
	sparkSubmit = "/opt/spark/bin/spark-submit"
	filesDir    = "/opt/sparkoperator/submit"
	filesVolume = "sparkoperator-submit"
	tempVolume  = "sparkoperator-tmp"
)

// Objects contains the objects that submit an application with the real spark-submit, in a pod of the application's own
// image. The caller must create the Secret first.
type Objects struct {
	// Secret contains the pod templates and the whole configuration, which may contain credentials. Spark-submit reads
	// both.
	Secret *corev1.Secret
	// Policy opens the Request's ExecutorPorts in addition to the NetworkPolicy that spark-submit creates. It is nil if
	// there are no ports to open.
	Policy *networkingv1.NetworkPolicy
	// Pod runs spark-submit once. It ends when the driver pod and its objects exist. Its service account
	// (Request.RunnerServiceAccount) needs the rights to create the objects that spark-submit creates.
	Pod *corev1.Pod
	// Warnings are messages for the user.
	Warnings []string
}

// Build returns a pod that submits the application with spark-submit. It accepts requests that native.Build rejects
// only because they need a JVM, and rejects every other request that native.Build rejects. Like native.Build, it is a
// pure function: the same Request gives the same objects. Spark-submit determines the submission time itself, so
// SubmitTime has no effect.
//
// As in native.Build, the Request determines namespace, driver pod name, master, owner, labels and templates, whatever
// the configuration says. A second runner of the same Request does not create a second driver, since the driver pod's
// name is taken. AppID and ConfigMapName have no effect, because spark-submit generates these two values itself.
// SystemProperties have no effect either, because "${system:NAME}" refers to the runner's own JVM. The Service, the
// ConfigMaps and the claims that spark-submit creates are owned by the driver pod alone.
//
// The runner gets the settings with which the driver reaches file systems, because spark-submit must reach the same
// file systems: environment, Secrets and ConfigMaps mounted into the Spark container, node placement, the user's labels
// and annotations. It has no sidecars, init containers, ports or claims. Its security context is that of the driver,
// but without privileges, capabilities and privilege escalation, and with a seccomp profile. Like the driver, it may
// run as root unless the driver's context forbids it.
func Build(r submit.Request) (Objects, error) {
	if r.DriverMaster != "" {
		return Objects{}, submit.FieldErrorf("DriverMaster", "the driver's master is %s, but only applications whose master is Kubernetes can use spark-submit in a pod; remove what needs a JVM, or the master", conf.Shorten(r.DriverMaster))
	}

	r.StrictVersion = false // the image's spark-submit knows its own version

	_, err := native.Build(r)
	if wrong, ok := errors.AsType[*submit.Error](err); err != nil && (!ok || !wrong.NotNative) {
		return Objects{}, err
	}

	d, err := draft.New(&r)
	if err != nil {
		return Objects{}, err
	}

	files := &fileSet{data: map[string][]byte{}}
	if err := writeTemplates(d, files); err != nil {
		return Objects{}, submit.AsError(err)
	}

	policy, err := openPorts(d)
	if err != nil {
		return Objects{}, submit.AsError(err)
	}

	c := configuration(d, r.Conf, files)
	files.add("spark.properties", "spark.properties", []byte(conf.MarshalProperties(c.Sorted())))

	pod, err := buildPod(d, files)
	if err != nil {
		return Objects{}, submit.AsError(err)
	}

	if err := files.check(); err != nil {
		return Objects{}, err
	}

	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: d.Meta(pod.Name),
		Data:       files.data,
		Immutable:  new(true),
	}
	return Objects{Secret: secret, Policy: policy, Pod: pod, Warnings: d.Warns.All()}, nil
}

// fileSet collects the files that spark-submit reads. The field data is the data of a Secret with the contents of
// the files. The field items maps the keys of the Secret to the paths of the files in the Secret's volume.
type fileSet struct {
	data  map[string][]byte
	items []corev1.KeyToPath
}

// add adds a file at a path below filesDir and returns the file's full path.
func (f *fileSet) add(key, path string, content []byte) string {
	f.data[key] = slices.Clone(content)
	f.items = append(f.items, corev1.KeyToPath{Key: key, Path: path})
	return filesDir + "/" + path
}

// addAll adds files to the directory dir below filesDir and returns the directory's full path, or an empty string if
// there are no files.
func (f *fileSet) addAll(dir string, files map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f.add(dir+"."+name, dir+"/"+name, []byte(files[name]))
	}

	if len(files) == 0 {
		return ""
	}
	return filesDir + "/" + dir
}

// check returns an error for data that a Secret cannot hold.
func (f *fileSet) check() error {
	total := 0
	for _, key := range slices.Sorted(maps.Keys(f.data)) {
		if errs := validation.IsConfigMapKey(key); len(errs) > 0 {
			return submit.FieldErrorf("Conf", "%q is not a valid Secret key: %s", key, errs[0])
		}

		total += len(f.data[key])
	}

	if total > corev1.MaxSecretSize {
		return submit.FieldErrorf("Conf", "with the pod templates it takes %d bytes, more than a Secret holds (%d); make the configuration smaller", total, corev1.MaxSecretSize)
	}
	return nil
}

// lateDriverEnv lists the variables that spark-submit sets on a driver even if the driver's template sets them too
// (BasicDriverFeatureStep). Spark-submit takes other variables from its own environment, which equals the driver's, or
// from files of SPARK_CONF_DIR.
var lateDriverEnv = []string{"SPARK_APPLICATION_ID", "SPARK_DRIVER_BIND_ADDRESS"}

// writeTemplates applies the overlays to the pod templates and adds the templates to the runner's files. The driver's
// template contains the driver's owner reference. The reference does not set blockOwnerDeletion, because this field
// requires a permission that the service accounts of drivers do not have.
func writeTemplates(d *draft.Draft, files *fileSet) error {
	if d.Request.Driver.MemoryLimit != nil {
		d.Warn("the driver's memoryLimit has no effect: spark-submit computes the limit from spark.driver.memory and spark.driver.memoryOverhead; set spark.driver.memoryOverhead")
	}

	for _, v := range d.Request.Driver.Env {
		if slices.Contains(lateDriverEnv, v.Name) {
			d.Warn("the driver's env of %s has no effect: spark-submit sets the variable itself", v.Name)
		}
	}

	pod, spark := d.Pod.DeepCopy(), *d.Spark.DeepCopy()
	draft.SetPodDefaults(pod, &spark)
	pod.APIVersion, pod.Kind = "v1", "Pod"

	pod.OwnerReferences = submit.Owners(d.Request.Owner)
	for i := range pod.OwnerReferences {
		pod.OwnerReferences[i].BlockOwnerDeletion = nil
	}

	pod.Spec.Containers = append(pod.Spec.Containers, spark)
	if err := draft.ApplyOverlay("Driver", pod, spark.Name, d.Request.Driver); err != nil {
		return err
	}

	if len(pod.Spec.Containers) > 1 {
		if _, ok := pod.Annotations[submit.DefaultContainerAnnotation]; !ok {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, submit.DefaultContainerAnnotation, spark.Name)
		}
	}

	tree, err := d.KeepExtra("DriverTemplate", pod, spark.Name, d.Extra, d.Request.Driver)
	if err != nil {
		return err
	}

	text, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		return err
	}

	files.add("driver.json", "driver.json", text)
	// From here on the draft describes the runner, which is derived from the driver's template.
	d.Pod = pod

	d.Spark = pod.Spec.Containers[slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == spark.Name })]
	if !d.HasExecutorTemplate() {
		return nil
	}

	d.WarnOverwritten()

	executor, err := draft.ExecutorTemplate(d)
	if err != nil {
		return err
	}

	files.add("executor.json", "executor.json", []byte(executor))
	return nil
}

// configuration returns the user's configuration, overridden by the Request's fields. If spark-submit has a
// configuration key for a field, configuration sets this key. Any other field becomes a file.
func configuration(d *draft.Draft, given *conf.Conf, files *fileSet) *conf.Conf {
	c := given.Clone()
	c.Delete(slices.DeleteFunc(c.Keys(), func(key string) bool { return strings.HasPrefix(key, "spark.") })...)
	// Spark generates its own ID, and executors reach the driver through its Service.
	c.Delete("spark.app.id", "spark.driver.host", submit.RunnerAccountKey)
	const driverFile, executorFile = "spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile"

	replaced := []string{driverFile}
	if _, ok := files.data["executor.json"]; ok {
		replaced = append(replaced, executorFile)
		c.Set(executorFile, filesDir+"/executor.json")
	}

	for _, key := range replaced {
		if given.Has(key) {
			d.Warn("%s: has no effect: spark-submit gets the pod template that the operator writes", key)
		}
	}

	appName := d.Request.AppName
	if d.Request.Unnamed {
		appName = "" // spark-submit uses the program's own name

		c.Delete("spark.app.name")
	}

	for _, pair := range [][2]string{
		{"spark.master", d.Request.Master},
		{"spark.submit.deployMode", "cluster"},
		{"spark.kubernetes.namespace", d.Request.Namespace},
		{"spark.kubernetes.driver.pod.name", d.Request.DriverPodName},
		{"spark.kubernetes.submission.waitAppCompletion", "false"},
		{"spark.app.name", appName},
		{driverFile, filesDir + "/driver.json"},
		{"spark.kubernetes.driver.podTemplateContainerName", d.Spark.Name},
	} {
		if pair[1] != "" {
			c.Set(pair[0], pair[1])
		}
	}

	for _, labels := range []map[string]string{d.Request.Driver.Labels, d.Request.Labels} {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			c.Set("spark.kubernetes.driver.label."+key, labels[key])
		}
	}

	for _, key := range slices.Sorted(maps.Keys(d.Request.Labels)) {
		c.Set("spark.kubernetes.executor.label."+key, d.Request.Labels[key])
	}

	addSecretFiles(d, c, files)
	return c
}

// addSecretFiles adds the Request's secret files to the runner's files, and sets the keys that name them.
func addSecretFiles(d *draft.Draft, c *conf.Conf, files *fileSet) {
	for _, f := range []struct {
		key, file string
		content   []byte
	}{
		{"spark.kubernetes.authenticate.driver.caCertFile", "ca-cert", d.Request.DriverCredentials.CACert},
		{"spark.kubernetes.authenticate.driver.clientKeyFile", "client-key", d.Request.DriverCredentials.ClientKey},
		{"spark.kubernetes.authenticate.driver.clientCertFile", "client-cert", d.Request.DriverCredentials.ClientCert},
		{draft.VolcanoFileKey, "pod-group.yaml", d.Request.PodGroupTemplate},
	} {
		if len(f.content) > 0 {
			c.Set(f.key, files.add(f.file, f.file, f.content))
		}
	}

	if d.Request.Keytab != nil {
		c.Set("spark.kerberos.keytab", files.add("keytab", "keytab/"+d.Request.Keytab.Name, d.Request.Keytab.Content))
	}

	if d.Request.Krb5Conf != nil {
		// Spark mounts the file under this name, whatever its original name.
		c.Set("spark.kubernetes.kerberos.krb5.path", files.add("krb5.conf", "krb5.conf", d.Request.Krb5Conf.Content))
	}
}

// commandLine returns the command line of spark-submit, which the image's entrypoint runs like any other command. The
// command line contains no value of the configuration.
func commandLine(d *draft.Draft) []string {
	args := []string{sparkSubmit, "--properties-file", filesDir + "/spark.properties", "--master", d.Request.Master, "--deploy-mode", "cluster"}
	if d.Request.MainClass != "" {
		args = append(args, "--class", d.Request.MainClass)
	}

	if d.Request.ProxyUser != "" {
		args = append(args, "--proxy-user", d.Request.ProxyUser)
	}

	application := d.Request.Resource
	if application == "" {
		application = draft.NoResource
	}

	args = append(append(args, application), d.Request.Arguments...)
	for i := range args {
		args[i] = submit.EscapeArg(args[i])
	}
	return args
}

// resources returns the resource requests and limits of a runner.
func resources() corev1.ResourceRequirements {
	memory := resource.MustParse(requestMemory)
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(requestCPU), corev1.ResourceMemory: memory},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
	}
}
