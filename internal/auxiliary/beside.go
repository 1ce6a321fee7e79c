package auxiliary

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
)

// Which objects stand beside a driver, or are what a standalone cluster is made of, and how the cache shows them (surround.go).

// standsBeside guards against a fault in a dialect: a later pass must find the object again, and see whether it differs.
func standsBeside(object, owner client.Object) error {
	if object.GetLabels()[lifecycle.ContentLabel] == "" {
		return fmt.Errorf("%T %s is rendered without a digest of its content", object, object.GetName())
	}
	return identity.Verify(object, owner, identity.Attempt(object))
}

// clusterAddress is the address of a Service, where it has one.
func clusterAddress(object client.Object) string {
	address := ""
	switch o := object.(type) {
	case *corev1.Service:
		address = o.Spec.ClusterIP
	case *unstructured.Unstructured:
		address, _, _ = unstructured.NestedString(o.Object, "spec", "clusterIP")
	}
	if address == corev1.ClusterIPNone {
		return ""
	}
	return address
}

// surroundingKinds are the kinds that stand beside drivers, or that a standalone cluster is made of; nothing of another kind is deleted for not being wanted there.
var surroundingKinds = []string{"Service", "Ingress", expose.RouteKind.Kind, expose.GRPCRouteKind.Kind, "ConfigMap", "NetworkPolicy", dependents.KindBudget, dependents.StatefulSet.Kind, autoscaler.Kind}

// unwanted are the surroundings that exist and that nobody wants any more; where nothing is wanted, with the pods that lost their set: no set takes them over.
func (p *look) unwanted(wanted []client.Object) []client.Object {
	var remove []client.Object
	for i := range p.Set.Others {
		other := &p.Set.Others[i]
		keep := slices.ContainsFunc(wanted, func(object client.Object) bool { return nameOf(object) == nameOf(other) })
		if identity.IsAuxiliary(other) && slices.Contains(surroundingKinds, dependents.KindOf(other)) && !keep && other.DeletionTimestamp == nil {
			remove = append(remove, other)
		}
	}
	if len(wanted) == 0 {
		for i := range p.Set.Strays {
			remove = append(remove, &p.Set.Strays[i])
		}
	}
	return remove
}

// inCache is an object's metadata as the cache shows it; nil where it shows none.
func (p *look) inCache(object client.Object) *metav1.PartialObjectMetadata {
	for i := range p.Set.Others {
		if other := &p.Set.Others[i]; nameOf(other) == nameOf(object) {
			return other
		}
	}
	return nil
}

// cached is the digest that the cache shows on an object; empty where it shows none, "?" on one that has none.
func (p *look) cached(object client.Object) string {
	other := p.inCache(object)
	if other == nil {
		return ""
	}
	if content := other.Labels[lifecycle.ContentLabel]; content != "" && other.DeletionTimestamp == nil {
		return content
	}
	return "?"
}

// nameOf tells the objects around one driver apart.
func nameOf(object client.Object) string { return dependents.KindOf(object) + "/" + object.GetName() }

// DigestOf names what is asked for. Where it changes, what was said before does not count any more.
func DigestOf(wanted, remove []client.Object) string {
	var words []string
	for _, object := range wanted {
		words = append(words, nameOf(object)+"="+object.GetLabels()[lifecycle.ContentLabel])
	}
	for _, object := range remove {
		words = append(words, nameOf(object)+"-")
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
