package exposure

import (
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// AuxiliaryObjects returns the auxiliary objects that should exist according to the status that Decide has written.
// They should exist from the launch of an attempt to its end.
//
// After the end, existing Services are kept until the driver pod is deleted. This saves their deletion at the end of an
// attempt, and the next attempt can use the same Services. Because Services do not outlive their driver pods, the
// number of driver pods limits the number of cluster IP addresses in use.
//
// The function current returns the application with the defaults of its launch. It is called only while an attempt
// runs.
func (d Exposer) AuxiliaryObjects(app *v1beta2.SparkApplication, seen lifecycle.Observed, current func() *v1beta2.SparkApplication) dialect.AuxiliaryObjects {
	m := status.Memory(&app.Status)
	switch {
	case app.DeletionTimestamp != nil, takeover.Foreign(&app.Status), m.Phase.Live() && (m.Attempt < 1 || app.OutOfBounds != ""):
		return dialect.AuxiliaryObjects{Unsettled: true}
	case !m.Phase.Live():
		return dialect.AuxiliaryObjects{KeepServices: seen.Driver(m.Attempt) != nil, Record: func(live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
			if m.Phase != lifecycle.Ended && !m.Phase.Terminal() { // the address of the UI stays in the status after the end
				app.Status.DriverInfo = withoutUI(app.Status.DriverInfo)
			}
			return recordExposed(app, sparkoperator.Exposure{}, live, now)
		}}
	}

	e := d.Exposure(current(), m.Attempt, status.SubmissionID(app, m.Attempt))
	for _, object := range e.Objects {
		dialect.MarkContent(object)
	}

	wanted := dialect.AuxiliaryObjects{Objects: e.Objects, Record: func(live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
		app.Status.DriverInfo = driverInfo(&e, app.Status.DriverInfo, live)
		return recordExposed(app, e, live, now)
	}}
	if info := app.Status.DriverInfo; e.Service != "" && (info.WebUIServiceName != e.Service || info.WebUIPort != e.Port || info.WebUIAddress == "") {
		wanted.ReadAddresses = []string{e.Service}
	}
	return wanted
}

// recordExposed sets the condition Exposed. It returns a warning event if the API server rejected an auxiliary object,
// or if the spec requests an object that cannot be created.
func recordExposed(app *v1beta2.SparkApplication, e sparkoperator.Exposure, live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
	exposed := dialect.Exposed{Objects: e.Objects, Problems: e.Problems, Live: status.Memory(&app.Status).Phase.Live(), Generation: app.Generation}
	return exposed.Record(&app.Status.Conditions, live, now)
}
