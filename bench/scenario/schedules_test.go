package scenario

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestArrivals(t *testing.T) {
	due := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	seen := arrivals{runs: map[string]int{}, asked: 4}
	for i, of := range []string{"a", "b", "a"} {
		seen.add(of, due, due.Add(time.Duration(i+1)*time.Second))
	}
	if seen.seen() != 3 || seen.all() {
		t.Errorf("%d seen, all: %t", seen.seen(), seen.all())
	}
	got := map[string]float64{}
	for _, f := range seen.figures() {
		got[f.Name] = f.Value
	}
	want := map[string]float64{"due to run, p50": 2, "due to run, p99": 3, "due to run, most": 3, "runs lost": 2, "runs doubled": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScheduleAt(t *testing.T) {
	due := time.Date(2026, 11, 21, 9, 5, 0, 0, time.FixedZone("east", 3600))
	got, _, _ := unstructured.NestedString(scheduleAt("a", due, nil).Object, "spec", "schedule")
	if want := "5 8 21 11 *"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
