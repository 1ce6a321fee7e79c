package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// A dialect's functions take their own type of custom resource, the reconciler's any. What is here makes one of the other where a kind is registered. A reconciler
// is given no objects but those of its kind's New, and those that its cache decoded as such.

// of adapts a function of a custom resource alone.
func of[T client.Object, R any](f func(T) R) func(client.Object) R {
	return func(object client.Object) R { return f(object.(T)) }
}

// with adapts a function of a custom resource and something else.
func with[T client.Object, A, R any](f func(T, A) R) func(client.Object, A) R {
	return func(object client.Object, a A) R { return f(object.(T), a) }
}

// decides adapts Decide.
func decides[T client.Object](f func(T, lifecycle.Observed, time.Time) lifecycle.Plan) func(client.Object, lifecycle.Observed, time.Time) lifecycle.Plan {
	return func(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		return f(object.(T), seen, now)
	}
}

// renders adapts Render.
func renders[T client.Object](
	f func(T, lifecycle.Action, time.Time) (submit.Objects, error),
) func(client.Object, lifecycle.Action, time.Time) (submit.Objects, error) {
	return func(object client.Object, action lifecycle.Action, now time.Time) (submit.Objects, error) {
		return f(object.(T), action, now)
	}
}

// executor adapts Executor.
func executor[T client.Object](
	f func(T, int32, int, types.UID, time.Time) (*corev1.Pod, error),
) func(client.Object, int32, int, types.UID, time.Time) (*corev1.Pod, error) {
	return func(object client.Object, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
		return f(object.(T), attempt, id, driver, now)
	}
}
