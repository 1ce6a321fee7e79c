package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
	"github.com/sparkoperator/spark-operator/internal/ground/churn"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Options are the parts of a Reconciler. Each part is required unless its comment says otherwise.
type Options struct {
	Kind    contract.Kind
	Client  client.Client // reads the cache
	Live    client.Reader // reads the API server
	Events  Recorder
	Metrics Metrics
	Traces  Tracer
	Clock   Clock
	Scope   Scope
	// NamespaceLabels returns the labels of a namespace, or nil if no decision depends on them. It may be nil.
	NamespaceLabels func(ctx context.Context, namespace string) (map[string]string, error)
	// Explainer finds out why pods wait and why executors are missing.
	Explainer *explain.Explainer
	// Optional are the caches of dependents of kinds that a cluster may lack.
	Optional dependents.OptionalCaches
	// Queue is the queue of the kind's custom resources; nil if there is none.
	Queue Queue
	// Price returns what a second of a pod costs, in billionths of a currency; nil without prices.
	Price func(ctx context.Context, pod lifecycle.PodUse, now time.Time) int64
	// Samples has samples of what pods use; nil without samples.
	Samples Samples
	// RunEnded receives custom resources that have ended permanently, after each pass; nil if nothing needs them.
	RunEnded func(ctx context.Context, object client.Object)
	// RunDeleted receives the last states of custom resources that were deleted while this replica leads; nil if nothing
	// needs them.
	RunDeleted func(ctx context.Context, object client.Object)
	// Sentinels are the sentinels of the kind; nil if it has none.
	Sentinels *sentinel.Kind
	// Rush reports whether more runs are due than can be started at once.
	Rush func() bool
	// Logs keeps the logs of pods; nil if logs are not kept.
	Logs Logs
	// Lead provides the terms in which this replica leads; nil without leader election.
	Lead *fence.Leadership
	// StopAsked reports whether a shutdown was requested.
	StopAsked func() bool
	// Track reports a pass that takes longer than its limit. The reconciler calls the function end when the pass ends.
	Track func(kind string, key types.NamespacedName, limit time.Duration) (end func())
	// ShutdownTimeout is how long a shutdown waits for passes. The time limit of a pass is shorter (passLimit), and at
	// most a minute.
	ShutdownTimeout time.Duration
}

// New returns a reconciler that consists of the given parts.
func New(o Options) *Reconciler {
	r := &Reconciler{
		kind: o.Kind, scope: o.Scope, labels: o.NamespaceLabels, clock: o.Clock, explains: o.Explainer, queue: o.Queue, price: o.Price, runEnded: o.RunEnded, runDeleted: o.RunDeleted, samples: o.Samples, sentinels: o.Sentinels, rush: o.Rush, track: o.Track,
		dependents: dependents.Client{Client: o.Client, Live: o.Live, Optional: o.Optional},
		term:       term{lead: o.Lead, asked: o.StopAsked, limit: passLimit(o.ShutdownTimeout)},
		reports:    reports{events: o.Events, metrics: o.Metrics, traces: o.Traces}, logs: o.Logs,
	}
	if o.Logs != nil {
		r.dependents.Hold = o.Logs.Hold
	}
	return r
}

// Ended returns the list of executors that have ended, but that no pass has counted yet.
func (r *Reconciler) Ended() *churn.Ended { return &r.ends }
