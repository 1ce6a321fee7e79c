package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/intake/thirdparty"
	"github.com/sparkoperator/spark-operator/internal/intake/watchdog"
)

// Options are the parts of a Reconciler. Each part is required unless its comment says otherwise.
type Options struct {
	Kind    Kind
	Client  client.Client // reads the cache
	Live    client.Reader // reads the API server
	Events  *telemetry.Recorder
	Metrics *telemetry.Metrics
	Traces  *telemetry.Traces // nil if traces are off
	Clock   Clock
	Scope   Scope
	// NamespaceLabels returns the labels of a namespace, or nil if no decision depends on them. It may be nil.
	NamespaceLabels func(ctx context.Context, namespace string) (map[string]string, error)
	// Explainer finds out why pods wait and why executors are missing.
	Explainer *explain.Explainer
	// Optional are the caches of dependents of kinds that a cluster may lack.
	Optional *thirdparty.Caches
	// Sentinels are the sentinels of the kind; nil if it has none.
	Sentinels *sentinel.Kind
	// Rush reports whether more runs are due than can be started at once.
	Rush func() bool
	// Lead provides the terms in which this replica leads; nil without leader election.
	Lead *fence.Leadership
	// StopAsked reports whether a shutdown was requested.
	StopAsked func() bool
	Watchdog  *watchdog.Watchdog
	// ShutdownTimeout is how long a shutdown waits for passes. The time limit of a pass is shorter (passLimit), and at
	// most a minute.
	ShutdownTimeout time.Duration
}

// New returns a reconciler that consists of the given parts.
func New(o Options) *Reconciler {
	return &Reconciler{
		kind: o.Kind, scope: o.Scope, labels: o.NamespaceLabels, clock: o.Clock, explains: o.Explainer, sentinels: o.Sentinels, rush: o.Rush, hangs: o.Watchdog,
		dependents: dependents.Client{Client: o.Client, Live: o.Live, Optional: o.Optional},
		term:       term{lead: o.Lead, asked: o.StopAsked, limit: passLimit(o.ShutdownTimeout)},
		reports:    reports{events: o.Events, metrics: o.Metrics, traces: o.Traces},
	}
}

// Ended returns the list of executors that have ended, but that no pass has counted yet.
func (r *Reconciler) Ended() *handlers.Ended { return &r.ends }
