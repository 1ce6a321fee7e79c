package application

import (
	"strconv"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/exposure"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// AuxiliaryObjects returns the auxiliary objects of an application after Decide wrote its status: the Services,
// Ingresses and routes that the spec lists. They exist from the launch of an attempt until the attempt's objects are
// released. While the attempt's objects are retained, the operator neither creates nor changes auxiliary objects.
func (a Applications) AuxiliaryObjects(app *sparkv1.SparkApplication) dialect.AuxiliaryObjects {
	m := status.Memory(&app.Status)
	switch {
	case app.DeletionTimestamp != nil, status.Hold(app, false).Frozen, m.Phase == lifecycle.Ended, m.Phase == lifecycle.Retained, m.Phase.Live() && (m.Attempt < 1 || app.OutOfBounds != ""):
		return dialect.AuxiliaryObjects{Unsettled: true}
	case !m.Phase.Live():
		return dialect.AuxiliaryObjects{Record: dialect.Exposed{}.Recorder(&app.Status.Conditions)}
	}

	exposed := dialect.Exposed{Live: true, Generation: app.Generation}

	exposed.Objects, exposed.Problems = a.auxiliaryObjects(app, m.Attempt)
	for _, object := range exposed.Objects {
		dialect.MarkContent(object)
	}
	return dialect.AuxiliaryObjects{Objects: exposed.Objects, Record: exposed.Recorder(&app.Status.Conditions)}
}

// auxiliaryObjects returns the objects that the spec's lists request, and a cause for each object that cannot be
// created.
func (a Applications) auxiliaryObjects(app *sparkv1.SparkApplication, attempt int32) ([]submit.Object, []lifecycle.Cause) {
	all := exposure.EntriesOf(&app.Spec)
	if len(all) == 0 {
		return nil, nil
	}

	id := naming.ID(app, attempt)
	return a.exposing().Objects(all, exposure.Driver{
		Namespace: app.Namespace, Selector: a.driverSelector(app, attempt), Service: submit.ServiceName(id, id),
		Labels: naming.Labels(app, attempt, a.OperatorName), Owner: naming.Owner(app),
	})
}

// exposing returns what the configuration allows for the objects that expose a driver.
func (a Applications) exposing() exposure.Settings {
	return exposure.Settings{Outside: a.Outside, Rules: a.Rules}
}

// driverSelector returns labels that only the driver of the attempt has. Usually these are the labels with which the
// Apache Spark project's operator selects a driver, including spark.app.id. If spark-submit creates the driver,
// spark-submit chooses this id, so driverSelector returns our own labels instead. The function has to render the
// attempt to determine whether the attempt needs spark-submit. Rendering is expensive, so callers compute the selector
// once for all entries.
func (a Applications) driverSelector(app *sparkv1.SparkApplication, attempt int32) map[string]string {
	if _, submitter, _ := a.next(app, attempt, time.Time{}).Objects(); submitter != nil {
		return map[string]string{apache.LabelAppUID: string(app.UID), apache.LabelAttempt: strconv.Itoa(int(attempt)), submit.RoleLabel: submit.RoleDriver}
	}
	return map[string]string{apache.LabelAppName: app.Name, submit.SelectorLabel: naming.ID(app, attempt), submit.RoleLabel: submit.RoleDriver}
}
