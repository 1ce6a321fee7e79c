package localpath

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Name is the provisioner's name in a StorageClass.
const Name = "sparkoperator.dev/local-path"

const (
	// provisionedBy is the annotation of Kubernetes that names the provisioner of a volume.
	provisionedBy = "pv.kubernetes.io/provisioned-by"
	// selectedNode is the annotation that the scheduler adds to a claim when it places the claim's first pod.
	selectedNode = "volume.kubernetes.io/selected-node"
)

type kind string

const (
	claim  kind = "claim"
	volume kind = "volume"
)

// item is the key of a queued object: namespace/name of a claim, or the name of a volume.
type item struct {
	kind kind
	key  string
}

type provisioner struct {
	client  kubernetes.Interface
	dir     string
	node    string
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	events  record.EventRecorder
	queue   workqueue.TypedRateLimitingInterface[item]
}

func (p *provisioner) enqueue(k kind) cache.ResourceEventHandler {
	add := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			p.queue.Add(item{kind: k, key: key})
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }}
}

// next handles one item of the queue. It returns false if the queue is shut down.
func (p *provisioner) next(ctx context.Context) bool {
	it, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	defer p.queue.Done(it)

	var err error
	if it.kind == claim {
		err = p.provision(ctx, it.key)
	} else {
		err = p.remove(ctx, it.key)
	}

	if err != nil {
		klog.ErrorS(err, "Requeued after an error", "kind", it.kind, "key", it.key)
		p.queue.AddRateLimited(it)
		return true
	}

	p.queue.Forget(it)
	return true
}

// pendingClaim returns the claim with the given key and the claim's class, if this provisioner should create a volume
// for the claim. Otherwise it returns nil.
func (p *provisioner) pendingClaim(key string) (*corev1.PersistentVolumeClaim, *storagev1.StorageClass, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("claim: %w", err)
	}

	pvc, err := p.claims.PersistentVolumeClaims(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}

	if err != nil {
		return nil, nil, fmt.Errorf("claim: %w", err)
	}

	if pvc.Spec.VolumeName != "" || pvc.DeletionTimestamp != nil || pvc.Spec.StorageClassName == nil {
		return nil, nil, nil
	}

	class, err := p.classes.Get(*pvc.Spec.StorageClassName)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}

	if err != nil {
		return nil, nil, fmt.Errorf("storage class: %w", err)
	}

	if class.Provisioner != Name || !p.due(pvc, class) {
		return nil, nil, nil
	}
	return pvc, class, nil
}

// provision creates the volume of a pending claim.
func (p *provisioner) provision(ctx context.Context, key string) error {
	pvc, class, err := p.pendingClaim(key)
	if err != nil || pvc == nil {
		return err
	}

	if mode := pvc.Spec.VolumeMode; mode != nil && *mode != corev1.PersistentVolumeFilesystem {
		p.events.Eventf(pvc, corev1.EventTypeWarning, "ProvisioningFailed", "volume mode %s is not supported, because volumes of %s are directories: set spec.volumeMode to Filesystem", *mode, Name)
		return nil
	}

	pv := p.render(pvc, class)
	if _, err := p.volumes.Get(pv.Name); err == nil {
		return nil
	}
	// Every user may write, because the claim does not name the users of the containers.
	path := pv.Spec.Local.Path
	if err := os.MkdirAll(path, 0o777); err != nil {
		return fmt.Errorf("volume's directory: %w", err)
	}

	if err := os.Chmod(path, 0o777); err != nil {
		return fmt.Errorf("volume's directory: %w", err)
	}

	if _, err := p.client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("volume: %w", err)
	}

	p.events.Eventf(pvc, corev1.EventTypeNormal, "ProvisioningSucceeded", "Created volume %s", pv.Name)
	return nil
}

// due reports whether the claim gets its volume now. If the class has the binding mode WaitForFirstConsumer, the claim
// must wait until the scheduler has chosen this node for the first pod that uses the claim.
func (p *provisioner) due(pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) bool {
	if class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
		return pvc.Annotations[selectedNode] == p.node
	}
	return true
}

// render returns the volume of a claim. Its name and directory contain the claim's UID, which users cannot choose.
func (p *provisioner) render(pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) *corev1.PersistentVolume {
	name := "pvc-" + string(pvc.UID)

	reclaim := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: Name}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   pvc.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: pvc.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: reclaim,
			StorageClassName:              class.Name,
			MountOptions:                  class.MountOptions,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: pvc.Namespace, Name: pvc.Name, UID: pvc.UID, ResourceVersion: pvc.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: filepath.Join(p.dir, name)}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{p.node},
				}},
			}}}},
		},
	}
}

// remove deletes a released volume that this provisioner created, its directory first.
func (p *provisioner) remove(ctx context.Context, name string) error {
	pv, err := p.volumes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}

	if err != nil {
		return fmt.Errorf("volume: %w", err)
	}

	if pv.Annotations[provisionedBy] != Name || pv.Status.Phase != corev1.VolumeReleased || pv.DeletionTimestamp != nil ||
		pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	// Compute the directory from the UID. A user could have written any path into the object.
	if pv.Spec.ClaimRef == nil || name != "pvc-"+string(pv.Spec.ClaimRef.UID) || filepath.Base(name) != name {
		return nil
	}

	if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
		return fmt.Errorf("volume's directory: %w", err)
	}

	err = p.client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &pv.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("volume: %w", err)
	}
	return nil
}
