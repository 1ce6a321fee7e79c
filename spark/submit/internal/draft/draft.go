// Package draft holds the state of one pod while Spark's feature steps build it: the request, the configuration that
// the steps read, the properties that they write, the pod, and the objects that are created before it.
//
// New checks the request before the first step (request.go, keys.go, submitter.go, check.go, account.go) and derives
// the keys that spark-submit sets itself (derive.go). The rest is what the steps of drivers, executors and runners
// share: templates and overlays (template.go, executors.go), memory, files, volumes, and warnings.
package draft

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/language"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
)

// FeaturePackage is the prefix of the class names of Spark's feature steps.
const FeaturePackage = "org.apache.spark.deploy.k8s.features."

// Draft is the state that the steps build for one pod.
type Draft struct {
	Request  submit.Request
	Line     line.Line
	Language language.Language
	// Role is the pod's role, driver or executor. Steps shared by both roles use it to choose the configuration keys.
	Role string
	// Claims is the number of PersistentVolumeClaims that the steps have built so far.
	Claims int
	// Volcano is true if the user names Spark's VolcanoFeatureStep.
	Volcano bool
	// Conf is the configuration of the user and the Request, which the steps read. Props starts as a copy of Conf and
	// becomes spark.properties, to which the steps write.
	Conf, Props *conf.Conf
	// variables are the names of the driver's variables; nil until driverDefines needs them.
	variables map[string]bool
	// Labels contains all labels of the driver pod.
	Labels map[string]string
	Pod    *corev1.Pod
	// Spark is the Spark container. It is added to the pod after the steps.
	Spark corev1.Container
	// Executors is the pod in the executors' template, or nil without a template.
	Executors *corev1.Pod
	Before    []submit.Object
	// Extra contains the fields of the driver's template that the types of Pod and Spark do not have.
	Extra map[string]any
	// NotNative is the first error that spark-submit in a JVM would not return.
	NotNative *submit.Error
	Warns     conf.Messages
}

// New returns the draft of a driver before the first step. It rejects requests that no step needs to see, and does not
// change r.
func New(r *submit.Request) (*Draft, error) {
	q, warning := line.Of(r.SparkVersion)

	d := &Draft{Request: *r, Line: q, Role: submit.RoleDriver, Conf: r.Conf.WithEnvironment(r.Environment).WithSystemProperties(r.SystemProperties)}
	if r.Resource == NoResource {
		d.Request.Resource = ""
	}

	d.Language = language.Of(d.Request.Resource)
	if err := d.checkRequest(); err != nil {
		return nil, err
	}

	if warning != "" {
		if r.StrictVersion {
			// This error is returned immediately: the other checks depend on the version.
			return nil, &submit.Error{Field: "SparkVersion", NotNative: true, Message: fmt.Sprintf("%q is not a supported version of Spark; use a version from one of the release lines %s",
				conf.Shorten(r.SparkVersion), strings.Join(submit.SupportedVersions(), ", "))}
		}

		d.Warn("%s", warning)
	}

	if err := d.rejectKeys(); err != nil {
		return nil, submit.AsError(err)
	}

	d.setDerived()

	if err := d.checkConf(); err != nil {
		return nil, submit.AsError(err)
	}

	d.warnUnresolved()
	d.Props = d.Conf.Clone()

	t, err := d.template("DriverTemplate", r.DriverTemplate, "spark.kubernetes.driver.podTemplateContainerName", overlay.DriverContainer)
	if err != nil {
		return nil, submit.AsError(err)
	}

	d.Pod, d.Spark, d.Extra = t.pod, t.spark, t.extra
	d.warnReferences()

	if err := d.checkAccounts(); err != nil {
		return nil, submit.AsError(err)
	}
	return d, nil
}

// Meta returns the metadata of an object. The object belongs to the Request's owner.
func (d *Draft) Meta(name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Namespace: d.Request.Namespace}
	if len(d.Request.Labels) > 0 {
		m.Labels = maps.Clone(d.Request.Labels)
	}

	m.OwnerReferences = submit.Owners(d.Request.Owner)
	return m
}

// Add appends an object to the objects that are created before the driver pod.
func (d *Draft) Add(o submit.Object) { d.Before = append(d.Before, o) }

// AddConfigMap adds an immutable ConfigMap to the objects that are created before the driver pod.
func (d *Draft) AddConfigMap(name string, data map[string]string) {
	d.Add(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: d.Meta(name),
		Data:       data,
		Immutable:  new(true),
	})
}

// Mount adds a volume to the pod and mounts it into the Spark container.
func (d *Draft) Mount(v corev1.Volume, m corev1.VolumeMount) {
	m.Name = v.Name
	d.Pod.Spec.Volumes = append(d.Pod.Spec.Volumes, v)
	d.Spark.VolumeMounts = append(d.Spark.VolumeMounts, m)
}

// AddEnv sets a variable of the Spark container.
func (d *Draft) AddEnv(name, value string) {
	d.Spark.Env = append(d.Spark.Env, corev1.EnvVar{Name: name, Value: value})
}

// onlyByJVM records an error that spark-submit would not return. Build then continues, because an error that
// spark-submit would also return takes precedence. If Build finds no such error, it returns the first error that
// onlyByJVM recorded.
func (d *Draft) onlyByJVM(err error) {
	if wrong, ok := errors.AsType[*submit.Error](err); ok && d.NotNative == nil {
		wrong.NotNative = true
		d.NotNative = wrong
	}
}

// FirstOf goes through the given keys in order, and returns the value of the first key that is set. If no key is set,
// it returns an empty string.
func (d *Draft) FirstOf(keys ...string) (string, error) {
	for _, key := range keys {
		if _, _, ok := d.Conf.Lookup(key); ok {
			return d.Conf.String(key, "")
		}
	}
	return "", nil
}

// RequireKnown returns an error if the draft is a bound and the value of a key has references that only the driver or
// spark-submit can replace. It is for keys whose value decides which other settings have an effect.
func (d *Draft) RequireKnown(key string) error {
	text, _ := d.Conf.Get(key)
	if !d.Request.Bound || !strings.Contains(text, "${") {
		return nil
	}

	if replaced, err := d.Conf.Expand(text); err != nil || strings.Contains(replaced, "${") {
		return submit.KeyErrorf(key, "has a reference that only Spark can replace, so the pods are unknown; write the value")
	}
	return nil
}

// NoResource is the primary resource of an application that has no file of its own.
const NoResource = "spark-internal"

// AddSecret adds an immutable Secret to the objects that are created before the pod. It returns an error if the Secret
// is too large; the error names the field from which the data comes.
func (d *Draft) AddSecret(field, name string, data map[string][]byte) error {
	total := 0

	content := make(map[string][]byte, len(data))
	for key, value := range data {
		content[key] = slices.Clone(value)
		total += len(value)
	}

	if total > corev1.MaxSecretSize {
		return submit.FieldErrorf(field, "%d bytes are more than a Secret holds (%d)", total, corev1.MaxSecretSize)
	}

	d.Add(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: d.Meta(name),
		Data:       content,
		Immutable:  new(true),
	})
	return nil
}
