package configured_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestIgnoredQueues checks that an operator without the integration of Kueue reports resources that name a queue: at
// admission, and by one Event. SparkApplications of sparkoperator.k8s.io are queued by Kueue itself.
func TestIgnoredQueues(t *testing.T) {
	first := lifecycle.Plan{Transitions: []lifecycle.Transition{{From: lifecycle.New, To: lifecycle.Launched, Attempt: 1}}}
	later := lifecycle.Plan{Transitions: []lifecycle.Transition{{From: lifecycle.Launched, To: lifecycle.Started, Attempt: 1}}}

	for _, test := range []struct {
		kind *kinds.Kind
		file string
		ours bool
	}{
		{kinds.ApacheApplication, "apache-pi", true}, {kinds.SparkCluster, "apache-cluster", true},
		{kinds.SparkConnect, "spark-connect", true}, {kinds.SparkApplication, "spark-pi", false},
	} {
		for _, queue := range []string{"", "research"} {
			for _, enabled := range []bool{false, true} {
				data, err := os.ReadFile("../../../examples/" + test.file + ".yaml")
				if err != nil {
					t.Fatal(err)
				}

				object := test.kind.New()
				if err := yaml.Unmarshal(data, object); err != nil {
					t.Fatal(err)
				}

				object.SetNamespace("team")
				object.SetLabels(map[string]string{dialect.QueueLabel: queue})

				cfg := config.Default()
				cfg.Kueue.Enabled = enabled
				kind := configured.For(test.kind).Build(func() config.Configuration { return cfg }, nil).(configured.Kind)

				review := kind.Review(object, nil, time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
				if len(review.Faults) > 0 {
					t.Fatalf("%s: %v", test.file, review.Faults)
				}

				warned := slices.ContainsFunc(review.Warnings, func(w string) bool {
					return strings.HasPrefix(w, "metadata.labels[kueue.x-k8s.io/queue-name]: has no effect")
				})

				events := 0
				for _, plan := range []lifecycle.Plan{first, later} {
					for _, event := range kind.Events(object, plan) {
						if event.Reason == dialect.EventQueueDisabled && event.Type == "Warning" {
							events++
						}
					}
				}

				if want := test.ours && queue != "" && !enabled; warned != want || (events == 1) != want || events > 1 {
					t.Errorf("%s, queue %q, enabled %t: warned %t, %d events; want %t", test.file, queue, enabled, warned, events, want)
				}
			}
		}
	}
}
