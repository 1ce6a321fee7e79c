package draft

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podcheck"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// checkConf rejects values that spark-submit would reject before anything else
// (SparkSubmitArguments.validateSubmitArguments), and values with which the driver's JVM would fail at its start.
func (d *Draft) checkConf() error {
	for _, key := range []string{"spark.driver.memory", "spark.executor.memory"} {
		// The raw value is checked, because spark-submit checks these keys before it replaces "${...}", and the
		// driver's -Xmx is the raw text.
		raw, ok := d.Conf.Get(key)
		if !ok {
			continue
		}

		switch n, err := conf.ParseSize(raw, conf.MiB); {
		case err != nil:
			return submit.KeyErrorf(key, "%v", err)
		case n == 0:
			return submit.KeyErrorf(key, "should be more than zero")
		}
	}

	if raw, ok := d.Conf.Get("spark.driver.memory"); ok && !heapSize(raw) {
		return submit.KeyErrorf("spark.driver.memory", "%q becomes the option -Xmx of the driver's JVM, which reads it differently (a number without unit is bytes "+
			"there); use one of the units k, m, g or t, such as 512m or 2g", conf.Shorten(strings.TrimSpace(raw)))
	}

	if err := d.checkJavaOptions(); err != nil {
		return err
	}

	if err := d.checkPackages(); err != nil {
		return err
	}

	for _, key := range []string{"spark.driver.cores", "spark.executor.cores"} {
		if n, err := d.Conf.Int(key, 1); err != nil {
			return err
		} else if n <= 0 {
			return submit.KeyErrorf(key, "should be more than zero, but is %s", d.Conf.Quote(key, strconv.Itoa(n)))
		}
	}

	if err := d.checkBounds(); err != nil {
		return err
	}
	return d.checkInstances()
}

// checkJavaOptions rejects JVM options that set the heap size. For the driver, Spark's launcher rejects such options,
// both at submission and in the pod. For the executors, the driver's SparkConf rejects them when the application starts
// (SparkConf.validateSettings, which looks for the text anywhere in the options).
func (d *Draft) checkJavaOptions() error {
	const executor = "spark.executor.extraJavaOptions"

	for _, key := range []string{"spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"} {
		options, _ := d.Conf.Get(key)
		if problem := submit.HeapOption(options, d.Request.SparkVersion); problem != "" {
			return submit.KeyErrorf(key, "%s; use spark.driver.memory", problem)
		}
	}

	if options, _ := d.Conf.Get(executor); strings.Contains(options, "-Xmx") {
		return submit.KeyErrorf(executor, "the heap cannot be set by -Xmx; use spark.executor.memory")
	}
	return nil
}

func (d *Draft) checkInstances() error {
	dynamic, err := d.Conf.Bool("spark.dynamicAllocation.enabled", false)
	if err != nil {
		return err
	}

	const key = "spark.executor.instances"
	if n, err := d.Conf.Int(key, 1); err != nil {
		return err
	} else if n < 0 || n == 0 && !dynamic {
		return submit.KeyErrorf(key, "should be more than zero (zero only with dynamic allocation), but is %s", d.Conf.Quote(key, strconv.Itoa(n)))
	}
	return nil
}

// heapSize reports whether text ends with one of the units k, m, g and t. Spark and the JVM's option -Xmx read a size
// with such a unit as the same number of bytes.
func heapSize(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return text != "" && strings.IndexByte("kmgt", text[len(text)-1]) >= 0
}

// CheckLabel returns an error for a label that the API server would reject, and for Spark's own labels.
func CheckLabel(key, value string) error {
	switch key {
	case submit.VersionLabel, submit.SelectorLabel, submit.AppNameKey, submit.RoleLabel:
		return errors.New("is Spark's own label and cannot be set; remove it")
	}
	return CheckPair("label", key, value)
}

// CheckPair returns an error for a label or node selector that the API server would reject.
func CheckPair(what, key, value string) error {
	if !podcheck.IsLabelKey(key) {
		return fmt.Errorf("%q is not a valid %s name: %s", conf.Shorten(key), what, validation.IsQualifiedName(key)[0])
	}

	if !podcheck.IsLabelValue(value) {
		return fmt.Errorf("%s is not a valid %s value: %s", conf.Quote(key, value), what, validation.IsValidLabelValue(value)[0])
	}
	return nil
}

// checkPackages rejects Maven coordinates that the driver would reject when it resolves them
// (MavenUtils.extractMavenCoordinates). It does not resolve any coordinates itself.
func (d *Draft) checkPackages() error {
	if packages, _ := d.Conf.Get("spark.jars.packages"); strings.TrimSpace(packages) == "" {
		return nil
	}

	for _, list := range [...]struct {
		key, form string
		parts     int
	}{
		{"spark.jars.packages", "GROUP:ARTIFACT:VERSION", 3},
		{"spark.jars.excludes", "GROUP:ARTIFACT", 2},
	} {
		text, _ := d.Conf.Get(list.key)
		for _, coordinates := range conf.SplitList(text) {
			// Spark accepts slashes as separators too.
			parts := strings.Split(strings.ReplaceAll(coordinates, "/", ":"), ":")
			if len(parts) != list.parts || strings.TrimSpace(parts[0]) == "" || strings.TrimSpace(parts[1]) == "" || strings.TrimSpace(parts[list.parts-1]) == "" {
				return submit.KeyErrorf(list.key, "should be %s, but has %s", list.form, conf.Quote(list.key, coordinates))
			}
		}
	}
	return nil
}
