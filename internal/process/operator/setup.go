// Package operator sets up the process: a manager with a reconciler for each served kind, the watches that fill the
// caches, the work queues, the selection of the served namespaces, the leader election, and the HTTP endpoints.
package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/intake/access"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/intake/thirdparty"
	"github.com/sparkoperator/spark-operator/internal/intake/transport"
	"github.com/sparkoperator/spark-operator/internal/intake/watchdog"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/metricsauth"
	"github.com/sparkoperator/spark-operator/internal/process/podlogs"
	"github.com/sparkoperator/spark-operator/internal/record/keep"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/live"
	"github.com/sparkoperator/spark-operator/internal/webhook"
)

const (
	// Errors back off from errorDelay to maxErrorDelay, separately for each object. They never delay events of pods.
	errorDelay    = 200 * time.Millisecond
	maxErrorDelay = time.Minute
)

// Environment contains what the operator gets from its process and not from its configuration file.
type Environment struct {
	// Rest connects to the API server. Its rate limits are removed, because the API server limits requests itself
	// (priority and fairness).
	Rest *rest.Config
	// Log receives everything that is logged.
	Log logr.Logger
	// Registerer receives the operator's metrics. In production it is metrics.Registry of controller-runtime.
	Registerer prometheus.Registerer
	// Version is the operator's version in traces.
	Version string
	// SkipNameValidation allows several operators in one process, for tests.
	SkipNameValidation bool

	// Wrap wraps the client of the reconcilers in tests that let writes fail.
	Wrap func(client.Client) client.Client
}

// Operator is a manager together with the objects that the reconcilers of all kinds share.
type Operator struct {
	manager.Manager
	config config.Configuration // as it was at the start
	rush   rush

	// Live is the configuration as it is now.
	Live *live.Live
	// Recorder writes the Events.
	Recorder *telemetry.Recorder
	// Metrics are the operator's metrics.
	Metrics *telemetry.Metrics
	// Traces are the spans of the passes. They are nil, and their methods do nothing, if traces are off.
	Traces *telemetry.Traces
	// Optional contains the caches of kinds that a cluster may lack.
	Optional *thirdparty.Caches
	// Watches are those of all caches.
	Watches *access.Watches
	// Sentinels are shared by all kinds.
	Sentinels *sentinel.Set

	// price returns the price of a pod; nil without prices.
	price func(context.Context, lifecycle.PodUse, time.Time) int64
	// samples takes samples of what pods use; nil without samples.
	samples controller.Samples

	allowed explain.Allowance // limits the queries of all kinds together
	records *keep.Recorder    // of finished runs; nil if nothing is recorded
	pods    *handlers.Listener
	others  []*handlers.Listener // of dependents.Kinds
	lock    *lock                // nil without leader election
	hangs   *watchdog.Watchdog
	webhook *webhook.Server // nil without the webhook
	logs    *podlogs.Logs   // nil if logs are not kept
	// until is the context of Start; nil before Start.
	until atomic.Pointer[context.Context]
}

// NewEmpty creates an operator without reconcilers, which Add adds later. It queries the API server's discovery, so
// it returns an error at once if the API server is unreachable.
func NewEmpty(ctx context.Context, cfg config.Configuration, env Environment) (*Operator, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta2.AddToScheme(scheme), v1alpha1.AddToScheme(scheme),
		sparkv1.AddToScheme(scheme), kueue.AddToScheme(scheme)); err != nil {
		return nil, err
	}

	metrics := telemetry.NewMetrics(env.Registerer, metricsOptions(cfg.Metrics))
	rc, lock := unlimited(env.Rest), newLock(cfg)
	rc.Wrap(transport.Shedding)
	rc.Wrap(fence.Gate(lock.terms()))
	rc.Wrap(metrics.Transport)
	rc.Wrap(access.Transport)

	traces, err := newTraces(cfg.Tracing, env, metrics)
	if err != nil {
		return nil, err
	}

	rc.Wrap(traces.Transport)

	hangs := watchdog.New(env.Log.WithName("watchdog"))
	watches := access.New(scheme, env.Log.WithName("namespaces"), metrics.Unwatched)

	mgr, err := manager.New(rc, managerOptions(cfg, env, scheme, lock, hangs, watches))
	if err != nil {
		return nil, err
	}

	if err := lock.connect(rc, mgr, cfg.LeaderElection); err != nil {
		return nil, err
	}

	cfg.Policy.ServerVersion = serverVersion(mgr)
	if texts := cfg.Policy.SegmentPatterns(); len(texts) > 0 {
		mgr.GetLogger().Info("In these patterns of images and repositories, * stands for no slash; ** stands for any characters", "patterns", texts)
	}

	op := &Operator{Manager: mgr, config: cfg, Live: live.New(cfg), Metrics: metrics, Traces: traces, lock: lock, hangs: hangs, Watches: watches, rush: rush{atOnce: cfg.Controller.Workers}}

	op.price = priceOf(cfg.Prices, mgr)
	if op.samples, err = samplesOf(cfg.Usage, mgr); err != nil {
		return nil, err
	}

	op.Recorder = telemetry.NewRecorder(mgr.GetClient(), mgr.GetAPIReader(), env.Log.WithName("events"), op.Metrics)

	op.Sentinels = sentinel.New(func() sentinel.Settings { return probes(op.Live.Now()) }, op.GetLogger())
	if err := errors.Join(op.Add(op.hangs), op.Add(op.Watches), op.Add(op.Sentinels), live.Follow(ctx, op, op.Live)); err != nil {
		return nil, err
	}

	if err := op.watchDependents(ctx); err != nil {
		return nil, err
	}

	op.Optional = thirdparty.New(op, configured.Optional(cfg), cacheOptions(cfg), op.Watches)

	if op.logs, err = podlogs.New(ctx, cfg.Logs, op, op.lock.terms(), op.Recorder, op.Metrics, op.namespaceLabels); err != nil {
		return nil, err
	}

	if op.records, err = recordsOf(op.logs, op, op.Recorder, op.Metrics); err != nil {
		return nil, err
	}

	op.Optional.Contents = queueContents(cfg)
	if err := mgr.Add(op.Optional); err != nil {
		return nil, err
	}
	return op, op.addProbes()
}

// Start runs the operator until ctx ends. Then it finishes the passes in flight and writes their Events.
//
// The recorder, which writes the Events, must stop after the last pass. The manager would stop it too early: a manager
// stops a runnable before the reconcilers, or together with them if the runnable needs leader election. Start therefore
// runs the recorder itself.
//
// The webhook is served somewhat longer, because the API server may call this replica until it has observed that the
// replica is not ready.
func (op *Operator) Start(ctx context.Context) error {
	op.until.Store(&ctx)
	running, stop := context.WithCancel(ctx)
	defer stop()

	recording, finish := context.WithCancel(context.WithoutCancel(ctx))

	written := make(chan error, 1)
	go func() { written <- op.Recorder.Start(recording) }()

	drained := sync.OnceValue(func() error {
		finish()
		return <-written
	})
	if op.lock != nil {
		// No Event leaves after the term, which ends with the release of the lease. At that time no pass is left.
		op.lock.BeforeRelease = func() { _ = drained() }
	}

	reviewed := op.serveWebhook(running, stop)
	err := op.Manager.Start(running)

	stop()
	return errors.Join(err, drained(), reviewed(), op.Traces.Close())
}

// probes returns the settings of the sentinels.
func probes(cfg config.Configuration) sentinel.Settings {
	return sentinel.Settings{Enabled: cfg.Apache.Sentinels.Enabled, Delay: cfg.Apache.Sentinels.Delay.Duration, Namespaces: cfg.SentinelNamespaces()}
}

// unlimited returns a copy of a client configuration without rate limits. It leaves the content type unset, so that
// built-in kinds are read as protobuf and custom resources as JSON.
func unlimited(base *rest.Config) *rest.Config {
	unlimited := rest.CopyConfig(base)
	unlimited.QPS = -1
	unlimited.RateLimiter = nil
	unlimited.ContentType = ""
	return rest.AddUserAgent(unlimited, telemetry.Component)
}

func managerOptions(cfg config.Configuration, env Environment, scheme *runtime.Scheme, lock *lock, hangs *watchdog.Watchdog, watches *access.Watches) manager.Options {
	election := cfg.LeaderElection

	options := manager.Options{
		Scheme: scheme,
		Logger: lock.managerLog(env.Log),
		Cache:  cacheOptions(cfg),
		NewCache: func(rc *rest.Config, options cache.Options) (cache.Cache, error) {
			return newCache(hangs, watches, rc, options)
		},
		MapperProvider: newMappings,
		NewClient: func(rc *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.New(rc, options)
			if err != nil {
				return nil, err
			}

			c = apianswer.Unblocking{Client: client.WithFieldOwner(c, identity.FieldOwner)}
			if env.Wrap != nil {
				c = env.Wrap(c)
			}
			return c, nil
		},
		Metrics:                metricsauth.Options(cfg.Metrics, scheme),
		HealthProbeBindAddress: cfg.Health.BindAddress,
		PprofBindAddress:       cfg.Pprof.BindAddress,

		LeaderElection:          lock != nil,
		LeaderElectionID:        election.LeaseName,
		LeaderElectionNamespace: election.Namespace,
		LeaseDuration:           &election.LeaseDuration.Duration,
		RenewDeadline:           &election.RenewDeadline.Duration,
		RetryPeriod:             &election.RetryPeriod.Duration,
		// The early release of the lease is safe, because passes in flight end before the manager returns, and nothing
		// acts after that.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &cfg.Controller.ShutdownTimeout.Duration,
		Controller: ctrlconfig.Controller{
			CacheSyncTimeout:   cfg.Controller.CacheSyncTimeout.Duration,
			RecoverPanic:       new(true),
			EnableWarmup:       new(true), // a standby replica has its caches synced when it takes over
			SkipNameValidation: new(env.SkipNameValidation),
		},
	}
	if lock != nil {
		options.LeaderElectionResourceLockInterface = lock
	}
	return options
}

// watchDependents creates the indexes by which reconcilers find the dependents of a custom resource. The creation of an
// index also starts the watch of the indexed kind.
func (op *Operator) watchDependents(ctx context.Context) error {
	objects := []client.Object{&corev1.Pod{}}

	op.pods = handlers.NewListener(objects[0], op.GetCache())
	for _, kind := range dependents.Kinds {
		object := identity.MetadataOnly(kind)
		objects, op.others = append(objects, object), append(op.others, handlers.NewListener(object, op.GetCache()))
	}

	for _, object := range objects {
		if err := op.GetFieldIndexer().IndexField(ctx, object, identity.CacheIndex, identity.IndexKeys); err != nil {
			return fmt.Errorf("index %T: %w", object, err)
		}
	}
	return nil
}

// addProbes adds /healthz and /readyz. /healthz fails if a write to a sentinel does not cause a pass in time, or if a
// pass or the decoding of an object has lasted so long that only a restart can end it. /readyz fails if the caches are
// not synced, if a pass or a decoding hangs, or if the operator is stopping. A standby replica passes both probes.
func (op *Operator) addProbes() error {
	return errors.Join(op.AddHealthzCheck("ping", healthz.Ping), op.AddHealthzCheck("sentinels", op.Sentinels.Check), op.AddHealthzCheck("hangs", op.hangs.Alive),
		op.AddReadyzCheck("caches", op.synced), op.AddReadyzCheck("hangs", op.hangs.Ready), op.AddReadyzCheck("stopping", op.serves), op.addApacheEndpoints())
}

// serves returns an error if the operator is stopping. The replica is then not ready, so that the API server stops
// calling its webhook.
func (op *Operator) serves(*http.Request) error {
	if op.stopAsked() {
		return errors.New("the operator is stopping")
	}
	return nil
}

// synced returns an error until the caches are synced, and if there is no namespace that the operator can serve.
func (op *Operator) synced(req *http.Request) error {
	ctx, cancel := context.WithTimeout(req.Context(), time.Second)
	defer cancel()

	if !op.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the caches are not synced yet")
	}
	return op.Watches.RefusedInAll(op.watchedNamespaces(), op.requiredKinds()...)
}

// backoff returns the rate limiter of a kind's queue, which delays a key only after errors.
func backoff[R comparable]() workqueue.TypedRateLimiter[R] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[R](errorDelay, maxErrorDelay)
}

// NewOperator creates an operator with every kind that the configuration enables. Start runs the operator. If the API
// server does not serve a kind yet, the operator begins to serve the kind later (AddWhenServed).
//
// There is one exception. If SparkApplications of sparkoperator.k8s.io are enabled and those of spark.apache.org are
// not, NewOperator waits until the API server serves the former, at most for controller.cacheSyncTimeout.
func NewOperator(ctx context.Context, cfg config.Configuration, env Environment) (*Operator, error) {
	op, err := NewEmpty(ctx, cfg, env)
	if err != nil {
		return nil, err
	}

	labels := op.NamespaceLabels()

	var errs []error
	for i := range configured.All {
		served := &configured.All[i]
		if !served.Enabled(&cfg) {
			continue
		}

		add := AddWhenServed
		if served.Kind == kinds.SparkApplication && !cfg.ApacheApplications() {
			add = Add
		}

		errs = append(errs, add(ctx, op, served.Build(op.Settings, labels), time.Now))
	}

	errs = append(errs, op.addWebhook())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return op, nil
}

// newTraces creates the traces of the operator, or returns nil if the configuration switches traces off.
func newTraces(cfg config.Tracing, env Environment, metrics *telemetry.Metrics) (*telemetry.Traces, error) {
	if cfg.Endpoint == "" {
		return nil, nil
	}

	options := telemetry.TracesOptions{Endpoint: cfg.Endpoint, SamplingRatio: *cfg.SamplingRatio, Version: env.Version}
	return telemetry.NewTraces(options, env.Log.WithName("traces"), metrics)
}

func metricsOptions(cfg config.Metrics) telemetry.MetricsOptions {
	return telemetry.MetricsOptions{
		Prefix: cfg.Prefix, Labels: *cfg.Labels, SubmitBuckets: cfg.JobSubmitLatencyBuckets, StartBuckets: cfg.JobStartLatencyBuckets, OwnerLabel: cfg.OwnerLabel,
	}
}
