package stage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// MaxConfigMap is the largest size in bytes of files that go into a ConfigMap. A ConfigMap holds 1 MiB, with the names
// of the files and the ConfigMap's metadata.
const MaxConfigMap = 900_000

const (
	// mountPath is the directory in which the driver and the executors see the files of the ConfigMap.
	mountPath = "/mnt/sparkctl"
	// volumeName is the name of the ConfigMap's volume.
	volumeName = "sparkctl-files"
	// managedBy is the label that marks the ConfigMaps of this package.
	managedBy = "app.kubernetes.io/managed-by"
)

// useConfigMap changes an application so that it reads the files of the set from a ConfigMap. It returns this
// ConfigMap, and the caller creates it. The ConfigMap's name depends only on its content.
func (s *fileSet) useConfigMap(app *v1beta2.SparkApplication) (*corev1.ConfigMap, error) {
	if size := s.Size(); size > MaxConfigMap {
		largest := slices.MaxFunc(s.Files, func(a, b *localFile) int { return cmp.Compare(a.Size, b.Size) })
		return nil, fmt.Errorf("the local files have %d bytes together (%s has %d), and a ConfigMap takes at most %d; name an object store with --stage, or use files of the image (local://) or URLs",
			size, largest.Path, largest.Size, MaxConfigMap)
	}

	config := &corev1.ConfigMap{Immutable: new(true), BinaryData: map[string][]byte{}}
	config.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	config.Labels = map[string]string{managedBy: "sparkctl"}

	var items []corev1.KeyToPath
	for _, f := range s.Files {
		content, err := os.ReadFile(f.Path)
		if err != nil {
			return nil, err
		}

		if config.BinaryData[f.Digest] = content; digest(content) != f.Digest {
			return nil, fmt.Errorf("%s was changed while it was read; submit again", f.Path)
		}

		if item := (corev1.KeyToPath{Key: f.Digest, Path: f.Name()}); !slices.Contains(items, item) {
			items = append(items, item)
		}
	}

	config.Name = "sparkctl-files-" + nameOf(config)
	mount := corev1.VolumeMount{Name: volumeName, MountPath: mountPath, ReadOnly: true}
	spec := &app.Spec
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volumeName, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: config.Name}, Items: items},
	}})
	spec.Driver.VolumeMounts = append(spec.Driver.VolumeMounts, mount)
	spec.Executor.VolumeMounts = append(spec.Executor.VolumeMounts, mount)
	return config, s.useDirectory(app, mountPath, (*localFile).Name)
}

// nameOf returns the last part of a ConfigMap's name: a digest of its files.
func nameOf(config *corev1.ConfigMap) string {
	return digest([]byte(strings.Join(slices.Sorted(maps.Keys(config.BinaryData)), "\n")))[:16]
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ensureConfigMap creates the ConfigMap of an existing application. If a ConfigMap with the same content exists, the
// application becomes one of its owners. Kubernetes deletes the ConfigMap with its last owner. Pods that mount the
// ConfigMap wait until it exists.
func ensureConfigMap(ctx context.Context, c client.Client, config *corev1.ConfigMap, app *v1beta2.SparkApplication) error {
	owner := metav1.OwnerReference{APIVersion: v1beta2.SchemeGroupVersion.String(), Kind: "SparkApplication", Name: app.Name, UID: app.UID}
	return wait.PollUntilContextTimeout(ctx, retryInterval, retryTimeout, true, func(ctx context.Context) (bool, error) {
		config := config.DeepCopy()
		config.Namespace, config.OwnerReferences = app.Namespace, []metav1.OwnerReference{owner}

		err := c.Create(ctx, config)
		if apierrors.IsAlreadyExists(err) {
			err = addOwner(ctx, c, config, owner)
		}

		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another owner was deleted or added
			return false, nil
		}
		return err == nil, err
	})
}

// The interval and the time-out of the retries while other owners of a ConfigMap come and go.
const (
	retryInterval = 200 * time.Millisecond
	retryTimeout  = 30 * time.Second
)

// addOwner adds an owner to the ConfigMap in the cluster. It returns a NotFound error if that ConfigMap is being
// deleted.
func addOwner(ctx context.Context, c client.Client, config *corev1.ConfigMap, owner metav1.OwnerReference) error {
	var live corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKeyFromObject(config), &live); err != nil {
		return err
	}

	sameOwner := func(o metav1.OwnerReference) bool { return o.UID == owner.UID }
	switch {
	case live.DeletionTimestamp != nil:
		return apierrors.NewNotFound(corev1.Resource("configmaps"), config.Name)
	case !maps.EqualFunc(live.BinaryData, config.BinaryData, slices.Equal):
		return fmt.Errorf("ConfigMap %s exists with other content; delete it", live.Name)
	case slices.ContainsFunc(live.OwnerReferences, sameOwner):
		return nil
	}

	live.OwnerReferences = append(live.OwnerReferences, owner)
	return c.Update(ctx, &live)
}
