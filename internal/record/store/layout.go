// Package store has the layout of what is kept of runs, and the two places that have it: an object store (Bucket), and
// a ConfigMap of the custom resource (ConfigMaps).
//
// The keys of an object store, below the prefix of its URL:
//
//	NAMESPACE/NAME/UID/ATTEMPT/driver.log.gz
//	NAMESPACE/NAME/UID/ATTEMPT/driver.part-OFFSET.log.gz (while the driver runs)
//	NAMESPACE/NAME/UID/ATTEMPT/executor-ID.log.gz
//	NAMESPACE/NAME/UID/ATTEMPT/index.json
//	NAMESPACE/_runs/GROUP/ENDED-UID.json
//
// No name of Kubernetes contains an underscore, so _runs is no application.
package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// The names of the files of an attempt.
const (
	DriverFile = "driver.log.gz"
	IndexFile  = "index.json"
)

// Runs is the folder of a namespace's run records.
const Runs = "_runs"

// MaxIndex is the largest index that is read, in bytes.
const MaxIndex = 1 << 20

// ExecutorFile returns the name of the file with the log of an executor.
func ExecutorFile(id string) string { return "executor-" + id + ".log.gz" }

// Attempt identifies an attempt of a custom resource.
type Attempt struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	Number     int32     `json:"attempt"`
}

// Resource returns the beginning of the keys of all attempts of a custom resource, with a slash at the end.
func (a Attempt) Resource() string { return a.Namespace + "/" + a.Name + "/" + string(a.UID) + "/" }

// Dir returns the beginning of the keys of the attempt, with a slash at the end.
func (a Attempt) Dir() string { return a.Resource() + strconv.Itoa(int(a.Number)) + "/" }

// RunKey returns the key of a run record. The records of a group sort by the end of the run. The argument ended is this
// time in a form that sorts as text.
func RunKey(namespace, group, ended string, uid types.UID) string {
	return namespace + "/" + Runs + "/" + group + "/" + ended + "-" + string(uid) + ".json"
}

// ownKey matches the keys of this layout. Only such keys are ever deleted.
var ownKey = regexp.MustCompile(`^[a-z0-9-]+/(?:[a-z0-9.-]+/[0-9a-f-]{36}/[0-9]+/(?:driver\.log\.gz|driver\.part-[0-9]{15}\.log\.gz|executor-[0-9a-z.-]+\.log\.gz|index\.json)|_runs/[a-z0-9.-]+/[0-9A-Za-z:.-]+\.json)$`)

// IsOwn reports whether a key, without the prefix of the store, is one of this layout.
func IsOwn(key string) bool { return ownKey.MatchString(key) }

// Index lists what is kept of an attempt. It is written after the files that it lists.
type Index struct {
	Attempt `json:",inline"`
	// Driver is the log of the driver; nil until the driver has ended.
	Driver *File `json:"driver,omitempty"`
	// Executors are the logs of executors, by their numbers.
	Executors []File `json:"executors,omitempty"`
	// Omitted is the number of executors whose logs were not kept because there were too many.
	Omitted int `json:"omitted,omitempty"`
	// KeptAt is when the index was written.
	KeptAt metav1.Time `json:"keptAt"`
}

// File describes a log: what was kept of it, or why it is missing.
type File struct {
	// Name is the name of the file; empty if the log is missing.
	Name string `json:"name,omitempty"`
	// Pod is the name of the pod, and Executor its number; empty for a driver.
	Pod      string    `json:"pod"`
	PodUID   types.UID `json:"podUID"`
	Executor string    `json:"executor,omitempty"`
	// Bytes is the size of the log in the node, and Kept is how much of it the file has, both uncompressed.
	Bytes int64 `json:"bytes"`
	Kept  int64 `json:"kept"`
	// Partial says why the log may lack its end; empty for a whole log.
	Partial string `json:"partial,omitempty"`
	// Missing says why the log was not kept.
	Missing string `json:"missing,omitempty"`
}

// Truncated reports whether a part of the log is missing in the middle.
func (f *File) Truncated() bool { return f.Kept < f.Bytes }

// Of returns the entry of a pod, or nil. A nil index has no entries.
func (x *Index) Of(pod types.UID) *File {
	if x == nil {
		return nil
	}

	if x.Driver != nil && x.Driver.PodUID == pod {
		return x.Driver
	}

	for i := range x.Executors {
		if x.Executors[i].PodUID == pod {
			return &x.Executors[i]
		}
	}
	return nil
}

// Set puts a log into the index. It replaces an earlier entry of the same pod.
func (x *Index) Set(f File) {
	if f.Executor == "" {
		x.Driver = &f
		return
	}

	x.Executors = slices.DeleteFunc(x.Executors, func(other File) bool { return other.PodUID == f.PodUID })
	x.Executors = append(x.Executors, f)
	slices.SortStableFunc(x.Executors, func(a, b File) int {
		return cmp.Or(cmp.Compare(len(a.Executor), len(b.Executor)), strings.Compare(a.Executor, b.Executor))
	})
}

// Find returns the entry of a driver (the executor "") or of an executor; nil if there is none. If executors had the
// same number, it returns the last one.
func (x *Index) Find(executor string) *File {
	if executor == "" {
		return x.Driver
	}

	for i := range slices.Backward(x.Executors) {
		if x.Executors[i].Executor == executor {
			return &x.Executors[i]
		}
	}
	return nil
}

// encode returns the index as JSON.
func (x *Index) encode() ([]byte, error) { return json.MarshalIndent(x, "", " ") }

// maxEntries is the largest number of executors in an index that is read. The settings allow fewer.
const maxEntries = 2000

// decode reads the index of an attempt. It returns an error for the index of another attempt, and for an index that
// would take much memory, because tenants can write ConfigMaps.
func decode(data []byte, a Attempt) (*Index, error) {
	// Each entry has braces. They are counted before the entries take memory.
	if n := bytes.Count(data, []byte("{")); len(data) > MaxIndex || n > maxEntries+2 {
		return nil, fmt.Errorf("the index of %s is too large: it has %d bytes and %d entries", a.Dir(), len(data), n)
	}

	var x Index
	if err := utiljson.Unmarshal(data, &x); err != nil {
		return nil, fmt.Errorf("the index of %s is not readable: %w", a.Dir(), err)
	}

	if x.UID != a.UID || x.Number != a.Number {
		return nil, fmt.Errorf("the index of %s is that of %s", a.Dir(), x.Dir())
	}
	return &x, nil
}
