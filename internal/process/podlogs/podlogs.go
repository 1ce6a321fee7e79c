// Package podlogs connects the keeper of logs (internal/record/logs) with the manager and with the controllers of the
// kinds.
package podlogs

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/logs"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/record/stream"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// Logs is the keeper of logs with its connections. A nil *Logs keeps none.
type Logs struct {
	keeper *logs.Keeper
	mgr    manager.Manager

	mu     sync.Mutex
	owners map[schema.GroupVersionKind]handler.MapFunc
	queues map[string]func(types.NamespacedName) // by kind and API version
}

// New adds a keeper of logs to the manager. It returns nil if the configuration keeps no logs. The argument lead has
// the terms in which this replica leads, and is nil without leader election. The argument labels returns the labels of
// a namespace.
func New(ctx context.Context, entries []keptlogs.Entry, mgr manager.Manager, lead *fence.Leadership, recorder *telemetry.Recorder, metrics *telemetry.Metrics, labels func(string) map[string]string) (*Logs, error) {
	if len(entries) == 0 {
		return nil, nil
	}

	streams, err := stream.NewAPI(mgr.GetConfig(), mgr.GetAPIReader())
	if err != nil {
		return nil, err
	}

	maps, err := store.NewWriter(mgr.GetConfig(), mgr.GetHTTPClient(), mgr.GetScheme(), mgr.GetClient(), identity.FieldOwner)
	if err != nil {
		return nil, err
	}

	l := &Logs{mgr: mgr, owners: map[schema.GroupVersionKind]handler.MapFunc{}, queues: map[string]func(types.NamespacedName){}}

	metrics.ExpectLogs(logs.Reasons)

	if !keptlogs.Selects(entries) {
		labels = nil
	}

	l.keeper, err = logs.New(ctx, logs.Options{
		Entries: entries, Labels: labels, ConfigMaps: store.ConfigMaps{Reader: mgr.GetAPIReader(), Writer: maps},
		Streams: streams, Metrics: metrics, Lead: lead, Log: mgr.GetLogger().WithName("logs"),
		Stored: l.stored, Wake: l.wake, List: l.list,
		Report: func(a store.Attempt, message string) {
			about := corev1.ObjectReference{APIVersion: a.APIVersion, Kind: a.Kind, Namespace: a.Namespace, Name: a.Name, UID: a.UID}
			recorder.Event("", about, time.Now(), corev1.EventTypeWarning, dialect.ConditionLogsNotKept, message)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("keep logs: %w", err)
	}
	return l, mgr.Add(l.keeper)
}

// list calls a function for each pod in the caches that belongs to a kind whose logs are kept.
func (l *Logs) list(ctx context.Context, each func(schema.GroupVersionKind, types.NamespacedName, *corev1.Pod)) {
	var pods corev1.PodList
	if err := l.mgr.GetClient().List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		l.mgr.GetLogger().Error(err, "Could not list the pods whose logs are to be kept")
		return
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	for kind, owner := range l.owners {
		for i := range pods.Items {
			for _, request := range owner(ctx, &pods.Items[i]) {
				each(kind, request.NamespacedName, &pods.Items[i])
			}
		}
	}
}

// stored returns the part of the status of a cached custom resource that is about its logs, and whether the custom
// resource exists.
func (l *Logs) stored(ctx context.Context, a store.Attempt) (*lifecycle.Logs, bool) {
	var object client.Object
	var status func() *statusv1.OperatorStatus

	switch schema.FromAPIVersionAndKind(a.APIVersion, a.Kind) {
	case v1beta2.SchemeGroupVersion.WithKind("SparkApplication"):
		app := &v1beta2.SparkApplication{}
		object, status = app, func() *statusv1.OperatorStatus { return app.Status.Operator }
	case sparkv1.GroupVersion.WithKind("SparkApplication"):
		app := &sparkv1.SparkApplication{}
		object, status = app, func() *statusv1.OperatorStatus {
			return &cmp.Or(app.Status.Operator, &sparkv1.OperatorStatus{}).OperatorStatus
		}
	case v1alpha1.SchemeGroupVersion.WithKind("SparkConnect"):
		server := &v1alpha1.SparkConnect{}
		object, status = server, func() *statusv1.OperatorStatus {
			return &cmp.Or(server.Status.Operator, &v1alpha1.OperatorStatus{}).OperatorStatus
		}
	default:
		return nil, false
	}

	err := l.mgr.GetClient().Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, object)
	if err != nil || object.GetUID() != a.UID {
		return nil, false
	}

	if stored := status(); stored != nil && stored.Logs != nil {
		known := dialect.DecodeLogs(stored.Logs)
		return &known, true
	}
	return nil, true
}

// wake queues a custom resource.
func (l *Logs) wake(a store.Attempt) {
	l.mu.Lock()
	add := l.queues[a.APIVersion+" "+a.Kind]
	l.mu.Unlock()

	if add != nil {
		add(types.NamespacedName{Namespace: a.Namespace, Name: a.Name})
	}
}

// Wakes returns an event source that queues the custom resources of a kind whose logs have another state.
func (l *Logs) Wakes(gvk schema.GroupVersionKind) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		l.mu.Lock()
		defer l.mu.Unlock()

		l.queues[gvk.GroupVersion().String()+" "+gvk.Kind] = func(key types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: key}) }
		return nil
	})
}

// ofKind is the keeper of logs for one kind.
type ofKind struct {
	*logs.Keeper
	kind schema.GroupVersionKind
}

// Observe implements handlers.Logs.
func (o ofKind) Observe(owner types.NamespacedName, pod *corev1.Pod) {
	o.Keeper.Observe(o.kind, owner, pod)
}

// Gone implements handlers.Logs.
func (o ofKind) Gone(owner types.NamespacedName, pod *corev1.Pod) {
	o.Keeper.Gone(o.kind, owner, pod)
}

// Hold implements controller.Logs.
func (o ofKind) Hold(owner types.NamespacedName, pod *corev1.Pod) time.Duration {
	return o.Keeper.Hold(o.kind, owner, pod)
}

// Place returns where the records of a namespace are kept: a store, or nil for ConfigMaps. The result keeps is false if
// they are not kept.
func (l *Logs) Place(_ context.Context, namespace string) (bucket *store.Bucket, keeps bool) {
	if l == nil {
		return nil, false
	}
	return l.keeper.Place(namespace)
}

// Pods returns the receiver of the events of a kind's pods; nil if logs are not kept.
func (l *Logs) Pods(kind schema.GroupVersionKind, owner handler.MapFunc) handlers.Logs {
	if l == nil {
		return nil
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	l.owners[kind] = owner
	return ofKind{l.keeper, kind}
}

// Reconciler returns the keeper of logs for the reconciler of a kind; nil if logs are not kept.
func (l *Logs) Reconciler(kind schema.GroupVersionKind) controller.Logs {
	if l == nil {
		return nil
	}
	return ofKind{l.keeper, kind}
}
