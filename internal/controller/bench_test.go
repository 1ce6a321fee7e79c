package controller

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// BenchmarkStatusPatch tells what it costs to find out what is to be written, and whether that may rest.
func BenchmarkStatusPatch(b *testing.B) {
	kind := kinds.SparkApplications(config.Default())
	r := &Reconciler{kind: kind}
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
				p := atWork(b, kind, executors)
				step.change(&p.seen)
				p.object = p.stored.DeepCopyObject().(client.Object)
				p.plan = kind.Decide(p.object, p.seen, p.now)
				b.ReportAllocs()
				for b.Loop() {
					patch, err := r.statusPatch(p)
					if err != nil || (patch == nil) != (step.name == "nothing") {
						b.Fatalf("%s, %v", patch, err)
					}
					if patch != nil && r.ofTheCrowd(p, patch) != (step.name == "executor") {
						b.Fatal("it is not what is expected to rest")
					}
				}
			})
		}
	}
}

// atWork is a pass over an application whose driver and so many executors run, and whose status says so.
func atWork(b *testing.B, kind Kind, executors int) *pass {
	b.Helper()
	app := &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pi", UID: "8a7a2f2e-6c7e-4f0b-9d61-6a1d5b5f0c11", Generation: 1, ResourceVersion: "4711"},
		Spec: v1beta2.SparkApplicationSpec{
			Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", Image: new("docker.io/apache/spark:4.1.4"),
			MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
		},
	}
	withDriver(app)
	app.Spec.Executor.Instances = new(int32(executors))
	kind.Decide(app, lifecycle.Observed{}, noon)
	kind.Decide(app, lifecycle.Observed{Confirmed: true}, noon)
	p := &pass{now: noon.Add(time.Minute)}
	p.seen = lifecycle.Observed{Remains: []int32{1}, Drivers: []lifecycle.Driver{{
		Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: noon, StartedAt: noon, ReadyAt: noon, AppID: "spark-1",
	}}}
	for i := range executors {
		p.seen.Executors = append(p.seen.Executors, lifecycle.Executor{
			Name: fmt.Sprintf("pi-1-exec-%d", i+1), ID: fmt.Sprint(i + 1), Attempt: 1, AppID: "spark-1", Phase: lifecycle.DriverRunning, CreatedAt: noon,
		})
	}
	if plan := kind.Decide(app, p.seen, noon); plan.Next.Phase != lifecycle.Running {
		b.Fatalf("the application is %s", plan.Next.Phase)
	}
	p.stored = readBack(b, app)
	return p
}

// readBack is an application as it comes back from the API server.
func readBack(b *testing.B, app *v1beta2.SparkApplication) *v1beta2.SparkApplication {
	b.Helper()
	read := &v1beta2.SparkApplication{}
	if err := json.Unmarshal(jsonOf(b, app), read); err != nil {
		b.Fatal(err)
	}
	return read
}
