package node

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// renew is how often a node's lease is renewed, as a kubelet does: the node lifecycle controller takes a node whose lease is renewed for alive, whatever the age
// of its status, so that a node costs a write in ten seconds and no more.
const renew = 10 * time.Second

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// register makes a node that is ready, with room for more than is asked of it, and its lease. One that is there from before is taken as it is.
func (c *Cluster) register(ctx context.Context, name string) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100k"), corev1.ResourceMemory: resource.MustParse("1Pi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Pi"), corev1.ResourcePods: resource.MustParse("20k"),
	}
	now := metav1.Now()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: hostIP}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now}},
		},
	}
	if _, err := c.core.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	seconds, holder, micro := int32(40), name, metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &micro},
	}
	_, err := c.core.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, lease, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return c.renew(ctx, name)
	}
	return err
}

func (c *Cluster) renew(ctx context.Context, name string) error {
	patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
	_, err := c.core.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// beat renews the leases of all nodes. A beat may be missed: four make a node lost.
func (c *Cluster) beat(ctx context.Context, nodes int) {
	tick := time.NewTicker(renew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for i := range nodes {
			if err := c.renew(ctx, nodeName(i)); err != nil && ctx.Err() == nil {
				c.counts.retried.Add(1)
			}
		}
	}
}

// watch follows the pods that are bound to a node, until the context ends. They pass through and are not kept.
func (c *Cluster) watch(ctx context.Context) {
	pods := c.core.CoreV1().Pods(metav1.NamespaceAll)
	bound := func(options *metav1.ListOptions) { options.FieldSelector = "spec.nodeName!=" }
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			bound(&options)
			return pods.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			bound(&options)
			return pods.Watch(ctx, options)
		},
	}
	cache.NewReflector(source, &corev1.Pod{}, sink{c}, 0).RunWithContext(ctx)
}

// sink is the cache.ReflectorStore that hands on what the watch sees.
type sink struct{ c *Cluster }

func (s sink) Add(x any) error { return s.Update(x) }

func (s sink) Update(x any) error {
	seen, ok := x.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("%T is no pod", x)
	}
	next, news, err := s.c.known.saw(seen)
	if err != nil {
		s.c.fail(err)
		return nil
	}
	if news {
		s.c.tasks.add(task{due: time.Now(), pod: seen.UID, act: next})
	}
	return nil
}

func (s sink) Delete(x any) error {
	if seen, ok := x.(*corev1.Pod); ok {
		s.c.known.forget(seen.UID)
	}
	return nil
}

func (s sink) Replace(list []any, _ string) error {
	there := map[types.UID]bool{}
	for _, x := range list {
		if seen, ok := x.(*corev1.Pod); ok {
			there[seen.UID] = true
		}
		if err := s.Update(x); err != nil {
			return err
		}
	}
	s.c.known.only(there)
	s.c.first.Do(func() { close(s.c.listed) })
	return nil
}

func (s sink) Resync() error { return nil }
