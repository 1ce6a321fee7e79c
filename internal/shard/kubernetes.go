package shard

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// setLabel is what the Leases of a set have: its name.
const setLabel = "sparkoperator.dev/shards-of"

// kubernetesStore is the Store of a namespace of the API server.
type kubernetesStore struct {
	leases coordinationclient.LeaseInterface
	set    string
}

// NewStore returns where the Leases of a set are: a namespace, which leases must be of. The set is a valid value of a label (at most 63 characters).
func NewStore(leases coordinationclient.LeaseInterface, set string) Store {
	return kubernetesStore{leases: leases, set: set}
}

// List implements Store. No resourceVersion is asked for, so that the answer is the store's own and no cache's.
func (s kubernetesStore) List(ctx context.Context) ([]Lease, error) {
	list, err := s.leases.List(ctx, metav1.ListOptions{LabelSelector: labels.Set{setLabel: s.set}.String()})
	if err != nil {
		return nil, err
	}
	var leases []Lease
	for i := range list.Items {
		leases = append(leases, leaseOf(&list.Items[i]))
	}
	return leases, nil
}

// Get implements Store.
func (s kubernetesStore) Get(ctx context.Context, name string) (Lease, error) {
	is, err := s.leases.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Lease{Name: name}, nil
	case err != nil:
		return Lease{}, err
	}
	return leaseOf(is), nil
}

// Put implements Store. The Lease of the leader election is left without the label: it is not of the set, whoever has it.
func (s kubernetesStore) Put(ctx context.Context, lease Lease) (Lease, error) {
	now := metav1.NewMicroTime(time.Now()) // for people; no replica reads it
	version, uid, _ := strings.Cut(lease.Version, "/")
	object := &coordinationv1.Lease{
		// Without the UID an update would create a Lease that was deleted, whatever its resourceVersion.
		ObjectMeta: metav1.ObjectMeta{Name: lease.Name, ResourceVersion: version, UID: types.UID(uid)},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &lease.Holder, RenewTime: &now, LeaseDurationSeconds: new(wholeSeconds(lease.Duration)),
		},
	}
	if lease.Name != s.set {
		object.Labels = map[string]string{setLabel: s.set}
	}
	var stored *coordinationv1.Lease
	var err error
	if lease.Version == "" {
		stored, err = s.leases.Create(ctx, object, metav1.CreateOptions{})
	} else {
		stored, err = s.leases.Update(ctx, object, metav1.UpdateOptions{})
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err) && lease.Version != "":
		return Lease{}, fmt.Errorf("%w: %w", ErrChanged, err)
	case err != nil:
		return Lease{}, err
	}
	return leaseOf(stored), nil
}

// wholeSeconds rounds up: others must not wait for less than was meant.
func wholeSeconds(d time.Duration) int32 {
	return int32(min(math.Ceil(d.Seconds()), math.MaxInt32))
}

func leaseOf(object *coordinationv1.Lease) Lease {
	lease := Lease{Name: object.Name, Version: object.ResourceVersion + "/" + string(object.UID)}
	if object.Spec.HolderIdentity != nil {
		lease.Holder = *object.Spec.HolderIdentity
	}
	if object.Spec.LeaseDurationSeconds != nil {
		lease.Duration = time.Duration(*object.Spec.LeaseDurationSeconds) * time.Second
	}
	return lease
}
