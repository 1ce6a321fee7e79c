package draft_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func TestOverwritten(t *testing.T) {
	o := overlay.Overlay{TerminationGracePeriodSeconds: new(int64(1)),
		MemoryLimit: kit.HeavyRequest().Executor.MemoryLimit}
	for version, want := range map[string][]string{"3.5.9": {"MemoryLimit"},
		"4.1.4": {"MemoryLimit", "TerminationGracePeriodSeconds"}} {
		if diff := cmp.Diff(want, submit.Overwritten(version, o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}

	if got := submit.Overwritten("4.1.4", overlay.Overlay{HostNetwork: true}); len(got) > 0 {
		t.Errorf("a field that Spark leaves alone: %v", got)
	}

	r := kit.Minimal()

	r.Executor = o
	for version, want := range map[string][]string{
		"3.5.9": {"the executors' memoryLimit has no effect"},
		"4.1.4": {"the executors' memoryLimit has no effect",
			"the executors' terminationGracePeriodSeconds has no effect"},
	} {
		r.SparkVersion = version

		var got []string
		for _, w := range kit.Build(t, r).Warnings {
			effect, way, _ := strings.Cut(w, ": Spark ")
			got = append(got, effect)

			if !strings.Contains(way, "set spark.executor.memory") &&
				!strings.Contains(way, "set spark.kubernetes.executor.terminationGracePeriodSeconds") {
				t.Errorf("the warning should say the way out: %s", w)
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("warnings of Spark %s (-want +got):\n%s", version, diff)
		}
	}
}
