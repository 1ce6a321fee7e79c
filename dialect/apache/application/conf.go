package application

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/apache"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Spark configuration keys that are read here, or set.
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

// sparkConf is the configuration of an application, in the order of this API: what the user wrote, the operator's word over it, and what is set where
// nothing says otherwise. What a Request says of an attempt comes over all of that.
func sparkConf(app *sparkv1.SparkApplication, p program) (*conf.Conf, *dialect.FieldError) {
	spec := &app.Spec
	c := conf.FromMap(spec.SparkConf)
	for key, image := range c.WithPrefix("spark.kubernetes.") {
		if strings.HasSuffix(key, "container.image") { // Spark replaces it itself from 4.1 on only
			replaced, err := conf.Substitute(image, conf.VersionMarker, spec.RuntimeVersions.SparkVersion, conf.MaxImage)
			if err != nil {
				return nil, &dialect.FieldError{Field: "spec.sparkConf[" + conf.Shorten("spark.kubernetes."+key) + "]", Message: err.Error()}
			}
			c.Set("spark.kubernetes."+key, replaced)
		}
	}
	// What the spec says of a pod comes before what a file would.
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

// templateConf says by configuration what Spark does not read of a template, or sets over it: which container is Spark's, where it is neither the first nor
// named by the user; and from 4.3 on, that a container may escalate privileges which could not be made otherwise.
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

// defaults are set where nothing else says otherwise: what the operator of the Apache Spark project does for security's sake, and to keep the executors'
// logs. Spark reads spark.authenticate with a secret of its own making where it runs the executors itself; against the master of a standalone cluster it
// wants one that all of them know, which is not known here.
func defaults(c *conf.Conf, app *sparkv1.SparkApplication, p program) {
	if !strings.HasPrefix(driverMaster(&app.Spec), "spark://") {
		c.SetIfMissing("spark.authenticate", "true")
	}
	c.SetIfMissing("spark.io.encryption.enabled", "true")
	// Of a Python or R program the driver knows no exception, and would make a Kubernetes client after the program's last words, whose log pushes them
	// out.
	if submit.IsJVM(p.resource) {
		c.SetIfMissing("spark.kubernetes.driver.annotateExitException", "true")
	}
	c.SetIfMissing("spark.kubernetes.executor.useDriverPodIP", "true")
	t := tolerations(&app.Spec)
	if !dynamicAllocation(&app.Spec) && cmp.Or(t.RestartConfig.RestartPolicy, sparkv1.RestartNever) == sparkv1.RestartNever {
		c.SetIfMissing("spark.kubernetes.executor.deleteOnTermination", "false")
	}
	// A driver that stops would delete its own Service, which is to be kept with it.
	if cmp.Or(t.ResourceRetainPolicy, sparkv1.RetainNever) != sparkv1.RetainNever {
		c.SetIfMissing("spark.kubernetes.driver.service.deleteOnTermination", "false")
	}
}

// dynamicAllocation reports whether Spark itself chooses how many executors there are.
func dynamicAllocation(spec *sparkv1.ApplicationSpec) bool {
	return strings.EqualFold(strings.TrimSpace(spec.SparkConf[confDynamic]), "true")
}

// driverMaster is the master of a driver whose executors are no pods of its own: of a standalone cluster, or local. It is empty for Kubernetes.
func driverMaster(spec *sparkv1.ApplicationSpec) string {
	master := spec.SparkConf[confMaster]
	if strings.HasPrefix(master, "k8s://") {
		return ""
	}
	return master
}
