package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	sparkconnect "github.com/sparkoperator/spark-operator/dialect/sparkoperator/connect"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// sparkConnects are the SparkConnects of sparkoperator.k8s.io/v1alpha1: Spark Connect servers. A server's pod is the driver of its attempt, its Service
// what stands beside it.
func sparkConnects(cfg config.Configuration) Kind {
	dialect := sparkconnect.Connects{Options: connectOptions(cfg)}
	return Kind{
		Name:   "sparkconnect",
		New:    func() client.Object { return &v1alpha1.SparkConnect{} },
		Status: of(func(sc *v1alpha1.SparkConnect) any { return &sc.Status }),
		Decide: decides(dialect.Decide),
		Render: renders(dialect.Render),
		Events: with(func(sc *v1alpha1.SparkConnect, plan lifecycle.Plan) []Event {
			return asEvents(dialect.Events(sc, plan))
		}),
		Definition: Definition{Keeps: []string{"status.operator", "status.conditions", "status.observedGeneration"}},
		Progress: Progress{
			Observed: of(func(sc *v1alpha1.SparkConnect) int64 { return sc.Status.ObservedGeneration }), Standing: of(serverStanding), NoApplication: true,
		},
		Executors: Executors{Render: executor(dialect.Executor)},
		Beside: Beside{
			Wanted: with(func(sc *v1alpha1.SparkConnect, _ lifecycle.Observed) Surroundings {
				return asSurroundings(dialect.Surroundings(sc))
			}),
			Vital: []string{"Service"},
			// The kubeflow operator writes these on the Service for clients.
			Closed: map[string]int32{
				connect.DriverPortName: connect.DriverPort, connect.BlockManagerPortName: connect.BlockManagerPort, connect.UIPortName: connect.UIPort,
			},
		},
		Inherited: Inherited{Adopt: with(dialect.Adopt), NameLabel: identity.ConnectNameLabel},
		// What changes the counts changes the time of the last change as well. Which executors failed is remembered for the events alone: a server lives
		// long, and executors that crash one after the other come by dozens a minute.
		Crowd:   Crowd{Fields: []string{"executors", "lastUpdateTime", "operator.executors", "operator.shortSince"}, News: true},
		Secrets: Secrets{Servers: cfg.Submission.Mode != config.SubmissionNative},
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
