package sparkoperator

import (
	"strconv"
	"strings"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Surroundings is what is to stand beside an application's driver for others than Spark.
type Surroundings = dialect.Surroundings

// Surroundings returns what is to stand beside the driver of an application whose status Decide wrote: of an attempt from its launch on. Beside a driver
// that has ended its Service stays as long as the pod does, so that an end costs no deletion; the next attempt takes it over. Addresses are bounded by driver pods.
func (d Dialect) Surroundings(app *v1beta2.SparkApplication, seen lifecycle.Observed) Surroundings {
	m := decodeMemory(&app.Status)
	switch {
	case app.DeletionTimestamp != nil, foreign(&app.Status), m.Phase.Live() && (m.Attempt < 1 || app.OutOfBounds != ""):
		return Surroundings{Unsettled: true}
	case !m.Phase.Live():
		return Surroundings{Stays: seen.Driver(m.Attempt) != nil, Told: func(is []lifecycle.Surrounding, now time.Time) []Event {
			if m.Phase != lifecycle.Ended && !m.Phase.Terminal() { // where the UI was is part of the record of what is over
				app.Status.DriverInfo = withoutUI(app.Status.DriverInfo)
			}
			return tellExposed(app, exposure{}, is, now)
		}}
	}
	e := d.exposure(app, m)
	for _, object := range e.objects {
		dialect.MarkContent(object)
	}
	wanted := Surroundings{Objects: e.objects, Told: func(is []lifecycle.Surrounding, now time.Time) []Event {
		app.Status.DriverInfo = e.uiOf(app.Status.DriverInfo, is)
		return tellExposed(app, e, is, now)
	}}
	if info := app.Status.DriverInfo; e.service != "" && (info.WebUIServiceName != e.service || info.WebUIPort != e.port || info.WebUIAddress == "") {
		wanted.Read = []string{e.service}
	}
	return wanted
}

// uiOf is what the status says of a live driver once it is known what stands.
func (e *exposure) uiOf(known v1beta2.DriverInfo, is []lifecycle.Surrounding) v1beta2.DriverInfo {
	info := withoutUI(known)
	if service := dialect.Named(is, "Service", e.service); service != nil && service.Stands {
		info.WebUIServiceName, info.WebUIPort = e.service, e.port
		switch {
		case service.Address != "":
			info.WebUIAddress = hostPort(service.Address, e.port)
		case known.WebUIServiceName == e.service && known.WebUIPort == e.port:
			info.WebUIAddress = known.WebUIAddress
		}
	}
	for _, door := range e.doors {
		if made := dialect.Named(is, door.kind, door.name); made != nil && made.Stands {
			info.WebUIIngressName, info.WebUIIngressAddress = door.name, door.address.String()
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

// tellExposed sets the condition, and returns an event where it is bad news.
func tellExposed(app *v1beta2.SparkApplication, e exposure, is []lifecycle.Surrounding, now time.Time) []Event {
	told := dialect.Exposed{Objects: e.objects, Wrong: e.wrong, Live: decodeMemory(&app.Status).Phase.Live(), Generation: app.Generation}
	return told.Tell(&app.Status.Conditions, is, now)
}
