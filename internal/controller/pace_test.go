package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestOfTheCrowd: nothing but the coming and going of executors that fail nobody is ever put off.
func TestOfTheCrowd(t *testing.T) {
	t.Parallel()
	const comes = `{"metadata":{"uid":"u"},"status":{"executorState":{"e-2":"RUNNING"},"executors":{"running":2},"operator":{"executors":{"seen":"1-2"},"shortSince":null}}}`
	const scales = `{"status":{"conditions":[],"executors":{"pending":1},"operator":{"executors":{"seen":"1"},"phase":"Scaling","since":"s","history":[]}}}`
	scaling := func(p *pass) {
		p.plan.Trail = []lifecycle.Transition{{From: lifecycle.Ready, To: lifecycle.Scaling}}
	}
	kind := kinds.SparkApplications(config.Default())
	for _, test := range []struct {
		name   string
		patch  string
		change func(*pass)
		want   bool
	}{
		{"an executor comes", comes, nil, true},
		{"the map alone", `{"status":{"executorState":{"e-2":null}}}`, nil, true},
		{"a state", `{"status":{"applicationState":{"state":"COMPLETED"},"executors":{"running":2}}}`, nil, false},
		{"a condition", `{"status":{"conditions":[],"executors":{"running":2}}}`, nil, false},
		{"a failure", `{"status":{"executors":{"failed":1},"operator":{"executors":{"failed":"1"}}}}`, nil, false},
		{"one that is being lost", `{"status":{"executors":{"unknown":1},"operator":{"executors":{"leaving":"1"}}}}`, nil, false},
		{"an attempt's executors are forgotten", `{"status":{"executors":null,"operator":{"executors":null}}}`, nil, false},
		{"nothing", `{"status":{}}`, nil, false},
		{"no patch", `{`, nil, false},
		{"a transition", comes, func(p *pass) { p.plan.Trail = []lifecycle.Transition{{}} }, false},
		{"the first executors are there", scales, scaling, true},
		{"and there is a state", `{"status":{"applicationState":{"state":"RUNNING"},"operator":{"phase":"Scaling"}}}`, scaling, false},
		{"and another transition", scales, func(p *pass) {
			scaling(p)
			p.plan.Trail = append(p.plan.Trail, lifecycle.Transition{})
		}, false},
		{"what it changes, without it", scales, nil, false},
		{"an event", comes, func(p *pass) { p.plan.Tell = []lifecycle.Notice{{}} }, false},
		{"an event of what stands beside the driver", comes, func(p *pass) { p.told = []Event{{}} }, false},
		{"a warning", comes, func(p *pass) { p.warnings = []string{"w"} }, false},
		{"something was made", comes, func(p *pass) { p.made = []client.Object{&corev1.Pod{}} }, false},
		{"something cannot be deleted", comes, func(p *pass) { p.hindered = &apianswer.Wait{} }, false},
		{"there are too few from now on", comes, func(p *pass) { p.plan.Next.ShortSince = noon }, true},
		{"there were too few already", comes, func(p *pass) { p.plan.Next.ShortSince = noon.Add(-time.Second) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &pass{now: noon}
			if test.change != nil {
				test.change(p)
			}
			r := &Reconciler{kind: kind}
			if got := r.ofTheCrowd(p, []byte(test.patch)); got != test.want {
				t.Errorf("got %v", got)
			}
			r.kind.Crowd.Fields = nil
			if r.ofTheCrowd(p, []byte(test.patch)) {
				t.Error("a kind without a crowd has something put off")
			}
		})
	}
}
