package steps_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/steps"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// TestTooManyClaims checks that the number of a driver's claims is limited, and that the error names the key of the
// first claim above the limit.
func TestTooManyClaims(t *testing.T) {
	t.Parallel()

	r := func(n int) submit.Request {
		var pairs []string
		for i := range n {
			prefix := fmt.Sprintf("spark.kubernetes.driver.volumes.persistentVolumeClaim.v%02d.", i)
			for setting, value := range map[string]string{
				"options.claimName": "OnDemand", "options.storageClass": "c", "options.sizeLimit": "1Gi",
				"mount.path": fmt.Sprintf("/v%d", i),
			} {
				pairs = append(pairs, prefix+setting, value)
			}
		}
		return kit.With(pairs...)
	}

	objects, err := native.Build(r(steps.MaxClaims))
	if err != nil {
		t.Fatal(err)
	}

	claims := 0
	for _, object := range objects.Before {
		if _, ok := object.(*corev1.PersistentVolumeClaim); ok {
			claims++
		}
	}

	if claims != steps.MaxClaims {
		t.Errorf("%d claims, want %d", claims, steps.MaxClaims)
	}

	if _, err := native.Build(r(steps.MaxClaims + 1)); err == nil ||
		!strings.Contains(err.Error(), "v20.options.claimName") {
		t.Errorf("%v, want it to name the claim that is one too many", err)
	}
}
