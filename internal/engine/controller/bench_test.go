package controller

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/statuswrite"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// BenchmarkStatusPatch measures how long it takes to compute a status patch and to decide whether to debounce it.
func BenchmarkStatusPatch(b *testing.B) {
	kind := configured.For(kinds.SparkApplication).Build(config.Default, nil)
	for _, executors := range []int{5, 1000} {
		for _, step := range []struct {
			name   string
			change func(*lifecycle.Observed)
		}{
			{"nothing", func(*lifecycle.Observed) {}},
			{"executor", func(seen *lifecycle.Observed) { seen.Executors[0].Phase = lifecycle.DriverSucceeded }},
			{"end", func(seen *lifecycle.Observed) { seen.Drivers[0].Phase = lifecycle.DriverSucceeded }},
		} {
			b.Run(fmt.Sprintf("%s/%d-executors", step.name, executors), func(b *testing.B) {
				o := atWork(b, kind, executors)
				step.change(&o.Seen)
				o.object = o.Owner.DeepCopyObject().(client.Object)
				o.plan = kind.Decide(o.object, o.Seen, o.Now)

				b.ReportAllocs()

				for b.Loop() {
					patch, err := statuswrite.Patch(o.Owner, o.object, kind.Status)
					if err != nil || (patch == nil) != (step.name == "nothing") {
						b.Fatalf("%s, %v", patch, err)
					}

					if patch != nil && statuswrite.OnlyExecutorChurn(kind.Traits().ExecutorChurn, o.plan,
						patch) != (step.name == "executor") {
						b.Fatal("it is not what is expected to rest")
					}
				}
			})
		}
	}
}

// atWork returns the outcome of a pass over an application whose driver and executors run. The application's status
// already has the phase Running.
func atWork(b *testing.B, kind contract.Kind, executors int) outcome {
	b.Helper()

	app := &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pi", UID: "8a7a2f2e-6c7e-4f0b-9d61-6a1d5b5f0c11",
			Generation: 1, ResourceVersion: "4711"},
		Spec: v1beta2.SparkApplicationSpec{
			Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", Image: new("docker.io/apache/spark:4.1.4"),
			MainClass:           new("org.apache.spark.examples.SparkPi"),
			MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
		},
	}
	scene.WithDriver(app)
	app.Spec.Executor.Instances = new(int32(executors))
	kind.Decide(app, lifecycle.Observed{}, scene.Noon)
	kind.Decide(app, lifecycle.Observed{Confirmed: true}, scene.Noon)
	o := outcome{View: dependents.View{Now: scene.Noon.Add(time.Minute)}}

	o.Seen = lifecycle.Observed{RemainingAttempts: []int32{1}, Drivers: []lifecycle.Driver{{
		Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: scene.Noon,
		StartedAt: scene.Noon, ReadyAt: scene.Noon, AppID: "spark-1",
	}}}
	for i := range executors {
		o.Seen.Executors = append(o.Seen.Executors, lifecycle.Executor{
			Name: fmt.Sprintf("pi-1-exec-%d", i+1), ID: fmt.Sprint(i + 1), Attempt: 1, AppID: "spark-1",
			Phase: lifecycle.DriverRunning, CreatedAt: scene.Noon,
		})
	}

	if plan := kind.Decide(app, o.Seen, scene.Noon); plan.Next.Phase != lifecycle.Running {
		b.Fatalf("the application is %s", plan.Next.Phase)
	}

	o.Owner = readBack(b, app)
	return o
}

// readBack returns a copy of an application as a client gets it from the API server.
func readBack(b *testing.B, app *v1beta2.SparkApplication) *v1beta2.SparkApplication {
	b.Helper()

	read := &v1beta2.SparkApplication{}
	if err := json.Unmarshal(jsonOf(b, app), read); err != nil {
		b.Fatal(err)
	}
	return read
}
