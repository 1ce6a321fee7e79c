package draft

import (
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// rejectedKeys lists the keys with which spark-submit would read a file or a URL of the submitter, or use the
// submitter's credentials. It also lists keys that have no meaning on Kubernetes. A key with a trailing dot is a
// prefix. If byJVM is true, the real spark-submit in the application's image accepts the key. The field reason is the
// error message after the key. It gives the reason and, if there is one, the alternative.
var rejectedKeys = []struct {
	key    string
	byJVM  bool
	reason string
}{
	{"spark.kubernetes.authenticate.submission.", false, "the objects are created with the submitter's own credentials; remove the key"},
	{"spark.driver.bindAddress", false, "is not supported on Kubernetes: the driver binds to its pod's address"},
	{"spark.kubernetes.driver.podTemplateFile", true, "the operator never reads files and URLs that a configuration names; give the content as the driver's pod template"},
	{"spark.kubernetes.executor.podTemplateFile", true, "the operator never reads files and URLs that a configuration names; give the content as the executors' pod template"},
	{"spark.kubernetes.authenticate.driver.caCertFile", true, "a file of the submitter is never read; mount a Secret and use spark.kubernetes.authenticate.driver.mounted.caCertFile"},
	{"spark.kubernetes.authenticate.driver.clientKeyFile", true, "a file of the submitter is never read; mount a Secret and use spark.kubernetes.authenticate.driver.mounted.clientKeyFile"},
	{"spark.kubernetes.authenticate.driver.clientCertFile", true, "a file of the submitter is never read; mount a Secret and use spark.kubernetes.authenticate.driver.mounted.clientCertFile"},
	{"spark.kubernetes.kerberos.krb5.path", true, "a file of the submitter is never read; put it into a ConfigMap and use spark.kubernetes.kerberos.krb5.configMapName"},
}

// rejectKeys rejects configurations with which spark-submit would read from the submitter's machine.
func (d *Draft) rejectKeys() error {
	for _, entry := range rejectedKeys {
		for rest := range d.Conf.WithPrefix(entry.key) {
			if rest != "" && !strings.HasSuffix(entry.key, ".") || entry.key+rest == submit.RunnerAccountKey {
				continue
			}

			err := submit.KeyErrorf(entry.key+rest, "%s", entry.reason)
			if !entry.byJVM {
				return err
			}

			d.onlyByJVM(err)
		}
	}

	if err := d.customSteps(); err != nil {
		return err
	}

	if name, keytab, ok := d.Conf.Lookup("spark.kerberos.keytab"); ok && !strings.HasPrefix(keytab, "local:") {
		d.onlyByJVM(submit.KeyErrorf(name, "a file of the submitter is never read; mount the keytab from a Secret (spark.kubernetes.driver.secrets.*) and name it local://PATH"))
	}
	return d.rejectFiles()
}

// customSteps checks the feature steps that the user adds to the driver. Build supports only Spark's own step for
// Volcano; all other steps are classes that need a JVM.
func (d *Draft) customSteps() error {
	const key = "spark.kubernetes.driver.pod.featureSteps"

	classes, err := d.Conf.List(key, nil)
	if err != nil {
		return err
	}

	for _, class := range classes {
		if class == VolcanoClass {
			d.Volcano = true
			continue
		}
		// Only the first class is reported, because formatting a class takes time in proportion to the whole list.
		if d.NotNative == nil {
			d.onlyByJVM(submit.KeyErrorf(key, "%s cannot run outside a JVM; remove it, or submit this application by spark-submit", d.Conf.Quote(key, class)))
		}
	}

	switch {
	case !d.Conf.Has(VolcanoFileKey):
	case d.Volcano:
		d.onlyByJVM(submit.KeyErrorf(VolcanoFileKey, "the operator does not read files and URLs that a configuration names; set %s to the file's content (Spark 4.2 or later)", VolcanoJSONKey))
	default:
		d.Warn("%s: has no effect without %s in %s", VolcanoFileKey, VolcanoClass, key)
	}
	return d.executorSteps()
}

// executorSteps warns about Volcano's step for executors if the driver's image may lack the step, because the driver
// would then fail when it creates its first executor.
func (d *Draft) executorSteps() error {
	const key = "spark.kubernetes.executor.pod.featureSteps"

	classes, err := d.Conf.List(key, nil)
	if err == nil && slices.Contains(classes, VolcanoClass) && !d.Line.VolcanoShipped {
		d.Warn("%s: %s is in Spark's own images from 4.2 only; the image needs a Spark that was built with Volcano", key, VolcanoClass)
	}
	return err
}

// VolcanoClass is Spark's only feature step that runs only if spark.kubernetes.driver.pod.featureSteps names it.
const VolcanoClass = FeaturePackage + "VolcanoFeatureStep"

// The keys that hold a template of the PodGroup, or name its file.
const (
	VolcanoFileKey = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
	VolcanoJSONKey = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"
)
