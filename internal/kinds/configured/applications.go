package configured

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	sparkapp "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// applications is the kind of the SparkApplications of sparkoperator.k8s.io.
type applications struct {
	base
	fixed sparkapp.Dialect // for methods that do not depend on defaults
}

func newApplications(settings func() config.Configuration, defaults func(client.Object) *platform.Settings) Kind {
	cfg := settings()
	return &applications{fixed: sparkapp.Dialect{Options: dialectOptions(cfg)}, base: base{settings, defaults, contract.Traits{
		Name:           "sparkapplication",
		RequiredFields: requiredOfAttempts(cfg, "status.operator", "status.operator.restartRequest", "status.conditions", "status.executors"),
		Concludes:      true,
		Sources:        sparkapp.Sources,
		Inherited:      contract.Inherited{NameLabel: sparkoperator.LabelAppName},
		ExecutorChurn: contract.ExecutorChurn{
			// The count of failed executors is not among these fields: once the pod of a failed executor is deleted,
			// the executor would count as completed.
			Fields: []string{"executorState", "executors", "operator.executors.seen", "operator.logs.attempt", "operator.logs.place", "operator.shortSince"},
			// The state is RUNNING before and after this transition: the first executors run, but not enough of them.
			Minor: []contract.Transition{{From: lifecycle.Ready, To: lifecycle.Scaling}},
		},
		// Only pods that run spark-submit have Secrets.
		Secrets: contract.Secrets{Runners: cfg.Submission.Mode != config.SubmissionNative},
	}}}
}

// dialect returns the dialect with the platform's defaults for an object.
func (k *applications) dialect(object client.Object) sparkapp.Dialect {
	return applicationsWith(k.fixed.Options, k.defaults(object))
}

// ruled returns the dialect with the platform's defaults for an object, and its rules for a namespace with the given
// labels.
func (k *applications) ruled(object client.Object, labels map[string]string) sparkapp.Dialect {
	d := k.dialect(object)
	d.Rules = k.settings().Policy.For(labels)
	return d
}

func (*applications) New() client.Object { return &v1beta2.SparkApplication{} }

func (*applications) Status(object client.Object) any {
	return &object.(*v1beta2.SparkApplication).Status
}

func (*applications) ObservedGeneration(object client.Object) int64 {
	return object.(*v1beta2.SparkApplication).Status.ObservedGeneration
}

func (k *applications) Decide(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return k.ruled(object, seen.NamespaceLabels).Decide(object.(*v1beta2.SparkApplication), seen, now)
}

func (*applications) Events(object client.Object, plan lifecycle.Plan) []dialect.Event {
	return sparkapp.Events(object.(*v1beta2.SparkApplication), plan)
}

func (k *applications) Render(object client.Object, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	return k.dialect(object).Render(object.(*v1beta2.SparkApplication), action, now)
}

func (k *applications) Executor(object client.Object, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	return k.dialect(object).Executor(object.(*v1beta2.SparkApplication), attempt, id, driver, now)
}

func (*applications) ExecutorLabels(object client.Object) map[string]string {
	return object.(*v1beta2.SparkApplication).Spec.Executor.Labels
}

func (k *applications) ExecutorRecord(object client.Object) *statusv1.OperatorStatus {
	return k.Operator(object)
}

// usageIn returns the field of a status with what the pods have used; nil if the status lacks the operator's part.
func usageIn(o *statusv1.OperatorStatus) **statusv1.OperatorUsage {
	if o == nil {
		return nil
	}
	return &o.Usage
}

func (*applications) Operator(object client.Object) *statusv1.OperatorStatus {
	return object.(*v1beta2.SparkApplication).Status.Operator
}

func (k *applications) Usage(object client.Object) **statusv1.OperatorUsage {
	return usageIn(k.Operator(object))
}

func (k *applications) AuxiliaryObjects(object client.Object, seen lifecycle.Observed) dialect.AuxiliaryObjects {
	return k.ruled(object, seen.NamespaceLabels).AuxiliaryObjects(object.(*v1beta2.SparkApplication), seen)
}

func (k *applications) Adopt(object client.Object, candidates []corev1.Pod) []corev1.Pod {
	return k.fixed.Adopt(object.(*v1beta2.SparkApplication), candidates)
}

func (k *applications) InheritedGroup(object client.Object, seen lifecycle.Observed) *metav1.PartialObjectMetadata {
	return k.fixed.InheritedGroup(object.(*v1beta2.SparkApplication), seen)
}

// Yields reports whether an application is a new run of a schedule.
func (*applications) Yields(object client.Object) bool {
	app := object.(*v1beta2.SparkApplication)
	return app.Status.AppState.State == v1beta2.ApplicationStateNew && app.Labels[sparkoperator.LabelScheduledAppName] != ""
}

func (k *applications) Review(object client.Object, labels map[string]string, now time.Time) dialect.Review {
	return k.ruled(object, labels).Review(object.(*v1beta2.SparkApplication), now)
}

func (k *applications) RestartWarning(old, edited client.Object) string {
	return k.fixed.RestartWarning(old.(*v1beta2.SparkApplication), edited.(*v1beta2.SparkApplication))
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
		StatefulSets: cfg.StatefulSets,

		RunnerAccount: c.Submission.ServiceAccount, Own: ownAccount(c),
		Admission: admit.Available{Policy: c.Webhook.Executors.Policy, Webhook: c.Webhook.Executors.Webhook},
	}
}
