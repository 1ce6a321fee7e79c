package schedule

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestInTemplate checks that only a path at the beginning of a text is changed to a path in the schedule's template.
// Paths in the spec of a pod template, configuration keys and quoted texts stay unchanged.
func TestInTemplate(t *testing.T) {
	for _, test := range []struct{ field, message, wantField, wantMessage string }{
		{"spec", "x", "spec.template", "x"},
		{"spec.driver.memory", "is no size", "spec.template.driver.memory", "is no size"},
		{"spec.driver.template.spec.containers[0].image", "is missing",
			"spec.template.driver.template.spec.containers[0].image", "is missing"},
		{"spec.sparkConf[spark.kubernetes.x.spec.y]", "is refused",
			"spec.template.sparkConf[spark.kubernetes.x.spec.y]", "is refused"},
		{"spec.sparkConf[spec.y]", "is refused", "spec.template.sparkConf[spec.y]", "is refused"},
		{"metadata.labels[spec.x]", "is Spark's own", "metadata.labels[spec.x]", "is Spark's own"},
		{"specification", "x", "specification", "x"},
		{"spec.image", "use spec.driver.image, or spec.executor.image", "spec.template.image",
			"use spec.template.driver.image, or spec.template.executor.image"},
		{"spec.a", "spec.b is also there (spec.c); spec.d", "spec.template.a",
			"spec.template.b is also there (spec.template.c); spec.template.d"},
		{"spec.a", "is inspec.b or PodSpec.spec.template.hostNetwork", "spec.template.a",
			"is inspec.b or PodSpec.spec.template.hostNetwork"},
		{"spec.a", `"see spec.b" is none; use spec.c`, "spec.template.a", `"see spec.b" is none; use spec.template.c`},
		{"spec.a", `"a\" spec.b" is none, and "spec.c" too`, "spec.template.a",
			`"a\" spec.b" is none, and "spec.c" too`},
		{"spec.a", "a spec is no path", "spec.template.a", "a spec is no path"},
	} {
		got := inTemplate(&dialect.FieldError{Field: test.field, Message: test.message})
		if got.Field != test.wantField || got.Message != test.wantMessage {
			t.Errorf("%s: %s\n becomes %s: %s\n want    %s: %s", test.field, test.message, got.Field, got.Message,
				test.wantField, test.wantMessage)
		}
	}
}

// TestPodTemplateIsRefusedByItsPath checks that the message about an invalid pod template names the field inside the
// template, behind the path of the template in the schedule.
func TestPodTemplateIsRefusedByItsPath(t *testing.T) {
	s := nightly(func(s *v1beta2.ScheduledSparkApplication) {
		s.Spec.Template.Driver.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"hostNetwork":"yes"}}`)}
		s.Spec.Template.Executor.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":7}}`)}
	})

	wrong := usual.Validate(s, morning)
	if len(wrong) != 2 || wrong[0].Field != "spec.template.driver.template.spec.hostNetwork" ||
		wrong[1].Field != "spec.template.executor.template.spec.containers" {
		t.Fatalf("%v", wrong)
	}

	for i, says := range []string{`is the text "yes", not a boolean; write true or false`,
		"is the number 7, not a list; write it as an item, behind a hyphen"} {
		if wrong[i].Message != says {
			t.Errorf("said: %s, want %s", wrong[i].Message, says)
		}
	}
}

// TestAScheduleBeyondTheLimits checks a schedule whose spec exceeds the limits and therefore cannot be read. It starts
// and deletes no run and keeps the times in its status.
func TestAScheduleBeyondTheLimits(t *testing.T) {
	var s v1beta2.ScheduledSparkApplication

	text := fmt.Sprintf(`{"metadata":{"name":"s","generation":2},"spec":{"schedule":"@every 1s","template":{"driver":{"coreLimit":"1"},"volumes":[{"name":"v","emptyDir":{"sizeLimit":%q}}]}},`+
		`"status":{"scheduleState":"Scheduled","pastSuccessfulRunNames":["a","b","c"],"operator":{"schedule":"old key"}}}`, "1e100000000")
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}

	plan := usual.Decide(&s, lifecycle.Observed{}, time.Unix(1_000_000, 0).UTC())
	if len(plan.Actions) > 0 || s.Status.ScheduleState != v1beta2.ScheduleStateFailedValidation ||
		s.Status.Operator.Schedule != "old key" ||
		!strings.Contains(s.Status.Reason,
			"spec.template.volumes[0].emptyDir.sizeLimit: the exponent of a quantity has at most 2 digits") {
		t.Errorf("%+v, %v", s.Status, plan.Actions)
	}
}
