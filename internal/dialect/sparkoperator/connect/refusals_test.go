package connect

import (
	"encoding/json"
	"testing"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/test/kit/refusal"
)

// TestRefusalsDocument compares the table of rejected servers in docs/refused-others.md with testdata/refusals.yaml, or
// writes the table with -update. For each row of testdata/refusals.yaml it checks that the first fault of the review is
// in the row's field. The review of the valid object must have no faults.
func TestRefusalsDocument(t *testing.T) {
	file := refusal.Must(t, "testdata/refusals.yaml")

	review := func(pieces ...string) dialect.Review {
		object := &v1alpha1.SparkConnect{}
		if err := json.Unmarshal(file.JSON(t, pieces...), object); err != nil {
			t.Fatal(err)
		}

		object.Namespace, object.UID = "jobs", "uid"
		return Connects{}.Review(object)
	}
	if faults := review().Faults; len(faults) > 0 {
		t.Errorf("the valid object has the faults %v", faults)
	}

	for _, r := range file.Refusals {
		if faults := review(r.Piece).Faults; len(faults) == 0 || faults[0].Field != r.Field {
			t.Errorf("%s: the faults are %v, want one of %s", r.Piece, faults, r.Field)
		}
	}

	refusal.Hold(t, "../../../../docs/refused-others.md", "refused servers", refusal.Table(file.Refusals), *update)
}
