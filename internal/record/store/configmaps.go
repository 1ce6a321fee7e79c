package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MaxConfigMap is the largest size of the logs in a ConfigMap, in bytes. A ConfigMap can have 1 MiB, and etcd limits
// a request to 1.5 MiB.
const MaxConfigMap = 512 << 10

// ConfigMaps keeps the logs of each custom resource in one ConfigMap, which the custom resource owns. A write changes
// the files and the index at once. If there is no room for a new file, the files of the oldest attempts are dropped.
type ConfigMaps struct {
	Reader client.Reader // reads the API server, or a cache that has ConfigMaps
	Writer client.Writer // nil for a reader
}

var _ Logs = ConfigMaps{}

// ConfigMapName returns the name of the ConfigMap of a custom resource. A part of the UID separates custom resources of
// different kinds, and of different times, with the same name.
func ConfigMapName(a Attempt) string {
	name, uid := a.Name, strings.ReplaceAll(string(a.UID), "-", "")
	return strings.TrimRight(name[:min(len(name), 200)], "-.") + "-logs-" + uid[:min(len(uid), 12)]
}

func (c ConfigMaps) read(ctx context.Context, a Attempt) (*corev1.ConfigMap, error) {
	var found corev1.ConfigMap

	err := c.Reader.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: ConfigMapName(a)}, &found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the ConfigMap with the logs: %w", err)
	}

	if !slices.ContainsFunc(found.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == a.UID }) {
		return nil, fmt.Errorf("the ConfigMap %s exists and is not owned by this %s; delete it", found.Name, a.Kind)
	}
	return &found, nil
}

// dataKey returns the key of a file in the data of a ConfigMap, which cannot contain slashes.
func dataKey(number int32, file string) string { return strconv.Itoa(int(number)) + "." + file }

// Index implements Logs.
func (c ConfigMaps) Index(ctx context.Context, a Attempt) (*Index, error) {
	found, err := c.read(ctx, a)
	if found == nil || err != nil || found.BinaryData[dataKey(a.Number, IndexFile)] == nil {
		return nil, err
	}
	return decode(found.BinaryData[dataKey(a.Number, IndexFile)], a)
}

// Save implements Logs.
func (c ConfigMaps) Save(ctx context.Context, index *Index, files map[string][]byte) error {
	text, err := index.encode()
	if err != nil {
		return err
	}

	found, err := c.read(ctx, index.Attempt)
	if err != nil {
		return err
	}

	if found == nil {
		controls := metav1.OwnerReference{APIVersion: index.APIVersion, Kind: index.Kind, Name: index.Name, UID: index.UID}
		found = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: index.Namespace, Name: ConfigMapName(index.Attempt), OwnerReferences: []metav1.OwnerReference{controls},
			Labels: map[string]string{"app.kubernetes.io/managed-by": "spark-operator"},
		}}
	}

	if found.BinaryData == nil {
		found.BinaryData = map[string][]byte{}
	}

	for name, content := range files {
		found.BinaryData[dataKey(index.Number, name)] = content
	}

	found.BinaryData[dataKey(index.Number, IndexFile)] = text
	dropOldest(found.BinaryData, index.Number)

	if size := sizeOf(found.BinaryData); size > MaxConfigMap {
		return fmt.Errorf("the logs of the attempt have %d bytes after compression, and a ConfigMap takes at most %d; set an object store in logs[].store", size, MaxConfigMap)
	}

	if found.ResourceVersion == "" {
		return c.Writer.Create(ctx, found)
	}
	return c.Writer.Update(ctx, found)
}

// dropOldest drops the files of the oldest attempts until there is room, but none of the given attempt and of later
// ones.
func dropOldest(data map[string][]byte, current int32) {
	for _, number := range attemptsIn(data) {
		if number >= current || sizeOf(data) <= MaxConfigMap {
			continue
		}

		maps.DeleteFunc(data, func(key string, _ []byte) bool { return strings.HasPrefix(key, dataKey(number, "")) })
	}
}

func sizeOf(data map[string][]byte) (size int) {
	for key, content := range data {
		size += len(key) + len(content)
	}
	return size
}

func attemptsIn(data map[string][]byte) (numbers []int32) {
	for key := range data {
		number, file, _ := strings.Cut(key, ".")
		if n, err := strconv.ParseInt(number, 10, 32); err == nil && file == IndexFile {
			numbers = append(numbers, int32(n))
		}
	}

	slices.Sort(numbers)
	return numbers
}

// Open implements Logs.
func (c ConfigMaps) Open(ctx context.Context, a Attempt, file string) (io.ReadCloser, error) {
	found, err := c.read(ctx, a)
	if err != nil {
		return nil, err
	}

	if found == nil || found.BinaryData[dataKey(a.Number, file)] == nil {
		return nil, fmt.Errorf("the ConfigMap %s has no %s of attempt %d", ConfigMapName(a), file, a.Number)
	}
	return io.NopCloser(bytes.NewReader(found.BinaryData[dataKey(a.Number, file)])), nil
}

// Attempts implements Logs.
func (c ConfigMaps) Attempts(ctx context.Context, a Attempt) ([]int32, error) {
	found, err := c.read(ctx, a)
	if found == nil || err != nil {
		return nil, err
	}
	return attemptsIn(found.BinaryData), nil
}

// Place implements Logs.
func (ConfigMaps) Place(a Attempt) string { return "configmap/" + ConfigMapName(a) }
