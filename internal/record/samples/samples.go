// Package samples takes samples of the CPU and memory that drivers and executors use, from the metrics API of the
// cluster.
package samples

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

const (
	// listTimeout bounds the list of a namespace's pods.
	listTimeout = 10 * time.Second
)

// metricsKind is the kind of the lists of the metrics API.
var metricsKind = schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "PodMetricsList"}

// key identifies the pods of a role of an attempt. A tenant can label pods with the UID of somebody else's custom
// resource, so the namespace belongs to the key.
type key struct {
	namespace string
	owner     types.UID
	attempt   int32
	driver    bool // otherwise the executors
}

// owner identifies a custom resource.
type owner struct {
	kind string
	types.NamespacedName
}

// Sampler lists the metrics of the pods of each namespace with running attempts, once in an interval.
type Sampler struct {
	reader   client.Reader // reads the API server
	interval time.Duration
	log      logr.Logger

	mu      sync.Mutex
	running map[owner]struct{} // the custom resources with a running attempt
	sums    map[key]statusv1.UsageSamples
	failed  bool // the last list failed, and that is logged
}

// New returns a Sampler, which lists nothing before Start.
func New(reader client.Reader, interval time.Duration, log logr.Logger) *Sampler {
	return &Sampler{reader: reader, interval: interval, log: log, running: map[owner]struct{}{}, sums: map[key]statusv1.UsageSamples{}}
}

// NeedLeaderElection reports that only the leader takes samples.
func (*Sampler) NeedLeaderElection() bool { return true }

// SetRunning sets whether a custom resource has a running attempt. Samples are taken in the namespaces of those that
// have one. Each pass calls it, also a pass that changes nothing, so that a new leader takes samples of old attempts.
//
// An empty list of the metrics API does not end the samples of a namespace: metrics-server has the first figures of a
// pod a minute after its start, and none for some time after its own start.
func (s *Sampler) SetRunning(kind string, object types.NamespacedName, runs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if runs {
		s.running[owner{kind, object}] = struct{}{}
	} else {
		delete(s.running, owner{kind, object})
	}
}

// namespaces returns the namespaces with running attempts.
func (s *Sampler) namespaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	names := map[string]struct{}{}
	for each := range s.running {
		names[each.Namespace] = struct{}{}
	}
	return slices.Sorted(maps.Keys(names))
}

// Of returns the samples of the driver and the executors of an attempt since the last call, and forgets them.
func (s *Sampler) Of(owner client.Object, attempt int32) (driver, executors statusv1.UsageSamples) {
	s.mu.Lock()
	defer s.mu.Unlock()

	ofDriver := key{owner.GetNamespace(), owner.GetUID(), attempt, true}

	ofExecutors := ofDriver
	ofExecutors.driver = false
	driver, executors = s.sums[ofDriver], s.sums[ofExecutors]
	delete(s.sums, ofDriver)
	delete(s.sums, ofExecutors)
	return driver, executors
}

// Start takes samples until the context ends.
func (s *Sampler) Start(ctx context.Context) error {
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}

		for _, namespace := range s.namespaces() {
			s.sample(ctx, namespace)
		}
	}
}

// sample lists the metrics of a namespace's pods.
func (s *Sampler) sample(ctx context.Context, namespace string) {
	within, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()

	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(metricsKind)

	err := s.reader.List(within, &list, client.InNamespace(namespace), client.HasLabels{identity.AppUIDLabel})

	s.mu.Lock()
	defer s.mu.Unlock()

	if err != nil {
		if !s.failed && ctx.Err() == nil {
			s.log.Info("could not take samples of used CPU and memory; the metrics API (metrics.k8s.io) is needed", "namespace", namespace, "cause", err.Error())
		}

		s.failed = ctx.Err() == nil
		return
	}

	s.failed = false
	for i := range list.Items {
		s.add(&list.Items[i])
	}
}

// add adds the sample of a pod. Samples of attempts whose status is never written again are dropped when the map is
// full. The caller holds the lock.
func (s *Sampler) add(item *unstructured.Unstructured) {
	var metrics struct {
		Containers []struct {
			Usage corev1.ResourceList `json:"usage"`
		} `json:"containers"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &metrics) != nil {
		return
	}

	attempt, err := strconv.ParseInt(item.GetLabels()[identity.AttemptLabel], 10, 32)
	if err != nil {
		return
	}

	var cpu, memory int64
	for _, c := range metrics.Containers {
		cpu += max(c.Usage.Cpu().MilliValue(), 0)
		memory += max(c.Usage.Memory().Value(), 0) >> 20
	}

	pods := key{
		item.GetNamespace(), types.UID(item.GetLabels()[identity.AppUIDLabel]), int32(attempt), item.GetLabels()[identity.RoleLabel] != identity.RoleExecutor,
	}
	if _, known := s.sums[pods]; !known && len(s.sums) >= maxSums {
		clear(s.sums)
	}

	seconds := int64(s.interval.Seconds())
	s.sums[pods] = usage.PlusSamples(s.sums[pods], statusv1.UsageSamples{Count: 1, PeakMemoryMiB: memory, CPUMillicoreSeconds: cpu * seconds, MemoryMiBSeconds: memory * seconds})
}

// maxSums is the largest number of roles of attempts whose samples wait for a status write.
const maxSums = 50_000
