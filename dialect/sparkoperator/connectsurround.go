package sparkoperator

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// reasonInvalidService is the reason of the condition ServiceReady where spec.server.service cannot be used.
const reasonInvalidService = "InvalidService"

// Surroundings returns what is to stand beside a server whose status Decide wrote: its Service in every phase, so that clients keep their address while
// servers come and go, and while the SparkConnect is suspended; and what its spec asks for to reach the web UI from outside.
func (c Connects) Surroundings(sc *v1alpha1.SparkConnect) Surroundings {
	if sc.DeletionTimestamp != nil || sc.Status.Operator == nil {
		return Surroundings{Unsettled: true}
	}
	service, err := connect.Service(c.standingRequest(sc), sc.Spec.Server.Service)
	var e exposure
	if err == nil {
		e.objects, e.service, e.port = append(e.objects, service), service.Name, connect.UIPort
		c.expose(&e, sc)
	}
	for _, object := range e.objects {
		markContent(object)
	}
	return Surroundings{Objects: e.objects, Told: func(is []lifecycle.Surrounding, now time.Time) (news []Event) {
		stampChange(sc, now, func() { news = c.tellSurroundings(sc, e, err, is, now) })
		return news
	}}
}

// tellSurroundings writes what became of the Service and of what leads to the UI, and returns an event for each that is bad news.
func (c Connects) tellSurroundings(sc *v1alpha1.SparkConnect, e exposure, wrong error, is []lifecycle.Surrounding, now time.Time) []Event {
	var news []Event
	service := named(is, "Service", e.service)
	switch {
	case wrong != nil:
		wrong = asConnectError(sc, wrong)
		cause := lifecycle.Cause{Reason: reasonInvalidService, Message: wrong.Error()}
		if field, ok := errors.AsType[*FieldError](wrong); ok && field.Field == "metadata.name" {
			cause.Reason = lifecycle.ReasonInvalid
		}
		news = tellCondition(sc, ConditionServiceReady, cause, now, news)
		sc.Status.Server.ServiceName = ""
	case service == nil:
	case service.Cause.Reason != "":
		news = tellCondition(sc, ConditionServiceReady, lifecycle.Cause{Reason: service.Cause.Reason,
			Message: "Service " + service.Name + ": " + service.Cause.Message}, now, news)
		if !service.Stands {
			sc.Status.Server.ServiceName = ""
		}
	case service.Stands:
		setCondition(sc, ConditionServiceReady, metav1.ConditionTrue, lifecycle.Cause{Reason: ConditionServiceReady}, now)
		sc.Status.Server.ServiceName = service.Name
	}
	m := decodeConnect(&sc.Status)
	if m.Phase == lifecycle.Running {
		encodeReady(sc, m, lifecycle.Cause{}, now)
	}
	return c.tellUI(sc, e, is, now, news)
}

// tellCondition sets a condition to False, and adds an event where that is news.
func tellCondition(sc *v1alpha1.SparkConnect, kind string, why lifecycle.Cause, now time.Time, news []Event) []Event {
	before := meta.FindStatusCondition(sc.Status.Conditions, kind)
	if before == nil || before.Status != metav1.ConditionFalse || before.Reason != why.Reason || before.Message != why.Message {
		news = append(news, Event{corev1.EventTypeWarning, why.Reason, why.Message})
	}
	setCondition(sc, kind, metav1.ConditionFalse, why, now)
	return news
}

// expose adds what leads to the web UI from outside.
func (c Connects) expose(_ *exposure, _ *v1alpha1.SparkConnect) {}

// uiPath tells the server under which path its UI is reached.
func (c Connects) uiPath(_ *v1alpha1.SparkConnect, _ *conf.Conf) {}

// tellUI writes what became of what leads to the UI.
func (c Connects) tellUI(_ *v1alpha1.SparkConnect, _ exposure, _ []lifecycle.Surrounding, _ time.Time, news []Event) []Event {
	return news
}
