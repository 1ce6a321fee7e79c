package application

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Spark configuration keys that are read or set here.
const (
	confMaster           = "spark.master"
	confDynamic          = "spark.dynamicAllocation.enabled"
	confAppName          = "spark.app.name"
	confJars             = "spark.jars"
	confFiles            = "spark.files"
	confPyFiles          = "spark.submit.pyFiles"
	confDriverTemplate   = "spark.kubernetes.driver.podTemplateFile"
	confExecutorTemplate = "spark.kubernetes.executor.podTemplateFile"
)

// sparkConf returns the Spark configuration of an application. As this API specifies, the operator's values override
// the user's values, and defaults apply to keys that neither of them sets. The result does not contain the keys that
// package submit adds later from the other fields of the request (submit.Request). Those keys override all keys of the
// result.
func sparkConf(app *sparkv1.SparkApplication, p program) (*conf.Conf, *dialect.FieldError) {
	spec := &app.Spec

	c := conf.FromMap(spec.SparkConf)
	for key, image := range c.WithPrefix("spark.kubernetes.") {
		if strings.HasSuffix(key, "container.image") { // Spark itself replaces the placeholder only from 4.1 on
			replaced, err := conf.Substitute(image, conf.VersionMarker, spec.RuntimeVersions.SparkVersion, conf.MaxImage)
			if err != nil {
				return nil, &dialect.FieldError{Field: "spec.sparkConf[" + conf.Shorten("spark.kubernetes."+key) + "]", Message: err.Error()}
			}

			c.Set("spark.kubernetes."+key, replaced)
		}
	}
	// A template in the spec overrides a template file.
	if rawTemplate(spec.DriverSpec) != nil {
		c.Delete(confDriverTemplate)
	}

	if rawTemplate(spec.ExecutorSpec) != nil {
		c.Delete(confExecutorTemplate)
	}

	setFiles(c, confJars, p.jars)
	setFiles(c, confPyFiles, p.pyFiles)
	setFiles(c, confFiles, spec.Files)

	labels := versionLabels(spec.RuntimeVersions)
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		c.Set("spark.kubernetes.executor.label."+label, labels[label])
	}

	templateConf(c, "driver", spec.DriverSpec, apache.DriverContainer)
	templateConf(c, "executor", spec.ExecutorSpec, apache.ExecutorContainer)
	defaults(c, app, p)
	return c, nil
}

func setFiles(c *conf.Conf, key, files string) {
	if files != "" {
		c.SetIfMissing(key, files)
	}
}

// templateConf copies two settings of a pod template to configuration keys, because Spark would ignore or override them
// in the template. The first is the name of Spark's container. Its key is set only if Spark's container is not the
// first one and the user does not set the key. The second is allowPrivilegeEscalation in the container's
// securityContext, for which Spark has a key from version 4.3 on.
func templateConf(c *conf.Conf, role string, template *sparkv1.PodTemplate, name string) {
	if rawTemplate(template) == nil {
		return
	}

	kube := "spark.kubernetes." + role + "."
	if other := dialect.TemplateContainer(template.PodTemplateSpec, name); other != "" {
		c.SetIfMissing(kube+"podTemplateContainerName", other)
	}

	containers := dialect.PodTemplate(template.PodTemplateSpec).Spec.Containers
	if len(containers) == 0 {
		return
	}

	wanted, _ := c.Get(kube + "podTemplateContainerName")

	at := max(0, slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == wanted }))
	if allow := dialect.PrivilegeEscalation(containers[at].SecurityContext); allow != nil {
		c.SetIfMissing(kube+"securityContext.allowPrivilegeEscalation", strconv.FormatBool(*allow))
	}
}

// defaults sets keys that are not set yet to the default values of the Apache Spark project's operator, which improve
// security and keep the executors' logs. If the master is a standalone cluster, spark.authenticate has no default,
// because the driver and the cluster need the same secret, which the operator does not have. In all other cases Spark
// itself generates the secret.
func defaults(c *conf.Conf, app *sparkv1.SparkApplication, p program) {
	if !strings.HasPrefix(driverMaster(&app.Spec), "spark://") {
		c.SetIfMissing("spark.authenticate", "true")
	}

	c.SetIfMissing("spark.io.encryption.enabled", "true")
	// If the program is written in Python or R, the driver does not have the exception that ended the program. With
	// this setting, the driver would nevertheless create a Kubernetes client after the program's last output, and the
	// log of that client would push the output out of the termination message.
	if submit.IsJVM(p.resource) {
		c.SetIfMissing("spark.kubernetes.driver.annotateExitException", "true")
	}

	c.SetIfMissing("spark.kubernetes.executor.useDriverPodIP", "true")

	t := tolerations(&app.Spec)
	if !dynamicAllocation(&app.Spec) && cmp.Or(t.RestartConfig.RestartPolicy, sparkv1.RestartNever) == sparkv1.RestartNever {
		c.SetIfMissing("spark.kubernetes.executor.deleteOnTermination", "false")
	}
	// A driver that stops would delete its own Service, which must be retained with it.
	if cmp.Or(t.ResourceRetainPolicy, sparkv1.RetainNever) != sparkv1.RetainNever {
		c.SetIfMissing("spark.kubernetes.driver.service.deleteOnTermination", "false")
	}
}

// dynamicAllocation reports whether Spark itself chooses the number of executors.
func dynamicAllocation(spec *sparkv1.ApplicationSpec) bool {
	return strings.EqualFold(strings.TrimSpace(spec.SparkConf[confDynamic]), "true")
}

// driverMaster returns the master URL of a driver that creates no executor pods: a standalone cluster, or local. It
// returns "" if the driver runs on Kubernetes.
func driverMaster(spec *sparkv1.ApplicationSpec) string {
	master := spec.SparkConf[confMaster]
	if strings.HasPrefix(master, "k8s://") {
		return ""
	}
	return master
}
