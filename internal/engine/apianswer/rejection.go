// Package apianswer classifies the answers of the API server to a request: as a rejection, as a transient error, or as
// a reason to wait.
//
//   - A rejection does not change if the request is repeated: the object is invalid, forbidden, or beyond a quota. The
//     rejection becomes part of the next decision.
//   - A transient error goes away by itself: a time-out, a conflict, too many requests, a server that fails, a token
//     that is being renewed. The pass returns the error and is repeated after a back-off.
//   - A wait ends when something outside of the application changes: a namespace is gone, a CustomResourceDefinition is
//     installed, a right is granted, a webhook is repaired. The application has not failed.
//
// The package only reads errors. It sends no requests and has no state, except in Replies.
package apianswer

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// These are the reasons of a rejection by the API server.
const (
	ReasonQuota          = lifecycle.ReasonQuota
	ReasonPodSecurity    = "PodSecurityViolation"
	ReasonServiceAccount = "ServiceAccountNotFound"
	ReasonForbidden      = "Forbidden"
	ReasonInvalid        = lifecycle.ReasonPodInvalid
	// ReasonNotServed means that the definition of a kind is not installed.
	ReasonNotServed = "NotServed"
	// ReasonOperatorForbidden means that the operator itself lacks a right. That is a fault of the installation, not of
	// the application, and ends when somebody grants the right.
	ReasonOperatorForbidden = "OperatorForbidden"
)

// Rejection returns why the API server rejected a request, and whether the rejection is permanent. The cause is empty
// if err is nil or a transient error. If the operator lacks a right, there is a cause, but the rejection is not
// permanent.
func Rejection(err error) (cause lifecycle.Cause, permanent bool) {
	if meta.IsNoMatchError(err) { // the definition of the kind is not installed
		return lifecycle.Cause{Reason: ReasonInvalid, Message: err.Error()}, true
	}

	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return lifecycle.Cause{}, false
	}

	code, message := int(status.Status().Code), status.Status().Message
	switch code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return lifecycle.Cause{}, false
	}

	if code < 400 || code >= 500 || isUnsettled(message) {
		return lifecycle.Cause{}, false
	}

	reason := rejectionReason(code, message)
	return lifecycle.Cause{Reason: reason, Message: message}, reason != ReasonOperatorForbidden
}

// isUnsettled reports whether the API server rejects a request only because it has not loaded all of its own state yet.
//
// For example, the status of a new quota is empty for a moment. Another example is the admission plugin that checks
// owner references: for some seconds, it does not know the kind of a new CustomResourceDefinition.
func isUnsettled(message string) bool {
	return strings.Contains(message, "status unknown for quota") || strings.Contains(message, unknownKind)
}

// unknownKind is a part of the answer of the admission plugin OwnerReferencesPermissionEnforcement about an object
// whose owner has a kind that the plugin does not know yet.
const unknownKind = "cannot find RESTMapping"

// UnknownOwnerKind reports whether the API server rejects an object because it does not know the kind of its owner yet.
func UnknownOwnerKind(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusForbidden && strings.Contains(status.Status().Message, unknownKind)
}

// rejectionReason returns the reason of a rejection. The status code is enough, except for status 403: these rejections
// differ only in their messages.
func rejectionReason(code int, message string) string {
	if code != http.StatusForbidden {
		return ReasonInvalid
	}

	for _, known := range []struct{ text, reason string }{
		{"exceeded quota", ReasonQuota},
		{"failed quota", ReasonQuota}, // a quota on a resource that the pod does not name
		{"violates PodSecurity", ReasonPodSecurity},
		{"error looking up service account", ReasonServiceAccount},
	} {
		if strings.Contains(message, known.text) {
			return known.reason
		}
	}

	if lacksRight(message) {
		return ReasonOperatorForbidden
	}
	return ReasonForbidden
}

// lacksRight reports whether a message of status 403 says that the operator lacks a right. Such a message comes from
// the authorizer, or from the admission plugin OwnerReferencesPermissionEnforcement, which checks rights too. Other
// admission plugins check the object and not the user.
func lacksRight(message string) bool {
	_, why, found := strings.Cut(message, " is forbidden: ")
	return found && (strings.HasPrefix(why, `User "`) || strings.HasPrefix(why, "cannot set blockOwnerDeletion"))
}

// NotServed reports whether a creation failed because the API server does not serve the object's kind. The cause names
// the CustomResourceDefinition to install, because this operator does not install the definitions of optional kinds.
//
// The client reports this in two ways. If it has never mapped the kind to a path, it fails before it sends the request.
// If the definition was removed after the client had mapped the kind, the request fails because its path does not
// exist.
func NotServed(object client.Object, err error) (cause lifecycle.Cause, missing bool) {
	kind := object.GetObjectKind().GroupVersionKind()
	var status apierrors.APIStatus

	noPath := apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil &&
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	if !meta.IsNoMatchError(err) && !noPath {
		return lifecycle.Cause{}, false
	}

	resource, _ := meta.UnsafeGuessKindToResource(kind)
	const message = "the cluster does not serve %s of %s, which this resource needs: install the " +
		"CustomResourceDefinition %s and the program that it belongs to, or remove the field that needs it"
	return lifecycle.Cause{
		Reason:  ReasonNotServed,
		Message: fmt.Sprintf(message, kind.Kind, kind.GroupVersion(), resource.GroupResource()),
	}, true
}
