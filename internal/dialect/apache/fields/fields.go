// Package fields contains the table of the fields of `spark.apache.org` that belong to Spark configuration keys, or
// that an error of the package submit may be about. It also names the keys that the API reads from sparkConf, because
// it has no fields for them. The file values.go has the forms of values, and program.go reads the fields that name the
// program and its files.
//
// A SparkCluster has no field with a key, so it needs no table.
package fields

import (
	"strings"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
)

const (
	kube    = "spark.kubernetes."
	dynamic = "spark.dynamicAllocation."
)

// Keys of sparkConf that the operator reads. This API has no fields for them.
const (
	AppID         = "spark.app.id"
	AppName       = "spark.app.name"
	DriverPodName = kube + "driver.pod.name"
	// Master is the URL of a standalone cluster, or local, for a driver that creates no executor pods.
	Master = "spark.master"
	// DriverMaster is the URL of the API server for the driver, or local.
	DriverMaster   = kube + "driver.master"
	Instances      = "spark.executor.instances"
	Dynamic        = dynamic + "enabled"
	DynamicInitial = dynamic + "initialExecutors"
	DynamicMin     = dynamic + "minExecutors"
)

// Keys of a role's pods.
const (
	account       = kube + "authenticate.ROLE.serviceAccountName"
	image         = kube + "ROLE.container.image"
	templateFile  = kube + "ROLE.podTemplateFile"
	containerName = kube + "ROLE.podTemplateContainerName"
)

// Account returns the key of the service account of a role's pods.
func Account(role string) string { return ofRole(account, role) }

// Images returns the keys of the image of a role's Spark container, in the order of their precedence.
func Images(role string) []string { return []string{ofRole(image, role), platform.ImageKey} }

// TemplateFile returns the key of the file with the template of a role's pods. A template in the spec replaces it.
func TemplateFile(role string) string { return ofRole(templateFile, role) }

// ContainerName returns the key of the name of the Spark container in the template of a role's pods.
func ContainerName(role string) string { return ofRole(containerName, role) }

func ofRole(key, role string) string { return strings.ReplaceAll(key, table.Role, role) }

// Application is the table of the fields of a SparkApplication. As in the Apache Spark project's operator, sparkConf
// has precedence over the lists of files.
var Application = table.New[sparkv1.SparkApplication]("driverSpec", "executorSpec",
	table.Row{Path: "spec.ROLE.podTemplateSpec", Key: templateFile, Part: "ROLETemplate", Precedence: table.Replaces, Text: inlineTemplate},
	table.Row{Path: "spec.ROLE.podTemplateSpec", Part: "ROLE"},

	table.Row{Path: "spec.jars", Key: "spark.jars", From: "spec", Precedence: table.Yields, Text: filesAfterProgram("spec.jars")},
	table.Row{Path: "spec.pyFiles", Key: "spark.submit.pyFiles", From: "spec", Precedence: table.Yields, Text: filesAfterProgram("spec.pyFiles")},
	table.Row{Path: "spec.files", Key: "spark.files", Precedence: table.Yields},

	// The driver has these labels from the request.
	table.Row{Path: "spec.runtimeVersions.jdkVersion", Key: kube + "executor.label." + apache.LabelJDKVersion, Text: labelValue},
	table.Row{Path: "spec.runtimeVersions.scalaVersion", Key: kube + "executor.label." + apache.LabelScalaVersion, Text: labelValue},

	// Spark would ignore or override these settings of a template. The second key exists since Spark 4.3.
	table.Row{Path: "spec.ROLE.podTemplateSpec", Key: containerName, Precedence: table.Implies, Text: templateContainer},
	table.Row{Path: "spec.ROLE.podTemplateSpec", Key: kube + "ROLE.securityContext.allowPrivilegeEscalation", From: "spec", Precedence: table.Implies, Text: escalation},

	table.Row{Path: "spec.applicationTolerations.restartConfig.restartPolicy", Key: kube + "executor.deleteOnTermination", From: "spec", Precedence: table.Implies, Text: deletesExecutors},
	table.Row{Path: "spec.applicationTolerations.resourceRetainPolicy", Key: kube + "driver.service.deleteOnTermination", From: "spec", Precedence: table.Implies, Text: deletesService},

	table.Row{Path: "spec.mainClass", Part: "MainClass"},
	table.Row{Path: "spec.driverArgs", Part: "Arguments"},
	table.Row{Path: "spec.proxyUser", Part: "ProxyUser"},
	table.Row{Path: "spec.runtimeVersions.sparkVersion", Part: "SparkVersion"},
	table.Row{Path: "spec.sparkConf", Part: "Conf"},
	table.Row{Path: "metadata.namespace", Part: "Namespace"},
	entry(AppID, "AppID"),
	entry(AppID, "ResourceNamePrefix"),
	entry(AppID, "ConfigMapName"),
	entry(DriverPodName, "DriverPodName"),
	entry(Master, "Master"),
	entry(Master, "DriverMaster"),
)

// entry is the row of a part that an entry of sparkConf sets.
func entry(key, part string) table.Row {
	return table.Row{Path: InConf(key), From: "spec.sparkConf", Part: part}
}

// InConf returns the field of a key in sparkConf.
func InConf(key string) string { return "spec.sparkConf[" + key + "]" }

// OfKey returns the field from which the value of a configuration key comes: an entry of sparkConf, or the field that
// sets the key because sparkConf does not. The second result is false if neither sets it.
func OfKey(app *sparkv1.SparkApplication, key string) (field string, set bool) {
	if _, set := app.Spec.SparkConf[key]; set || !Application.Sets(app, key, table.Yields) {
		return InConf(key), set
	}
	return Application.FieldOf(app, key), true
}

// Replacing returns the field that replaces a key of sparkConf in an application, or "".
func Replacing(app *sparkv1.SparkApplication, key string) string {
	for row := range Application.Rows() {
		if row.Key == key && row.Precedence == table.Replaces && Application.Sets(app, key, table.Replaces) {
			return row.Path
		}
	}
	return ""
}
