package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReservedKeys(t *testing.T) {
	got := ReservedKeys("spec.driver.annotations", "annotations",
		[]string{"team", "sparkoperator.dev/attempt", "sparkoperator.dev", "x.sparkoperator.dev/a",
			"sparkoperator.dev/"})
	const message = "annotations that begin with sparkoperator.dev/ are reserved for the operator; use another name"

	want := []*FieldError{{Field: "spec.driver.annotations[sparkoperator.dev/attempt]", Message: message},
		{Field: "spec.driver.annotations[sparkoperator.dev/]", Message: message}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if got := ReservedKeys("metadata.labels", "labels", nil); got != nil {
		t.Errorf("without keys: %v", got)
	}
}

// TestReservedConfLabels checks that every key with which Spark sets a label is found, in the order of the keys.
func TestReservedConfLabels(t *testing.T) {
	got := ReservedConfLabels(map[string]string{
		"spark.kubernetes.executor.label.sparkoperator.dev/attempt":       "1",
		"spark.kubernetes.driver.label.sparkoperator.dev/attempt":         "1",
		"spark.kubernetes.driver.service.label.sparkoperator.dev/app-uid": "1",
		"spark.kubernetes.driver.label.example.org/sparkoperator.dev":     "1",
		"spark.kubernetes.driver.label.sparkoperator":                     "1",
		"spark.kubernetes.driver.node.selector.sparkoperator.dev/pool":    "1",
	})
	const message = "labels that begin with sparkoperator.dev/ are the operator's own; remove the key, or give the label another name"

	want := []*FieldError{
		{Field: "spec.sparkConf[spark.kubernetes.driver.label.sparkoperator.dev/attempt]", Message: message},
		{Field: "spec.sparkConf[spark.kubernetes.driver.service.label.sparkoperator.dev/app-uid]", Message: message},
		{Field: "spec.sparkConf[spark.kubernetes.executor.label.sparkoperator.dev/attempt]", Message: message},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if got := ReservedConfLabels(nil); got != nil {
		t.Errorf("without a configuration: %v", got)
	}
}

func TestOwnKeys(t *testing.T) {
	var fields []string
	for _, wrong := range append(ReservedKeys("metadata.labels", "labels",
		[]string{"a", "sparkoperator.dev/x", "x/sparkoperator.dev"}),
		ReservedConfLabels(map[string]string{"spark.kubernetes.driver.label.sparkoperator.dev/a": "1",
			"spark.kubernetes.driver.label.b": "1"})...) {
		fields = append(fields, wrong.Field)
	}

	if diff := cmp.Diff([]string{"metadata.labels[sparkoperator.dev/x]",
		"spec.sparkConf[spark.kubernetes.driver.label.sparkoperator.dev/a]"}, fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
