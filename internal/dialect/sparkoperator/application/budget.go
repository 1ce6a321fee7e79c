package application

import (
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// budgeted reports whether the application wants a PodDisruptionBudget that protects its driver from evictions.
func budgeted(spec *v1beta2.SparkApplicationSpec) bool {
	return spec.DriverPodDisruptionBudget != nil && *spec.DriverPodDisruptionBudget
}

// driverBudget returns the PodDisruptionBudget of an attempt's driver, with the name and the selector that tools of
// this API expect. Two attempts never have a driver at the same time, so all attempts use one name.
func driverBudget(app *v1beta2.SparkApplication, attempt int32) submit.Objects {
	return submit.Objects{Before: []submit.Object{expose.DriverBudget(expose.Budget{
		Meta: expose.Meta{
			Namespace: app.Namespace, Name: naming.DriverPodName(app), Labels: naming.AttemptLabels(app, attempt, status.SubmissionID(app, attempt)), Owner: naming.Owner(app),
		},
		Selector: naming.DriverSelector(app),
	})}}
}
