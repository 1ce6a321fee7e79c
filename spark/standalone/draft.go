package standalone

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// The names of Request's template fields in errors and warnings.
const (
	fieldMasterSet     = "Master.StatefulSet"
	fieldWorkerSet     = "Workers.StatefulSet"
	fieldMasterService = "Master.Service"
	fieldWorkerService = "Workers.Service"
	fieldAutoscaler    = "Autoscaler"
)

// draft is the state of Build. Each step of Build adds to the state.
type draft struct {
	r Request
	// conf is the configuration of both daemons.
	conf *conf.Conf
	// digest is the digest of the options that are not secret. The field secret is the name of the Secret with the
	// secret options; it is empty if there are no secret options.
	digest, secret string
	warns          conf.Warnings
}

func keyError(key, format string, args ...any) error {
	return &Error{Key: key, Message: fmt.Sprintf(format, args...)}
}

func fieldError(field, format string, args ...any) error {
	return &Error{Field: field, Message: fmt.Sprintf(format, args...)}
}

// newDraft returns a draft of r. It checks the fields that every object needs.
func newDraft(r Request) (*draft, error) {
	d := &draft{r: r}
	if err := CheckName(r.Name); err != nil {
		return nil, err
	}

	if errs := validation.IsDNS1123Label(r.Namespace); len(errs) > 0 {
		return nil, fieldError("Namespace", "%q is not a valid namespace name: %s", r.Namespace, errs[0])
	}

	if d.r.ClusterDomain == "" {
		d.r.ClusterDomain = "cluster.local"
	}

	if d.r.DigestAnnotation == "" {
		d.r.DigestAnnotation = defaultDigestAnnotation
	}

	if errs := validation.IsValidLabelValue(r.OperatorName); len(errs) > 0 {
		return nil, fieldError("OperatorName", "%q is not a valid label value: %s", r.OperatorName, errs[0])
	}

	for _, err := range []error{
		CheckVersion(r.SparkVersion), CheckWorkers("InitWorkers", r.InitWorkers), CheckWorkers("MinWorkers", r.MinWorkers), CheckWorkers("MaxWorkers", r.MaxWorkers),
		checkLabels("Labels", r.Labels),
	} {
		if err != nil {
			return nil, err
		}
	}

	for _, m := range []struct {
		field, name string
		meta        Metadata
	}{
		{"Master.StatefulSetMeta", StatefulSetName(r.Name, RoleMaster), r.Master.StatefulSetMeta}, {"Master.ServiceMeta", serviceName(r.Name, RoleMaster), r.Master.ServiceMeta},
		{"Workers.StatefulSetMeta", StatefulSetName(r.Name, RoleWorker), r.Workers.StatefulSetMeta}, {"Workers.ServiceMeta", serviceName(r.Name, RoleWorker), r.Workers.ServiceMeta},
	} {
		if err := d.checkMeta(m.field, m.name, m.meta); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// CheckName returns an error if name is not valid as the name of a cluster.
func CheckName(name string) error {
	if len(name) > maxName || len(validation.IsDNS1035Label(name)) > 0 { // a label of the workers contains the name
		return fieldError("Name", "%q cannot be a cluster's name, since Services are named after it: use at most %d lower case letters, digits and '-', "+
			"beginning with a letter and not ending with '-'", name, maxName)
	}
	return nil
}

// CheckVersion returns an error if version is not valid as the Spark version of a cluster. An empty version is valid.
func CheckVersion(version string) error {
	if len(validation.IsValidLabelValue(version)) > 0 {
		return fieldError("SparkVersion", "%q is not a valid version, because a version becomes a label value and part of an image name: "+
			"at most 63 letters, digits, '-', '_' and '.'", conf.Shorten(version))
	}
	return nil
}

// MaxWorkers is the maximum number of workers in a StatefulSet.
const MaxWorkers = 1<<31 - 1

// CheckWorkers returns an error if n, the value of the named field, is not a valid number of workers.
func CheckWorkers(field string, n int64) error {
	if n < 0 || n > MaxWorkers {
		return fieldError(field, "%d is not a valid number of workers; it must be between 0 and %d", n, MaxWorkers)
	}
	return nil
}

// checkMeta returns an error for metadata that the API server or the caller does not allow, and adds a warning for
// metadata that has no effect.
func (d *draft) checkMeta(field, name string, m Metadata) error {
	if err := checkLabels(field+".labels", m.Labels); err != nil {
		return err
	}

	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		if errs := validation.IsQualifiedName(strings.ToLower(key)); len(errs) > 0 {
			return fieldError(field+".annotations", "%q is not a valid annotation name: %s", conf.Shorten(key), errs[0])
		}
	}

	if err := d.checkReserved(field, m.Labels, m.Annotations); err != nil {
		return err
	}

	if m.Name != "" && m.Name != name {
		d.warns.OfField(field, "name has no effect: the object has the name %q, by which other objects find it", name)
	}

	if m.Namespace != "" && m.Namespace != d.r.Namespace {
		d.warns.OfField(field, "namespace has no effect: the object is in the cluster's namespace")
	}
	return nil
}

// checkReserved returns an error for labels and annotations that are reserved for the caller. If there are several, the
// error always names the same label or annotation, because the error becomes part of a status.
func (d *draft) checkReserved(field string, labels, annotations map[string]string) error {
	reserved := func(key string) bool { return d.r.Reserved != "" && strings.HasPrefix(key, d.r.Reserved) }

	part, keys := ".labels", slices.Sorted(maps.Keys(labels))
	if !slices.ContainsFunc(keys, reserved) {
		part, keys = ".annotations", slices.Sorted(maps.Keys(annotations))
	}

	for _, key := range keys {
		if reserved(key) {
			return fieldError(field+part, "%s begins with %s, which is reserved for the operator; use another name", conf.Shorten(key), d.r.Reserved)
		}
	}
	return nil
}

// checkLabels returns an error for labels that the API server would reject.
func checkLabels(field string, labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if errs := validation.IsQualifiedName(key); len(errs) > 0 {
			return fieldError(field, "%q is not a valid label name: %s", conf.Shorten(key), errs[0])
		}

		if errs := validation.IsValidLabelValue(labels[key]); len(errs) > 0 {
			return fieldError(field, "%s is not a valid label value: %s", conf.Quote(key, labels[key]), errs[0])
		}
	}
	return nil
}
