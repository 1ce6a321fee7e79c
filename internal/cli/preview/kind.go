package preview

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Kind is the operator's implementation of a kind. It uses the Operator's NamespaceLabels as the labels of an object's
// namespace.
type Kind struct {
	contract.Kind
	namespaceLabels map[string]string
}

// launcher is a kind with attempts.
type launcher interface {
	Render(object client.Object, action lifecycle.Action, now time.Time) (submit.Objects, error)
}

// exposer is a kind with auxiliary objects.
type exposer interface {
	AuxiliaryObjects(object client.Object, seen lifecycle.Observed) dialect.AuxiliaryObjects
}

// scheduler is a kind with runs.
type scheduler interface {
	RenderRun(object client.Object, action lifecycle.Action) (client.Object, error)
}

// Kind returns the operator's implementation of the kind of a custom resource.
func (o Operator) Kind(object client.Object) (Kind, error) {
	served := configured.Of(object)
	if served == nil {
		return Kind{}, fmt.Errorf("the operator does not serve %T", object)
	}
	return Kind{served.Build(func() config.Configuration { return o.Config }, o.labels), o.NamespaceLabels}, nil
}

// Decide computes the status of an object and returns the plan, as a pass does.
func (k Kind) Decide(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	seen.NamespaceLabels = k.namespaceLabels
	return k.Kind.Decide(object, seen, now)
}

// Launches reports whether the kind has attempts.
func (k Kind) Launches() bool {
	_, launches := k.Kind.(launcher)
	return launches
}

// Render returns the objects that a Create action of an attempt creates.
func (k Kind) Render(object client.Object, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	return k.Kind.(launcher).Render(object, action, now)
}

// auxiliaryObjects returns the wanted auxiliary objects. They are unsettled if the kind has none.
func (k Kind) auxiliaryObjects(object client.Object, seen lifecycle.Observed) dialect.AuxiliaryObjects {
	exposer, exposes := k.Kind.(exposer)
	if !exposes {
		return dialect.AuxiliaryObjects{Unsettled: true}
	}

	seen.NamespaceLabels = k.namespaceLabels
	return exposer.AuxiliaryObjects(object, seen)
}
