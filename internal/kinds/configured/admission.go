package configured

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Admitted is a kind of custom resource as the admission webhook needs it. Its methods change nothing. Besides their
// arguments, Review and Restarts read the labels of the object's namespace (Admission).
type Admitted struct {
	served   *Served
	defaults func(config.Configuration, client.Object) *platform.Settings
	selects  bool // the operator acts only on some objects of the kind
}

// selective is a kind of which the operator acts only on some objects.
type selective interface {
	// Selects reports whether the operator acts on an object.
	Selects(object client.Object) bool
}

// Restarter is a kind whose running objects restart after some edits.
type Restarter interface {
	// RestartWarning returns a warning if an edit restarts something that runs, and "" otherwise.
	RestartWarning(old, edited client.Object) string
}

// Admission returns the five kinds for the admission webhook. The labels of namespaces select the platform's defaults.
// If the function labels is nil, only the defaults for all namespaces apply.
func Admission(labels NamespaceLabels) (all []Admitted) {
	defaults := evaluatedOnce(labels)
	for i := range All {
		_, selects := All[i].with(config.Default(), nil).(selective)
		all = append(all, Admitted{&All[i], defaults, selects})
	}
	return all
}

// GVK returns the group, version and name of the kind.
func (a Admitted) GVK() schema.GroupVersionKind { return a.served.GroupVersionKind }

// New returns an empty object.
func (a Admitted) New() client.Object { return a.served.Empty() }

// Enabled reports whether the operator serves the kind.
func (a Admitted) Enabled(cfg config.Configuration) bool { return a.served.Enabled(&cfg) }

// Selects reports whether the operator acts on an object.
func (a Admitted) Selects(cfg config.Configuration, object client.Object) bool {
	return !a.selects || a.served.with(cfg, nil).(selective).Selects(object)
}

// Review returns what a pass would report about an object in a namespace with the given labels.
func (a Admitted) Review(cfg config.Configuration, labels map[string]string, object client.Object, now time.Time) dialect.Review {
	return a.served.reviewWith(cfg, labels, a.defaults(cfg, object), object, now)
}

// Restarts returns a warning if an edit restarts something that runs, and "" otherwise.
func (a Admitted) Restarts(cfg config.Configuration, old, edited client.Object) string {
	if r, can := a.served.with(cfg, a.defaults(cfg, edited)).(Restarter); can {
		return r.RestartWarning(old, edited)
	}
	return "" // an edit is for the next attempt or run
}
