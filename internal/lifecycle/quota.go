package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// These are the reasons of Quota.Wait, and of a rejection because of what a queue adds to the pods.
const (
	ReasonQuotaPending       = "KueueAdmissionPending"
	ReasonQuotaRequestFailed = "KueueAdmissionRequestFailed"
	ReasonFlavorUnreadable   = "KueueResourceFlavorReadFailed"
	ReasonPlacement          = "KueuePlacementConflict"
)

// ReasonOtherPods is the reason of Quota.Evicted if the quota is for other pods than those of the present spec.
const ReasonOtherPods = "OtherPods"

// IsQuotaWait reports whether a reason is one of Quota.Wait.
func IsQuotaWait(reason string) bool {
	return reason == ReasonQuotaPending || reason == ReasonQuotaRequestFailed || reason == ReasonFlavorUnreadable
}

// Quota is what a queue reports about a custom resource. Package engine/kueue reads it from a Workload of Kueue.
//
// A state machine decides when quota is requested and given back, and the engine knows how:
//
//   - Create with QuotaRequest requests quota for the pods of the next attempt, or changes the request that exists. The
//     answer is a fact of the same pass: Observed.Quota with Asked. A launch needs an answer without Wait.
//   - Confirm with QuotaRequest asks whether the quota of pods that exist is for the pods of the present spec, and
//     changes nothing. The answer is a fact too. If the quota is for other pods, Evicted is set, with ReasonOtherPods.
//   - Delete with QuotaRequest gives the quota back. As after every deletion, the reason is stored before.
//   - Create with QuotaReturn gives the quota back after an eviction, when no pod is left that uses it. The request
//     stays in the queue.
//   - Create with QuotaStarted reports to the queue that all pods are ready. While pods run, the report is not taken
//     back: a driver whose program needs no executors any more looks like one that has lost them, and a queue may stop
//     pods that it does not count as ready.
//   - Create with QuotaHeld binds the request to a pod that uses the quota, so that the quota is free only after that
//     pod if the custom resource is deleted.
//   - Create with QuotaFinished reports that the attempt has ended (Plan.Next.Outcome) although its driver pod is kept.
type Quota struct {
	// Name is the name of the request's object.
	Name string
	// Attempt is the number of the attempt that the request was made for; 0 if the request has no such number.
	Attempt int32
	// Requested reports that a request exists. As long as it exists, it may hold quota.
	Requested bool
	// Unread reports that the request could not be read. It may exist and hold quota, and the other facts are unknown.
	Unread bool
	// Asked is set after Create with QuotaRequest. It is valid for one pass only.
	Asked bool
	// Wait is why the pods of the next attempt may not be created yet; nil if they may. It is meaningful only with
	// Asked.
	Wait *Cause
	// Placement says where the admitted pods must run, by the role of the pods. It is set only with Asked, so a decision
	// stores it with the launch.
	Placement map[string]Placement
	// Evicted is why the queue wants its quota back; nil if it does not. Pods that run are then stopped.
	Evicted *Cause
	// Reserved reports that the request holds quota, also after an eviction.
	Reserved bool
	// Unheld reports that a pod runs whose end would not be awaited if the custom resource was deleted.
	Unheld bool
	// Started reports that the request says that all pods are ready.
	Started bool
	// Finished reports that the request says that the attempt has ended.
	Finished bool
	// RequeueAfter is the time after which the queue must be asked again; 0 means that an event of the request is enough.
	RequeueAfter time.Duration
}

// Placement is what a queue adds to the pods of a role.
type Placement struct {
	Labels       map[string]string   `json:"labels,omitempty"`
	Annotations  map[string]string   `json:"annotations,omitempty"`
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
	// Source names what sets these values, for messages.
	Source string `json:"source,omitempty"`
}
