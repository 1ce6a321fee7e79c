package sparkoperator

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// TestInTemplate: the application's spec becomes the schedule's template, once, at the beginning of a path; a pod's spec, a key and what is quoted stay.
func TestInTemplate(t *testing.T) {
	for _, test := range []struct{ field, message, wantField, wantMessage string }{
		{"spec", "x", "spec.template", "x"},
		{"spec.driver.memory", "is no size", "spec.template.driver.memory", "is no size"},
		{"spec.driver.template.spec.containers[0].image", "is missing", "spec.template.driver.template.spec.containers[0].image", "is missing"},
		{"spec.sparkConf[spark.kubernetes.x.spec.y]", "is refused", "spec.template.sparkConf[spark.kubernetes.x.spec.y]", "is refused"},
		{"spec.sparkConf[spec.y]", "is refused", "spec.template.sparkConf[spec.y]", "is refused"},
		{"metadata.labels[spec.x]", "is Spark's own", "metadata.labels[spec.x]", "is Spark's own"},
		{"specification", "x", "specification", "x"},
		{"spec.image", "use spec.driver.image, or spec.executor.image", "spec.template.image", "use spec.template.driver.image, or spec.template.executor.image"},
		{"spec.a", "spec.b is also there (spec.c); spec.d", "spec.template.a", "spec.template.b is also there (spec.template.c); spec.template.d"},
		{"spec.a", "is inspec.b or PodSpec.spec.template.hostNetwork", "spec.template.a", "is inspec.b or PodSpec.spec.template.hostNetwork"},
		{"spec.a", `"see spec.b" is none; use spec.c`, "spec.template.a", `"see spec.b" is none; use spec.template.c`},
		{"spec.a", `"a\" spec.b" is none, and "spec.c" too`, "spec.template.a", `"a\" spec.b" is none, and "spec.c" too`},
		{"spec.a", "a spec is no path", "spec.template.a", "a spec is no path"},
	} {
		got := inTemplate(&FieldError{Field: test.field, Message: test.message})
		if got.Field != test.wantField || got.Message != test.wantMessage {
			t.Errorf("%s: %s\n becomes %s: %s\n want    %s: %s", test.field, test.message, got.Field, got.Message, test.wantField, test.wantMessage)
		}
	}
}

// TestTemplateIsRefusedAsItsRuns puts the spec of every application that is refused into a schedule: it is refused for the same field, where the schedule
// has it, in the same words.
func TestTemplateIsRefusedAsItsRuns(t *testing.T) {
	d := Schedules{ScheduleOptions{Applications: usual.Options}}
	plain := regexp.MustCompile(`(^|[ ,;(])spec\.([a-zA-Z]+)`)
	quoted := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	tried := 0
	for _, r := range refusals {
		if strings.HasPrefix(r.field, "metadata.") {
			continue // the schedule has metadata of its own
		}
		tried++
		app := appOf(t, r.piece)
		s := nightly()
		s.Namespace, s.Spec.Template = app.Namespace, *app.Spec.DeepCopy()
		wrong := d.Validate(s, morning)
		if len(wrong) == 0 {
			t.Errorf("%s is not refused", r.piece)
			continue
		}
		want := strings.Replace(strings.ReplaceAll(r.field, "KEY", "spark.master"), "spec", "spec.template", 1)
		if wrong[0].Field != want {
			t.Errorf("%s: refused for %s, want %s", r.piece, wrong[0].Field, want)
		}
		for _, e := range wrong {
			for _, found := range plain.FindAllStringSubmatch(quoted.ReplaceAllString(e.Message, `""`), -1) {
				if found[2] != "template" {
					t.Errorf("%s: %q points to spec.%s, which a schedule has not", r.piece, e.Message, found[2])
				}
			}
		}
		if own := Validate(app); len(own) > 0 {
			plainly := func(text string) string { return strings.ReplaceAll(text, "spec.template.", "spec.") }
			if plainly(own[0].Message) != plainly(wrong[0].Message) {
				t.Errorf("%s: the words are %q, of a run %q", r.piece, wrong[0].Message, own[0].Message)
			}
		}
	}
	if tried < 40 {
		t.Errorf("%d templates are tried", tried)
	}
}

// TestPodTemplateIsRefusedByItsOwnPath: what the decoder says of a pod's spec is left as it says it.
func TestPodTemplateIsRefusedByItsOwnPath(t *testing.T) {
	s := nightly(func(s *v1beta2.ScheduledSparkApplication) {
		s.Spec.Template.Driver.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"hostNetwork":"yes"}}`)}
		s.Spec.Template.Executor.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":7}}`)}
	})
	wrong := Schedules{}.Validate(s, morning)
	if len(wrong) != 2 || wrong[0].Field != "spec.template.driver.template" || wrong[1].Field != "spec.template.executor.template" {
		t.Fatalf("%v", wrong)
	}
	for i, path := range []string{"spec.hostNetwork", "spec.containers"} {
		if !strings.Contains(wrong[i].Message, path) || strings.Contains(wrong[i].Message, "spec.template") {
			t.Errorf("said: %s", wrong[i].Message)
		}
	}
}
