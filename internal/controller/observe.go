package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// children are the objects in the cluster that belong to one custom resource.
type children struct {
	drivers    []corev1.Pod
	submitters []corev1.Pod
	executors  []corev1.Pod
	members    []corev1.Pod                   // of a standalone cluster
	strays     []corev1.Pod                   // of a standalone cluster, whose set was replaced and has no successor yet
	others     []metav1.PartialObjectMetadata // of childKinds and of optional kinds
	runs       []client.Object                // of a kind that has Runs
	// By what an executor names its driver: the drivers' UIDs, and the applications of Spark that sets have executors of.
	driverUIDs map[types.UID]bool
	setDrivers map[identity.SetDriver]bool
}

// childKinds are what an attempt has besides pods. They are cached as metadata only: what they hold is never read from the cache. A kind
// that a submission makes and that is missing here would outlive its attempt. Secrets are not among them: the operator may not read them
// (deleteSecrets).
var childKinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), // Spark 4.2 and newer
	policyv1.SchemeGroupVersion.WithKind(kindBudget),
}

// alwaysWatched reports whether an object is of one of childKinds. Another may be of a kind whose watch has not begun yet, and go before it does.
func alwaysWatched(object client.Object) bool {
	return slices.ContainsFunc(childKinds, func(kind schema.GroupVersionKind) bool { return kind.Kind == kindOf(object) })
}

// observe finds the children in the cache and reads them into facts.
func (r *Reconciler) observe(ctx context.Context, p *pass) error {
	if r.kind.Runs != nil {
		return r.observeRuns(ctx, p)
	}
	of := labelledAs(p.stored)
	pods, err := r.listPods(ctx, of)
	if err != nil {
		return err
	}
	theirs, err := r.adopted(ctx, p)
	if err != nil {
		return err
	}
	all := r.observeEnds(p, append(pods, theirs...))
	p.children = sortPods(all, p.stored.GetUID())
	if err := r.observeKinds(ctx, p, of); err != nil {
		return err
	}
	if err := r.observeMembers(ctx, p, all); err != nil {
		return err
	}
	p.seen = p.children.facts()
	r.adoptGroup(ctx, p) // which reads the facts anew: what no child tells comes after it
	p.seen.Gone = r.observeGone(p)
	p.seen.ShortSince, _ = r.paces.shorts.Get(identity.Key(p.stored))
	p.seen.Lacks, _ = r.lacks.Get(identity.Key(p.stored))
	r.explain(ctx, p)
	return nil
}

// labelledAs selects the children of a custom resource in the caches. Nothing of a child is ever changed: who adopts a pod copies it.
func labelledAs(stored client.Object) []client.ListOption {
	byUID := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(identity.CacheIndex, string(stored.GetUID()))} // made once, for a list of each kind
	return []client.ListOption{client.InNamespace(stored.GetNamespace()), byUID, client.UnsafeDisableDeepCopy}
}

func (r *Reconciler) listPods(ctx context.Context, of []client.ListOption) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, of...); err != nil {
		return nil, fmt.Errorf("list pods in the cache: %w", err)
	}
	return pods.Items, nil
}

// observeKinds takes the objects of all kinds but pods that are the custom resource's.
func (r *Reconciler) observeKinds(ctx context.Context, p *pass, of []client.ListOption) error {
	for _, kind := range childKinds {
		if err := p.observeOthers(ctx, r.client, kind, of); err != nil {
			return err
		}
	}
	kinds, caches := r.optional.Full()
	for i, kind := range kinds {
		if err := p.observeOthers(ctx, caches[i], kind, of); err != nil {
			return err
		}
	}
	return nil
}

// observeOthers takes the objects of a kind from a cache that are the custom resource's.
func (p *pass) observeOthers(ctx context.Context, from client.Reader, kind schema.GroupVersionKind, of []client.ListOption) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := from.List(ctx, list, of...); err != nil {
		return fmt.Errorf("list objects of kind %s in the cache: %w", kind.Kind, err)
	}
	for i := range list.Items {
		if item := &list.Items[i]; identity.OwnedBy(item, p.stored.GetUID()) {
			item.SetGroupVersionKind(kind)
			p.children.others = append(p.children.others, *item)
		}
	}
	return nil
}

// sortPods tells drivers, submitters and executors apart and leaves out what only carries the label: of the first two the controller is the
// custom resource, an executor is one that the custom resource or such a driver owns, or a set of the driver's. Anybody who may create pods can set a label.
func sortPods(pods []corev1.Pod, uid types.UID) children {
	var c children
	executors := 0
	for i := range pods {
		pod := &pods[i]
		if pod.Labels[identity.RoleLabel] == identity.RoleExecutor {
			executors++
		}
		if ref := metav1.GetControllerOfNoCopy(pod); ref == nil || ref.UID != uid {
			continue
		}
		switch {
		case identity.IsDriver(pod):
			c.drivers = append(c.drivers, *pod)
		case pod.Labels[identity.RoleLabel] == identity.RoleSubmitter:
			c.submitters = append(c.submitters, *pod)
		}
	}
	if executors > 0 {
		c.executors = make([]corev1.Pod, 0, executors)
		c.indexDrivers()
	}
	for i := range pods {
		pod := &pods[i]
		if pod.Labels[identity.RoleLabel] == identity.RoleExecutor && (identity.OwnedBy(pod, uid) || c.driven(pod)) {
			c.executors = append(c.executors, *pod)
		}
	}
	byName := func(a, b corev1.Pod) int { return compareNames(a.Name, b.Name) }
	slices.SortFunc(c.drivers, byName)
	slices.SortFunc(c.submitters, byName)
	slices.SortFunc(c.executors, byName)
	return c
}

// indexDrivers prepares driven. Anybody who may create pods can create thousands of drivers and executors: they are not
// compared with each other.
func (c *children) indexDrivers() {
	c.driverUIDs, c.setDrivers = map[types.UID]bool{}, map[identity.SetDriver]bool{}
	for i := range c.drivers {
		c.driverUIDs[c.drivers[i].UID] = true
		if goesOnWithSets(&c.drivers[i]) {
			c.setDrivers[identity.SetDriverOf(&c.drivers[i])] = true
		}
	}
}

// goesOnWithSets reports whether executors of a set can be a driver's: it has told Spark's id of the application, and goes on.
func goesOnWithSets(driver *corev1.Pod) bool {
	if driver.Labels[submit.SelectorLabel] == "" {
		return false
	}
	switch lifecycle.DriverFacts(driver, overlay.DriverContainer).Phase {
	case lifecycle.DriverSucceeded, lifecycle.DriverFailed:
		return false
	}
	return true
}

// driven reports whether an executor is one of the drivers'.
func (c *children) driven(executor *corev1.Pod) bool {
	if c.driverUIDs == nil {
		c.indexDrivers()
	}
	for _, ref := range executor.OwnerReferences {
		if c.driverUIDs[ref.UID] {
			return true
		}
	}
	return identity.InSet(executor) && c.setDrivers[identity.SetDriverOf(executor)]
}

// compareNames orders executors as people count them: exec-9 before exec-10.
func compareNames(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	if a < b {
		return -1
	}
	return 1
}

// facts reads the children into the words that decisions are made by. The order is fixed, so that one world gives one decision.
func (c children) facts() lifecycle.Observed {
	var seen lifecycle.Observed
	for i := range c.drivers {
		seen.Drivers = append(seen.Drivers, driverFacts(&c.drivers[i]))
	}
	for i := range c.submitters {
		seen.Submitters = append(seen.Submitters, lifecycle.SubmitterFacts(&c.submitters[i], submit.RunnerContainer))
	}
	for i := range c.executors {
		seen.Executors = append(seen.Executors, lifecycle.ExecutorFacts(&c.executors[i], overlay.ExecutorContainer))
	}
	for i := range c.members {
		seen.Members = append(seen.Members, lifecycle.MemberFacts(&c.members[i]))
	}
	seen.Beside += len(c.strays)
	for i := range c.others {
		attempt := identity.Attempt(&c.others[i])
		if identity.IsAuxiliary(&c.others[i]) {
			seen.Beside++
			continue
		}
		if attempt <= 0 {
			continue
		}
		seen.Remains = append(seen.Remains, attempt)
		going := c.others[i].DeletionTimestamp != nil
		if isBudget(&c.others[i]) && !going {
			seen.Budgets = append(seen.Budgets, attempt)
		}
		if isGroup(&c.others[i]) && !going {
			seen.Groups = append(seen.Groups, attempt)
		}
	}
	slices.Sort(seen.Remains)
	seen.Remains = slices.Compact(seen.Remains)
	return seen
}
