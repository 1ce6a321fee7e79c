package apply

import (
	"context"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Prober is a kind whose missing executors are created in dry runs, to learn why the API server refuses them.
type Prober interface {
	// Executor returns the pod that the driver with the given UID would request as the executor with the given id. The
	// pod is never created, only used in dry runs.
	Executor(object client.Object, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error)
}

// probe finds out why requested executors are missing, and returns the answer as a fact.
func (a Applier) probe(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) Outcome {
	short := explain.Shortage{Of: identity.Key(view.Owner), UID: view.Owner.GetUID(), Attempt: action.Attempt, Since: d.Plan.Next.ShortSince}
	if driver := view.Seen.Driver(action.Attempt); driver != nil {
		short.Driver, short.Account, short.Created = types.UID(driver.UID), view.Set.AccountOf(driver.UID), driver.CreatedAt
	}

	if prober, probes := a.Kind.(Prober); probes {
		short.Executor = func() (*corev1.Pod, error) {
			return prober.Executor(d.Object, action.Attempt, nextExecutor(view.Seen.Executors, action.Attempt), short.Driver, view.Now)
		}
	}

	answer := a.Explainer.Executors(ctx, short, view.Now)
	if answer.Cause.Reason == apianswer.ReasonInvalid && short.Executor != nil {
		if pod, err := short.Executor(); err == nil {
			answer.Cause.Message = a.refusal(a.Kind.Traits().Sources.Executor, d.Object, pod, answer.Cause.Message)
		}
	}
	return Outcome{RequeueAfter: answer.QueryAfter, Fact: func(seen *lifecycle.Observed) {
		seen.ProbeResult, seen.QuerySkipped = &answer.Cause, seen.QuerySkipped || answer.Skipped
	}}
}

// refusal returns the message with which the API server refuses a pod as invalid, with the fields of the custom
// resource.
func (a Applier) refusal(source dialect.PodSource, owner client.Object, pod *corev1.Pod, message string) string {
	_, faults, found := strings.Cut(message, " is invalid: ")
	if !found {
		return message
	}
	return "the API server refuses the " + source.Role + " pod: " + source.Named(owner, pod, faults)
}

// nextExecutor returns an executor id that no executor of the attempt uses.
func nextExecutor(executors []lifecycle.Executor, attempt int32) int {
	last := 0
	for i := range executors {
		if id, err := strconv.Atoi(executors[i].ID); err == nil && executors[i].Attempt == attempt {
			last = max(last, id)
		}
	}
	return last + 1
}
