package configured

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	sparkconnect "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/connect"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// connects is the kind of the SparkConnects, which are Spark Connect servers. A server's pod is the driver of its
// attempt. Its Service is an auxiliary object.
type connects struct {
	base
	fixed sparkconnect.Connects // for methods that do not depend on defaults
}

func newConnects(settings func() config.Configuration, defaults func(client.Object) *platform.Settings) Kind {
	cfg := settings()
	return &connects{fixed: sparkconnect.Connects{Options: connectOptions(cfg)}, base: base{settings, defaults, contract.Traits{
		Name:           "sparkconnect",
		RequiredFields: requiredOfAttempts(cfg, "status.operator", "status.operator.restartRequest", "status.conditions", "status.observedGeneration"),
		NoApplication:  true,
		Sources:        sparkconnect.Sources,
		Auxiliary: contract.Auxiliary{
			Vital: []string{"Service"},
			// These are ports that the kubeflow operator writes to the Service for clients.
			ClosedPorts: map[string]int32{
				connect.DriverPortName: connect.DriverPort, connect.BlockManagerPortName: connect.BlockManagerPort, connect.UIPortName: connect.UIPort,
			},
		},
		Inherited: contract.Inherited{NameLabel: identity.ConnectNameLabel},
		// lastUpdateTime is among the fields because it changes with the counts. Failed executors are remembered only
		// for events and for the cause of the server's end: a server runs for a long time, and executors that crash one
		// after the other may be dozens a minute.
		ExecutorChurn: contract.ExecutorChurn{Fields: []string{"executors", "lastUpdateTime", "operator.executors", "operator.executorFailure", "operator.failedExecutorCreatedAt", "operator.logs.attempt", "operator.logs.place", "operator.shortSince"}, DebounceEvents: true},
		Secrets:       contract.Secrets{Servers: cfg.Submission.Mode != config.SubmissionNative},
	}}}
}

// dialect returns the dialect with the platform's defaults for an object.
func (k *connects) dialect(object client.Object) sparkconnect.Connects {
	return connectsWith(k.fixed.Options, k.defaults(object))
}

// ruled returns the dialect with the platform's defaults for an object, and its rules for a namespace with the given
// labels.
func (k *connects) ruled(object client.Object, labels map[string]string) sparkconnect.Connects {
	d := k.dialect(object)
	d.Rules = k.settings().Policy.For(labels)
	return d
}

func (*connects) New() client.Object { return &v1alpha1.SparkConnect{} }

func (*connects) Status(object client.Object) any { return &object.(*v1alpha1.SparkConnect).Status }

func (*connects) ObservedGeneration(object client.Object) int64 {
	return object.(*v1alpha1.SparkConnect).Status.ObservedGeneration
}

func (k *connects) Decide(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return k.ruled(object, seen.NamespaceLabels).Decide(object.(*v1alpha1.SparkConnect), seen, now)
}

func (k *connects) Events(object client.Object, plan lifecycle.Plan) []dialect.Event {
	return k.withQueueEvent(object, plan, k.fixed.Events(object.(*v1alpha1.SparkConnect), plan))
}

func (k *connects) Render(object client.Object, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	return k.dialect(object).Render(object.(*v1alpha1.SparkConnect), action, now)
}

// Pods implements apply.Queued.
func (k *connects) Pods(object client.Object, seen lifecycle.Observed, _ time.Time) ([]dialect.Pods, error) {
	return k.ruled(object, seen.NamespaceLabels).Pods(object.(*v1alpha1.SparkConnect))
}

func (k *connects) Executor(object client.Object, attempt int32, id int, server types.UID, now time.Time) (*corev1.Pod, error) {
	return k.dialect(object).Executor(object.(*v1alpha1.SparkConnect), attempt, id, server, now)
}

func (*connects) Operator(object client.Object) *statusv1.OperatorStatus {
	if o := object.(*v1alpha1.SparkConnect).Status.Operator; o != nil {
		return &o.OperatorStatus
	}
	return nil
}

func (k *connects) Usage(object client.Object) **statusv1.OperatorUsage {
	return usageIn(k.Operator(object))
}

func (k *connects) AuxiliaryObjects(object client.Object, seen lifecycle.Observed) dialect.AuxiliaryObjects {
	return k.ruled(object, seen.NamespaceLabels).AuxiliaryObjects(object.(*v1alpha1.SparkConnect))
}

func (k *connects) Adopt(object client.Object, candidates []corev1.Pod) []corev1.Pod {
	return k.fixed.Adopt(object.(*v1alpha1.SparkConnect), candidates)
}

func (k *connects) Review(object client.Object, labels map[string]string, _ time.Time) dialect.Review {
	return k.withQueueWarning(object, k.ruled(object, labels).Review(object.(*v1alpha1.SparkConnect)))
}

func (k *connects) RestartWarning(old, edited client.Object) string {
	return k.fixed.RestartWarning(old.(*v1alpha1.SparkConnect), edited.(*v1alpha1.SparkConnect))
}

var connectPolicies = map[string]sparkconnect.Policy{
	config.PolicyAnywhere: sparkconnect.ClientsAnywhere, config.PolicyNamespace: sparkconnect.ClientsNamespace, config.PolicyNone: "",
}

func connectOptions(cfg config.Configuration) sparkconnect.Options {
	return sparkconnect.Options{
		Master: cfg.Application.KubernetesMaster, MissingGrace: cfg.Application.DriverPodCreationGracePeriod.Duration, UI: uiOptions(cfg),
		Policy: connectPolicies[cfg.Connect.NetworkPolicy],
		Own:    ownAccount(cfg), StatefulSets: cfg.Application.StatefulSets,
	}
}
