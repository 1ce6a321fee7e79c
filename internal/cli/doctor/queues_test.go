package doctor

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestLacksWorkload checks which objects should have a Workload of Kueue and have none.
func TestLacksWorkload(t *testing.T) {
	old, young := metav1.NewTime(time.Now().Add(-time.Minute)), metav1.Now()
	known := workloads{"known": true}

	for name, test := range map[string]struct {
		object client.Object
		change func(client.Object)
		want   bool
	}{
		"an application":              {&v1beta2.SparkApplication{}, nil, true},
		"an application of Apache":    {&sparkv1.SparkApplication{}, nil, true},
		"a server":                    {&v1alpha1.SparkConnect{}, nil, true},
		"a cluster":                   {&sparkv1.SparkCluster{}, nil, true},
		"a schedule, whose runs have": {&v1beta2.ScheduledSparkApplication{}, nil, false},
		"with a Workload":             {&v1beta2.SparkApplication{}, func(o client.Object) { o.SetUID("known") }, false},
		"created just now":            {&v1beta2.SparkApplication{}, func(o client.Object) { o.SetCreationTimestamp(young) }, false},
		"in no queue":                 {&v1beta2.SparkApplication{}, func(o client.Object) { o.SetLabels(nil) }, false},
		"being deleted":               {&v1beta2.SparkApplication{}, func(o client.Object) { o.SetDeletionTimestamp(&young) }, false},
	} {
		test.object.SetLabels(map[string]string{queueLabel: "research"})
		test.object.SetCreationTimestamp(old)
		test.object.SetUID("unknown")

		if test.change != nil {
			test.change(test.object)
		}

		if got := known.lacks(test.object); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWhyUnqueued checks that doctor names the integration that is off, and the command that switches it on.
func TestWhyUnqueued(t *testing.T) {
	off, on := config.Default(), config.Default()
	on.Kueue.Enabled = true

	for name, test := range map[string]struct {
		kind      *kinds.Kind
		config    config.Configuration
		why, want string
	}{
		"Kueue's own": {kinds.SparkApplication, on, "SparkApplicationIntegration", string(kueueConfiguration)},
		"ours is off": {kinds.SparkCluster, off, "its integration of Kueue is off", "controller.kueue.enable=true"},
		"ours is on":  {kinds.SparkConnect, on, "has not requested quota", string(listOperators)},
	} {
		d := &doctor{operators: []Operator{{Namespace: "ops", Name: "spark-operator", Wanted: 1, config: &test.config}}}

		why, fix := d.whyUnqueued(test.kind)
		if !strings.Contains(why, test.why) || !strings.Contains(string(fix), test.want) {
			t.Errorf("%s: %q, %q", name, why, fix)
		}
	}
}
