package application

import (
	"strconv"
	"strings"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// AuxiliaryObjects returns the auxiliary objects that should exist according to the status that Decide has written.
// They should exist from the launch of an attempt to its end.
//
// After the end, existing Services are kept until the driver pod is deleted. This saves their deletion at the end of an
// attempt, and the next attempt can use the same Services. Because Services do not outlive their driver pods, the
// number of driver pods limits the number of cluster IP addresses in use.
func (d Dialect) AuxiliaryObjects(app *v1beta2.SparkApplication, seen lifecycle.Observed) dialect.AuxiliaryObjects {
	m := decodeMemory(&app.Status)
	switch {
	case app.DeletionTimestamp != nil, foreign(&app.Status), m.Phase.Live() && (m.Attempt < 1 || app.OutOfBounds != ""):
		return dialect.AuxiliaryObjects{Unsettled: true}
	case !m.Phase.Live():
		return dialect.AuxiliaryObjects{KeepServices: seen.Driver(m.Attempt) != nil, Record: func(live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
			if m.Phase != lifecycle.Ended && !m.Phase.Terminal() { // the address of the UI stays in the status after the end
				app.Status.DriverInfo = withoutUI(app.Status.DriverInfo)
			}
			return recordExposed(app, sparkoperator.Exposure{}, live, now)
		}}
	}

	current := d.present(app).Attempt

	e := current.exposure(current.app, m)
	for _, object := range e.Objects {
		dialect.MarkContent(object)
	}

	wanted := dialect.AuxiliaryObjects{Objects: e.Objects, Record: func(live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
		app.Status.DriverInfo = uiOf(&e, app.Status.DriverInfo, live)
		return recordExposed(app, e, live, now)
	}}
	if info := app.Status.DriverInfo; e.Service != "" && (info.WebUIServiceName != e.Service || info.WebUIPort != e.Port || info.WebUIAddress == "") {
		wanted.ReadAddresses = []string{e.Service}
	}
	return wanted
}

// uiOf returns a copy of the driver info in the status (the argument known), with the current Service, address and link
// of the UI. It computes them from the argument live, which contains the existing auxiliary objects.
func uiOf(e *sparkoperator.Exposure, known v1beta2.DriverInfo, live []lifecycle.AuxiliaryObject) v1beta2.DriverInfo {
	info := withoutUI(known)
	if service := dialect.FindObject(live, "Service", e.Service); service != nil && service.Current {
		info.WebUIServiceName, info.WebUIPort = e.Service, e.Port
		switch {
		case service.Address != "":
			info.WebUIAddress = hostPort(service.Address, e.Port)
		case known.WebUIServiceName == e.Service && known.WebUIPort == e.Port:
			info.WebUIAddress = known.WebUIAddress
		}
	}

	for _, link := range e.Links {
		if made := dialect.FindObject(live, link.Kind, link.Name); made != nil && made.Current {
			info.WebUIIngressName, info.WebUIIngressAddress = link.Name, link.Address.String()
			break
		}
	}
	return info
}

func withoutUI(info v1beta2.DriverInfo) v1beta2.DriverInfo {
	info.WebUIServiceName, info.WebUIPort, info.WebUIAddress, info.WebUIIngressName, info.WebUIIngressAddress = "", 0, "", "", ""
	return info
}

func hostPort(host string, port int32) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // IPv6
	}
	return host + ":" + strconv.Itoa(int(port))
}

// recordExposed sets the condition Exposed. It returns a warning event if the API server rejected an auxiliary object,
// or if the spec requests an object that cannot be created.
func recordExposed(app *v1beta2.SparkApplication, e sparkoperator.Exposure, live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
	exposed := dialect.Exposed{Objects: e.Objects, Problems: e.Problems, Live: decodeMemory(&app.Status).Phase.Live(), Generation: app.Generation}
	return exposed.Record(&app.Status.Conditions, live, now)
}
