package draft

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podcheck"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/language"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
)

// maxVersion is the maximum length of Request.SparkVersion. It equals the maximum length of an image's tag, because a
// version is often used as a tag.
const maxVersion = 128

// checkRequest rejects a Request in which a field that every object needs is missing or invalid. It also sets the
// default names.
func (d *Draft) checkRequest() error {
	r := &d.Request
	// The version goes into image names, once for every {{SPARK_VERSION}}.
	if len(r.SparkVersion) > maxVersion {
		return submit.FieldErrorf("SparkVersion", "should be a version such as %s.0, and no longer than %d bytes", line.Lines[len(line.Lines)-1], maxVersion)
	}

	if errs := validation.IsDNS1123Label(r.Namespace); len(errs) > 0 {
		return submit.FieldErrorf("Namespace", "%q is not a valid namespace name: %s", r.Namespace, errs[0])
	}

	if r.AppID == "" || !podcheck.IsLabelValue(r.AppID) {
		return submit.FieldErrorf("AppID", "%q should be a label value such as spark-0123456789abcdef0123456789abcdef", r.AppID)
	}

	if errs := validation.IsDNS1123Subdomain(r.ResourceNamePrefix); len(errs) > 0 {
		return submit.FieldErrorf("ResourceNamePrefix", "%q cannot be the prefix of object names: %s", r.ResourceNamePrefix, errs[0])
	}

	if r.DriverPodName == "" {
		r.DriverPodName = submit.DriverPodName(r.ResourceNamePrefix)
	}

	if len(validation.IsDNS1123Subdomain(r.DriverPodName)) > 0 {
		return submit.FieldErrorf("DriverPodName", "%q is not a valid pod name: use at most 253 lower case letters, digits, '-' and '.', beginning and ending with a letter or digit", r.DriverPodName)
	}

	if r.ConfigMapName == "" {
		r.ConfigMapName = names.Bounded("spark-drv-", r.ResourceNamePrefix, "-conf-map")
	}

	if errs := validation.IsDNS1123Subdomain(r.ConfigMapName); len(errs) > 0 {
		return submit.FieldErrorf("ConfigMapName", "%q is not a valid ConfigMap name: %s", r.ConfigMapName, errs[0])
	}
	return d.checkApplication()
}

// checkApplication rejects an invalid master, invalid labels, an application without a main class, and an application
// with both a Kerberos principal and a proxy user.
func (d *Draft) checkApplication() error {
	r := &d.Request
	if r.Master == "" {
		r.Master = submit.DefaultMaster
	}

	if !strings.HasPrefix(r.Master, "k8s://") {
		return submit.FieldErrorf("Master", "%q should begin with k8s://", r.Master)
	}

	if r.DriverMaster != "" && !ownMaster.MatchString(r.DriverMaster) {
		return submit.FieldErrorf("DriverMaster", "%q should be the address of a standalone cluster, such as spark://host:7077, or local", conf.Shorten(r.DriverMaster))
	}

	for _, f := range []struct {
		name   string
		labels map[string]string
	}{{"Labels", r.Labels}, {"Driver.Labels", r.Driver.Labels}, {"Executor.Labels", r.Executor.Labels}} {
		// The keys are sorted so that the same request gives the same error.
		for _, key := range conf.SortedKeys(f.labels) {
			if err := CheckLabel(key, f.labels[key]); err != nil {
				return submit.FieldErrorf(f.name, "%v", err)
			}
		}
	}

	if d.Language == language.Java && r.MainClass == "" {
		err := submit.Missing(submit.FieldErrorf("MainClass", "a Java or Scala application needs a main class: the operator does not read it from the jar"))
		if !d.jarCanBeOpened() {
			return err
		}

		d.onlyByJVM(err)
	}

	if name, _, ok := d.Conf.Lookup("spark.kerberos.principal"); ok && r.ProxyUser != "" {
		return submit.KeyErrorf(name, "cannot be used together with a proxy user; remove one of the two")
	}
	return nil
}

// ownMaster matches the masters other than Kubernetes with which a driver in a pod can run: a standalone cluster or the
// driver's own JVM (SparkContext.createTaskScheduler).
var ownMaster = regexp.MustCompile(`^(spark://.+|local(\[.+\])?)$`)
