package kinds

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	sparkconnect "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/connect"
	"github.com/sparkoperator/spark-operator/internal/engine/kind"
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// SparkConnects returns the kind of the SparkConnects of sparkoperator.k8s.io/v1alpha1, which are Spark Connect
// servers. A server's pod is the driver of its attempt. Its Service is an auxiliary object. For the arguments see
// SparkApplications.
func SparkConnects(settings func() config.Configuration, labels NamespaceLabels) kind.Kind {
	cfg := settings()
	fixed := sparkconnect.Connects{Options: connectOptions(cfg)} // for functions that do not depend on defaults
	defaults := platformDefaults(cfg, labels)
	connects := func(sc *v1alpha1.SparkConnect) sparkconnect.Connects {
		return connectsWith(fixed.Options, defaults(sc))
	}
	ruled := func(sc *v1alpha1.SparkConnect, seen lifecycle.Observed) sparkconnect.Connects {
		d := connects(sc)
		d.Rules = settings().Policy.For(seen.NamespaceLabels)
		return d
	}
	return kind.Kind{
		Name:   "sparkconnect",
		New:    func() client.Object { return &v1alpha1.SparkConnect{} },
		Status: typed.Of(func(sc *v1alpha1.SparkConnect) any { return &sc.Status }),
		Decide: typed.Decides(func(sc *v1alpha1.SparkConnect, seen lifecycle.Observed, at time.Time) lifecycle.Plan {
			return ruled(sc, seen).Decide(sc, seen, at)
		}),
		Render: typed.Renders(func(sc *v1alpha1.SparkConnect, action lifecycle.Action, at time.Time) (submit.Objects, error) {
			return connects(sc).Render(sc, action, at)
		}),
		Events:     typed.With(fixed.Events),
		Definition: kind.Definition{RequiredFields: requiredFields(cfg, "status.operator", "status.operator.restartRequest", "status.conditions", "status.observedGeneration")},
		Progress: kind.Progress{
			Observed: typed.Of(func(sc *v1alpha1.SparkConnect) int64 { return sc.Status.ObservedGeneration }), Standing: typed.Of(serverStanding), NoApplication: true,
		},
		Sources: sparkconnect.Sources,
		Executors: kind.Executors{Render: typed.Executor(func(sc *v1alpha1.SparkConnect, attempt int32, id int, server types.UID, at time.Time) (*corev1.Pod, error) {
			return connects(sc).Executor(sc, attempt, id, server, at)
		})},
		Auxiliary: kind.Auxiliary{
			Wanted: typed.With(func(sc *v1alpha1.SparkConnect, seen lifecycle.Observed) dialect.AuxiliaryObjects {
				return ruled(sc, seen).AuxiliaryObjects(sc)
			}),
			Vital: []string{"Service"},
			// These are ports that the kubeflow operator writes to the Service for clients.
			ClosedPorts: map[string]int32{
				connect.DriverPortName: connect.DriverPort, connect.BlockManagerPortName: connect.BlockManagerPort, connect.UIPortName: connect.UIPort,
			},
		},
		Inherited: kind.Inherited{Adopt: typed.With(fixed.Adopt), NameLabel: identity.ConnectNameLabel},
		// lastUpdateTime is among the fields because it changes with the counts. Failed executors are remembered only
		// for events and for the cause of the server's end: a server runs for a long time, and executors that crash one
		// after the other may be dozens a minute.
		ExecutorChurn: kind.ExecutorChurn{Fields: []string{"executors", "lastUpdateTime", "operator.executors", "operator.executorFailure", "operator.failedExecutorCreatedAt", "operator.shortSince"}, DebounceEvents: true},
		Secrets:       kind.Secrets{Servers: cfg.Submission.Mode != config.SubmissionNative},
	}
}

var connectPolicies = map[string]sparkconnect.Policy{
	config.PolicyAnywhere: sparkconnect.ClientsAnywhere, config.PolicyNamespace: sparkconnect.ClientsNamespace, config.PolicyNone: "",
}

func connectOptions(cfg config.Configuration) sparkconnect.Options {
	return sparkconnect.Options{
		Master: cfg.Application.KubernetesMaster, MissingGrace: cfg.Application.DriverPodCreationGracePeriod.Duration, UI: uiOptions(cfg),
		Policy: connectPolicies[cfg.Connect.NetworkPolicy],
		Own:    ownAccount(cfg),
	}
}
