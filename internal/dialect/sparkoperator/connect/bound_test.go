package connect

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestServerExposedIsBounded checks that a long rejection of an Ingress fits into the condition and is reported once.
func TestServerExposedIsBounded(t *testing.T) {
	sc := &v1alpha1.SparkConnect{}

	refused := []lifecycle.AuxiliaryObject{{Kind: "Ingress", Name: "ui",
		Cause: lifecycle.Cause{Reason: "Invalid", Message: strings.Repeat("x", 50_000)}}}
	for i, want := range []int{1, 0} {
		if events := recordServerExposed(sc, sparkoperator.Exposure{}, refused,
			time.Unix(int64(i), 0)); len(events) != want {
			t.Errorf("pass %d: %d events, want %d", i, len(events), want)
		}

		got := meta.FindStatusCondition(sc.Status.Conditions, dialect.ConditionExposed)
		if got == nil || got.Reason != "Invalid" || len(got.Message) > lifecycle.MaxMessage+10 ||
			!strings.HasSuffix(got.Message, "...") {
			t.Fatalf("pass %d: %+v", i, got)
		}
	}
}
