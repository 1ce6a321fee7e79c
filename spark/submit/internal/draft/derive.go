package draft

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/language"
)

// unnamed is the name that Spark gives to an application that has no name (KubernetesConf.appName).
const unnamed = "spark"

// setDerived sets the keys whose values come from fields of the Request, and the keys that spark-submit always sets.
func (d *Draft) setDerived() {
	c, r := d.Conf, d.Request
	if warning := d.Conf.DropForeign(); warning != "" {
		d.Warn("%s", warning)
	}

	if c.Has("spark.driver.host") {
		d.Warn("spark.driver.host: has no effect: the driver is reached by its Service")
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

	d.Request.AppName = d.appName()
	if c.Set("spark.app.name", d.Request.AppName); r.Unnamed {
		c.Delete("spark.app.name")
	}

	if !r.SubmitTime.IsZero() {
		c.SetIfMissing("spark.app.submitTime", strconv.FormatInt(r.SubmitTime.UnixMilli(), 10))
	}

	c.SetIfMissing("spark.submit.pyFiles", "")

	if d.Language == language.Java {
		jars, _ := c.Get("spark.jars")
		c.Set("spark.jars", joinNonEmpty(jars, r.Resource))
	}
}

func (d *Draft) appName() string {
	if d.Request.Unnamed {
		return unnamed
	}

	if d.Request.AppName != "" {
		return d.Request.AppName
	}

	if name, _ := d.Conf.Get("spark.app.name"); name != "" {
		return name
	}

	if d.Language == language.Java {
		return d.Request.MainClass
	}
	return d.Request.Resource[strings.LastIndexByte(d.Request.Resource, '/')+1:]
}

func joinNonEmpty(a, b string) string {
	if strings.TrimSpace(a) == "" || b == "" {
		return strings.TrimSpace(a) + b
	}
	return a + "," + b
}

// override sets a key that the Request determines, and warns if the user set a different value.
func (d *Draft) override(key, value string) {
	if given, ok := d.Conf.Get(key); ok && given != value {
		d.Warn("%s: %s has no effect: the operator sets %q", key, conf.Quote(key, given), value)
	}

	d.Conf.Set(key, value)
}
