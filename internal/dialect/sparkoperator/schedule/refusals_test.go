package schedule

import (
	"encoding/json"
	"flag"
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/test/kit/refusal"
)

var update = flag.Bool("update", false, "write the schedules' part of docs/refused-others.md")

// TestRefusalsDocument compares the table of rejected schedules in docs/refused-others.md with testdata/refusals.yaml.
// With -update, it writes the table instead. Each row of the file describes an invalid schedule and the wrong field.
// The first error that Review returns for this schedule must name that field. For the file's valid schedule, Review
// must return no errors.
func TestRefusalsDocument(t *testing.T) {
	file := refusal.Must(t, "testdata/refusals.yaml")

	review := func(pieces ...string) dialect.Review {
		object := &v1beta2.ScheduledSparkApplication{}
		if err := json.Unmarshal(file.JSON(t, pieces...), object); err != nil {
			t.Fatal(err)
		}

		object.Namespace, object.UID = "jobs", "uid"
		return usual.Review(object, morning)
	}
	if faults := review().Faults; len(faults) > 0 {
		t.Errorf("the valid object has the faults %v", faults)
	}

	for _, r := range file.Refusals {
		if faults := review(r.Piece).Faults; len(faults) == 0 || faults[0].Field != r.Field {
			t.Errorf("%s: the faults are %v, want one of %s", r.Piece, faults, r.Field)
		}
	}

	refusal.Hold(t, "../../../../docs/refused-others.md", "refused schedules", refusal.Table(file.Refusals), *update)
}
