package node

import (
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// pod is what is remembered of a pod: no more, since there may be 60,000.
type pod struct {
	namespace, name, node string
	uid                   types.UID
	containers            []string
	owner                 types.UID // the driver of an executor
	driver                *driver   // what a driver pod is besides
	started               time.Time
	placed                bool // it was created with its node's name
	leaving               bool // its deletion was asked for
	over                  bool // its program ended, and its status says so
}

// driver is what a simulated driver knows of itself.
type driver struct {
	program load.Program
	app     metav1.OwnerReference // the custom resource
	attempt string                // as the label has it
	appID   string                // spark-app-selector
	stops   bool                  // its program is at its end
}

// known are the pods of the nodes. It is fed by a watch, and says what is to be done now about what it was told.
type known struct {
	mu   sync.Mutex
	pods map[types.UID]*pod
}

// saw notes a pod that is bound to a node, and returns what is to be done: start it, or take it away. Of one that is known and one that began before the
// nodes did nothing but its deletion is news.
func (k *known) saw(seen *corev1.Pod) (next act, news bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[seen.UID]
	news = p == nil && seen.Status.Phase == corev1.PodPending
	if p == nil {
		if p, err = read(seen); err != nil {
			return 0, false, err
		}
		k.pods[seen.UID] = p
	}
	if seen.DeletionTimestamp != nil && !p.leaving {
		p.leaving = true
		return remove, true, nil
	}
	return start, news && !p.leaving, nil
}

func (k *known) forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pods, uid)
}

// only forgets all pods but those.
func (k *known) only(uids map[types.UID]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for uid := range k.pods {
		if !uids[uid] {
			delete(k.pods, uid)
		}
	}
}

// get returns a copy of what is known of a pod.
func (k *known) get(uid types.UID) (pod, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[uid]; p != nil {
		return *p, true
	}
	return pod{}, false
}

func (k *known) begun(uid types.UID, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[uid]; p != nil {
		p.started = at
	}
}

// lifetime is how long an executor runs by itself; 0 for as long as its driver.
func (k *known) lifetime(p pod) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := k.pods[p.owner]; d != nil && d.driver != nil {
		return d.driver.program.ExecutorRun
	}
	return 0
}

// stops notes that a driver is at its end, before anybody can see it.
func (k *known) stops(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[uid]; p != nil && p.driver != nil {
		d := *p.driver // copies of the pod are about
		d.stops = true
		p.driver = &d
	}
}

func (k *known) over(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[uid]; p != nil {
		p.over = true
	}
}

// sigterm is the exit code of a program that a kubelet ended.
const sigterm = 143

// leaves is the exit code of a pod that is taken away while it runs: a driver that stops tells its executors to end before it deletes them.
func (k *known) leaves(p pod) int32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := k.pods[p.owner]; d != nil && d.driver != nil && d.driver.stops {
		return 0
	}
	return sigterm
}

// read takes from a pod what it needs to be played.
func read(seen *corev1.Pod) (*pod, error) {
	p := &pod{namespace: seen.Namespace, name: seen.Name, node: seen.Spec.NodeName, uid: seen.UID}
	// A binding by the scheduler leaves its condition.
	p.placed = !slices.ContainsFunc(seen.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	if seen.Status.Phase == corev1.PodRunning && seen.Status.StartTime != nil { // since before these nodes
		p.started = seen.Status.StartTime.Time
	}
	for _, c := range seen.Spec.Containers {
		p.containers = append(p.containers, c.Name)
	}
	owner := metav1.GetControllerOf(seen)
	switch seen.Labels["spark-role"] {
	case "executor":
		if owner != nil {
			p.owner = owner.UID
		}
	case "driver":
		if owner == nil {
			return nil, fmt.Errorf("driver pod %s/%s has no controller", seen.Namespace, seen.Name)
		}
		var args []string
		for _, c := range seen.Spec.Containers {
			args = append(args, c.Args...)
		}
		program, err := load.ReadProgram(args)
		if err != nil {
			return nil, fmt.Errorf("driver pod %s/%s: %w", seen.Namespace, seen.Name, err)
		}
		p.driver = &driver{program: program, app: *owner, attempt: seen.Labels[lifecycle.AttemptLabel], appID: seen.Labels["spark-app-selector"]}
	}
	return p, nil
}
