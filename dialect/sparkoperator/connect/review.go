package connect

import (
	"math"
	"slices"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Review returns the faults and warnings that the operator would report if it created a server now, and the pods of
// this server.
func (c Connects) Review(sc *v1alpha1.SparkConnect) dialect.Review {
	launching, launched := c.launching(sc)
	made, executor, faults := launching.tryServer(launched)
	if len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	warnings := slices.Concat(connectWarnings(sc), inConnectFields(&sc.Spec, made.Warnings), templateWarnings(sc))
	for _, notice := range c.serviceWarnings(sc) {
		warnings = append(warnings, notice.Cause.Message)
	}
	if _, err := c.service(sc); err != nil {
		warnings = append(warnings, err.Error()) // a pass creates the server without the Service
	}
	return dialect.Review{Warnings: warnings, Pods: func() []dialect.Pods {
		return []dialect.Pods{{Role: "server", Pod: made.Server, Count: 1}, {Role: "executor", Pod: executor, Count: initialExecutors(launched)}}
	}}
}

// initialExecutors returns the number of executors with which a server starts.
func initialExecutors(sc *v1alpha1.SparkConnect) int32 {
	most, c := connectExecutors(&sc.Spec), connectConf(sc)
	if dynamic, err := c.Bool("spark.dynamicAllocation.enabled", false); err != nil || !dynamic {
		return most
	}
	// Spark starts with the largest of the three numbers (Utils.getDynamicAllocationInitialExecutors).
	for _, key := range []string{"spark.dynamicAllocation.initialExecutors", "spark.executor.instances"} {
		if n, err := c.Int(key, 0); err == nil {
			most = max(most, int32(min(n, math.MaxInt32)))
		}
	}
	return most
}

func templateWarnings(sc *v1alpha1.SparkConnect) []string {
	return slices.Concat(dialect.TemplateWarnings("spec.server.template", sc.Spec.Server.Template),
		dialect.TemplateWarnings("spec.executor.template", sc.Spec.Executor.Template))
}

// RestartWarning returns a warning if an edit replaces a running server, or else an empty text.
func (c Connects) RestartWarning(old, edited *v1alpha1.SparkConnect) string {
	suspends := edited.Spec.Suspend != nil && *edited.Spec.Suspend
	if !decodeConnect(&old.Status).Phase.Live() || suspends || !lifecycle.Edited(Hash(&old.Spec), Hash(&edited.Spec)) {
		return ""
	}
	return "the server is running, and this edit of its spec replaces it: its clients lose their sessions"
}
