package schedule

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// TestListsOfSchedulesCostLinearTime checks that the cost of passes grows linearly with the number of items in each
// list and map of a ScheduledSparkApplication.
func TestListsOfSchedulesCostLinearTime(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[v1beta2.ScheduledSparkApplication]()) {
		if strings.HasPrefix(field.Path, ".spec.template.") {
			continue // as an application's own
		}

		worst.Linear(t, "ScheduledSparkApplication"+field.Path, func(n int) func() {
			s := &v1beta2.ScheduledSparkApplication{}
			s.Name, s.Namespace, s.UID, s.Generation = "nightly", "jobs", "11111111-2222-4333-8444-555555555555", 1
			s.Spec.Schedule, s.Spec.Template = "* * * * *", piSpec()
			field.Fill(s, n)
			return func() {
				s := s.DeepCopy()

				d := Schedules{Options{Runs: application.Dialect{Options: application.Options{
					MaxTrackedExecutors: 1000, MissingGrace: 10 * time.Second}}}}
				for i := range 3 {
					now := morning.Add(time.Duration(i) * time.Hour)

					plan := d.Decide(s, lifecycle.Observed{Confirmed: true}, now)
					for _, action := range plan.Actions {
						if action.Verb == lifecycle.Create {
							_, _ = d.RenderRun(s, action)
						}
					}

					d.Events(s, plan)
					_, _ = json.Marshal(s.Status)
				}
			}
		})
	}
}
