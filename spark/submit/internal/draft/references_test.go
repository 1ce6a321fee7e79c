package draft_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

// TestScopeOfReferences checks that Build replaces references in the values that it parses, such as the image. In
// environment variables, annotations and spark.properties, it keeps the text of the reference.
func TestScopeOfReferences(t *testing.T) {
	r := kit.With("spark.kubernetes.container.image", "${spark.repo}/x:${env:TAG}${system:suffix}", "spark.repo", "r",
		"spark.driver.cores", "${spark.n}", "spark.n", " 2 ",
		"spark.kubernetes.driver.label.l", "$", "spark.kubernetes.driverEnv.E", "${spark.repo}",
		"spark.kubernetes.driver.annotation.a", "${spark.repo}",
		"spark.kubernetes.authenticate.driver.serviceAccountName", "${env:SA}",
		"spark.kubernetes.driver.scheduler.name", "${spark.repo}-s")
	r.Conf.Delete("spark.kubernetes.driver.label.l")
	r.Environment, r.SystemProperties = map[string]string{"TAG": "1", "SA": "sa"}, map[string]string{"suffix": "-s"}
	o := kit.Build(t, r)

	spark := kit.SparkContainer(t, o)
	for what, c := range map[string][2]string{
		"image":           {spark.Image, "r/x:1-s"},
		"cores":           {spark.Resources.Requests.Cpu().String(), "2"},
		"service account": {o.Driver.Spec.ServiceAccountName, "sa"},
		"scheduler":       {o.Driver.Spec.SchedulerName, "r-s"},
		"variable":        {kit.EnvOf(spark)["E"], "${spark.repo}"},
		"annotation":      {o.Driver.Annotations["a"], "${spark.repo}"},
		"property": {kit.Props(t, o)["spark.kubernetes.container.image"],
			"${spark.repo}/x:${env:TAG}${system:suffix}"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %q, want %q", what, c[0], c[1])
		}
	}

	if len(o.Warnings) > 0 {
		t.Errorf("warnings: %q", o.Warnings)
	}
}

func TestUnresolvedReferencesWarn(t *testing.T) {
	o := kit.Build(t, kit.With("spark.kubernetes.container.image", "x:${env:TAG}", "spark.kubernetes.driverEnv.E",
		"${env:E}", "spark.mine", "${system:x}", "spark.local.dir", "/${spark.none}"))
	if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0],
		"spark.kubernetes.container.image: ${env:TAG} is not replaced") {
		t.Errorf("warnings: %q", o.Warnings)
	}

	if got := kit.SparkContainer(t, o).Image; got != "x:${env:TAG}" {
		t.Errorf("image is %q", got)
	}

	if !slices.Contains(draft.TextKeys, "spark.kubernetes.driver.container.image") {
		t.Error("the driver's own image is not looked at")
	}
}
