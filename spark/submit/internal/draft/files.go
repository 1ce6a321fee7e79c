package draft

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// The directory of a pod with the configuration files of the driver, and the file with the properties.
const (
	ConfDir        = "/opt/spark/conf"
	PropertiesFile = "spark.properties"
)

// maxConfigMap is the maximum size of a ConfigMap in bytes (corev1.MaxSecretSize, and the default of
// spark.kubernetes.configMap.maxSize).
const maxConfigMap = 1 << 20

// ConfFiles returns the files of Request.ConfFiles that fit into the driver's ConfigMap. It selects the files as Spark
// does (KubernetesClientUtils.loadSparkConfDirFiles): it adds small files first, until
// spark.kubernetes.configMap.maxSize is reached.
func (d *Draft) ConfFiles() (map[string]string, error) {
	const key = "spark.kubernetes.configMap.maxSize"

	limit, err := d.Conf.Int(key, maxConfigMap)
	if err != nil {
		return nil, err
	}

	if limit > maxConfigMap {
		return nil, submit.KeyErrorf(key, "cannot be more than %d", maxConfigMap)
	}

	names := slices.Collect(maps.Keys(d.Request.ConfFiles))
	// Spark sorts the files by their size in bytes, but the limit counts characters.
	size := func(name string) int { return len(name) + utf8.RuneCountInString(d.Request.ConfFiles[name]) }

	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a)+len(d.Request.ConfFiles[a]), len(b)+len(d.Request.ConfFiles[b])), cmp.Compare(a, b))
	})

	data := map[string]string{}

	total := 0
	for _, name := range names {
		switch {
		case submit.SkipsConfFile(name):
			d.Warn("configuration file %s is left out, as in Spark: archives, templates, spark*conf and spark*properties are not copied", name)
		case !utf8.ValidString(d.Request.ConfFiles[name]):
			d.Warn("configuration file %s is left out: it is not UTF-8 text, which a ConfigMap requires", name)
		case total+size(name) >= limit:
			d.Warn("configuration file %s is left out, because the files together would exceed the size that %s allows (%d); make the files smaller", name, key, limit)
		default:
			data[name] = d.Request.ConfFiles[name]
			total += size(name)
		}
	}

	if err := CheckFiles("ConfFiles", data); err != nil {
		return nil, err
	}
	return data, nil
}

// CheckFiles returns an error for data that a ConfigMap cannot hold.
func CheckFiles(field string, data map[string]string) error {
	total := 0
	for _, name := range conf.SortedKeys(data) {
		if errs := validation.IsConfigMapKey(name); len(errs) > 0 {
			return submit.FieldErrorf(field, "%q is not a valid ConfigMap key: %s", name, errs[0])
		}

		if !utf8.ValidString(data[name]) {
			return submit.FieldErrorf(field, "%s is not UTF-8 text, which a ConfigMap requires; convert the file to UTF-8", name)
		}

		total += len(data[name])
	}

	if total > maxConfigMap {
		return submit.FieldErrorf(field, "%d bytes are more than a ConfigMap holds (%d); make the configuration smaller", total, maxConfigMap)
	}
	return nil
}
