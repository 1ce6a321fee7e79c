package console

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/paged"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
)

// addNamespaces adds the page of the namespaces.
func (c *console) addNamespaces() {
	web.Page(c.Site, web.Route{
		Path: "/namespaces", Title: "Namespaces", Section: "namespaces", Summary: "What the applications of each namespace use, and the quotas and queues of the namespace.",
		Parameters: map[string]string{"namespace": queryParameters["namespace"]},
	}, c.readNamespaces, view.Namespaces)
}

func (c *console) readNamespaces(r *web.Request) (model.Namespaces, error) {
	q, _ := table.ParseQuery(r.URL.Query())

	v, err := c.open(r, q.Namespaces)
	if err != nil {
		return model.Namespaces{}, err
	}
	defer v.Close()

	var page model.Namespaces
	if page.Fresh, page.Loading = v.Fresh(r.Now); page.Loading { // sums of a part of the objects would mislead
		return page, nil
	}

	page.Fresh.Live = false // the page has no events

	for _, n := range model.NamespacesOf(v.Rows()) {
		if len(q.Namespaces) == 0 || slices.Contains(q.Namespaces, n.Name) {
			page.Namespaces = append(page.Namespaces, n)
		}
	}

	names := make([]string, 0, len(page.Namespaces))
	for _, n := range page.Namespaces {
		names = append(names, n.Name)
	}

	quotas := read[corev1.ResourceQuota](r.Context(), r.Session.Client, "/api/v1", "resourcequotas", names)
	queues := read[queue](r.Context(), r.Session.Client, "/apis/kueue.x-k8s.io/v1beta2", "localqueues", names)

	for i := range page.Namespaces {
		n := &page.Namespaces[i]
		n.CPU, n.Memory = sharesOf(quotas.of[n.Name])
		n.Queue = queuesOf(queues.of[n.Name])
	}

	for what, problem := range map[string]string{"quotas": quotas.problem, "queues": queues.problem} {
		if problem != "" {
			page.Notes = append(page.Notes, "The "+what+" of some namespaces are missing: "+problem)
		}
	}

	slices.Sort(page.Notes)
	return page, nil
}

// queue is a LocalQueue of Kueue, as far as the page shows it.
type queue struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ClusterQueue string `json:"clusterQueue"`
	} `json:"spec"`
	Status struct {
		Pending  int32 `json:"pendingWorkloads"`
		Admitted int32 `json:"admittedWorkloads"`
		Usage    []struct {
			Resources []struct {
				Name  string            `json:"name"`
				Total resource.Quantity `json:"total"`
			} `json:"resources"`
		} `json:"flavorsUsage"`
	} `json:"status"`
}

// found are objects by namespace. The problem says why some are missing.
type found[T any] struct {
	of      map[string][]T
	problem string
}

// read reads the objects of a resource in the given namespaces as the user: with one list if the user may list them in
// all namespaces, else with one a namespace. A kind that the cluster does not have has no objects.
func read[T any](ctx context.Context, c *kube.Client, version, resource string, namespaces []string) found[T] {
	out := found[T]{of: map[string][]T{}}
	if len(namespaces) == 0 {
		return out
	}

	if all, err := paged.Items[T](ctx, c, version+"/"+resource); err == nil {
		for i := range all {
			namespace := any(&all[i]).(metav1.Object).GetNamespace()
			out.of[namespace] = append(out.of[namespace], all[i])
		}
		return out
	} else if exit.NoDefinition(err) || !apierrors.IsForbidden(err) {
		if !exit.NoDefinition(err) {
			out.problem = c.Explain(err).Error()
		}
		return out
	}

	var mu sync.Mutex

	var group errgroup.Group
	group.SetLimit(8)

	for _, name := range namespaces {
		group.Go(func() error {
			items, err := paged.Items[T](ctx, c, version+"/namespaces/"+name+"/"+resource)

			mu.Lock()
			defer mu.Unlock()

			if out.of[name] = items; err != nil && out.problem == "" {
				out.problem = c.Explain(err).Error()
			}
			return nil
		})
	}

	_ = group.Wait() // the functions return no error
	return out
}

// sharesOf returns the tightest quota of CPU and of memory: the one of which the largest part is used.
func sharesOf(quotas []corev1.ResourceQuota) (cpu, memory model.Share) {
	tighter := func(share *model.Share, q *corev1.ResourceQuota, value func(resource.Quantity) int64, names ...corev1.ResourceName) {
		for _, name := range names {
			hard, limited := q.Status.Hard[name]

			next := model.Share{Used: value(q.Status.Used[name]), Limit: value(hard)}
			if limited && (share.Limit == 0 || float64(next.Used)*float64(share.Limit) > float64(share.Used)*float64(next.Limit)) {
				*share = next
			}
		}
	}
	millis := func(q resource.Quantity) int64 { return q.MilliValue() }
	whole := func(q resource.Quantity) int64 { return q.Value() }

	for i := range quotas {
		if len(quotas[i].Spec.Scopes) > 0 || quotas[i].Spec.ScopeSelector != nil {
			continue // it counts only some pods
		}

		tighter(&cpu, &quotas[i], millis, corev1.ResourceRequestsCPU, corev1.ResourceCPU)
		tighter(&memory, &quotas[i], whole, corev1.ResourceRequestsMemory, corev1.ResourceMemory)
	}
	return cpu, memory
}

// queuesOf returns a text about the queues of a namespace.
func queuesOf(queues []queue) string {
	texts := make([]string, 0, len(queues))
	for i := range queues {
		q := &queues[i]
		parts := []string{fmt.Sprintf("%s of %s: %d admitted, %d pending", q.Name, q.Spec.ClusterQueue, q.Status.Admitted, q.Status.Pending)}

		used := map[string]resource.Quantity{}
		for _, flavor := range q.Status.Usage {
			for _, r := range flavor.Resources {
				r.Total.Add(used[r.Name])
				used[r.Name] = r.Total
			}
		}

		for _, name := range slices.Sorted(maps.Keys(used)) {
			total := used[name]
			parts = append(parts, name+" "+total.String())
		}

		texts = append(texts, bounds.Line(strings.Join(parts, ", ")))
	}

	slices.Sort(texts)
	return strings.Join(texts, "; ")
}
