package kinds

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	apacheapp "github.com/sparkoperator/spark-operator/internal/dialect/apache/application"
	"github.com/sparkoperator/spark-operator/internal/engine/kind"
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ApacheApplicationName is the name of the controller of the SparkApplications of spark.apache.org. It differs from
// sparkapplication, which is the name of the controller of the SparkApplications of sparkoperator.k8s.io.
const ApacheApplicationName = "apachesparkapplication"

// ApacheApplications returns the kind of the SparkApplications of spark.apache.org/v1. Each pass calls the function
// settings, because some settings can change while the operator runs.
func ApacheApplications(settings func() config.Configuration, labels NamespaceLabels) kind.Kind {
	type application = sparkv1.SparkApplication
	defaults := platformDefaults(settings(), labels)
	applications := func(app *application) apacheapp.Applications { return apacheWith(settings(), defaults(app)) }
	ruled := func(app *application, seen lifecycle.Observed) apacheapp.Applications {
		a := applications(app)
		a.Rules = settings().Policy.For(seen.NamespaceLabels)
		return a
	}
	return kind.Kind{
		Name:   ApacheApplicationName,
		New:    func() client.Object { return &application{} },
		Status: typed.Of(func(app *application) any { return &app.Status }),
		Decide: typed.Decides(func(app *application, seen lifecycle.Observed, at time.Time) lifecycle.Plan {
			return ruled(app, seen).Decide(app, seen, at)
		}),
		Render: typed.Renders(func(app *application, action lifecycle.Action, at time.Time) (submit.Objects, error) {
			return applications(app).Render(app, action, at)
		}),
		Events:     typed.With(apacheapp.Events),
		Definition: kind.Definition{RequiredFields: requiredFields(settings(), "spec.suspend", "status.operator", "status.operator.restartRequest", "status.conditions", "status.executors")},
		Served:     kind.Served{Selects: actsOn(settings().Apache.LabelSelector), Sentinels: true},
		Progress: kind.Progress{
			Observed: typed.Of(func(app *application) int64 { return app.Status.ObservedGeneration }), Standing: typed.Of(apacheStanding), Concludes: true,
		},
		Sources: apacheapp.Sources,
		Executors: kind.Executors{
			Render: typed.Executor(func(app *application, attempt int32, id int, driver types.UID, at time.Time) (*corev1.Pod, error) {
				return applications(app).Executor(app, attempt, id, driver, at)
			}),
			Remembers: typed.Of(func(app *application) *statusv1.OperatorStatus {
				if app.Status.Operator == nil {
					return nil
				}
				return &app.Status.Operator.OperatorStatus
			}),
		},
		Auxiliary: kind.Auxiliary{Wanted: typed.With(func(app *application, seen lifecycle.Observed) dialect.AuxiliaryObjects {
			return ruled(app, seen).AuxiliaryObjects(app)
		})},
		Inherited: kind.Inherited{
			Adopt:      typed.With(func(app *application, pods []corev1.Pod) []corev1.Pod { return applications(app).Adopt(app, pods) }),
			NameLabel:  identity.ApacheAppNameLabel,
			Finalizers: []string{"sparkapplications.spark.apache.org/finalizer"},
		},
		ExecutorChurn: kind.ExecutorChurn{Fields: []string{"executors", "operator.executors.seen", "operator.shortSince"}},
		// Only pods that run spark-submit have Secrets.
		Secrets: kind.Secrets{Runners: settings().Submission.Mode != config.SubmissionNative},
	}
}

func apacheOptions(cfg config.Configuration) apacheapp.Options {
	return apacheapp.Options{
		OperatorName: cfg.Apache.OperatorName,
		Master:       cfg.Application.KubernetesMaster,
		MissingGrace: cfg.Apache.MissingDriverGracePeriod.Duration,
		Trim:         *cfg.Apache.TrimHistory,
		Run:          time.Duration(cfg.Application.Timeouts.RunSeconds) * time.Second,
		Submission:   dialect.SubmissionMode(cfg.Submission.Effective()),
		Authenticate: cfg.Application.Authenticate,
		Outside:      cfg.Exposure.Enabled,

		RunnerAccount: cfg.Submission.ServiceAccount, Own: ownAccount(cfg),
	}
}

// ownAccount returns the service account of the operator's own pods. It is empty if the configuration does not name it.
func ownAccount(cfg config.Configuration) dialect.ServiceAccount {
	if cfg.Identity.ServiceAccount == "" {
		return dialect.ServiceAccount{}
	}
	return dialect.ServiceAccount{Namespace: cfg.Identity.Namespace, Name: cfg.Identity.ServiceAccount}
}

// actsOn returns a function that reports whether the selector matches an object's labels. An invalid selector would
// match nothing, but the validation of the configuration rejects invalid selectors.
func actsOn(selector string) func(client.Object) bool {
	parsed, err := labels.Parse(selector)
	if err != nil {
		parsed = labels.Nothing()
	}
	return func(object client.Object) bool { return parsed.Matches(labels.Set(object.GetLabels())) }
}

// apacheStanding reads the state of a SparkApplication of spark.apache.org from its status.
func apacheStanding(app *sparkv1.SparkApplication) lifecycle.Standing {
	s := &app.Status

	standing := lifecycle.Standing{Waits: waitReason(s.Conditions, s.CurrentState == nil)}
	if s.CurrentState != nil {
		standing.State = string(s.CurrentState.CurrentStateSummary)
	}

	if s.Operator != nil {
		addProgress(&standing, &s.Operator.OperatorStatus)
	}

	if a := s.CurrentAttemptSummary; a != nil && a.AttemptInfo != nil {
		standing.Attempt = int32(a.AttemptInfo.ID) + 1
	}

	if e := s.Executors; e != nil {
		standing.ExecutorsRunning, standing.ExecutorsCompleted, standing.ExecutorsFailed = e.Running, e.Completed, e.Failed
	}
	return standing
}
