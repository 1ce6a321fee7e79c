package quota

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache contains the ResourceQuotas of some namespaces, reduced to the parts about pods. The passes use other caches,
// so that only the webhook is affected if the operator may not list ResourceQuotas.
type Cache struct {
	cache  cache.Cache
	synced atomic.Bool
}

// NewCache returns a cache that is empty until Start. The options select the namespaces.
func NewCache(rc *rest.Config, options cache.Options) (*Cache, error) {
	options.ByObject = map[client.Object]cache.ByObject{&corev1.ResourceQuota{}: {Transform: trimmed}}
	options.ReaderFailOnMissingInformer = true

	c, err := cache.New(rc, options)
	if err != nil {
		return nil, fmt.Errorf("create the cache of ResourceQuotas: %w", err)
	}
	return &Cache{cache: c}, nil
}

// NeedLeaderElection returns false, because every replica serves the webhook.
func (*Cache) NeedLeaderElection() bool { return false }

// Start fills the cache and keeps it up to date until ctx ends.
func (c *Cache) Start(ctx context.Context) error {
	if _, err := c.cache.GetInformer(ctx, &corev1.ResourceQuota{}, cache.BlockUntilSynced(false)); err != nil {
		return fmt.Errorf("watch ResourceQuotas: %w", err)
	}
	go func() {
		if c.cache.WaitForCacheSync(ctx) {
			c.synced.Store(true)
		}
	}()
	return c.cache.Start(ctx)
}

var errNotSynced = errors.New("the operator has not read the ResourceQuotas yet; it needs the right to list and watch them")

// Ready returns an error until the cache is synced. It is used in the readiness probe.
func (c *Cache) Ready(*http.Request) error {
	if !c.synced.Load() {
		return errNotSynced
	}
	return nil
}

// In returns the quotas of a namespace. It returns an error until the cache is synced.
func (c *Cache) In(ctx context.Context, namespace string) ([]corev1.ResourceQuota, error) {
	if err := c.Ready(nil); err != nil {
		return nil, err
	}

	var list corev1.ResourceQuotaList
	if err := c.cache.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the ResourceQuotas of namespace %s in the cache: %w", namespace, err)
	}
	return list.Items, nil
}

// trimmed returns the parts of a quota that Exceeded reads.
func trimmed(in any) (any, error) {
	quota, ok := in.(*corev1.ResourceQuota)
	if !ok {
		return in, nil
	}

	kept := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: quota.Namespace, Name: quota.Name, UID: quota.UID, ResourceVersion: quota.ResourceVersion},
		Spec:       corev1.ResourceQuotaSpec{Scopes: quota.Spec.Scopes, ScopeSelector: quota.Spec.ScopeSelector},
	}
	for name, amount := range quota.Spec.Hard {
		if countsPods(name) {
			if kept.Spec.Hard == nil {
				kept.Spec.Hard = corev1.ResourceList{}
			}

			kept.Spec.Hard[name] = amount
		}
	}
	return kept, nil
}
