package dialect

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// QueueLabel on a custom resource names its queue in Kueue (a LocalQueue).
const QueueLabel = "kueue.x-k8s.io/queue-name"

// QueueNews are the reasons of notices about a queue that require no action of the user.
var QueueNews = []string{lifecycle.ReasonQuotaPending, lifecycle.ReasonQuotaAdmitted}

// EventQueueDisabled is the reason of the Event about a custom resource with QueueLabel that is in no queue.
const EventQueueDisabled = "KueueDisabled"

// QueueDisabled returns a warning if a custom resource has a label that names a queue. It is for operators that put
// nothing into queues.
func QueueDisabled(labels map[string]string) string {
	if labels[QueueLabel] == "" {
		return ""
	}
	return "metadata.labels[" + QueueLabel + "]: has no effect, because the operator's integration of Kueue is off, so the pods are created at once and use no quota; " +
		"remove the label, or let an administrator set kueue.enabled"
}

// ConditionQueueIgnored is True if a custom resource names a queue, but its pods run outside of the queue's quota.
// Otherwise the condition is absent.
const ConditionQueueIgnored = "QueueIgnored"

// ReasonRequestMissing is the reason of the condition QueueIgnored if pods run although Kueue has no Workload for them.
const ReasonRequestMissing = "KueueWorkloadMissing"

// EncodeQueueIgnored sets the condition QueueIgnored of a custom resource whose pods run without a request for quota,
// and removes it otherwise. It returns a notice if the condition is new. Somebody deleted the request, or the pods were
// started before the operator queued such resources.
func EncodeQueueIgnored(conditions *[]metav1.Condition, runs bool, quota *lifecycle.Quota, generation int64, now time.Time) []lifecycle.Notice {
	if !runs || quota == nil || quota.Requested {
		meta.RemoveStatusCondition(conditions, ConditionQueueIgnored)
		return nil
	}

	isNew := !meta.IsStatusConditionTrue(*conditions, ConditionQueueIgnored)
	cause := lifecycle.Cause{Reason: ReasonRequestMissing, Message: "the pods continue outside of the quota of their queue, because Workload " + quota.Name + " does not exist; " +
		"suspend and resume the resource to queue it again"}
	SetCondition(conditions, metav1.Condition{Type: ConditionQueueIgnored, Status: metav1.ConditionTrue, Reason: cause.Reason, Message: cause.Message}, generation, now)

	if !isNew {
		return nil
	}
	return []lifecycle.Notice{{Part: lifecycle.Application, Cause: cause}}
}
