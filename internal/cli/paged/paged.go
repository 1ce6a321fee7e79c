// Package paged reads lists of the API server page by page, so that neither the API server nor a program has a whole
// list in memory only to send it.
package paged

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// Size is the largest number of objects that the API server returns for one list request.
const Size = 500

// Of lists objects page by page. Each page is a list that the parameter empty returns. An error ends the pages.
func Of[L client.ObjectList](ctx context.Context, r client.Reader, options client.ListOptions, empty func() L) iter.Seq2[L, error] {
	return func(yield func(L, error) bool) {
		for {
			page := empty()

			err := r.List(ctx, page, &options)
			if options.Continue = page.GetContinue(); !yield(page, err) || err != nil || options.Continue == "" {
				return
			}
		}
	}
}

// Raw sends a GET request for a path of the API server, with pairs of parameters and their values.
type Raw interface {
	Raw(ctx context.Context, path string, parameters ...string) ([]byte, error)
}

// Items reads the list at a path of the API server page by page, and returns its objects. The type parameter has the
// fields that are read.
func Items[T any](ctx context.Context, c Raw, path string) (items []T, err error) {
	for more := ""; ; {
		var page struct {
			metav1.ListMeta `json:"metadata"`

			Items []T `json:"items"`
		}

		text, err := c.Raw(ctx, path, "limit", strconv.Itoa(Size), "continue", more)
		if err == nil {
			err = utiljson.Unmarshal(text, &page)
		}

		if err != nil {
			return nil, err
		}

		items = append(items, page.Items...)
		if more = page.Continue; more == "" {
			return items, nil
		}
	}
}

// Limits bounds lists of the pods and Events of an object, each of which has some kilobytes.
type Limits struct {
	Page int64 // the number of objects that one request reads
	Kept int   // if this many objects have been kept and there are more, the result is incomplete with the error ErrMore
}

// All reads whole lists.
var All = Limits{Page: Size, Kept: math.MaxInt}

// ErrMore is the error for a list of which only a part is kept.
var ErrMore = errors.New("there are more than a page reads")

// Pods returns the pods of all attempts that belong to an object, executors last, and otherwise by name. If there are
// too many, executors are left out.
func (l Limits) Pods(ctx context.Context, r client.Reader, object client.Object) (pods []corev1.Pod, err error) {
	of := identity.AppUIDLabel + "=" + string(object.GetUID())

	if pods, err = l.podsWith(ctx, r, object.GetNamespace(), of); errors.Is(err, ErrMore) {
		pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Labels[identity.RoleLabel] != identity.RoleExecutor })

		// The driver may be among the pods that were not read.
		others, err := l.podsWith(ctx, r, object.GetNamespace(), of+","+identity.RoleLabel+"!="+identity.RoleExecutor)
		if err != nil && !errors.Is(err, ErrMore) {
			return nil, err
		}

		pods = append(pods, others...)
	}
	return ExecutorsLast(pods), err
}

func (l Limits) podsWith(ctx context.Context, r client.Reader, namespace, selector string) (pods []corev1.Pod, err error) {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}

	options := client.ListOptions{Namespace: namespace, LabelSelector: parsed, Limit: l.Page}
	for page, err := range Of(ctx, r, options, func() *corev1.PodList { return &corev1.PodList{} }) {
		if err != nil {
			return nil, err
		}

		if pods = append(pods, page.Items...); page.Continue != "" && len(pods) >= l.Kept {
			return pods, ErrMore
		}
	}
	return pods, nil
}

// Events returns the Events about an object and its pods, oldest first. If there are too many, some are left out.
func (l Limits) Events(ctx context.Context, r client.Reader, object client.Object, pods []corev1.Pod) (events []corev1.Event, err error) {
	uids := map[string]bool{string(object.GetUID()): true}
	for i := range pods {
		uids[string(pods[i].UID)] = true
	}

	options := client.ListOptions{Namespace: object.GetNamespace(), Limit: l.Page}
	for page, failed := range Of(ctx, r, options, func() *corev1.EventList { return &corev1.EventList{} }) {
		if failed != nil {
			return nil, failed
		}

		for i := range page.Items {
			if e := &page.Items[i]; uids[string(e.InvolvedObject.UID)] {
				e.ManagedFields = nil // as kubectl shows objects
				events = append(events, *e)
			}
		}

		if page.Continue != "" && len(events) >= l.Kept {
			err = ErrMore
			break
		}
	}

	slices.SortStableFunc(events, func(a, b corev1.Event) int { return EventTime(&a).Compare(EventTime(&b)) })
	return events, err
}

// ExecutorsLast moves the executors behind the other pods. The names of executors contain a generated id, so by name
// alone they would be before the driver of one application and after the driver of another.
func ExecutorsLast(pods []corev1.Pod) []corev1.Pod {
	rank := func(pod *corev1.Pod) int {
		if pod.Labels[identity.RoleLabel] == identity.RoleExecutor {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(pods, func(a, b corev1.Pod) int { return rank(&a) - rank(&b) })
	return pods
}

// EventTime returns when an Event was last observed.
func EventTime(e *corev1.Event) time.Time {
	for _, at := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.FirstTimestamp.Time} {
		if !at.IsZero() {
			return at
		}
	}
	return e.CreationTimestamp.Time
}
