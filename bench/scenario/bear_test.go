package scenario

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
)

func TestSlopes(t *testing.T) {
	for name, tc := range map[string]struct {
		levels []level
		want   map[string]float64
	}{
		"none":  {nil, nil},
		"one":   {[]level{{100, 50, 60}}, nil},
		"two":   {[]level{{100, 50, 60}, {1000, 95, 100}}, map[string]float64{figure.SlopeLow: 50}},
		"three": {[]level{{100, 50, 60}, {1000, 95, 100}, {10_000, 455, 500}}, map[string]float64{figure.SlopeLow: 50, figure.SlopeHigh: 40}},
	} {
		var got map[string]float64
		for _, f := range slopes(tc.levels) {
			if got == nil {
				got = map[string]float64{}
			}
			got[f.Name] = f.Value
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestGrowth(t *testing.T) {
	got := growth([]level{{100, 50, 60}, {1000, 95, 100}})
	if len(got) != 2 {
		t.Fatalf("%d lines", len(got))
	}
	if diff := cmp.Diff([][2]float64{{100, 50}, {1000, 95}}, got[0].Points); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][2]float64{{100, 60}, {1000, 100}}, got[1].Points); diff != "" {
		t.Error(diff)
	}
}

func TestFair(t *testing.T) {
	s := func(n ...int) (out []time.Duration) {
		for _, n := range n {
			out = append(out, time.Duration(n)*time.Second)
		}
		return out
	}
	for name, tc := range map[string]struct {
		alone, beside []time.Duration
		want          float64
	}{
		"the slowest beside against the median alone": {s(1, 9, 2), s(3, 5, 4), 3},
		"faster than alone is no delay":               {s(4, 4, 4), s(1, 1, 1), 0},
	} {
		for _, f := range fair(tc.alone, tc.beside) {
			if f.Name == figure.Delay && f.Value != tc.want {
				t.Errorf("%s: %v, want %v", name, f.Value, tc.want)
			}
		}
	}
}

func TestMiddle(t *testing.T) {
	if got := middle([]world.Usage{{Peak: 9}, {Peak: 1}, {Peak: 5}}); got.Peak != 5 {
		t.Errorf("the median is %d", got.Peak)
	}
}

func TestRoundTo(t *testing.T) {
	for n, want := range map[int]int{7: 7, 99: 99, 102: 100, 10_311: 10_000, 11_999: 11_000} {
		if got := roundTo(n); got != want {
			t.Errorf("%d is about %d, want %d", n, got, want)
		}
	}
}

// TestStandingLoad holds what stands to what the nodes and a namespace have room for.
func TestStandingLoad(t *testing.T) {
	for _, n := range []int{1, 100, 900, 9000} {
		spec := standing(n)
		in, executors := map[string]int{}, map[string]int{}
		for _, c := range spec.Classes {
			executors[c.Name] = c.Executors
		}
		for a := range spec.Applications() {
			in[a.Namespace] += 1 + executors[a.Class]
		}
		most, sum := 0, 0
		for _, pods := range in {
			most, sum = max(most, pods), sum+pods
		}
		if most > 3000 || sum != 6*n {
			t.Errorf("%d applications: %d pods, %d in one namespace", n, sum, most)
		}
	}
}

func TestSizes(t *testing.T) {
	for name, z := range map[string]sizes{"large": large, "tiny": tiny} {
		for i := 1; i < len(z.levels); i++ {
			if z.levels[i] <= z.levels[i-1] {
				t.Errorf("%s: the levels do not rise: %v", name, z.levels)
			}
		}
		before := ""
		for _, step := range z.steps() {
			if step.World != "" && step.Name == figure.ColdStart+"-"+step.World && before != step.World {
				t.Errorf("%s: %s does not follow what fills its world", name, step.Name)
			}
			before = step.World
		}
	}
}

func TestBareSpec(t *testing.T) {
	priority := int32(0)
	of := corev1.PodSpec{NodeName: "node-0", Priority: &priority, Containers: []corev1.Container{{Name: "spark", Args: []string{"driver"}}}}
	got := bareSpec(of)
	if got.NodeName != "" || got.Priority != nil || *got.AutomountServiceAccountToken || len(got.Containers) != 1 {
		t.Errorf("%+v", got)
	}
	if of.NodeName == "" {
		t.Error("what is copied was changed")
	}
}

func TestSingle(t *testing.T) {
	a, b := single("a", "n"), probing(3)
	if a.Name != "a-0" || a.Namespace != "n" || a.Object == nil || b.Count() != 3 {
		t.Errorf("%+v, %d", a, b.Count())
	}
}
