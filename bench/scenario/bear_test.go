package scenario

import (
	"strings"
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

// TestStandingLoad holds what stands, at all levels together, to what a namespace has room for; and a level's own to namespaces of its own, whose applications are
// counted until all of them run.
func TestStandingLoad(t *testing.T) {
	for name, levels := range map[string][]int{"large": large.levels, "tiny": tiny.levels, "one": {1}} {
		pods, of, sum, before := map[string]int{}, map[string]int{}, 0, 0
		for _, n := range levels {
			spec := standing(n, n-before)
			if spec.Count() != n-before {
				t.Errorf("%s: %d applications come to level %d, want %d", name, spec.Count(), n, n-before)
			}
			for a := range spec.Applications() {
				pods[a.Namespace] += 1 + spec.Classes[0].Executors
				if other := of[a.Namespace]; other != 0 && other != n {
					t.Fatalf("%s: %s has applications of levels %d and %d", name, a.Namespace, other, n)
				}
				of[a.Namespace] = n
			}
			before = n
		}
		for namespace, n := range pods {
			sum += n
			if n > 3000 {
				t.Errorf("%s: %d pods in %s", name, n, namespace)
			}
		}
		if sum != 6*before {
			t.Errorf("%s: %d pods, want %d", name, sum, 6*before)
		}
	}
}

// TestPress holds that what comes at full rate is as what Lives sends, and is taken for no other load's.
func TestPress(t *testing.T) {
	for _, n := range []int{1, 10, 200} {
		spec, like := press(n), lives(n).Classes[0]
		c := spec.Classes[0]
		if spec.Count() != n || len(spec.Classes) != 1 || c.Rate != like.Rate || c.Executors != like.Executors || c.Run != like.Run {
			t.Errorf("%+v, want %d as in %+v", spec, n, like)
		}
		if c.Namespace == like.Namespace || c.Namespaces > n {
			t.Errorf("%d go to %d namespaces of %s", n, c.Namespaces, c.Namespace)
		}
	}
	if in := figure.LiveCase(100); pressed(in) == in {
		t.Error("one case for two loads")
	}
}

func TestCrowded(t *testing.T) {
	for name, tc := range map[string]struct {
		n, before, after int
		says             string
	}{
		"all the time":                      {5000, 4000, 1, ""},
		"too few when the single ones came": {5000, 3999, 3000, "3999 of 5000"},
		"none at their end":                 {5000, 5000, 0, "none of the 5000"},
	} {
		err := crowded(tc.n, tc.before, tc.after)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
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
