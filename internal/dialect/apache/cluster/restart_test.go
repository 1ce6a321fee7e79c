package cluster

import (
	"maps"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestRestartChangesThePods checks that a restart request changes the digest in the pods' templates, and that the
// status stores the request. The removal of the annotation must change nothing.
func TestRestartChangesThePods(t *testing.T) {
	sc := sparkCluster()
	made := func() map[lifecycle.Role]string {
		want, _, _ := testClusters.want(sc, lifecycle.Observed{})
		return want.Made
	}
	before := made()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	testClusters.Decide(sc, lifecycle.Observed{}, now)
	sc.Annotations = map[string]string{lifecycle.RestartAnnotation: "1"}

	requested := made()
	for role, digest := range requested {
		if digest == before[role] {
			t.Errorf("a restart request does not change the pods of the role %s", role)
		}
	}

	testClusters.Decide(sc, lifecycle.Observed{}, now)

	if got := sc.Status.Operator.RestartRequest; got != lifecycle.RestartRequest(sc.Annotations) {
		t.Fatalf("the status remembers the request %q", got)
	}

	sc.Annotations = nil
	testClusters.Decide(sc, lifecycle.Observed{}, now)

	if after := made(); !maps.Equal(after, requested) {
		t.Errorf("the removal of the annotation changes the pods: %v, before %v", after, requested)
	}
}
