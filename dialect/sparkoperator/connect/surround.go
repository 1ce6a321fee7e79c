package connect

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// connectServiceField is where a SparkConnect says what its Service is to be.
const connectServiceField = "spec.server.service.spec"

// reasonInvalidService is the reason of the condition ServiceReady where no Service can be made of the spec.
const reasonInvalidService = "InvalidService"

// Surroundings returns what is to stand beside a server whose status Decide wrote: its Service in every phase, so that clients keep their address while
// servers come and go, and while there is none; the web UI's Service, and what the spec asks for to reach that from outside. A spec of which no Service
// can be made leaves the one that stands: clients may be connected by it.
func (c Connects) Surroundings(sc *v1alpha1.SparkConnect) sparkoperator.Surroundings {
	if sc.DeletionTimestamp != nil || sc.Status.Operator == nil || sc.OutOfBounds != "" {
		return sparkoperator.Surroundings{Unsettled: true}
	}
	service, err := c.service(sc)
	if err != nil {
		return sparkoperator.Surroundings{Unsettled: true} // Decide tells
	}
	e := c.exposure(sc, service.Name)
	objects := append([]submit.Object{service}, e.Objects...)
	if c.Policy != "" {
		policy, err := connect.Policy(c.standingRequest(sc), c.Policy == ClientsNamespace)
		if err != nil {
			return sparkoperator.Surroundings{Unsettled: true} // it is of the ports, as the Service is
		}
		objects = append(objects, policy)
	}
	for _, object := range objects {
		dialect.MarkContent(object)
	}
	return sparkoperator.Surroundings{Objects: objects, Told: func(is []lifecycle.Surrounding, now time.Time) (news []sparkoperator.Event) {
		stampChange(sc, now, func() {
			news = slices.Concat(tellService(sc, service.Name, is, now), tellServerExposed(sc, e, is, now))
		})
		return news
	}}
}

// service is the Service by which clients find the server, whichever is the current one.
func (c Connects) service(sc *v1alpha1.SparkConnect) (*corev1.Service, error) {
	if base := sc.Spec.Server.Service; base != nil && base.Spec.Type != corev1.ServiceTypeExternalName { // which connect.Service refuses
		if field, why := expose.ServiceFault(&base.Spec); field != "" {
			return nil, &sparkoperator.FieldError{Field: connectServiceField + "." + field, Message: why}
		}
	}
	service, err := connect.Service(c.standingRequest(sc), sc.Spec.Server.Service)
	if err != nil {
		return nil, asConnectError(sc, err)
	}
	service.Spec.Type = cmp.Or(service.Spec.Type, corev1.ServiceTypeClusterIP) // what is not said could not be put back
	if !c.UI.Outside && !expose.IsInside(service.Spec.Type) {
		expose.Inside(&service.Spec)
	}
	return service, nil
}

// encodeService says what is wrong with a spec that no Service can be made of, and returns what is news of that. Otherwise it is what becomes of the
// Service that decides (tellService), and what was known last holds until then.
func (c Connects) encodeService(sc *v1alpha1.SparkConnect, now time.Time) []lifecycle.Notice {
	if sc.OutOfBounds != "" {
		return nil // the Service stays as it is
	}
	_, err := c.service(sc)
	if err == nil {
		return nil
	}
	why := lifecycle.Cause{Reason: reasonInvalidService, Message: err.Error()}
	news := isNews(sc, ConditionServiceReady, why)
	setCondition(sc, ConditionServiceReady, metav1.ConditionFalse, why, now)
	if !news {
		return nil
	}
	return []lifecycle.Notice{{Part: lifecycle.Application, Cause: why}}
}

// tellService writes what became of the Service, and returns an event where that is bad news. Of one that is on its way what was told last holds. Where it
// is not as it is wanted, the one that stood before serves on.
func tellService(sc *v1alpha1.SparkConnect, name string, is []lifecycle.Surrounding, now time.Time) (news []sparkoperator.Event) {
	service := dialect.Named(is, "Service", name)
	switch {
	case service == nil:
		return nil
	case service.Cause.Reason != "":
		why := lifecycle.Cause{Reason: service.Cause.Reason, Message: "Service " + service.Name + ": " + service.Cause.Message}
		if isNews(sc, ConditionServiceReady, why) {
			news = []sparkoperator.Event{{Type: corev1.EventTypeWarning, Reason: why.Reason, Message: why.Message}}
		}
		setCondition(sc, ConditionServiceReady, metav1.ConditionFalse, why, now)
		sc.Status.Server.ServiceName = serving(is, uiServiceName(sc))
	case service.Stands:
		setCondition(sc, ConditionServiceReady, metav1.ConditionTrue, lifecycle.Cause{Reason: ConditionServiceReady}, now)
		sc.Status.Server.ServiceName = service.Name
	}
	if decodeConnect(&sc.Status).Phase == lifecycle.Running {
		encodeServing(sc, now)
	}
	return news
}

// serving is the name of the Service that leads clients to the server, whether or not it is as it is wanted; empty where none does. The web UI's Service
// is not one of these.
func serving(is []lifecycle.Surrounding, ui string) string {
	i := slices.IndexFunc(is, func(s lifecycle.Surrounding) bool { return s.Kind == "Service" && s.Name != ui && (s.Stands || s.Old) })
	if i < 0 {
		return ""
	}
	return is[i].Name
}

// isNews reports whether a condition that is False for a cause was not so before.
func isNews(sc *v1alpha1.SparkConnect, kind string, why lifecycle.Cause) bool {
	before := meta.FindStatusCondition(sc.Status.Conditions, kind)
	return before == nil || before.Status != metav1.ConditionFalse || before.Reason != why.Reason || before.Message != why.Message
}
