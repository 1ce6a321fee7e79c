package configured

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	apachecluster "github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// ClusterName is the name of the controller of SparkClusters.
const ClusterName = "sparkcluster"

// clusters is the kind of the SparkClusters, which are standalone clusters. They have no attempts and no drivers. All
// objects of a cluster are auxiliary objects, and its pods belong to the StatefulSets among these objects.
type clusters struct {
	base
	selected labels.Selector
}

func newClusters(settings func() config.Configuration, defaults func(client.Object) *platform.Settings) Kind {
	cfg := settings()
	return &clusters{selected: selector(cfg), base: base{settings, defaults, contract.Traits{
		Name:           ClusterName,
		RequiredFields: requiredFields(cfg, "spec.suspend", "status.operator", "status.operator.restartRequest", "status.conditions", "status.masters", "status.workers"),
		RequiredKinds:  clusterKinds(cfg),
		Sentinels:      true,
		NoApplication:  true,
		// Drivers that use the cluster reach its master through its Service, and they continue to run.
		Auxiliary: contract.Auxiliary{Vital: []string{"Service"}, Sets: true},
		Inherited: contract.Inherited{NameLabel: identity.ClusterNameLabel, Finalizers: []string{"sparkclusters.spark.apache.org/finalizer"}},
	}}}
}

// dialect returns the dialect with the present configuration and the platform's defaults for an object.
func (k *clusters) dialect(object client.Object) apachecluster.Clusters {
	return clustersWith(k.settings(), k.defaults(object))
}

// ruled returns the dialect with the platform's defaults for an object, and its rules for a namespace with the given
// labels.
func (k *clusters) ruled(object client.Object, labels map[string]string) apachecluster.Clusters {
	d := k.dialect(object)
	d.Rules = k.settings().Policy.For(labels)
	return d
}

func (*clusters) New() client.Object { return &sparkv1.SparkCluster{} }

func (*clusters) Status(object client.Object) any { return &object.(*sparkv1.SparkCluster).Status }

func (*clusters) ObservedGeneration(object client.Object) int64 {
	return object.(*sparkv1.SparkCluster).Status.ObservedGeneration
}

// Selects reports whether the setting apache.labelSelector selects a cluster.
func (k *clusters) Selects(object client.Object) bool {
	return k.selected.Matches(labels.Set(object.GetLabels()))
}

func (k *clusters) Decide(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return k.ruled(object, seen.NamespaceLabels).Decide(object.(*sparkv1.SparkCluster), seen, now)
}

func (k *clusters) Events(object client.Object, plan lifecycle.Plan) []dialect.Event {
	return k.withQueueEvent(object, plan, apachecluster.Events(plan))
}

func (k *clusters) AuxiliaryObjects(object client.Object, seen lifecycle.Observed) dialect.AuxiliaryObjects {
	return k.ruled(object, seen.NamespaceLabels).AuxiliaryObjects(object.(*sparkv1.SparkCluster), seen)
}

// Pods implements apply.Queued.
func (k *clusters) Pods(object client.Object, seen lifecycle.Observed, _ time.Time) ([]dialect.Pods, error) {
	return k.ruled(object, seen.NamespaceLabels).Pods(object.(*sparkv1.SparkCluster))
}

func (k *clusters) Adopt(object client.Object, candidates []corev1.Pod) []corev1.Pod {
	return k.dialect(object).Adopt(object.(*sparkv1.SparkCluster), candidates)
}

func (k *clusters) Review(object client.Object, labels map[string]string, _ time.Time) dialect.Review {
	return k.withQueueWarning(object, k.ruled(object, labels).Review(object.(*sparkv1.SparkCluster)))
}

func (k *clusters) RestartWarning(old, edited client.Object) string {
	return k.dialect(edited).RestartWarning(old.(*sparkv1.SparkCluster), edited.(*sparkv1.SparkCluster))
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

// Standing reads the state of a SparkCluster from its status.
func (*clusters) Standing(object client.Object) lifecycle.Standing {
	s := &object.(*sparkv1.SparkCluster).Status

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

func (*clusters) Usage(object client.Object) **statusv1.OperatorUsage {
	if o := object.(*sparkv1.SparkCluster).Status.Operator; o != nil {
		return &o.Usage
	}
	return nil
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
