package controller

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/shard"
)

// leaveGrace is how long giving up the shards may take at the end, when no pass is in flight any more.
const leaveGrace = 5 * time.Second

// newShards returns what tells which custom resources are this replica's; nil, to which all are, where the configuration does not share them.
func newShards(cfg config.Configuration, rc *rest.Config, env Environment) (*shard.Member, error) {
	s := cfg.Sharding
	if !s.Enabled {
		return nil, nil
	}
	namespace := cfg.LeaderElection.Namespace
	if namespace == "" {
		var err error
		if namespace, err = podNamespace(); err != nil {
			return nil, errors.New("leaderElection.namespace: the operator does not run in a pod, so the namespace of the leases has to be said")
		}
	}
	leases, err := coordinationclient.NewForConfig(rc)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname() // a pod's is its name
	if err != nil {
		return nil, err
	}
	options := shard.Options{
		Set: cfg.LeaderElection.LeaseName, Name: cmp.Or(env.replica, host), Shards: s.Shards,
		LeaseDuration: s.LeaseDuration.Duration, RenewDeadline: s.RenewDeadline.Duration, RetryPeriod: s.RetryPeriod.Duration,
	}
	return shard.NewMember(options, shard.NewStore(leases.Leases(namespace), options.Set), env.Log.WithName("shards")), nil
}

// takePart lets this replica have shards once its caches are full, until what is returned is called: when no pass is in flight any more.
func (op *Operator) takePart(ctx context.Context) (leave func()) {
	if op.shards == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var part sync.WaitGroup
	part.Go(func() {
		if op.GetCache().WaitForCacheSync(ctx) {
			op.shards.Run(ctx, leaveGrace)
		}
	})
	return func() {
		cancel()
		part.Wait()
	}
}

// shardsOf is a source that feeds a kind's queue with the custom resources of shards that come and of those that go: what was remembered of these is dropped
// by a pass that finds them to be another's. Of clusters that are gone it feeds the names of those that left pods: whoever had them may have had no time to delete
// these, and nobody else would. It does so beside whoever tells: a list waits for a cache that is not full, and the renewal must not.
func shardsOf(shards *shard.Member, cache client.Reader, scheme *runtime.Scheme, kind schema.GroupVersionKind, clusters bool) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		empty, err := scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err != nil {
			return err
		}
		feed := func(changed []int) {
			add := func(key types.NamespacedName) {
				if slices.Contains(changed, shards.Shard(key)) {
					queue.Add(reconcile.Request{NamespacedName: key})
				}
			}
			list := empty.DeepCopyObject().(client.ObjectList)
			if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				return // the cache is being stopped
			}
			_ = meta.EachListItem(list, func(item runtime.Object) error {
				add(keyOf(item.(client.Object)))
				return nil
			})
			var pods corev1.PodList
			if !clusters || cache.List(ctx, &pods, client.HasLabels{labelClusterName}, client.UnsafeDisableDeepCopy) != nil {
				return
			}
			for i := range pods.Items {
				if pod := &pods.Items[i]; isStray(pod) {
					add(namespaced(pod.Namespace, pod.Labels[labelClusterName]))
				}
			}
		}
		shards.OnChange(func(changed []int) { go feed(changed) })
		return nil
	})
}

// turn is the right to make a pass over an object.
type turn struct {
	tenure uint64
	end    func()
}

// begin asks for the right to make a pass. Without it the object is another replica's, and nothing is known about it here any more.
func (r *Reconciler[T]) begin(ctx context.Context, key types.NamespacedName) (context.Context, turn, bool) {
	ctx, tenure, end, mine := r.shards.Begin(ctx, key)
	if !mine {
		r.forget(key)
		r.departed.forget(key)
		r.tenures.forget(key)
	}
	return ctx, turn{tenure, end}, mine
}

// ended is what a pass reports: no error, where it was ended since the right to make it was over.
func (r *Reconciler[T]) ended(ctx context.Context, result reconcile.Result, err error) (reconcile.Result, error) {
	switch {
	case !errors.Is(context.Cause(ctx), shard.ErrOver) && !errors.Is(err, shard.ErrOver): // a request may be refused before the context ends
		return result, err
	case r.lock != nil:
		return reconcile.Result{RequeueAfter: lookAgain}, nil // a lease that is renewed late is this replica's again
	}
	return reconcile.Result{}, nil // whoever has the object now goes on
}
