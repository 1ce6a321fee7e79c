package apianswer

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// These are the reasons of a transient error.
const (
	ReasonServerError     = "ServerError"
	ReasonUnauthorized    = "Unauthorized"
	ReasonTimeout         = "Timeout"
	ReasonConflict        = "Conflict"
	ReasonTooManyRequests = "TooManyRequests"
	ReasonNoAnswer        = "NoAnswer"
	// ReasonOperatorBug stands for an error of the operator itself. The operator retries it like a transient error.
	ReasonOperatorBug = "OperatorBug"
)

// TransientReason returns the reason of a transient error. The error must be neither a Wait nor a rejection.
func TransientReason(err error) string {
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return ReasonTimeout
	case lifecycle.IsBug(err):
		return ReasonOperatorBug
	case !errors.As(err, &status):
		return ReasonNoAnswer
	}

	switch code := int(status.Status().Code); code {
	case http.StatusUnauthorized:
		return ReasonUnauthorized
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return ReasonTimeout
	case http.StatusConflict:
		return ReasonConflict
	case http.StatusTooManyRequests:
		return ReasonTooManyRequests
	}
	return ReasonServerError
}
