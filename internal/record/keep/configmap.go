package keep

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/record/run"
)

const (
	// maxRuns is the largest number of records in a ConfigMap.
	maxRuns = 30
	// maxBytes is the largest size of the records in a ConfigMap, which Kubernetes limits to 1 MiB.
	maxBytes = 512 << 10
)

// ownerOf returns who owns the records of a run: its schedule or, without one, the application.
func ownerOf(object client.Object, record *run.Record) metav1.OwnerReference {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind == kinds.Schedule.Kind && owner.Name == record.Schedule {
			return metav1.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
		}
	}
	return metav1.OwnerReference{APIVersion: record.APIVersion, Kind: record.Kind, Name: record.Name, UID: record.UID}
}

// NameOf returns the name of the ConfigMap with the records of an owner. A part of the UID separates owners of
// different kinds, and of different times, with the same name.
func NameOf(name string, uid types.UID) string {
	short := strings.ReplaceAll(string(uid), "-", "")
	return strings.TrimRight(name[:min(len(name), 200)], "-.") + "-runs-" + short[:min(len(short), 12)]
}

// inConfigMap writes a record into the ConfigMap of its owner, which has the last maxRuns records.
func (r *Recorder) inConfigMap(ctx context.Context, next job, text string) error {
	owner := ownerOf(next.object, next.record)
	found := corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: next.record.Namespace, Name: NameOf(owner.Name, owner.UID)}

	err := r.Reader.Get(ctx, key, &found)
	switch {
	case apierrors.IsNotFound(err):
		group := next.record.Group()
		found = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, OwnerReferences: []metav1.OwnerReference{owner}, Labels: map[string]string{
				run.GroupLabel: strings.Trim(group[:min(len(group), validation.LabelValueMaxLength)], "-._"), "app.kubernetes.io/managed-by": "spark-operator",
			},
		}}
	case err != nil:
		return fmt.Errorf("read the ConfigMap %s: %w", key.Name, err)
	case len(found.OwnerReferences) != 1 || found.OwnerReferences[0].UID != owner.UID:
		return fmt.Errorf("the ConfigMap %s exists and is not the operator's; delete it", key.Name)
	}

	if found.Data == nil {
		found.Data = map[string]string{}
	}

	found.Data[next.record.Key()] = text
	dropOldest(found.Data)

	if found.ResourceVersion == "" {
		return r.Writer.Create(ctx, &found)
	}
	return r.Writer.Update(ctx, &found)
}

// dropOldest drops the oldest records until the others are within the limits.
func dropOldest(data map[string]string) {
	keys, size := run.Keys(data), 0
	for _, text := range data {
		size += len(text)
	}

	for len(keys) > maxRuns || size > maxBytes && len(keys) > 1 {
		size -= len(data[keys[0]])
		delete(data, keys[0])
		keys = keys[1:]
	}
}
