package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	sparkapp "github.com/sparkoperator/spark-operator/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// NewOperator makes the operator of a configuration, with every kind that it reconciles. Start runs it. A kind that is not served yet begins when it is.
// Where there are no others than SparkApplications of sparkoperator.k8s.io, the operator waits for these, for as long as the configuration lets the first
// lists take: it has nothing else to do.
func NewOperator(ctx context.Context, cfg config.Configuration, env Environment) (*Operator, error) {
	op, err := newOperator(ctx, cfg, env)
	if err != nil {
		return nil, err
	}
	var errs []error
	switch {
	case cfg.Applications() && cfg.ApacheApplications():
		errs = append(errs, AddWhenServed(ctx, op, sparkApplications(cfg), time.Now))
	case cfg.Applications():
		errs = append(errs, Add(ctx, op, sparkApplications(cfg), time.Now))
	}
	if cfg.Schedules() {
		errs = append(errs, AddWhenServed(ctx, op, schedules(cfg), time.Now))
	}
	if cfg.ConnectServers() {
		errs = append(errs, AddWhenServed(ctx, op, sparkConnects(cfg), time.Now))
	}
	if cfg.ApacheApplications() {
		errs = append(errs, AddWhenServed(ctx, op, apacheApplications(op.Settings), time.Now))
	}
	if cfg.SparkClusters() {
		errs = append(errs, AddWhenServed(ctx, op, sparkClusters(op.Settings), time.Now))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return op, nil
}

// sparkApplications are the SparkApplications of sparkoperator.k8s.io/v1beta2.
func sparkApplications(cfg config.Configuration) Kind {
	applications := sparkapp.Dialect{Options: dialectOptions(cfg)}
	return Kind{
		Name:   "sparkapplication",
		New:    func() client.Object { return &v1beta2.SparkApplication{} },
		Status: of(func(app *v1beta2.SparkApplication) any { return &app.Status }),
		Decide: decides(applications.Decide),
		Render: renders(applications.Render),
		Events: with(func(app *v1beta2.SparkApplication, plan lifecycle.Plan) []Event {
			return asEvents(sparkapp.Events(app, plan))
		}),
		Definition: Definition{Keeps: []string{"status.operator", "status.conditions", "status.executors"}},
		Served: Served{Yields: of(func(app *v1beta2.SparkApplication) bool {
			return app.Status.AppState.State == v1beta2.ApplicationStateNew && app.Labels[sparkoperator.LabelScheduledAppName] != ""
		})},
		Progress: Progress{
			Observed: of(func(app *v1beta2.SparkApplication) int64 { return app.Status.ObservedGeneration }), Standing: of(standingOf), Concludes: true,
		},
		Executors: Executors{
			Render: executor(applications.Executor), Labels: of(executorLabelsOf),
			Remembers: of(func(app *v1beta2.SparkApplication) *v1beta2.OperatorStatus { return app.Status.Operator }),
		},
		Beside: Beside{Wanted: with(func(app *v1beta2.SparkApplication, seen lifecycle.Observed) Surroundings {
			return asSurroundings(applications.Surroundings(app, seen))
		})},
		Inherited: Inherited{Adopt: with(applications.Adopt), NameLabel: sparkoperator.LabelAppName, GroupLeft: with(applications.GroupLeft)},
		Crowd: Crowd{
			// Of what is counted the failures are not among them: with its pod gone an executor would count as one that completed.
			Fields: []string{"executorState", "executors", "operator.executors.seen", "operator.shortSince"},
			// RUNNING either way: the first executors are there, and not yet enough of them.
			Minor: func(t lifecycle.Transition) bool { return t.From == lifecycle.Ready && t.To == lifecycle.Scaling },
		},
		// Only pods that run spark-submit have one.
		Secrets: Secrets{Runners: applications.Submission != v1beta2.SubmissionModeNative},
	}
}

func asSurroundings(wanted dialect.Surroundings) Surroundings {
	out := Surroundings{Unsettled: wanted.Unsettled, Stays: wanted.Stays, Read: wanted.Read, Decides: wanted.Decides}
	for _, object := range wanted.Objects {
		out.Objects = append(out.Objects, object)
	}
	if wanted.Told != nil {
		out.Told = func(is []lifecycle.Surrounding, now time.Time) []Event { return asEvents(wanted.Told(is, now)) }
	}
	return out
}

func asEvents(told []dialect.Event) []Event {
	var events []Event
	for _, event := range told {
		events = append(events, Event(event))
	}
	return events
}

// optionalKinds are the kinds of children that the configuration switches on and that a cluster may not have.
func optionalKinds(cfg config.Configuration) []schema.GroupVersionKind {
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
		Submission:   v1beta2.SubmissionMode(c.Submission.Mode),
		Authenticate: cfg.Authenticate,

		RunnerAccount: c.Submission.ServiceAccount, Own: ownAccount(c),
	}
}
