// Package configured describes how the operator serves each of the five kinds of custom resources: it combines the
// kinds of package kinds, their dialects and a configuration.
package configured

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Kind is a kind as the engine and the admission webhook need it.
type Kind interface {
	contract.Kind
	// Review returns what a pass would report about an object in a namespace with the given labels; nil means that the
	// labels are unknown.
	Review(object client.Object, labels map[string]string, now time.Time) dialect.Review
}

// base has what all kinds have.
type base struct {
	settings func() config.Configuration
	defaults func(client.Object) *platform.Settings // the platform's defaults for an object
	traits   contract.Traits
}

// Traits returns the constant properties of the kind.
func (b *base) Traits() *contract.Traits { return &b.traits }

// Served is one of the kinds that the operator serves.
type Served struct {
	*kinds.Kind
	// Enabled reports whether the operator serves the kind.
	Enabled func(*config.Configuration) bool

	create func(settings func() config.Configuration, defaults func(client.Object) *platform.Settings) Kind
}

// All lists the kinds in the order of kinds.All.
var All = []Served{
	{kinds.SparkApplication, (*config.Configuration).Applications, newApplications},
	{kinds.Schedule, (*config.Configuration).Schedules, newSchedules},
	{kinds.SparkConnect, (*config.Configuration).ConnectServers, newConnects},
	{kinds.ApacheApplication, (*config.Configuration).ApacheApplications, newApacheApplications},
	{kinds.SparkCluster, (*config.Configuration).SparkClusters, newClusters},
}

// Build returns the kind as the engine needs it. Each decision calls the function settings to read the platform's
// rules, because they may change while the operator runs. The labels of namespaces select the platform's defaults. If
// the function labels is nil, only the defaults for all namespaces apply.
func (s *Served) Build(settings func() config.Configuration, labels NamespaceLabels) contract.Kind {
	return s.create(settings, platformDefaults(settings(), labels))
}

// with returns the kind with a configuration and the platform's defaults for an object.
func (s *Served) with(cfg config.Configuration, defaults *platform.Settings) Kind {
	return s.create(func() config.Configuration { return cfg }, func(client.Object) *platform.Settings { return defaults })
}

// Of returns the kind of an object, or nil if the operator does not serve it.
func Of(object client.Object) *Served { return For(kinds.Of(object)) }

// For returns one of the kinds of package kinds as the operator serves it, or nil for another kind.
func For(kind *kinds.Kind) *Served {
	for i := range All {
		if All[i].Kind == kind {
			return &All[i]
		}
	}
	return nil
}

// Optional returns the kinds of dependents that the configuration switches on and that may be unavailable: the
// Kubernetes cluster may lack such a kind, or the operator may lack the right to list it.
func Optional(cfg config.Configuration) []schema.GroupVersionKind {
	return slices.Concat(uiKinds(cfg), gangKinds(cfg), clusterKinds(cfg))
}
