package chart

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestReleasedDigests checks that the package of a release, which has the digests of its images in annotations, uses
// them for the default images only. A user's tag, digest or copy of the images takes precedence.
func TestReleasedDigests(t *testing.T) {
	operator, console, own := "@sha256:"+strings.Repeat("a", 64), "@sha256:"+strings.Repeat("b", 64), "sha256:"+strings.Repeat("c", 64)
	annotations := map[string]string{
		"digest.sparkoperator.dev/spark-operator": operator[1:], "digest.sparkoperator.dev/sparkctl": console[1:],
	}

	const ours = "docker.io/sparkoperator/"

	for name, test := range map[string]struct{ values, operator, console string }{
		"default values": {"{}", ours + "spark-operator:v0.1.0" + operator, ours + "sparkctl:v0.1.0" + console},
		"another tag":    {"{tag: dev}", ours + "spark-operator:dev", ours + "sparkctl:dev"},
		"another digest": {"{digest: '" + own + "'}", ours + "spark-operator@" + own, ours + "sparkctl:v0.1.0" + console},
		"a copy":         {"{registry: mirror.example}", "mirror.example/sparkoperator/spark-operator:v0.1.0", "mirror.example/sparkoperator/sparkctl:v0.1.0"},
	} {
		r := mustRender(t, install{values: "{console: {enable: true}, image: " + test.values + "}", annotations: annotations})

		images := map[string]string{}
		for _, deployment := range objectsOf[*appsv1.Deployment](r) {
			images[deployment.Name] = deployment.Spec.Template.Spec.Containers[0].Image
		}

		if images["spark-operator-controller"] != test.operator || images["spark-operator-console"] != test.console {
			t.Errorf("%s: %v", name, images)
		}
	}
}
