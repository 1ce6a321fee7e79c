package steps_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// TestAliasesDoNotMultiply checks that Build does not expand YAML aliases. The test uses a PodGroup of about 100 KB,
// whose aliases would expand to 640 MB.
func TestAliasesDoNotMultiply(t *testing.T) {
	var text strings.Builder
	fmt.Fprintf(&text, "spec:\n  a: &a %q\n  b: [", strings.Repeat("x", 64<<10))

	for range 10_000 {
		text.WriteString("*a, ")
	}

	text.WriteString("*a]\n")

	r := kit.Gang()
	r.SparkVersion = "4.2.1"
	r.Conf.Set(draft.VolcanoJSONKey, text.String())

	var err error
	if got := worst.Allocated(func() { _, err = native.Build(r) }); got > 16<<20 {
		t.Errorf("%d MiB are allocated", got>>20)
	}

	if wrong, ok := errors.AsType[*submit.Error](err); !ok || wrong.Key != draft.VolcanoJSONKey {
		t.Errorf("the error is %v", err)
	}
}

// TestVersionsDoNotMultiply checks that Build limits the length of an image name after it replaces the markers for the
// version of Spark.
func TestVersionsDoNotMultiply(t *testing.T) {
	r := kit.With("spark.kubernetes.container.image", strings.Repeat(conf.VersionMarker, 20_000))
	r.SparkVersion = "4.1.1-" + strings.Repeat("9", 100)
	kit.RefusedFor(t, r, "spark.kubernetes.container.image", "the limit is 4096 bytes")
	// Build accepts a long name without markers; the registry rejects it.
	long := kit.With("spark.kubernetes.container.image", strings.Repeat("x", 5000))
	kit.Build(t, long)
}

// TestClaimNamesDoNotMultiply checks that Build limits the length of a claim name, because it replaces each occurrence
// of the word OnDemand by a longer text.
func TestClaimNamesDoNotMultiply(t *testing.T) {
	const volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.v."
	r := kit.With(volume+"mount.path", "/mnt", volume+"options.claimName", strings.Repeat("OnDemand", 20_000))
	kit.RefusedFor(t, r, volume+"options.claimName", "the limit is 1012 bytes")
}

// TestLocalDirectoriesAreBounded checks that Build limits the number of local directories. Without a limit, 500 KB of
// text would become 190 MB of volumes.
func TestLocalDirectoriesAreBounded(t *testing.T) {
	kit.RefusedFor(t, kit.With("spark.local.dir", strings.Repeat("/dir,", 20_000)), "spark.local.dir",
		"names 20000 directories; the limit is 500")
}

// TestListsOfClassesCostLinearTime checks that the time for a list of thousands of elements is linear. Build must not
// search the whole value of the key again for the warning about each element.
func TestListsOfClassesCostLinearTime(t *testing.T) {
	for _, key := range []string{
		"spark.kubernetes.driver.pod.featureSteps", "spark.kubernetes.driver.pod.excludedFeatureSteps",
		"spark.kubernetes.executor.pod.featureSteps",
		"spark.kubernetes.executor.pod.excludedFeatureSteps", "spark.jars", "spark.files", "spark.local.dir",
	} {
		worst.Linear(t, key, func(n int) func() {
			items := make([]string, 4*n)
			for i := range items {
				items[i] = fmt.Sprint("s3a://org.example.Step", i, "*")
			}

			r := kit.With(key, strings.Join(items, ","))
			return func() { _, _ = native.Build(r) }
		})
	}
}
