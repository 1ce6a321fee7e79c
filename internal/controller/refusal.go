package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// The reasons of a refusal by the API server.
const (
	reasonQuota          = "QuotaExceeded"
	reasonPodSecurity    = "PodSecurityViolation"
	reasonServiceAccount = "ServiceAccountNotFound"
	reasonForbidden      = "Forbidden"
	reasonInvalid        = "Invalid"
	// reasonNotServed is the reason of a refusal because the definition of a kind is not installed.
	reasonNotServed = "NotServed"
	// reasonOperatorForbidden is the reason of a refusal for want of a right of the operator's own: a fault of the installation, not of
	// the application, and over as soon as somebody grants it.
	reasonOperatorForbidden = "OperatorForbidden"
)

// refusal tells whether the API server's answer is for good, and what to say about it. Everything else is weather: time-outs, conflicts,
// too many requests, a server that fails, a token that is being renewed. A right that the operator lacks is not for good, but has a cause.
func refusal(err error) (lifecycle.Cause, bool) {
	// The cluster has no such kind: a definition is not installed.
	if meta.IsNoMatchError(err) {
		return lifecycle.Cause{Reason: reasonInvalid, Message: err.Error()}, true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return lifecycle.Cause{}, false
	}
	code := int(status.Status().Code)
	switch code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return lifecycle.Cause{}, false
	}
	message := status.Status().Message
	if code < 400 || code >= 500 || strings.Contains(message, "status unknown for quota") || strings.Contains(message, "cannot find RESTMapping") {
		// A quota that was just created has no figures for a moment, and the plugin that judges owners does not know a definition for its first
		// seconds.
		return lifecycle.Cause{}, false
	}
	reason := refusalReason(code, message)
	return lifecycle.Cause{Reason: reason, Message: message}, reason != reasonOperatorForbidden
}

// The reasons of weather.
const (
	reasonServerError     = "ServerError"
	reasonUnauthorized    = "Unauthorized"
	reasonTimeout         = "Timeout"
	reasonConflict        = "Conflict"
	reasonTooManyRequests = "TooManyRequests"
	reasonNoAnswer        = "NoAnswer"
)

// weatherReason is a word for an error that is none of the application's and may be over with the next try.
func weatherReason(err error) string {
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return reasonTimeout
	case !errors.As(err, &status):
		return reasonNoAnswer
	}
	switch code := int(status.Status().Code); code {
	case http.StatusUnauthorized:
		return reasonUnauthorized
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return reasonTimeout
	case http.StatusConflict:
		return reasonConflict
	case http.StatusTooManyRequests:
		return reasonTooManyRequests
	}
	return reasonServerError
}

// notServed tells whether the API server does not know the kind of an object that was to be created, and what to install: the definition of an optional
// kind comes with another program. What was mapped before its definition was removed is asked for in vain, under a path that there is not.
func notServed(object client.Object, err error) (lifecycle.Cause, bool) {
	kind := object.GetObjectKind().GroupVersionKind()
	var status apierrors.APIStatus
	gone := apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil &&
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	if !meta.IsNoMatchError(err) && !gone {
		return lifecycle.Cause{}, false
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return lifecycle.Cause{Reason: reasonNotServed, Message: fmt.Sprintf("the cluster has no %s of %s, which this application asks for: install the CustomResourceDefinition %s and the program that it belongs to, or do without",
		kind.Kind, kind.GroupVersion(), resource.GroupResource())}, true
}

// refusalReason tells one 403 from another, which only the message does.
func refusalReason(code int, message string) string {
	if code != http.StatusForbidden {
		return reasonInvalid
	}
	for _, known := range []struct{ text, reason string }{
		{"exceeded quota", reasonQuota},
		{"failed quota", reasonQuota}, // a quota on a resource that the pod does not name
		{"violates PodSecurity", reasonPodSecurity},
		{"error looking up service account", reasonServiceAccount},
	} {
		if strings.Contains(message, known.text) {
			return known.reason
		}
	}
	if lacksRight(message) {
		return reasonOperatorForbidden
	}
	return reasonForbidden
}

// lacksRight reports whether a 403 is the authorizer's (user may not do that at all), or that of the admission plugin
// OwnerReferencesPermissionEnforcement, which asks for a right as well. Admission in general judges what is created and not who does it.
func lacksRight(message string) bool {
	_, why, found := strings.Cut(message, " is forbidden: ")
	return found && (strings.HasPrefix(why, `User "`) || strings.HasPrefix(why, "cannot set blockOwnerDeletion"))
}
