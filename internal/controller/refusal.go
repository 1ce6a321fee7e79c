package controller

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// The reasons of a refusal by the API server.
const (
	reasonQuota          = "QuotaExceeded"
	reasonPodSecurity    = "PodSecurityViolation"
	reasonServiceAccount = "ServiceAccountNotFound"
	reasonForbidden      = "Forbidden"
	reasonInvalid        = "Invalid"
)

// refusal tells whether the API server's answer is for good, and what to say about it. Everything else is weather: time-outs, conflicts,
// too many requests, a server that fails, a token that is being renewed.
func refusal(err error) (lifecycle.Cause, bool) {
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
	// A quota that was just created has no figures for a moment.
	if code < 400 || code >= 500 || strings.Contains(message, "status unknown for quota") {
		return lifecycle.Cause{}, false
	}
	return lifecycle.Cause{Reason: refusalReason(code, message), Message: message}, true
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
	return reasonForbidden
}
