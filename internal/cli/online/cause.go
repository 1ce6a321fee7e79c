package online

import (
	"cmp"
	"context"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/cause"
)

// causeLines is the number of lines at the end of a log in which readCause searches.
const causeLines = 1000

// readCause searches the log of a failed driver for the cause, if the end of the log that Kubernetes keeps in the pod's
// status does not show it. It changes the status of the object in memory. If the log cannot be read, or does not show
// the cause either, the object stays as it is.
func readCause(ctx context.Context, c *cluster.Client, object client.Object) {
	o := cluster.OperatorStatus(object)
	if o == nil || o.Cause == nil || o.Cause.Advice != cause.Unknown {
		return
	}
	var log strings.Builder
	if c.Logs(ctx, object, cluster.LogOptions{Tail: causeLines}, &log) != nil {
		return
	}
	found := cause.Search("", log.String())
	before := *o.Cause
	how, line, _ := strings.Cut(before.Message, ": ")
	if found.Line == "" || found.Reason == "" && line != "" {
		return
	}
	o.Cause.Reason, o.Cause.Advice = cmp.Or(found.Reason, before.Reason), strings.ReplaceAll(found.Advice, "ROLE", "driver")
	o.Cause.Message = lifecycle.Cut(bounds.Line(how+": "+found.Line), lifecycle.MaxLine)
	conditions := cluster.Summarize(object).Conditions // those of the object itself
	for i := range conditions {
		if condition := &conditions[i]; condition.Message == before.Message {
			condition.Reason, condition.Message = o.Cause.Reason, o.Cause.Message
		}
	}
}
