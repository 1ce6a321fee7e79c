package crd_test

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

// TestDefinitionsHaveTheLimitsOfDecoding checks that the definitions set the same limits as package bounds, whose
// limits apply when an object is decoded. There are two exceptions. A definition may limit a list more strictly than
// the package. It may also limit texts that the package does not limit, such as those in conditions.
func TestDefinitionsHaveTheLimitsOfDecoding(t *testing.T) {
	for _, test := range []struct {
		file, version string
		kind          bounds.Kind
	}{
		{"sparkoperator.k8s.io_sparkapplications.yaml", "v1beta2", v1beta2.Bounds()["SparkApplication"]},
		{"sparkoperator.k8s.io_scheduledsparkapplications.yaml", "v1beta2",
			v1beta2.Bounds()["ScheduledSparkApplication"]},
		{"sparkoperator.k8s.io_sparkconnects.yaml", "v1alpha1", v1alpha1.Bounds()["SparkConnect"]},
		{"spark.apache.org_sparkapplications.yaml", "v1", sparkv1.Bounds()["SparkApplication"]},
		{"spark.apache.org_sparkapplications.yaml", "v1beta1", sparkv1.Bounds()["SparkApplication"]},
		{"spark.apache.org_sparkclusters.yaml", "v1", sparkv1.Bounds()["SparkCluster"]},
		{"spark.apache.org_sparkclusters.yaml", "v1beta1", sparkv1.Bounds()["SparkCluster"]},
	} {
		written := crd.Limits(crd.Ours(t, test.file), test.version)

		compared := 0
		for _, held := range bounds.Limits(test.kind) {
			key := held.Sort + " " + held.Path
			got, found := written[key]
			delete(written, key)
			compared++

			switch {
			case strings.HasSuffix(held.Path, ".metadata.managedFields"),
				strings.HasSuffix(held.Path, ".metadata.ownerReferences"):
				// The API server drops these fields from metadata inside a spec.
			case !found:
				t.Errorf("%s: decoding limits %s to %d, but the definition has no such property", test.file, key,
					held.Max)
			case got != held.Max && (held.Sort != "list" || got <= 0 || got > held.Max):
				t.Errorf("%s: decoding limits %s to %d, but the definition limits it to %d", test.file, key,
					held.Max, got)
			}
		}

		for key, most := range written {
			if !strings.HasPrefix(key, "text ") {
				t.Errorf("%s: the definition limits %s to %d, and decoding does not", test.file, key, most)
			}
		}

		if compared < 10 {
			t.Errorf("%s: only %d limits were compared", test.file, compared)
		}
	}
}
