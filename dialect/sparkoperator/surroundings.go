package sparkoperator

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Surroundings is what is to stand beside an application's driver for others than Spark.
type Surroundings = dialect.Surroundings

// Surroundings returns what is to stand beside the driver of an application whose status Decide wrote: of an attempt from its launch to its end. A
// driver that is over serves nothing, so that its pod alone is kept: a Service of each finished application would use up the cluster's addresses.
func (d Dialect) Surroundings(app *v1beta2.SparkApplication) Surroundings {
	m := decodeMemory(&app.Status)
	switch {
	case app.DeletionTimestamp != nil, foreign(&app.Status), m.Phase.Live() && m.Attempt < 1:
		return Surroundings{Unsettled: true}
	case !m.Phase.Live():
		return Surroundings{Told: func(is []lifecycle.Surrounding, now time.Time) []Event {
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
	if service := named(is, "Service", e.service); service != nil && service.Stands {
		info.WebUIServiceName, info.WebUIPort = e.service, e.port
		switch {
		case service.Address != "":
			info.WebUIAddress = hostPort(service.Address, e.port)
		case known.WebUIServiceName == e.service && known.WebUIPort == e.port:
			info.WebUIAddress = known.WebUIAddress
		}
	}
	for _, door := range e.doors {
		if made := named(is, door.kind, door.name); made != nil && made.Stands {
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

func named(is []lifecycle.Surrounding, kind, name string) *lifecycle.Surrounding {
	i := slices.IndexFunc(is, func(s lifecycle.Surrounding) bool { return s.Kind == kind && s.Name == name })
	if i < 0 {
		return nil
	}
	return &is[i]
}

func hostPort(host string, port int32) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // IPv6
	}
	return host + ":" + strconv.Itoa(int(port))
}

// tellExposed sets the condition, and returns an event where it is bad news.
func tellExposed(app *v1beta2.SparkApplication, e exposure, is []lifecycle.Surrounding, now time.Time) []Event {
	s := &app.Status
	reason, message := "", ""
	for _, cause := range append(slices.Clone(e.wrong), dialect.Hindrances(is)...) {
		if message != "" {
			message += "; "
		}
		reason, message = cmp.Or(reason, cause.Reason), message+cause.Message
	}
	condition := metav1.Condition{
		Type: ConditionExposed, Status: metav1.ConditionTrue, Reason: ConditionExposed,
		LastTransitionTime: metav1.NewTime(now), ObservedGeneration: app.Generation,
	}
	missing := slices.ContainsFunc(e.objects, func(object submit.Object) bool {
		made := named(is, object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
		return made == nil || !made.Stands
	})
	switch {
	case message != "":
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, message
		if decodeMemory(s).Phase.Live() {
			condition.Message = "the application runs on; " + message
		}
	case len(e.objects) == 0:
		meta.RemoveStatusCondition(&s.Conditions, ConditionExposed)
		return nil
	case missing:
		return nil // on its way; what was told last holds
	}
	before := meta.FindStatusCondition(s.Conditions, ConditionExposed)
	news := condition.Status == metav1.ConditionFalse && (before == nil || before.Reason != condition.Reason || before.Message != condition.Message)
	meta.SetStatusCondition(&s.Conditions, condition)
	if !news {
		return nil
	}
	return []Event{{Type: corev1.EventTypeWarning, Reason: condition.Reason, Message: condition.Message}}
}
