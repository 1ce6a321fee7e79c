package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Logs keeps the logs of the pods of one kind of custom resources.
type Logs interface {
	// Hold returns how long the deletion of a pod has to wait for its log.
	Hold(owner types.NamespacedName, pod *corev1.Pod) time.Duration
	// Soon returns how long the status write about the end of an attempt's driver can wait for the driver's log.
	Soon(owner types.NamespacedName, uid types.UID, attempt int32) time.Duration
	// Result returns what is known about the logs of a custom resource; nil if nothing is known.
	Result(uid types.UID) *lifecycle.Logs
	// Forget drops what is known about a custom resource that does not exist any more.
	Forget(uid types.UID)
}
