package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster/status"
)

// TestFewWarningsBecomeEvents checks that a spec with many settings that have no effect causes only a few events, once.
func TestFewWarningsBecomeEvents(t *testing.T) {
	w := newClusterWorld(t, func(sc *sparkv1.SparkCluster) {
		var fields []string
		for i := range 20 {
			fields = append(fields, fmt.Sprintf(`"future%d":1`, i))
		}

		sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: rawOf(`{"template":{"spec":{` + strings.Join(fields, ",") + `}}}`)}}
	})
	if review := w.c.Review(w.sc); len(review.Warnings) != 20 {
		t.Fatalf("the review has the warnings %q", review.Warnings)
	}

	for _, when := range []string{"at first", "later"} {
		w.pass()
		w.now = w.now.Add(time.Minute)

		warnings := 0
		for _, reason := range w.reported {
			if reason == status.EventClusterWarning {
				warnings++
			}
		}

		if warnings != 5 {
			t.Errorf("%s: %d events", when, warnings)
		}
	}
}
