package scenario

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/jvm"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/loads"
	"github.com/sparkoperator/spark-operator/bench/micro"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Plans are what can be measured, by name, of the repository at root: quick is for a check of each change, tiny has the scenarios that quick leaves out, at sizes that
// say nothing but that they can be measured, and full is what docs/performance.md is written from.
func Plans(root string) map[string][]Step {
	return map[string][]Step{
		"quick": quick(),
		"tiny":  slices.Concat([]Step{microStep(root, "10x")}, tinyRates(), tiny.steps()),
		"full":  slices.Concat([]Step{microStep(root, "1s")}, full(), large.steps()),
	}
}

// Plan is a plan by its name.
func Plan(name, root string) ([]Step, error) {
	steps, ok := Plans(root)[name]
	if !ok {
		return nil, fmt.Errorf("no plan %q; there are quick, tiny and full", name)
	}
	return steps, nil
}

// quick takes less than two minutes on two cores: there are none of the lives that are long.
func quick() []Step {
	short := described(loads.Lives)
	short.Classes = short.Classes[:1]
	return []Step{
		{Name: figure.Burst, About: "60 driver-only applications at once", World: rates, Scheduler: true, Bodies: true, Limit: 2 * time.Minute, Do: Burst(60)},
		{Name: figure.Lives, About: "40 lives of a driver and five executors, faster than they go", World: rates, Scheduler: true, Bodies: true, Limit: 4 * time.Minute,
			Do: Lives(short.Sized(40), 16, 40)},
	}
}

// rates is the world of those whose figures are compared: one API server for all of them.
const rates = "rates"

// full are rates and costs, at the sizes that the bars speak of.
func full() []Step {
	return []Step{
		{Name: figure.Burst, About: "200 driver-only applications at once", World: rates, Scheduler: true, Bodies: true, Do: Burst(200)},
		{Name: figure.Lives, About: "800 lives of a driver and five executors, faster than they go", World: rates, Scheduler: true, Bodies: true, Limit: 30 * time.Minute,
			Do: Lives(lives(800), 4, 320)},
		{Name: figure.HalfRate, About: "the same at half of that rate", World: rates, Scheduler: true, Bodies: true, Do: HalfRate(lives(400), time.Minute)},
		{Name: figure.Submit, About: "the real spark-submit of each Spark line", World: rates, Scheduler: true, Limit: 15 * time.Minute, Do: submit(jvm.Versions()...)},
	}
}

// tinyRates are those scenarios of the rates that quick leaves out.
func tinyRates() []Step {
	return []Step{
		{Name: figure.Lives, About: "10 lives of a driver and five executors", World: rates, Scheduler: true, Bodies: true, Do: Lives(lives(10), 2, 10)},
		{Name: figure.HalfRate, About: "the same at half of that rate", World: rates, Scheduler: true, Bodies: true, Do: HalfRate(lives(10), 10*time.Second)},
		{Name: figure.Submit, About: "the real spark-submit of one Spark line", World: rates, Scheduler: true, Do: submit("4.1.4")},
	}
}

// microStep measures the parts that an operator's work is made of, of the repository at root, each for so long.
func microStep(root, each string) Step {
	return Step{
		Name: figure.Micro, About: "benchmarks of the parts", Bare: true, Limit: 15 * time.Minute,
		Do: func(ctx context.Context, _ *world.World, s *Sink) error {
			found, err := micro.Run(ctx, root, each)
			s.Add(found...)
			return err
		},
	}
}

// submit runs the real spark-submit of versions of Spark.
func submit(versions ...string) Func {
	return func(ctx context.Context, w *world.World, s *Sink) error {
		return jvm.Measure(ctx, w, s, os.Stderr, versions...)
	}
}

// lives are n whole lives of a driver and five executors over the namespaces of ten teams.
func lives(n int) load.Spec { return described(loads.Lives).Sized(n) }

// described is a load of package loads.
func described(text []byte) load.Spec {
	spec, err := load.Parse(text)
	if err != nil {
		panic(err) // it is part of the program, and a test reads it
	}
	return spec
}
