package application

import (
	"strings"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// sparkConf returns the Spark configuration of an application. As this API specifies, the operator's values override
// the user's values, and defaults apply to keys that neither of them sets. The result does not contain the keys that
// package submit adds later from the other fields of the request (submit.Request). Those keys override all keys of the
// result.
func sparkConf(app *sparkv1.SparkApplication, p fields.Program) (*conf.Conf, *dialect.FieldError) {
	spec := &app.Spec

	c := conf.FromMap(spec.SparkConf)
	for key, image := range c.WithPrefix("spark.kubernetes.") {
		if strings.HasSuffix(key, "container.image") { // Spark itself replaces the placeholder only from 4.1 on
			replaced, err := conf.Substitute(image, conf.VersionMarker, spec.RuntimeVersions.SparkVersion, conf.MaxImage)
			if err != nil {
				return nil, &dialect.FieldError{Field: fields.InConf(conf.Shorten("spark.kubernetes." + key)), Message: err.Error()}
			}

			c.Set("spark.kubernetes."+key, replaced)
		}
	}

	for _, role := range []string{launch.RoleDriver, launch.RoleExecutor} {
		if key := fields.TemplateFile(role); fields.Replacing(app, key) != "" {
			c.Delete(key)
		}
	}

	fields.Application.Configure(c, app)
	defaults(c, app, p)
	return c, nil
}

// defaults sets keys that are not set yet to the default values of the Apache Spark project's operator, which improve
// security and keep the executors' logs. If the master is a standalone cluster, spark.authenticate has no default,
// because the driver and the cluster need the same secret, which the operator does not have. In all other cases Spark
// itself generates the secret.
func defaults(c *conf.Conf, app *sparkv1.SparkApplication, p fields.Program) {
	if !strings.HasPrefix(driverMaster(&app.Spec), "spark://") {
		c.SetIfMissing("spark.authenticate", "true")
	}

	c.SetIfMissing("spark.io.encryption.enabled", "true")
	// If the program is written in Python or R, the driver does not have the exception that ended the program. With
	// this setting, the driver would nevertheless create a Kubernetes client after the program's last output, and the
	// log of that client would push the output out of the termination message.
	if submit.IsJVM(p.Resource) {
		c.SetIfMissing("spark.kubernetes.driver.annotateExitException", "true")
	}

	c.SetIfMissing("spark.kubernetes.executor.useDriverPodIP", "true")
}

// driverMaster returns the master URL of a driver that creates no executor pods: a standalone cluster, or local. It
// returns "" if the driver runs on Kubernetes.
func driverMaster(spec *sparkv1.ApplicationSpec) string {
	master := spec.SparkConf[fields.Master]
	if strings.HasPrefix(master, "k8s://") {
		return ""
	}
	return master
}
