package batch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestQueueIgnored checks which applications count as ignored by Kueue: those that name a queue and that Kueue's
// webhook did not suspend at their creation.
func TestQueueIgnored(t *testing.T) {
	yes, no := true, false
	known := []metav1.Condition{{Type: dialect.ConditionQueueIgnored, Status: metav1.ConditionTrue}}

	for _, test := range []struct {
		name       string
		queue      string
		suspend    *bool
		generation int64
		conditions []metav1.Condition
		ignored    bool
	}{
		{"created without a suspension", "research", nil, 1, nil, true},
		{"created with the field, but not suspended", "research", &no, 1, nil, true},
		{"suspended by Kueue", "research", &yes, 1, nil, false},
		{"resumed by Kueue", "research", &no, 2, nil, false},
		{"edited after it was found", "research", nil, 2, known, true},
		{"suspended after it was found", "research", &yes, 3, known, false},
		{"the label was removed", "", nil, 1, known, false},
		{"no queue", "", nil, 1, nil, false},
	} {
		app := sparkapp.Sample()
		app.Generation, app.Spec.Suspend, app.Status.Conditions = test.generation, test.suspend, test.conditions
		app.Labels, app.ResourceVersion = map[string]string{dialect.QueueLabel: test.queue}, "1"

		if got := batch.QueueIgnored(app); (got != "") != test.ignored {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// TestIgnoredQueueIsReported checks that a launch outside of the named queue has a warning, and that the condition
// stays while the application runs.
func TestIgnoredQueueIsReported(t *testing.T) {
	d := application.Dialect{}

	app := sparkapp.Sample(func(app *v1beta2.SparkApplication) {
		app.Generation, app.Labels = 1, map[string]string{dialect.QueueLabel: "research"}
		app.ResourceVersion = "1"
	})

	plan := d.Decide(app, lifecycle.Observed{}, sparkapp.T0)
	if plan.Next.Phase != lifecycle.Launched {
		t.Fatalf("the application is in the phase %s", plan.Next.Phase)
	}

	objects, _ := launched(t, d, app)
	if !slices.ContainsFunc(objects.Warnings, func(text string) bool { return strings.Contains(text, "SparkApplicationIntegration") }) {
		t.Errorf("the warnings are %q", objects.Warnings)
	}

	for range 2 {
		found := meta.FindStatusCondition(app.Status.Conditions, dialect.ConditionQueueIgnored)
		if found == nil || found.Reason != batch.ReasonIntegrationOff || !strings.Contains(found.Message, `"research"`) {
			t.Fatalf("the condition is %+v", found)
		}

		app.Generation++ // an edit does not hide it
		d.Decide(app, lifecycle.Observed{}, sparkapp.T0.Add(time.Second))
	}
}
