package connect

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// connectServiceField is the field that contains the spec of a SparkConnect's Service.
const connectServiceField = "spec.server.service.spec"

// connectAnnotationsField is the field that contains the annotations of that Service.
const connectAnnotationsField = "spec.server.service.metadata.annotations"

// reasonInvalidService is the reason of the condition ServiceReady if the spec describes no valid Service.
const reasonInvalidService = "InvalidService"

// AuxiliaryObjects returns the auxiliary objects of a server. It reads the status that Decide has written.
//
// The Service for clients exists in every phase, so that its address stays the same if the server is replaced or
// missing. The other objects are the web UI's Service, the Ingress and route that the spec requests for the UI, and the
// NetworkPolicy. If the spec of the Service is invalid, the existing Service stays, because clients may be connected
// through it, and the other objects are ensured. Above all, the NetworkPolicy protects the server also in this case.
func (c Connects) AuxiliaryObjects(sc *v1alpha1.SparkConnect) dialect.AuxiliaryObjects {
	if sc.DeletionTimestamp != nil || sc.Status.Operator == nil || sc.OutOfBounds != "" {
		return dialect.AuxiliaryObjects{Unsettled: true}
	}

	current := c.present(sc)

	policy, err := connect.Policy(current.standingRequest(), c.Policy == ClientsNamespace)
	if err != nil {
		return dialect.AuxiliaryObjects{Unsettled: true} // the name or a port of the server is invalid; Decide reports it
	}

	name := connect.ServiceName(sc.Name, sc.Spec.Server.Service)
	e := current.exposure(name)
	objects := slices.Clone(e.Objects)

	service, err := current.clientService()
	if err == nil { // otherwise Decide reports it
		objects = slices.Insert(objects, 0, submit.Object(service))
	}

	if c.Policy != "" {
		objects = append(objects, policy)
	}

	for _, object := range objects {
		dialect.MarkContent(object)
	}
	return dialect.AuxiliaryObjects{Objects: objects, KeepServices: err != nil, Record: func(live []lifecycle.AuxiliaryObject, now time.Time) (notices []dialect.Event) {
		stampChange(sc, now, func() {
			notices = slices.Concat(recordService(sc, name, live, now), recordServerExposed(sc, e, live, now))
		})
		return notices
	}}
}

// clientService returns the Service through which clients connect to the current server.
func (a *attempt) clientService() (*corev1.Service, error) {
	sc := a.sc
	// connect.Service rejects the type ExternalName.
	if base := sc.Spec.Server.Service; base != nil && base.Spec.Type != corev1.ServiceTypeExternalName {
		if field, why := expose.ServiceFault(&base.Spec); field != "" {
			return nil, &dialect.FieldError{Field: connectServiceField + "." + field, Message: why}
		}
	}

	if base := sc.Spec.Server.Service; base != nil {
		// An edit of the Service does not replace the server, so the spec as a whole may not be checked again.
		if faults := dialect.ServiceFaults(a.Rules, connectAnnotationsField, base.Annotations); len(faults) > 0 {
			return nil, faults[0]
		}
	}

	service, err := connect.Service(a.standingRequest(), sc.Spec.Server.Service)
	if err != nil {
		return nil, asConnectError(sc, err)
	}
	// The type is set even if it is the default, because the operator could not restore a field that this object leaves
	// out.
	service.Spec.Type = cmp.Or(service.Spec.Type, corev1.ServiceTypeClusterIP)
	if !a.UI.Outside && !expose.IsInternal(service.Spec.Type) {
		expose.MakeInternal(&service.Spec)
	}
	return service, nil
}

// encodeService sets ServiceReady to False if the spec of the Service is invalid, and returns a notice if this error is
// new. If the spec is valid, it leaves the condition to recordService, which knows the state of the Service.
func encodeService(a *attempt, now time.Time) []lifecycle.Notice {
	sc := a.own
	if sc.OutOfBounds != "" {
		return nil // the Service stays as it is
	}

	_, err := a.clientService()
	if err == nil {
		return nil
	}

	why := lifecycle.Cause{Reason: reasonInvalidService, Message: err.Error()}
	isNew := isNewCause(sc, conditionServiceReady, why)
	setCondition(sc, conditionServiceReady, metav1.ConditionFalse, why, now)

	if !isNew {
		return nil
	}
	return []lifecycle.Notice{{Part: lifecycle.Application, Cause: why}}
}

// recordService writes the state of the Service into the status. If the wanted Service cannot be created or updated,
// the previous Service stays in use, and recordService returns a warning event. While the Service is being created or
// updated, the condition ServiceReady stays as it is.
func recordService(sc *v1alpha1.SparkConnect, name string, live []lifecycle.AuxiliaryObject, now time.Time) (notices []dialect.Event) {
	service := dialect.FindObject(live, "Service", name)
	switch {
	case service == nil:
		return nil
	case service.Cause.Reason != "":
		why := lifecycle.Cause{Reason: service.Cause.Reason, Message: "Service " + service.Name + ": " + service.Cause.Message}
		if isNewCause(sc, conditionServiceReady, why) {
			notices = []dialect.Event{{Type: corev1.EventTypeWarning, Reason: why.Reason, Message: why.Message}}
		}

		setCondition(sc, conditionServiceReady, metav1.ConditionFalse, why, now)
		sc.Status.Server.ServiceName = servingService(live, uiServiceName(sc))
	case service.Current:
		setCondition(sc, conditionServiceReady, metav1.ConditionTrue, lifecycle.Cause{Reason: conditionServiceReady}, now)
		sc.Status.Server.ServiceName = service.Name
	}

	if decodeConnect(&sc.Status).Phase == lifecycle.Running {
		encodeServing(sc, now)
	}
	return notices
}

// servingService returns the name of the Service through which clients reach the server, or "" if there is none. This
// Service may differ from the wanted one. The argument ui is the name of the web UI's Service, which does not serve
// clients.
func servingService(live []lifecycle.AuxiliaryObject, ui string) string {
	i := slices.IndexFunc(live, func(s lifecycle.AuxiliaryObject) bool {
		return s.Kind == "Service" && s.Name != ui && (s.Current || s.Outdated)
	})
	if i < 0 {
		return ""
	}
	return live[i].Name
}

// isNewCause reports whether a cause is not in the status yet: the condition of the given type is not False, or its
// reason or message differs from that of the cause.
func isNewCause(sc *v1alpha1.SparkConnect, kind string, why lifecycle.Cause) bool {
	before := meta.FindStatusCondition(sc.Status.Conditions, kind)
	return before == nil || before.Status != metav1.ConditionFalse || before.Reason != why.Reason || before.Message != why.Message
}
