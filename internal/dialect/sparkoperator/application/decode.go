package application

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// defaultInterval is the time before a retry if the application sets no interval. The webhook of this API's original
// operator sets the same default.
const defaultInterval = 5 * time.Second

// wanted returns what the application's spec requests, without validating it. Decide validates the spec when it is
// about to launch an attempt.
func (a *attempt) wanted() lifecycle.App {
	app, spec := a.app, &a.app.Spec

	out := lifecycle.App{
		UID:              string(app.UID),
		SpecHash:         a.hash(),
		RestartRequest:   lifecycle.RestartRequest(app.Annotations),
		Edited:           app.Generation > 1,
		Deleting:         app.DeletionTimestamp != nil,
		Orphan:           slices.Contains(app.Finalizers, metav1.FinalizerOrphanDependents),
		Suspend:          spec.Suspend != nil && *spec.Suspend,
		Restart:          restart(&spec.RestartPolicy),
		Deadlines:        limits(spec.Timeouts, a.Limits),
		InitialExecutors: initialExecutors(spec),
		MinExecutors:     minExecutors(spec),
		Budget:           budgeted(spec),
		MissingGrace:     a.MissingGrace,
	}
	switch {
	case spec.TimeToLiveSeconds != nil:
		out.TTL = new(sparkoperator.Seconds(spec.TimeToLiveSeconds, 0))
	case a.DefaultTTL > 0:
		out.TTL = new(a.DefaultTTL)
	}
	return out
}

func restart(p *v1beta2.RestartPolicy) lifecycle.Restart {
	r := lifecycle.Restart{
		Policy:             lifecycle.Never,
		FailureInterval:    sparkoperator.Seconds(p.OnFailureRetryInterval, defaultInterval),
		SubmissionInterval: sparkoperator.Seconds(p.OnSubmissionFailureRetryInterval, defaultInterval),
	}
	switch p.Type {
	case v1beta2.RestartPolicyAlways:
		r.Policy = lifecycle.Always
	case v1beta2.RestartPolicyOnFailure:
		r.Policy = lifecycle.OnFailure
	}

	if p.OnFailureRetries != nil {
		r.FailureRetries = *p.OnFailureRetries
	}

	if p.OnSubmissionFailureRetries != nil {
		r.SubmissionRetries = *p.OnSubmissionFailureRetries
	}

	if b := p.Backoff; b != nil {
		if b.Factor != nil {
			r.Factor = float64(*b.Factor)
		}

		r.Max = sparkoperator.Seconds(b.MaxSeconds, 0)
	}
	return r
}

func limits(t *v1beta2.Timeouts, d lifecycle.Deadlines) lifecycle.Deadlines {
	if t == nil {
		return d
	}
	return lifecycle.Deadlines{
		DriverStart:    sparkoperator.Seconds(t.DriverStartSeconds, d.DriverStart),
		DriverReady:    sparkoperator.Seconds(t.DriverReadySeconds, d.DriverReady),
		ExecutorsStart: sparkoperator.Seconds(t.ExecutorsStartSeconds, d.ExecutorsStart),
		Run:            sparkoperator.Seconds(t.RunSeconds, d.Run),
	}
}

// initialExecutors returns the number of executors with which the application starts, according to typed fields and
// sparkConf.
func initialExecutors(spec *v1beta2.SparkApplicationSpec) int32 {
	if driverOnly(spec) {
		return 0
	}

	instances, set := number(spec, spec.Executor.Instances, "spec.executor.instances")
	if dynamicAllocationEnabled(spec) {
		var field *int32
		if spec.DynamicAllocation != nil {
			field = spec.DynamicAllocation.InitialExecutors
		}
		// Spark starts with the largest of the three (Utils.getDynamicAllocationInitialExecutors).
		initial, _ := number(spec, field, "spec.dynamicAllocation.initialExecutors")
		return max(initial, minExecutors(spec), instances)
	}

	if !set {
		return 1
	}
	return instances
}

// minExecutors returns the number of executors that the application needs at all times. Without dynamic allocation this
// is its initial number of executors. With dynamic allocation it is Spark's minimum.
func minExecutors(spec *v1beta2.SparkApplicationSpec) int32 {
	switch {
	case driverOnly(spec):
		return 0
	case !dynamicAllocationEnabled(spec):
		return initialExecutors(spec)
	}

	var field *int32
	if spec.DynamicAllocation != nil {
		field = spec.DynamicAllocation.MinExecutors
	}

	least, _ := number(spec, field, "spec.dynamicAllocation.minExecutors")
	return least
}

// number returns the value of a typed field. If the field is not set, it returns the value of the field's key in
// sparkConf (dialect.ExecutorNumber). The result found is false if neither of them is set.
func number(spec *v1beta2.SparkApplicationSpec, field *int32, path string) (n int32, found bool) {
	if field != nil {
		return *field, true
	}
	return dialect.ExecutorNumber(spec.SparkConf[fields.Application.Key(path)])
}

func dynamicAllocationEnabled(spec *v1beta2.SparkApplicationSpec) bool {
	if d := spec.DynamicAllocation; d != nil && d.Enabled {
		return true
	}
	return strings.EqualFold(strings.TrimSpace(spec.SparkConf[fields.Application.Key("spec.dynamicAllocation.enabled")]), "true")
}

// decodeMemory returns the operator's memory that encodeMemory stored in the status. A status of another operator
// contains no memory. In this case decodeMemory derives the memory from the state of the application.
func decodeMemory(s *v1beta2.SparkApplicationStatus) lifecycle.Memory {
	m := lifecycle.Memory{
		AttemptID:   s.SubmissionID,
		Runs:        s.ExecutionAttempts,
		Submissions: s.SubmissionAttempts,
	}

	o := s.Operator
	if o == nil {
		adoptState(&m, s)
		return m
	}

	dialect.DecodeMemory(&m, o)
	return m
}
