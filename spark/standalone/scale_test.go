package standalone

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestAutoscaler(t *testing.T) {
	policy := func(seconds int32) *autoscalingv2.HPAScalingRules {
		return &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{{Type: "Pods", Value: 1,
			PeriodSeconds: seconds}}}
	}

	want := autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet",
			Name: "qa-worker"},
		MinReplicas: new(int32(2)), MaxReplicas: 5,
		Metrics: []autoscalingv2.MetricSpec{{Type: "ContainerResource",
			ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
				Name: "cpu", Container: "worker",
				Target: autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: new(int32(30))},
			}}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: policy(60), ScaleDown: policy(600)},
	}
	if diff := cmp.Diff(want, build(t, simple()).Autoscaler.Spec); diff != "" {
		t.Errorf("the default (-want +got):\n%s", diff)
	}

	own := build(t, simple(func(r *Request) {
		r.Autoscaler = []byte(`{"minReplicas":9,"maxReplicas":1,"scaleTargetRef":{"kind":"Deployment","name":"x"},"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":70}}}]}`)
	})).Autoscaler.Spec
	want.Metrics = []autoscalingv2.MetricSpec{{Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{
		Name: "memory", Target: autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: new(int32(70))},
	}}}

	want.Behavior = nil
	if diff := cmp.Diff(want, own); diff != "" {
		t.Errorf("the user's (-want +got):\n%s", diff)
	}
}

// TestInitialWorkersAboveTheMaximum checks that a cluster with an autoscaler cannot start with more workers than the
// autoscaler keeps. It also started more than a rule of the platform about maxWorkers allowed.
func TestInitialWorkersAboveTheMaximum(t *testing.T) {
	if _, err := Build(simple(counts(6, 1, 5))); err == nil ||
		!strings.Contains(err.Error(), "InitWorkers: 6 is above maxWorkers, 5") {
		t.Errorf("the error is %v", err)
	}
}

// TestWorkers checks the numbers of workers against two rules: the API server requires that an autoscaler's minimum is
// at least 1, and an autoscaler ignores a StatefulSet with zero replicas.
func TestWorkers(t *testing.T) {
	for name, c := range map[string]struct {
		first, least, most int64
		replicas           int32
		bounds             []int32
		warns              []string
	}{
		"constant number":                   {3, 3, 3, 3, nil, nil},
		"no workers":                        {0, 0, 0, 0, nil, nil},
		"initial number between the bounds": {2, 1, 5, 2, []int32{1, 5}, nil},
		"minimum of zero": {2, 0, 5, 2, []int32{1, 5},
			[]string{"MinWorkers: the autoscaler keeps at least one worker"}},
		"initial number of zero": {0, 0, 5, 1, []int32{1, 5},
			[]string{"MinWorkers: the autoscaler keeps at least one", "InitWorkers: the cluster starts with 1"}},
		"initial number below the minimum": {1, 3, 5, 3, []int32{3, 5},
			[]string{"InitWorkers: the cluster starts with 3"}},
		"initial number at the maximum": {5, 1, 5, 5, []int32{1, 5}, nil},
		"minimum above the maximum":     {2, 5, 1, 2, nil, nil},
		"maximum possible numbers": {1<<31 - 1, 1<<31 - 2, 1<<31 - 1, 1<<31 - 1,
			[]int32{1<<31 - 2, 1<<31 - 1}, nil},
	} {
		request := simple(counts(c.first, c.least, c.most),
			workerTemplate(`{"template":{"spec":{"containers":[{"name":"worker","resources":{"requests":{"cpu":"1"}}}]}}}`))
		o := build(t, request)

		var bounds []int32
		if o.Autoscaler != nil {
			bounds = []int32{*o.Autoscaler.Spec.MinReplicas, o.Autoscaler.Spec.MaxReplicas}
		}

		if request.autoscaled() != (bounds != nil) {
			t.Errorf("%s: Autoscaled says %t", name, request.autoscaled())
		}

		if diff := cmp.Diff(c.bounds, bounds); diff != "" || *o.Workers.Spec.Replicas != c.replicas {
			t.Errorf("%s: %d replicas, want %d; bounds (-want +got):\n%s", name, *o.Workers.Spec.Replicas,
				c.replicas, diff)
		}

		got := warningTexts(o)
		if len(got) != len(c.warns) ||
			!slices.EqualFunc(c.warns, got, func(want, got string) bool { return strings.HasPrefix(got, want) }) {
			t.Errorf("%s: warnings are %q, want %q", name, got, c.warns)
		}
	}
}

// TestWhatTheAutoscalerMeasures checks that Build warns about workers without a CPU request if the autoscaler uses the
// default metric, because this metric is the used share of the CPU request.
func TestWhatTheAutoscalerMeasures(t *testing.T) {
	worker := func(resources string) func(*Request) {
		return workerTemplate(`{"template":{"spec":{"containers":[{"name":"worker","resources":` + resources + `}]}}}`)
	}
	for name, c := range map[string]struct {
		change func(*Request)
		warned bool
	}{
		"no resources":       {workerTemplate(``), true},
		"memory only":        {worker(`{"requests":{"memory":"1Gi"},"limits":{"memory":"1Gi"}}`), true},
		"CPU request":        {worker(`{"requests":{"cpu":"1"}}`), false},
		"CPU limit":          {worker(`{"limits":{"cpu":"1"}}`), false},
		"the user's metrics": {func(r *Request) { r.Autoscaler = []byte(`{"metrics":[]}`) }, false},
		"no autoscaler":      {counts(1, 1, 1), false},
	} {
		all := warningTexts(build(t, simple(c.change)))
		if warned := slices.ContainsFunc(all,
			func(w string) bool { return strings.Contains(w, "has no CPU request") }); warned != c.warned {
			t.Errorf("%s: warnings are %q", name, all)
		}
	}

	unused := warningTexts(build(t, simple(counts(2, 2, 2), func(r *Request) { r.Autoscaler = []byte(`{}`) })))
	if len(unused) != 1 || !strings.HasPrefix(unused[0], "Autoscaler: has no effect") {
		t.Errorf("an autoscaler that nobody needs: %q", unused)
	}
}

func TestBudget(t *testing.T) {
	want := policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelClusterName: "qa",
			LabelRole: "worker"}},
	}
	if diff := cmp.Diff(want, build(t, simple()).Budget.Spec); diff != "" {
		t.Errorf("the budget (-want +got):\n%s", diff)
	}
}
