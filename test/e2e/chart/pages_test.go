package chart

import (
	"slices"
	"strings"
	"testing"

	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/markdown"
)

// TestValuesOfPages renders the chart with each block of values of the tutorials and how-to pages. The configuration
// file that results must be valid for the operator. Objects and their parts have one of the keys below, and so has the
// configuration of Kueue.
func TestValuesOfPages(t *testing.T) {
	others := []string{"apiVersion", "spec", "status", "integrations"}
	rendered := 0

	for _, block := range markdown.Tasks(t, "../../../docs", "yaml") {
		var values map[string]any
		if err := kyaml.Unmarshal([]byte(strings.Split(block.Text, "\n---\n")[0]), &values); err != nil {
			t.Errorf("%s: %v in\n%s", block.Page, err, block.Text)
		}

		if slices.ContainsFunc(others, func(key string) bool { return values[key] != nil }) {
			continue
		}
		rendered++

		r, err := render(t, install{values: block.Text, apis: []string{"monitoring.coreos.com/v1", "monitoring.coreos.com/v1/PodMonitor", "monitoring.coreos.com/v1/PrometheusRule", "spark.apache.org/v1"}})
		if err != nil {
			t.Errorf("%s: %v in\n%s", block.Page, err, block.Text)
			continue
		}

		configOf(t, r)

		if strings.Contains(r.notes, "have no effect") {
			t.Errorf("%s: %s", block.Page, r.notes)
		}
	}

	if rendered < 20 {
		t.Errorf("the pages have only %d blocks of values", rendered)
	}
}
