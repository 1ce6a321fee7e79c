package resources

import (
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
)

// SentinelApp makes an application a sentinel.
func SentinelApp(app *ApacheApp) {
	app.Labels = map[string]string{sentinel.Label: "true"}
	app.Spec = sparkv1.ApplicationSpec{}
	app.Spec.RuntimeVersions.SparkVersion = "dummy"
	app.Spec.SparkConf = map[string]string{"sentinel.dummy.number": "1", "mine": "stays"}
}
