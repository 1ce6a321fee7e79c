// Package kinds builds the five kinds of custom resources from a configuration.
package kinds

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	sparkapp "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/engine/kind"
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// SparkApplications returns the kind of the SparkApplications of sparkoperator.k8s.io/v1beta2. Each decision calls the
// function settings to read the platform's rules, because they may change while the operator runs. The labels of
// namespaces select the platform's defaults. If the function labels is nil, only the defaults for all namespaces apply.
func SparkApplications(settings func() config.Configuration, labels NamespaceLabels) kind.Kind {
	cfg := settings()
	fixed := sparkapp.Dialect{Options: dialectOptions(cfg)} // for functions that do not depend on defaults
	defaults := platformDefaults(cfg, labels)
	applications := func(app *v1beta2.SparkApplication) sparkapp.Dialect {
		return applicationsWith(fixed.Options, defaults(app))
	}
	ruled := func(app *v1beta2.SparkApplication, seen lifecycle.Observed) sparkapp.Dialect {
		d := applications(app)
		d.Rules = settings().Policy.For(seen.NamespaceLabels)
		return d
	}
	return kind.Kind{
		Name:   "sparkapplication",
		New:    func() client.Object { return &v1beta2.SparkApplication{} },
		Status: typed.Of(func(app *v1beta2.SparkApplication) any { return &app.Status }),
		Decide: typed.Decides(func(app *v1beta2.SparkApplication, seen lifecycle.Observed, at time.Time) lifecycle.Plan {
			return ruled(app, seen).Decide(app, seen, at)
		}),
		Render: typed.Renders(func(app *v1beta2.SparkApplication, action lifecycle.Action, at time.Time) (submit.Objects, error) {
			return applications(app).Render(app, action, at)
		}),
		Events:     typed.With(sparkapp.Events),
		Definition: kind.Definition{RequiredFields: requiredFields(cfg, "status.operator", "status.operator.restartRequest", "status.conditions", "status.executors")},
		Served: kind.Served{Yields: typed.Of(func(app *v1beta2.SparkApplication) bool {
			return app.Status.AppState.State == v1beta2.ApplicationStateNew && app.Labels[sparkoperator.LabelScheduledAppName] != ""
		})},
		Progress: kind.Progress{
			Observed: typed.Of(func(app *v1beta2.SparkApplication) int64 { return app.Status.ObservedGeneration }), Standing: typed.Of(standingOf), Concludes: true,
		},
		Sources: sparkapp.Sources,
		Executors: kind.Executors{
			Render: typed.Executor(func(app *v1beta2.SparkApplication, attempt int32, id int, driver types.UID, at time.Time) (*corev1.Pod, error) {
				return applications(app).Executor(app, attempt, id, driver, at)
			}),
			Labels:    typed.Of(executorLabelsOf),
			Remembers: typed.Of(func(app *v1beta2.SparkApplication) *v1beta2.OperatorStatus { return app.Status.Operator }),
		},
		Auxiliary: kind.Auxiliary{Wanted: typed.With(func(app *v1beta2.SparkApplication, seen lifecycle.Observed) dialect.AuxiliaryObjects {
			return ruled(app, seen).AuxiliaryObjects(app, seen)
		})},
		Inherited: kind.Inherited{Adopt: typed.With(fixed.Adopt), NameLabel: sparkoperator.LabelAppName, PodGroup: typed.With(fixed.InheritedGroup)},
		ExecutorChurn: kind.ExecutorChurn{
			// The count of failed executors is not among these fields: once the pod of a failed executor is deleted,
			// the executor would count as completed.
			Fields: []string{"executorState", "executors", "operator.executors.seen", "operator.shortSince"},
			// A transition from Ready to Scaling is minor because the state is RUNNING before and after it: the first
			// executors run, but not enough of them.
			Minor: func(t lifecycle.Transition) bool { return t.From == lifecycle.Ready && t.To == lifecycle.Scaling },
		},
		// Only pods that run spark-submit have Secrets.
		Secrets: kind.Secrets{Runners: cfg.Submission.Mode != config.SubmissionNative},
	}
}

// Optional returns the kinds of dependents that the configuration switches on and that may be unavailable: the
// Kubernetes cluster may lack such a kind, or the operator may lack the right to list it.
func Optional(cfg config.Configuration) []schema.GroupVersionKind {
	return slices.Concat(uiKinds(cfg), gangKinds(cfg), clusterKinds(cfg))
}

func dialectOptions(c config.Configuration) sparkapp.Options {
	cfg := c.Application
	seconds := func(n int64) time.Duration { return time.Duration(n) * time.Second }
	return sparkapp.Options{
		DefaultTTL:          seconds(cfg.DefaultTimeToLiveSeconds),
		MaxTrackedExecutors: int(*cfg.MaxTrackedExecutorPerApp),
		Limits: lifecycle.Deadlines{
			DriverStart:    seconds(cfg.Timeouts.DriverStartSeconds),
			DriverReady:    seconds(cfg.Timeouts.DriverReadySeconds),
			ExecutorsStart: seconds(cfg.Timeouts.ExecutorsStartSeconds),
			Run:            seconds(cfg.Timeouts.RunSeconds),
		},
		Master:       cfg.KubernetesMaster,
		MissingGrace: cfg.DriverPodCreationGracePeriod.Duration,
		UI:           uiOptions(c),
		Batch:        batchOptions(c),
		Submission:   dialect.SubmissionMode(c.Submission.Effective()),
		Authenticate: cfg.Authenticate,

		RunnerAccount: c.Submission.ServiceAccount, Own: ownAccount(c),
		Admission: admit.Available{Policy: c.Webhook.Executors.Policy, Webhook: c.Webhook.Executors.Webhook},
	}
}
