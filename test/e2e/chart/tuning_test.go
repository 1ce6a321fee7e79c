package chart

import (
	"os"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
)

// TestTuningPage: whoever copies from docs/tuning.md has values that the chart takes, each of which it knows, and objects without a field too many.
func TestTuningPage(t *testing.T) {
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
			if one[*appsv1.Deployment](t, r).Spec.Replicas == nil {
				t.Errorf("no replicas come of\n%s", text)
			}
			configOf(t, r)
			continue
		}
		for _, object := range decode(t, "docs/tuning.md", text) {
			objects++
			if schema, is := object.(*flowcontrol.FlowSchema); is {
				account := schema.Spec.Rules[0].Subjects[0].ServiceAccount
				pod := one[*appsv1.Deployment](t, mustRender(t, install{})).Spec.Template.Spec
				if account.Name != pod.ServiceAccountName || account.Namespace != "spark-operator" {
					t.Errorf("the FlowSchema is of %s, the controller runs as %s", account.Name, pod.ServiceAccountName)
				}
			}
		}
	}
	if values < 3 || objects != 2 {
		t.Errorf("%d sets of values and %d objects on the page", values, objects)
	}
}
