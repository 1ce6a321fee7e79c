package native_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// TestDriverEqualsBuildsDriver checks that Driver returns the same pod as Build if Build succeeds, and a pod with the
// same resource requests if only a JVM could submit the application.
func TestDriverEqualsBuildsDriver(t *testing.T) {
	r := kit.With("spark.driver.memory", "3g", "spark.kubernetes.driver.request.cores", "1500m")

	built, err := native.Build(r)
	if err != nil {
		t.Fatal(err)
	}

	pod, err := native.Driver(r)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(built.Driver, pod); diff != "" {
		t.Errorf("(-Build +Driver):\n%s", diff)
	}

	for name, pairs := range map[string][]string{
		"a step that the user adds":    {"spark.kubernetes.driver.pod.featureSteps", "org.example.Step"},
		"a pattern in an object store": {"spark.jars", "s3a://b/*.jar"},
	} {
		for i := 0; i < len(pairs); i += 2 {
			r.Conf.Set(pairs[i], pairs[i+1])
		}

		if _, err := native.Build(r); err == nil {
			t.Fatalf("%s: Build can do it", name)
		}

		pod, err := native.Driver(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		if diff := cmp.Diff(built.Driver.Spec.Containers[0].Resources, pod.Spec.Containers[0].Resources); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDriverRefuses checks that Driver rejects the requests that both Build and spark-submit reject.
func TestDriverRefuses(t *testing.T) {
	for _, r := range []submit.Request{kit.With("spark.driver.memory", "1.5g"), {}} {
		_, want := native.Build(r)

		_, err := native.Driver(r)
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
