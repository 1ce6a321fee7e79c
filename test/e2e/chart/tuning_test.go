package chart

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestTuningPageMatchesTheChart checks the YAML examples of docs/tuning.md. The chart must accept all values in the
// examples, and the objects must have no unknown fields.
func TestTuningPageMatchesTheChart(t *testing.T) {
	page, err := os.ReadFile("../../../docs/tuning.md")
	if err != nil {
		t.Fatal(err)
	}

	values, objects := 0, 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		text := block[1]
		if !strings.HasPrefix(text, "apiVersion:") {
			values++

			r := mustRender(t, install{values: text})
			if objectOf[*appsv1.Deployment](t, r).Spec.Replicas == nil {
				t.Errorf("no replicas result from\n%s", text)
			}

			configOf(t, r)
			continue
		}

		for _, object := range decode(t, "docs/tuning.md", text) {
			objects++

			if schema, ok := object.(*flowcontrol.FlowSchema); ok {
				account := schema.Spec.Rules[0].Subjects[0].ServiceAccount

				pod := objectOf[*appsv1.Deployment](t, mustRender(t, install{})).Spec.Template.Spec
				if account.Name != pod.ServiceAccountName || account.Namespace != "spark-operator" {
					t.Errorf("the FlowSchema names the account %s, but the controller runs as %s", account.Name,
						pod.ServiceAccountName)
				}
			}
		}
	}

	if values < 3 || objects != 2 {
		t.Errorf("%d sets of values and %d objects on the page", values, objects)
	}
}

// TestReleasesOfTheTuningPageAreDisjoint checks that the releases of docs/tuning.md can coexist. No object belongs to
// two releases, and each release serves its own namespaces.
func TestReleasesOfTheTuningPageAreDisjoint(t *testing.T) {
	type object struct{ kind, namespace, name string }
	owner := map[object]string{}

	leases := map[string]string{}
	for _, c := range []struct {
		release, values string
		want            config.Namespaces
	}{
		{"spark-operator-a", "spark: {jobNamespaces: [], jobNamespaceSelector: spark-operator=a}",
			config.Namespaces{Selector: "spark-operator=a"}},
		{"spark-operator-b", "{crds: {install: false}, spark: {jobNamespaces: [], jobNamespaceSelector: spark-operator=b}}", config.Namespaces{Selector: "spark-operator=b"}},
		{"spark-operator-c", "{crds: {install: false}, spark: {jobNamespaces: [team-03, team-04]}}",
			config.Namespaces{Names: []string{"team-03", "team-04"}}},
	} {
		r := mustRender(t, install{release: c.release, namespace: c.release, values: c.values})
		for _, o := range r.objects {
			key := object{fmt.Sprintf("%T", o), o.GetNamespace(), o.GetName()}
			if other := owner[key]; other != "" {
				t.Errorf("%v belongs to %s and to %s", key, other, c.release)
			}

			owner[key] = c.release
		}

		got, err := config.Parse([]byte(configMapOf(t, r, c.release+"-controller").Data["config.yaml"]))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(c.want, got.Namespaces, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s serves (-want +got):\n%s", c.release, diff)
		}

		lease := got.LeaderElection.Namespace + "/" + got.LeaderElection.LeaseName
		if other := leases[lease]; other != "" {
			t.Errorf("%s and %s share a leader lease", other, c.release)
		}

		leases[lease] = c.release
	}
}
