package submit

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// DefaultMaster is the value of spark.master for a Request without a master: the API server's address inside a cluster.
const DefaultMaster = "k8s://https://kubernetes.default.svc"

// unnamed is the name that Spark gives to an application that has no name (KubernetesConf.appName).
const unnamed = "spark"

// Spark's labels (org.apache.spark.deploy.k8s.Constants) and the values of RoleLabel. The labels are reserved for
// Spark: users cannot set them.
const (
	VersionLabel  = "spark-version"
	SelectorLabel = "spark-app-selector"
	AppNameKey    = "spark-app-name"
	RoleLabel     = "spark-role"

	RoleDriver   = "driver"
	RoleExecutor = "executor"
	// RoleSubmitter is the value of RoleLabel on a runner pod, which does not have the label SelectorLabel, because a
	// stopping driver deletes objects with that label.
	RoleSubmitter = "submitter"

	// ExecutorIDLabel is the label of executor pods with the executor's ID.
	ExecutorIDLabel = "spark-exec-id"
)

// step is one of Spark's driver feature steps.
type step struct {
	// name is the class name in org.apache.spark.deploy.k8s.features.
	name string
	// optional is true if users can exclude the step with spark.kubernetes.driver.pod.excludedFeatureSteps. The pod
	// cannot run without the steps that are not optional.
	optional bool
	apply    func(*draft) error
}

// steps are Spark's driver feature steps, in Spark's order (KubernetesDriverBuilder.buildFromFeatures).
var steps = []step{
	{"BasicDriverFeatureStep", false, basicStep},
	{"DriverKubernetesCredentialsFeatureStep", false, credentialsStep},
	{"DriverServiceFeatureStep", false, serviceStep},
	{"NetworkPolicyFeatureStep", true, networkPolicyStep},
	{"MountSecretsFeatureStep", true, mountSecretsStep},
	{"EnvSecretsFeatureStep", true, envSecretsStep},
	{"MountVolumesFeatureStep", true, mountVolumesStep},
	{"DriverCommandFeatureStep", false, commandStep},
	{"HadoopConfDriverFeatureStep", true, hadoopConfStep},
	{"KerberosConfDriverFeatureStep", true, kerberosConfStep},
	{"PodTemplateConfigMapStep", false, podTemplateStep},
	{"LocalDirsFeatureStep", true, localDirsStep},
	{"VolcanoFeatureStep", true, volcanoStep},
}

const featurePackage = "org.apache.spark.deploy.k8s.features."

// draft is the state that the steps build for one pod.
type draft struct {
	r    Request
	q    quirks
	kind resourceType
	// role is the pod's role, driver or executor. Steps shared by both roles use it to choose the configuration keys.
	role string
	// claims is the number of PersistentVolumeClaims that the steps have built so far.
	claims int
	// volcano is true if the user names Spark's VolcanoFeatureStep.
	volcano bool
	// conf is the configuration of the user and the Request, which the steps read. props starts as a copy of conf and
	// becomes spark.properties, to which the steps write.
	conf, props *conf.Conf
	// variables are the names of the driver's variables; nil until driverDefines needs them.
	variables map[string]bool
	// labels contains all labels of the driver pod.
	labels map[string]string
	pod    *corev1.Pod
	// spark is the Spark container. The function finish adds it to the pod.
	spark corev1.Container
	// executors is the pod in the executors' template, or nil without a template.
	executors *corev1.Pod
	before    []Object
	// extra contains the fields of the driver's template that the types of pod and spark do not have.
	extra map[string]any
	// notNative is the first error that spark-submit in a JVM would not return.
	notNative *Error
	warns     conf.Messages
}

// Build returns the objects of one submission. It is a pure function: the same Request gives the same objects, and
// Build does not change r. If a Request cannot work, Build returns an *Error.
func Build(r Request) (Objects, error) {
	d, err := runSteps(r)
	if err != nil {
		return Objects{}, err
	}
	if err := d.finish(); err != nil {
		return Objects{}, AsError(err)
	}
	if d.notNative != nil {
		return Objects{}, d.notNative
	}
	return Objects{Before: d.before, Driver: d.pod, DriverExtra: d.extra, Warnings: d.warns.All()}, nil
}

// runSteps returns a draft of r after all steps.
func runSteps(r Request) (*draft, error) {
	d, err := newDraft(r)
	if err != nil {
		return nil, err
	}
	excluded, err := d.excludedSteps()
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		if slices.Contains(excluded, s.name) {
			continue
		}
		if err := s.apply(d); err != nil {
			return nil, AsError(err)
		}
	}
	return d, nil
}

func newDraft(r Request) (*draft, error) {
	if r.Resource == noResource {
		r.Resource = ""
	}
	q, warning := quirksFor(r.SparkVersion)
	d := &draft{r: r, q: q, kind: typeOf(r.Resource), role: RoleDriver, conf: r.Conf.WithEnvironment(r.Environment).WithSystemProperties(r.SystemProperties)}
	if err := d.checkRequest(); err != nil {
		return nil, err
	}
	if warning != "" {
		if r.StrictVersion {
			// This error is returned immediately: the other checks depend on the version.
			return nil, &Error{Field: "SparkVersion", NotNative: true, Message: fmt.Sprintf("%q is not a supported version of Spark; use a version from one of the release lines %s",
				conf.Shorten(r.SparkVersion), strings.Join(SupportedVersions(), ", "))}
		}
		d.warn("%s", warning)
	}
	if err := d.rejectKeys(); err != nil {
		return nil, AsError(err)
	}
	d.setDerived()
	if err := d.checkConf(); err != nil {
		return nil, AsError(err)
	}
	d.warnUnresolved()
	d.props = d.conf.Clone()
	t, err := d.template("DriverTemplate", r.DriverTemplate, "spark.kubernetes.driver.podTemplateContainerName", overlay.DriverContainer)
	if err != nil {
		return nil, AsError(err)
	}
	d.pod, d.spark, d.extra = t.pod, t.spark, t.extra
	d.warnReferences()
	if err := d.checkAccounts(); err != nil {
		return nil, AsError(err)
	}
	return d, nil
}

// maxVersion is the maximum length of Request.SparkVersion. It equals the maximum length of an image's tag, because a
// version is often used as a tag.
const maxVersion = 128

// checkRequest rejects a Request in which a field that every object needs is missing or invalid. It also sets the
// default names.
func (d *draft) checkRequest() error {
	r := &d.r
	// The version goes into image names, once for every {{SPARK_VERSION}}.
	if len(r.SparkVersion) > maxVersion {
		return FieldErrorf("SparkVersion", "should be a version such as %s.0, and no longer than %d bytes", lines[len(lines)-1], maxVersion)
	}
	if errs := validation.IsDNS1123Label(r.Namespace); len(errs) > 0 {
		return FieldErrorf("Namespace", "%q is not a valid namespace name: %s", r.Namespace, errs[0])
	}
	if errs := validation.IsValidLabelValue(r.AppID); r.AppID == "" || len(errs) > 0 {
		return FieldErrorf("AppID", "%q should be a label value such as spark-0123456789abcdef0123456789abcdef", r.AppID)
	}
	if errs := validation.IsDNS1123Subdomain(r.ResourceNamePrefix); len(errs) > 0 {
		return FieldErrorf("ResourceNamePrefix", "%q cannot be the prefix of object names: %s", r.ResourceNamePrefix, errs[0])
	}
	if r.DriverPodName == "" {
		r.DriverPodName = DriverPodName(r.ResourceNamePrefix)
	}
	if len(validation.IsDNS1123Subdomain(r.DriverPodName)) > 0 {
		return FieldErrorf("DriverPodName", "%q is not a valid pod name: use at most 253 lower case letters, digits, '-' and '.', beginning and ending with a letter or digit", r.DriverPodName)
	}
	if r.ConfigMapName == "" {
		r.ConfigMapName = bounded("spark-drv-", r.ResourceNamePrefix, "-conf-map")
	}
	if errs := validation.IsDNS1123Subdomain(r.ConfigMapName); len(errs) > 0 {
		return FieldErrorf("ConfigMapName", "%q is not a valid ConfigMap name: %s", r.ConfigMapName, errs[0])
	}
	return d.checkApplication()
}

// checkApplication rejects an invalid master, invalid labels, an application without a main class, and an application
// with both a Kerberos principal and a proxy user.
func (d *draft) checkApplication() error {
	r := &d.r
	if r.Master == "" {
		r.Master = DefaultMaster
	}
	if !strings.HasPrefix(r.Master, "k8s://") {
		return FieldErrorf("Master", "%q should begin with k8s://", r.Master)
	}
	if r.DriverMaster != "" && !ownMaster.MatchString(r.DriverMaster) {
		return FieldErrorf("DriverMaster", "%q should be the address of a standalone cluster, such as spark://host:7077, or local", conf.Shorten(r.DriverMaster))
	}
	for _, f := range []struct {
		name   string
		labels map[string]string
	}{{"Labels", r.Labels}, {"Driver.Labels", r.Driver.Labels}, {"Executor.Labels", r.Executor.Labels}} {
		// The keys are sorted so that the same request gives the same error.
		for _, key := range slices.Sorted(maps.Keys(f.labels)) {
			if err := checkLabel(key, f.labels[key]); err != nil {
				return FieldErrorf(f.name, "%v", err)
			}
		}
	}
	if d.kind == typeJava && r.MainClass == "" {
		err := Missing(FieldErrorf("MainClass", "a Java or Scala application needs a main class: the operator does not read it from the jar"))
		if !d.jarCanBeOpened() {
			return err
		}
		d.onlyByJVM(err)
	}
	if name, _, ok := d.conf.Lookup("spark.kerberos.principal"); ok && r.ProxyUser != "" {
		return KeyErrorf(name, "cannot be used together with a proxy user; remove one of the two")
	}
	return nil
}

// ownMaster matches the masters other than Kubernetes with which a driver in a pod can run: a standalone cluster or the
// driver's own JVM (SparkContext.createTaskScheduler).
var ownMaster = regexp.MustCompile(`^(spark://.+|local(\[.+\])?)$`)

// setDerived sets the keys whose values come from fields of the Request, and the keys that spark-submit always sets.
func (d *draft) setDerived() {
	c, r := d.conf, d.r
	if warning := d.conf.DropForeign(); warning != "" {
		d.warn("%s", warning)
	}
	if c.Has("spark.driver.host") {
		d.warn("spark.driver.host: has no effect: the driver is reached by its Service")
		c.Delete("spark.driver.host")
	}
	for _, e := range [...][2]string{
		{"SPARK_DRIVER_MEMORY", "spark.driver.memory"},
		{"SPARK_EXECUTOR_MEMORY", "spark.executor.memory"},
		{"SPARK_EXECUTOR_CORES", "spark.executor.cores"},
	} {
		if value, ok := r.Environment[e[0]]; ok {
			c.SetIfMissing(e[1], value)
		}
	}
	d.override("spark.master", cmp.Or(r.DriverMaster, r.Master))
	d.override("spark.kubernetes.namespace", r.Namespace)
	d.override("spark.kubernetes.driver.pod.name", r.DriverPodName)
	d.override("spark.submit.deployMode", "cluster")
	d.override("spark.app.id", r.AppID)
	d.r.AppName = d.appName()
	if c.Set("spark.app.name", d.r.AppName); r.Unnamed {
		c.Delete("spark.app.name")
	}
	if !r.SubmitTime.IsZero() {
		c.SetIfMissing("spark.app.submitTime", strconv.FormatInt(r.SubmitTime.UnixMilli(), 10))
	}
	c.SetIfMissing("spark.submit.pyFiles", "")
	if d.kind == typeJava {
		jars, _ := c.Get("spark.jars")
		c.Set("spark.jars", joinNonEmpty(jars, r.Resource))
	}
}

func (d *draft) appName() string {
	if d.r.Unnamed {
		return unnamed
	}
	if d.r.AppName != "" {
		return d.r.AppName
	}
	if name, _ := d.conf.Get("spark.app.name"); name != "" {
		return name
	}
	if d.kind == typeJava {
		return d.r.MainClass
	}
	return d.r.Resource[strings.LastIndexByte(d.r.Resource, '/')+1:]
}

func joinNonEmpty(a, b string) string {
	if strings.TrimSpace(a) == "" || b == "" {
		return strings.TrimSpace(a) + b
	}
	return a + "," + b
}

// excludedSteps returns the names of the steps that the user excludes.
func (d *draft) excludedSteps() ([]string, error) {
	const key = "spark.kubernetes.driver.pod.excludedFeatureSteps"
	classes, err := d.conf.List(key, nil)
	if err != nil || len(classes) == 0 {
		return nil, AsError(err)
	}
	if !d.q.excludedSteps {
		d.warn("%s: has no effect in Spark %s", key, d.q)
		return nil, nil
	}
	var names []string
	for _, class := range classes {
		name, ours := strings.CutPrefix(class, featurePackage)
		i := slices.IndexFunc(steps, func(s step) bool { return ours && s.name == name })
		switch {
		case i < 0 && d.warns.Full():
			d.warns.Add("") // this warning is only counted, because formatting the class takes time
		case i < 0:
			d.warn("%s: %s is not one of Spark's driver feature steps", key, d.conf.Quote(key, class))
		case !steps[i].optional:
			return nil, KeyErrorf(key, "the driver cannot run without %s", name)
		default:
			names = append(names, name)
		}
	}
	return names, nil
}

// meta returns the metadata of an object. The object belongs to the Request's owner.
func (d *draft) meta(name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Namespace: d.r.Namespace}
	if len(d.r.Labels) > 0 {
		m.Labels = maps.Clone(d.r.Labels)
	}
	m.OwnerReferences = Owners(d.r.Owner)
	return m
}

// Owners returns the owner reference, marked as the controller, or nil if the owner has no UID.
func Owners(owner metav1.OwnerReference) []metav1.OwnerReference {
	if owner.UID == "" {
		return nil
	}
	controller := *owner.DeepCopy()
	controller.Controller = new(true)
	return []metav1.OwnerReference{controller}
}

// add appends an object to the objects that are created before the driver pod.
func (d *draft) add(o Object) { d.before = append(d.before, o) }

// configMap adds an immutable ConfigMap to the objects that are created before the driver pod.
func (d *draft) configMap(name string, data map[string]string) {
	d.add(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: d.meta(name),
		Data:       data,
		Immutable:  new(true),
	})
}

// mount adds a volume to the pod and mounts it into the Spark container.
func (d *draft) mount(v corev1.Volume, m corev1.VolumeMount) {
	m.Name = v.Name
	d.pod.Spec.Volumes = append(d.pod.Spec.Volumes, v)
	d.spark.VolumeMounts = append(d.spark.VolumeMounts, m)
}

func (d *draft) env(name, value string) {
	d.spark.Env = append(d.spark.Env, corev1.EnvVar{Name: name, Value: value})
}
