package detail

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

const (
	// listPage is the number of pods or Events that one request reads. Most Events of a namespace are dropped at once.
	listPage = 100
	// maxKept bounds the pods and the Events that a page keeps, each of which has some kilobytes.
	maxKept = 2000
)

// errMore is the error for a list of which only a part is kept.
var errMore = errors.New("there are more than a page reads")

// lists reads pods and Events in pages.
type lists struct {
	*kube.Client
	max int // the number of pods, and of Events, that are kept
}

// each lists objects page by page, and calls a function with each page, which returns how many objects it has kept. If
// there are more than are kept, the error is errMore.
func (l lists) each(ctx context.Context, options *client.ListOptions, empty func() client.ObjectList, keep func(client.ObjectList) int) error {
	options.Limit, options.Continue = listPage, ""
	for {
		page := empty()
		if err := l.WithWatch.List(ctx, page, options); err != nil {
			return l.Explain(err)
		}

		kept := keep(page)

		options.Continue = page.GetContinue()
		if options.Continue == "" {
			return nil
		}

		if kept >= l.max {
			return errMore
		}
	}
}

// pods returns the pods of all attempts that belong to an object, executors last. If there are too many, executors are
// left out.
func (l lists) pods(ctx context.Context, object client.Object) (pods []corev1.Pod, err error) {
	read := func(further ...string) error {
		selector, err := labels.Parse(strings.Join(append(further, identity.AppUIDLabel+"="+string(object.GetUID())), ","))
		if err != nil {
			return err
		}

		options := &client.ListOptions{Namespace: object.GetNamespace(), LabelSelector: selector}
		return l.each(ctx, options, func() client.ObjectList { return &corev1.PodList{} }, func(page client.ObjectList) int {
			pods = append(pods, page.(*corev1.PodList).Items...)
			return len(pods)
		})
	}

	if err = read(); errors.Is(err, errMore) { // the driver may be among the pods that were not read
		pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Labels[identity.RoleLabel] != identity.RoleExecutor })

		if err := read(identity.RoleLabel + "!=" + identity.RoleExecutor); err != nil && !errors.Is(err, errMore) {
			return nil, err
		}
	}
	return kube.ExecutorsLast(pods), err
}

// events returns the Events about an object and its pods, oldest first. If there are too many, some are left out.
func (l lists) events(ctx context.Context, object client.Object, pods []corev1.Pod) (events []corev1.Event, err error) {
	uids := map[string]bool{string(object.GetUID()): true}
	for i := range pods {
		uids[string(pods[i].UID)] = true
	}

	options := &client.ListOptions{Namespace: object.GetNamespace()}
	err = l.each(ctx, options, func() client.ObjectList { return &corev1.EventList{} }, func(page client.ObjectList) int {
		items := page.(*corev1.EventList).Items
		for i := range items {
			if items[i].ManagedFields = nil; uids[string(items[i].InvolvedObject.UID)] {
				events = append(events, items[i])
			}
		}
		return len(events)
	})

	slices.SortStableFunc(events, func(a, b corev1.Event) int { return kube.EventTime(&a).Compare(kube.EventTime(&b)) })
	return events, err
}
