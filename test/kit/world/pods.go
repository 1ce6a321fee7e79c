package world

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// PodWatch follows the pods of a custom resource. It receives each change in the order in which the API server stored
// the changes, so that no state between two changes is missed.
type PodWatch struct {
	w       *World
	role    string
	apart   bool
	ofOwner []client.ListOption
	watch   watch.Interface
	done    chan struct{}

	mu      sync.Mutex
	pods    map[types.UID]*corev1.Pod // that exist
	started map[string]int            // the pods of the role, by their attempt
	current map[string]string         // the attempt of each role, since the last moment without a pod
}

// WatchPods starts to follow the pods of a custom resource, which must have none yet. The test fails if two pods of the
// given role exist at the same time, or if an attempt gets two of them. If apart is true, the test also fails if a pod
// of an attempt is created while a pod of an earlier attempt exists, whatever their roles.
func (w *World) WatchPods(owner client.Object, role string, apart bool) *PodWatch {
	w.T.Helper()

	api, err := client.NewWithWatch(kit.Rest(w.T), client.Options{})
	if err != nil {
		w.T.Fatal(err)
	}

	p := &PodWatch{
		w: w, role: role, apart: apart, done: make(chan struct{}),
		pods: map[types.UID]*corev1.Pod{}, started: map[string]int{}, current: map[string]string{},
		ofOwner: []client.ListOption{client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(owner.GetUID())}},
	}

	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: owner.GetResourceVersion()}}
	if p.watch, err = api.Watch(w.T.Context(), &corev1.PodList{}, append(slices.Clone(p.ofOwner), from)...); err != nil {
		w.T.Fatal(err)
	}

	go p.follow()
	return p
}

func (p *PodWatch) follow() {
	defer close(p.done)

	for event := range p.watch.ResultChan() {
		if pod, isPod := event.Object.(*corev1.Pod); isPod && p.w.T.Context().Err() == nil {
			p.mu.Lock()
			p.change(event.Type, pod)
			p.mu.Unlock()
		}
	}
}

// attemptOf returns what identifies the attempt of a pod: its label or, for a pod of a StatefulSet, the StatefulSet.
func attemptOf(pod *corev1.Pod) string {
	if attempt := pod.Labels[identity.AttemptLabel]; attempt != "" {
		return attempt
	}

	if set := metav1.GetControllerOf(pod); set != nil {
		return string(set.UID)
	}
	return ""
}

func (p *PodWatch) change(kind watch.EventType, pod *corev1.Pod) {
	switch kind {
	case watch.Deleted:
		if delete(p.pods, pod.UID); len(p.pods) == 0 {
			clear(p.current)
		}
	case watch.Added:
		p.created(pod)
	}
}

// created checks a new pod.
func (p *PodWatch) created(pod *corev1.Pod) {
	role, attempt := pod.Labels[identity.RoleLabel], attemptOf(pod)
	if last, known := p.current[role]; p.apart && known && last != attempt {
		p.w.T.Errorf("pod %s of attempt %s was created before all pods of attempt %s were gone", pod.Name, attempt, last)
	}

	p.pods[pod.UID], p.current[role] = pod, attempt

	if role != p.role {
		return
	}

	for _, other := range p.pods {
		if other.Labels[identity.RoleLabel] == role && other != pod {
			p.w.T.Errorf("pods %s and %s have the role %s at once", other.Name, pod.Name, role)
		}
	}

	if p.started[attempt]++; p.started[attempt] > 1 {
		p.w.T.Errorf("attempt %s was started %d times", attempt, p.started[attempt])
	}
}

// End ends the watch after it has received all changes, and returns the number of attempts that got a pod of the role.
func (p *PodWatch) End() (attempts int) {
	p.w.T.Helper()
	kit.Wait(p.w.T, "the last changes of pods", func(ctx context.Context) error {
		var now corev1.PodList
		if err := p.w.API.List(ctx, &now, p.ofOwner...); err != nil {
			return err
		}

		p.mu.Lock()
		defer p.mu.Unlock()

		for i := range now.Items {
			if p.pods[now.Items[i].UID] == nil {
				return fmt.Errorf("pod %s has not been seen", now.Items[i].Name)
			}
		}
		return Want(len(p.pods), len(now.Items))
	})

	select {
	case <-p.done:
		p.w.T.Error("the watch of the pods ended too early")
	default:
		p.watch.Stop()
		<-p.done
	}
	return len(p.started)
}
