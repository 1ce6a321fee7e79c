package application

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/exposure"
)

// TestTooMany checks lists whose entries become objects. The operator must reject a list that is too long, and must
// create no objects from it.
func TestTooMany(t *testing.T) {
	t.Parallel()

	for field, entry := range map[string]string{
		"driverServiceIngressList": `{serviceMetadata: {name: a%d}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a%[1]d}}`,
		"driverHttpRouteList": `{serviceMetadata: {name: a%d}, serviceSpec: {ports: [{port: 80}]},
          httpRouteMetadata: {name: a%[1]d}, httpRouteSpec: {parentRefs: [{name: g}]}}`,
		"driverGrpcRouteList": `{serviceMetadata: {name: a%d}, serviceSpec: {ports: [{port: 80}]},
          grpcRouteMetadata: {name: a%[1]d}, grpcRouteSpec: {parentRefs: [{name: g}]}}`,
		"configMapSpecs": `{name: a%d, data: {a: b}}`,
	} {
		list := func(n int) string {
			var entries []string
			for i := range n {
				entries = append(entries, fmt.Sprintf(entry, i))
			}
			return field + ": [" + strings.Join(entries, ", ") + "]"
		}

		most, more := written(t, "spec: {"+list(20)+"}"), written(t, "spec: {"+list(21)+"}")
		if wrong := validate(most); len(wrong) > 0 {
			t.Errorf("20 entries of %s: %v", field, wrong[0])
		}

		wrong := validate(more)
		if len(wrong) != 1 || wrong[0].Field != "spec."+field ||
			!strings.Contains(wrong[0].Message, "more than 20 items") {
			t.Errorf("21 entries of %s: %v", field, wrong)
		}

		if made := len(exposure.EntriesOf(&more.Spec)) + len(Applications{}.configMaps(more, 1)); made > 0 {
			t.Errorf("%d are made of %s", made, field)
		}
	}
}
