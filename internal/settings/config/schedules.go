package config

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// precisions are the allowed units of the time in the names of runs. They are the same as in the corresponding flag of
// the kubeflow operator.
var precisions = []string{"nanos", "micros", "millis", "seconds", "minutes"}

// ScheduledApplications configures schedules (ScheduledSparkApplication of sparkoperator.k8s.io/v1beta2) and the names
// of their runs.
type ScheduledApplications struct {
	// Enabled serves ScheduledSparkApplications. The operator needs rights on scheduledsparkapplications, and the right
	// to create sparkapplications; the definition may be installed later. If false, the operator ignores
	// ScheduledSparkApplications, and existing runs continue as ordinary applications. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// TimestampPrecision is the unit of the number in a run's name, which is the time since 1970: nanos, micros,
	// millis, seconds or minutes. Default nanos.
	TimestampPrecision string `json:"timestampPrecision,omitempty"`
}

func (s *ScheduledApplications) applyDefaults() {
	setDefault(&s.Enabled, new(true))
	setDefault(&s.TimestampPrecision, "nanos")
}

func validateScheduledApplications(c *Configuration) field.ErrorList {
	return oneOf(field.NewPath("scheduledApplications", "timestampPrecision"), c.ScheduledApplications.TimestampPrecision, precisions...)
}
