package kube

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// causeLines is the number of lines at the end of a log in which ReadCause searches, and causeBytes the largest number
// of bytes of them. A line can be longer than the memory.
const (
	causeLines = 1000
	causeBytes = 16 << 20
)

// ReadCause searches the log of a failed driver for the cause, if the end of the log that Kubernetes keeps in the pod's
// status does not show it. It changes the status of the object in memory. If the log cannot be read, or does not show
// the cause either, the object stays as it is.
func (c *Client) ReadCause(ctx context.Context, object client.Object) {
	FindCause(object, func() (string, error) { return c.CauseLog(ctx, object) })
}

// CauseLog returns the end of the log in which ReadCause searches.
func (c *Client) CauseLog(ctx context.Context, object client.Object) (string, error) {
	var log strings.Builder
	err := c.Logs(ctx, object, LogOptions{Tail: causeLines, Limit: causeBytes}, &log)
	return log.String(), err
}

// FindCause does what ReadCause does with the log that a function reads, which it calls only if it needs the log.
func FindCause(object client.Object, read func() (string, error)) {
	o := OperatorStatus(object)
	if o == nil || o.Cause == nil {
		return
	}

	before := lifecycle.Cause{Reason: o.Cause.Reason, Message: o.Cause.Message, Advice: o.Cause.Advice}
	if !before.IsVague() {
		return
	}

	log, err := read()
	if err != nil {
		return
	}

	after := before.Searched(log)
	o.Cause.Reason, o.Cause.Message, o.Cause.Advice = after.Reason, after.Message, after.Advice
	replaceCause(Summarize(object).Conditions, &before, &after) // the conditions of the object itself
}

// replaceCause replaces a cause in the conditions that have it. If another attempt follows, a message continues behind
// the cause with the time of that attempt.
func replaceCause(conditions []metav1.Condition, before, after *lifecycle.Cause) {
	for i := range conditions {
		condition := &conditions[i]
		if rest, found := strings.CutPrefix(condition.Message, before.Message); found {
			condition.Reason, condition.Message = after.Reason, after.Message+rest
		}
	}
}
