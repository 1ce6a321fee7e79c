package apianswer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// terminatingInterval is the value of Wait.After for a namespace that is being deleted. The exact value does not
// matter, because the application is deleted with its namespace.
const terminatingInterval = 10 * time.Second

// Wait is an error that ends a pass although the application is not at fault. An object is being deleted, or somebody
// has to repair something outside of the application. A pass after the deletion or the repair succeeds.
type Wait struct {
	// After is the shortest time until the next pass, except for the pass that reports the wait. If it is zero, the wait
	// has no lower bound of its own.
	After time.Duration
	// Unwatched is true if no watch reports the end of the wait, because the object belongs to somebody else. Passes are
	// then repeated more often.
	Unwatched bool
	// Reason is the reason of the wait in events and metrics. It may be empty.
	Reason string
	// Message says what the pass waits for, in words for a user.
	Message string
}

// Error returns the message.
func (w *Wait) Error() string { return w.Message }

// WaitOf returns the Wait that an error wraps. If the error says that the operator lacks a right, it returns a new
// Wait. It returns nil for any other error.
func WaitOf(err error) *Wait {
	if wait, ok := errors.AsType[*Wait](err); ok {
		return wait
	}

	if cause, _ := Rejection(err); cause.Reason == ReasonOperatorForbidden {
		return &Wait{Reason: cause.Reason, Message: cause.Message}
	}
	return nil
}

// NamespaceTerminating reports whether a creation failed because the namespace is being deleted.
func NamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// OfCreation classifies the error of a creation. The caller handles AlreadyExists. OfCreation returns either the cause
// of a permanent rejection, or an error: a Wait, or the wrapped transient error.
//
// A missing CustomResourceDefinition is a Wait, like a missing right. Another program installs the definition, perhaps
// at the same time as the application is created.
func OfCreation(object client.Object, err error) (*lifecycle.Cause, error) {
	if NamespaceTerminating(err) {
		return nil, &Wait{After: terminatingInterval, Message: "the namespace is being deleted, so nothing can be created in it"}
	}

	if cause, missing := NotServed(object, err); missing {
		return nil, &Wait{Reason: cause.Reason, Message: cause.Message}
	}

	if wait := ofWebhook(object, err); wait != nil {
		return nil, wait
	}

	if cause, permanent := Rejection(err); permanent {
		return &cause, nil
	}
	return nil, fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
}

// OfDryRun classifies the answer to a server-side dry run that creates a pod on behalf of another account. If the API
// server would not create the pod, OfDryRun returns the cause. If nothing prevents the creation, the cause is empty.
//
// It returns an error if the answer does not show whether the pod could be created. An example is an answer that the
// operator lacks a right, because the other account may have this right. A webhook with side effects rejects every dry
// run, so this rejection is no cause.
func OfDryRun(pod *corev1.Pod, err error) (lifecycle.Cause, error) {
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), NamespaceTerminating(err):
		return lifecycle.Cause{}, nil
	case strings.Contains(err.Error(), "does not support dry run"):
		return lifecycle.Cause{}, nil
	}

	if wait := ofWebhook(pod, err); wait != nil {
		return lifecycle.Cause{Reason: wait.Reason, Message: wait.Message}, nil //nolint:nilerr // the error is the answer
	}

	if cause, permanent := Rejection(err); permanent {
		return cause, nil
	}
	return lifecycle.Cause{}, err
}
