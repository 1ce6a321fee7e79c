package apianswer

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// UndeclaredField reports whether an apply was rejected because the object has fields that are not in the API server's
// schema. It reads the message, because this rejection has no status code of its own.
func UndeclaredField(err error) bool {
	return err != nil && strings.Contains(err.Error(), "field not declared in schema")
}

// ImmutableSpec reports whether an update was rejected because it changes a part of the spec that is immutable.
func ImmutableSpec(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeForbidden && cause.Field == "spec"
	})
}

// setsCounted matches the message of a quota that has no room for another StatefulSet.
var setsCounted = regexp.MustCompile(
	`used: count/statefulsets\.apps=([^,\s]+), limited: count/statefulsets\.apps=([^,\s]+)`)

// QuotaCountsPredecessor reports whether a quota has no room for a StatefulSet only because the quota still counts the
// StatefulSet that is being replaced. It returns false if the quota's limit was lowered below the used number, because
// then there is no room after the deletion either.
func QuotaCountsPredecessor(err error) bool {
	if cause, _ := Rejection(err); cause.Reason != ReasonQuota {
		return false
	}

	figures := setsCounted.FindStringSubmatch(err.Error())
	if figures == nil {
		return false
	}

	used, err := bounds.Quantity(figures[1])
	limit, err2 := bounds.Quantity(figures[2])
	return errors.Join(err, err2) == nil && used.Cmp(limit) <= 0
}
