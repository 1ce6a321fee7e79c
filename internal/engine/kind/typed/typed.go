// Package typed adapts the functions of a dialect to the reconciler. A dialect's function takes its own type of custom
// resource, but the reconciler needs a function that takes any client.Object. Package kinds adapts the functions when
// it builds a kind. The reconciler calls the adapted functions only with objects of the right type: the kind's New
// created them, or the cache decoded them.
package typed

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Of adapts a function whose only argument is a custom resource.
func Of[T client.Object, R any](f func(T) R) func(client.Object) R {
	return func(object client.Object) R { return f(object.(T)) }
}

// With adapts a function whose arguments are a custom resource and one other value.
func With[T client.Object, A, R any](f func(T, A) R) func(client.Object, A) R {
	return func(object client.Object, a A) R { return f(object.(T), a) }
}

// Decides adapts a dialect's Decide function.
func Decides[T client.Object](f func(T, lifecycle.Observed, time.Time) lifecycle.Plan) func(client.Object, lifecycle.Observed, time.Time) lifecycle.Plan {
	return func(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		return f(object.(T), seen, now)
	}
}

// Renders adapts a dialect's Render function.
func Renders[T client.Object](
	f func(T, lifecycle.Action, time.Time) (submit.Objects, error),
) func(client.Object, lifecycle.Action, time.Time) (submit.Objects, error) {
	return func(object client.Object, action lifecycle.Action, now time.Time) (submit.Objects, error) {
		return f(object.(T), action, now)
	}
}

// Executor adapts a dialect's function that renders an executor.
func Executor[T client.Object](
	f func(T, int32, int, types.UID, time.Time) (*corev1.Pod, error),
) func(client.Object, int32, int, types.UID, time.Time) (*corev1.Pod, error) {
	return func(object client.Object, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
		return f(object.(T), attempt, id, driver, now)
	}
}
