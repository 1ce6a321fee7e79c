package kinds

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	apachecluster "github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster"
	"github.com/sparkoperator/spark-operator/internal/engine/kind"
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// ClusterName is the name of the controller of SparkClusters.
const ClusterName = "sparkcluster"

// SparkClusters returns the kind of the SparkClusters of spark.apache.org/v1, which are standalone clusters. They have
// no attempts and no drivers. All objects of a cluster are auxiliary objects, and its pods belong to the StatefulSets
// among these objects.
func SparkClusters(settings func() config.Configuration, labels NamespaceLabels) kind.Kind {
	type cluster = sparkv1.SparkCluster
	defaults := platformDefaults(settings(), labels)
	clusters := func(sc *cluster) apachecluster.Clusters { return clustersWith(settings(), defaults(sc)) }
	ruled := func(sc *cluster, seen lifecycle.Observed) apachecluster.Clusters {
		c := clusters(sc)
		c.Rules = settings().Policy.For(seen.NamespaceLabels)
		return c
	}
	return kind.Kind{
		Name:   ClusterName,
		New:    func() client.Object { return &cluster{} },
		Status: typed.Of(func(sc *cluster) any { return &sc.Status }),
		Decide: typed.Decides(func(sc *cluster, seen lifecycle.Observed, at time.Time) lifecycle.Plan {
			return ruled(sc, seen).Decide(sc, seen, at)
		}),
		Events:     typed.With(func(sc *cluster, plan lifecycle.Plan) []dialect.Event { return clusters(sc).Events(sc, plan) }),
		Definition: kind.Definition{RequiredFields: requiredFields(settings(), "spec.suspend", "status.operator", "status.operator.restartRequest", "status.conditions", "status.masters", "status.workers"), RequiredKinds: clusterKinds(settings())},
		Served:     kind.Served{Selects: actsOn(settings().Apache.LabelSelector), Sentinels: true},
		Progress: kind.Progress{
			Observed: typed.Of(func(sc *cluster) int64 { return sc.Status.ObservedGeneration }), Standing: typed.Of(clusterStanding), NoApplication: true,
		},
		Auxiliary: kind.Auxiliary{
			Wanted: typed.With(func(sc *cluster, seen lifecycle.Observed) dialect.AuxiliaryObjects {
				return ruled(sc, seen).AuxiliaryObjects(sc, seen)
			}),
			// Drivers that use the cluster reach its master through its Service, and they continue to run.
			Vital: []string{"Service"},
			Sets:  true,
		},
		Inherited: kind.Inherited{
			Adopt:      typed.With(func(sc *cluster, pods []corev1.Pod) []corev1.Pod { return clusters(sc).Adopt(sc, pods) }),
			NameLabel:  identity.ClusterNameLabel,
			Finalizers: []string{"sparkclusters.spark.apache.org/finalizer"},
		},
	}
}

// masterClients contains the value of standalone.Request.Submitters for each value of the setting masterClients.
// Package standalone reads an unknown value as the drivers.
var masterClients = map[string]string{
	config.MasterClientsDrivers:   standalone.SubmitterDrivers,
	config.MasterClientsNamespace: standalone.SubmitterNamespace,
	config.MasterClientsAnyone:    standalone.SubmitterAnyone,
}

func clusterOptions(cfg config.Configuration) apachecluster.Options {
	return apachecluster.Options{
		OperatorName: cfg.Apache.OperatorName, ClusterDomain: cfg.Apache.Clusters.Domain, MasterStart: cfg.Apache.Clusters.MasterStartTimeout.Duration,
		Trim: *cfg.Apache.TrimHistory, Submitters: masterClients[cfg.Apache.Clusters.MasterClients], Own: ownAccount(cfg),
	}
}

// clusterStanding reads the state of a SparkCluster from its status.
func clusterStanding(sc *sparkv1.SparkCluster) lifecycle.Standing {
	s := &sc.Status

	standing := lifecycle.Standing{Waits: waitReason(s.Conditions, s.CurrentState == nil)}
	if s.CurrentState != nil {
		standing.State = string(s.CurrentState.CurrentStateSummary)
	}

	if o := s.Operator; o != nil {
		standing.Phase = lifecycle.Phase(o.Phase)
		if o.Since != nil {
			standing.Since = o.Since.Time
		}
	}
	return standing
}

// These are the kinds of objects that a standalone cluster has and an application does not have.
var (
	statefulSetKind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	autoscalerKind  = autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
)

// clusterKinds returns the kinds of objects that a standalone cluster has and an application does not have, or nothing
// if SparkClusters are not served. Every Kubernetes cluster has these kinds, but not every installation of the operator
// has the right to list them.
func clusterKinds(cfg config.Configuration) []schema.GroupVersionKind {
	if !cfg.SparkClusters() {
		return nil
	}
	return []schema.GroupVersionKind{statefulSetKind, autoscalerKind}
}
