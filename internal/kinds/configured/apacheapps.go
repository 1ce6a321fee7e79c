package configured

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
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ApacheApplicationName is the name of the controller of the SparkApplications of spark.apache.org. It differs from
// sparkapplication, which is the name of the controller of the SparkApplications of sparkoperator.k8s.io.
const ApacheApplicationName = "apachesparkapplication"

// apacheApplications is the kind of the SparkApplications of spark.apache.org.
type apacheApplications struct {
	base
	selected labels.Selector
}

func newApacheApplications(settings func() config.Configuration, defaults func(client.Object) *platform.Settings) Kind {
	cfg := settings()
	return &apacheApplications{selected: selector(cfg), base: base{settings, defaults, contract.Traits{
		Name:           ApacheApplicationName,
		RequiredFields: requiredOfAttempts(cfg, "spec.suspend", "status.operator", "status.operator.restartRequest", "status.conditions", "status.executors"),
		Sentinels:      true,
		Concludes:      true,
		Sources:        apacheapp.Sources,
		Inherited:      contract.Inherited{NameLabel: identity.ApacheAppNameLabel, Finalizers: []string{"sparkapplications.spark.apache.org/finalizer"}},
		ExecutorChurn:  contract.ExecutorChurn{Fields: []string{"executors", "operator.executors.seen", "operator.logs.attempt", "operator.logs.place", "operator.shortSince"}},
		// Only pods that run spark-submit have Secrets.
		Secrets: contract.Secrets{Runners: cfg.Submission.Mode != config.SubmissionNative},
	}}}
}

// dialect returns the dialect with the present configuration and the platform's defaults for an object.
func (k *apacheApplications) dialect(object client.Object) apacheapp.Applications {
	return apacheWith(k.settings(), k.defaults(object))
}

// ruled returns the dialect with the platform's defaults for an object, and its rules for a namespace with the given
// labels.
func (k *apacheApplications) ruled(object client.Object, labels map[string]string) apacheapp.Applications {
	d := k.dialect(object)
	d.Rules = k.settings().Policy.For(labels)
	return d
}

func (*apacheApplications) New() client.Object { return &sparkv1.SparkApplication{} }

func (*apacheApplications) Status(object client.Object) any {
	return &object.(*sparkv1.SparkApplication).Status
}

func (*apacheApplications) ObservedGeneration(object client.Object) int64 {
	return object.(*sparkv1.SparkApplication).Status.ObservedGeneration
}

// Selects reports whether the setting apache.labelSelector selects an application.
func (k *apacheApplications) Selects(object client.Object) bool {
	return k.selected.Matches(labels.Set(object.GetLabels()))
}

func (k *apacheApplications) Decide(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return k.ruled(object, seen.NamespaceLabels).Decide(object.(*sparkv1.SparkApplication), seen, now)
}

func (k *apacheApplications) Events(object client.Object, plan lifecycle.Plan) []dialect.Event {
	return k.withQueueEvent(object, plan, apacheapp.Events(plan))
}

func (k *apacheApplications) Render(object client.Object, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	return k.dialect(object).Render(object.(*sparkv1.SparkApplication), action, now)
}

// Pods implements apply.Queued.
func (k *apacheApplications) Pods(object client.Object, seen lifecycle.Observed, now time.Time) ([]dialect.Pods, error) {
	return k.ruled(object, seen.NamespaceLabels).Pods(object.(*sparkv1.SparkApplication), now)
}

func (k *apacheApplications) Executor(object client.Object, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	return k.dialect(object).Executor(object.(*sparkv1.SparkApplication), attempt, id, driver, now)
}

func (k *apacheApplications) ExecutorRecord(object client.Object) *statusv1.OperatorStatus {
	return k.Operator(object)
}

func (*apacheApplications) Operator(object client.Object) *statusv1.OperatorStatus {
	if o := object.(*sparkv1.SparkApplication).Status.Operator; o != nil {
		return &o.OperatorStatus
	}
	return nil
}

func (k *apacheApplications) Usage(object client.Object) **statusv1.OperatorUsage {
	return usageIn(k.Operator(object))
}

func (k *apacheApplications) AuxiliaryObjects(object client.Object, seen lifecycle.Observed) dialect.AuxiliaryObjects {
	return k.ruled(object, seen.NamespaceLabels).AuxiliaryObjects(object.(*sparkv1.SparkApplication))
}

func (k *apacheApplications) Adopt(object client.Object, candidates []corev1.Pod) []corev1.Pod {
	return k.dialect(object).Adopt(object.(*sparkv1.SparkApplication), candidates)
}

func (k *apacheApplications) Review(object client.Object, labels map[string]string, now time.Time) dialect.Review {
	return k.withQueueWarning(object, k.ruled(object, labels).Review(object.(*sparkv1.SparkApplication), now))
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
		StatefulSets: cfg.Application.StatefulSets,

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

// selector returns the selector of the custom resources of spark.apache.org that the operator acts on. An invalid
// selector would match nothing, but the validation of the configuration rejects invalid selectors.
func selector(cfg config.Configuration) labels.Selector {
	parsed, err := labels.Parse(cfg.Apache.LabelSelector)
	if err != nil {
		return labels.Nothing()
	}
	return parsed
}

// Standing reads the state of a SparkApplication of spark.apache.org from its status.
func (*apacheApplications) Standing(object client.Object) lifecycle.Standing {
	s := &object.(*sparkv1.SparkApplication).Status

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
