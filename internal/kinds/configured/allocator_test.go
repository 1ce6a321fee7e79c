package configured_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestAllocatorWithoutRightsIsWarnedAbout checks that the review of every kind with a driver warns if executors belong
// to a StatefulSet and the operator's configuration does not report the rights of drivers on StatefulSets.
func TestAllocatorWithoutRightsIsWarnedAbout(t *testing.T) {
	t.Parallel()
	const pair = `spark.kubernetes.allocation.pods.allocator: statefulset`

	for i, piece := range []string{"spec: {sparkConf: {PAIR}}", "spec: {template: {sparkConf: {PAIR}}}", "spec: {sparkConf: {PAIR}}", "spec: {sparkConf: {PAIR}}"} {
		for granted, want := range map[string]bool{"{}": true, "{statefulSets: true}": false} {
			cfg, err := config.Parse([]byte("{apiVersion: " + config.APIVersion + ", kind: " + config.Kind + ", application: " + granted + "}"))
			if err != nil {
				t.Fatal(err)
			}

			admitted := configured.Admission(nil)[i]
			review := admitted.Review(cfg, nil, object(t, i, strings.Replace(piece, "PAIR", pair, 1)), noon)

			warned := slices.ContainsFunc(review.Warnings, func(text string) bool {
				return strings.Contains(text, "sparkConf[spark.kubernetes.allocation.pods.allocator]: the driver needs rights on statefulsets")
			})
			if len(review.Faults) > 0 || warned != want {
				t.Errorf("%s with %s: warned %t, want %t: %v %v", admitted.GVK(), granted, warned, want, review.Warnings, review.Faults)
			}
		}
	}
}
