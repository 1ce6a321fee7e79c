package apply

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// reasonReportFailed is the reason of the Event about a report that the queue refuses.
const reasonReportFailed = "KueuePodsReadyUpdateFailed"

// Queue is a queue that grants quota to custom resources (lifecycle.Quota). Returned errors are those of the API
// server.
type Queue interface {
	// Request requests quota for the pods of an attempt, and returns the answer. If the second result is set, no
	// repetition helps. A returned error is transient.
	Request(ctx context.Context, owner client.Object, attempt int32, pods []dialect.Pods, now time.Time) (lifecycle.Quota, *lifecycle.Cause, error)
	// Compare returns whether the quota of pods that exist is for the given pods. It changes nothing. The results are
	// as those of Request.
	Compare(ctx context.Context, owner client.Object, pods []dialect.Pods) (lifecycle.Quota, *lifecycle.Cause, error)
	// Release withdraws the request.
	Release(ctx context.Context, owner client.Object) error
	// GiveBack gives the quota of an evicted request back. The request stays in the queue, for the given attempt.
	GiveBack(ctx context.Context, owner client.Object, attempt int32, now time.Time) error
	// Hold keeps the request until a pod is gone, even if the custom resource is deleted before. The pod may be nil.
	Hold(ctx context.Context, owner client.Object, pod *corev1.Pod) error
	// Ready reports that all pods are ready.
	Ready(ctx context.Context, owner client.Object, now time.Time) error
	// Finish reports that an attempt has ended.
	Finish(ctx context.Context, owner client.Object, outcome lifecycle.Outcome, now time.Time) error
}

// Queued is a kind whose custom resources can be in a queue.
type Queued interface {
	// Pods returns the pods that the next launch creates when it starts. An error is a fault of the user.
	Pods(object client.Object, seen lifecycle.Observed, now time.Time) ([]dialect.Pods, error)
}

// isQuota reports whether an action concerns the request for quota.
func isQuota(part lifecycle.Part) bool {
	switch part {
	case lifecycle.QuotaRequest, lifecycle.QuotaReturn, lifecycle.QuotaStarted, lifecycle.QuotaHeld, lifecycle.QuotaFinished:
		return true
	}
	return false
}

// actOnQuota carries out an action on the request for quota.
func (a Applier) actOnQuota(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	if a.Queue == nil {
		return Outcome{}, lifecycle.Bugf("the decision asks for quota, but there is no queue")
	}

	switch action.Part {
	case lifecycle.QuotaRequest:
		if action.Verb != lifecycle.Delete {
			return a.requestQuota(ctx, view, d, action)
		}
		return Outcome{}, a.Queue.Release(ctx, view.Owner)
	case lifecycle.QuotaReturn:
		return Outcome{}, a.Queue.GiveBack(ctx, view.Owner, action.Attempt, view.Now)
	case lifecycle.QuotaHeld:
		return refusedReport(a.Queue.Hold(ctx, view.Owner, view.Set.Holder()))
	case lifecycle.QuotaStarted:
		return refusedReport(a.Queue.Ready(ctx, view.Owner, view.Now))
	}
	return a.finishQuota(ctx, view, d)
}

// requestQuota requests quota for the pods of the next launch, or asks whether existing quota is for them. The answer
// is a fact.
func (a Applier) requestQuota(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	pods, err := a.Kind.(Queued).Pods(d.Object, view.Seen, d.Begun)
	if err != nil {
		//nolint:nilerr // the error is a fact
		return Outcome{Fact: RejectionFact(lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()})}, nil
	}

	ask := func() (lifecycle.Quota, *lifecycle.Cause, error) {
		if action.Verb == lifecycle.Confirm {
			return a.Queue.Compare(ctx, view.Owner, pods)
		}
		return a.Queue.Request(ctx, view.Owner, action.Attempt, pods, view.Now)
	}

	answer, refusal, err := ask()
	if err != nil {
		return Outcome{}, err
	}

	return Outcome{Fact: func(seen *lifecycle.Observed) { seen.Quota, seen.Rejection = &answer, refusal }}, nil
}

// finishQuota reports the end of an attempt. If the queue refuses the report, the request is withdrawn instead, so that
// its quota is free in any case.
func (a Applier) finishQuota(ctx context.Context, view dependents.View, d Decision) (Outcome, error) {
	err := a.Queue.Finish(ctx, view.Owner, d.Plan.Next.Outcome, view.Now)
	if cause, _ := apianswer.Rejection(err); cause.Reason != "" {
		err = a.Queue.Release(ctx, view.Owner)
	}
	return Outcome{}, err
}

// refusedReport returns the outcome of a report to the queue. A refused report holds nothing up.
func refusedReport(err error) (Outcome, error) {
	if cause, _ := apianswer.Rejection(err); cause.Reason != "" {
		return Outcome{Rejected: &apianswer.Wait{Reason: reasonReportFailed, Message: "Kueue's Workload was not updated: " + cause.Message}}, nil
	}
	return Outcome{}, err
}
