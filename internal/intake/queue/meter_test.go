package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// measured returns the metrics of a queue: the values of gauges and counters, and the sum and count of histograms.
func measured(t *testing.T, name string) map[string]float64 {
	t.Helper()

	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}

	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}

			if labels["name"] != name || labels["controller"] != name {
				continue
			}

			key := family.GetName() + labels["priority"]
			if h := metric.GetHistogram(); h != nil {
				values[key+" sum"], values[key+" count"] = h.GetSampleSum(), float64(h.GetSampleCount())
				continue
			}

			values[key] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return values
}

// TestMeter checks the metrics while one item is in work, one waits, and one is queued for later.
func TestMeter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		classes := classesOf{}
		q := New(Options[string]{
			Name: "measured", Limiter: workqueue.DefaultTypedItemBasedRateLimiter[string](), Class: classes.get,
			Tenant: tenantOf,
		})
		defer q.ShutDown()

		classes.set("a/1", Leaving)
		classes.set("a/2", Settled)
		classes.set("a/4", Changed)
		q.Add("a/1")
		q.Add("a/2")
		q.AddAfter("a/3", time.Hour)
		time.Sleep(time.Second)

		key, _ := q.Get()

		time.Sleep(1400 * time.Millisecond)
		q.Add(key) // waits until its own work ends
		q.Add("a/4")
		classes.set("a/2", Fresh)
		q.Add("a/2")

		want := map[string]float64{
			"workqueue_adds_total":                        4,
			"workqueue_retries_total":                     1,
			"workqueue_depth-100":                         0,
			"workqueue_depth0":                            1,
			"workqueue_depth100":                          1,
			"workqueue_depth200":                          1,
			"workqueue_queue_duration_seconds sum":        1,
			"workqueue_queue_duration_seconds count":      1,
			"workqueue_work_duration_seconds sum":         0,
			"workqueue_work_duration_seconds count":       0,
			"workqueue_unfinished_work_seconds":           1,
			"workqueue_longest_running_processor_seconds": 1,
		}
		if diff := cmp.Diff(want, measured(t, "measured")); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}

		q.Done(key)

		for range 3 {
			key, _ := q.Get()
			q.Done(key)
		}

		time.Sleep(measureEvery)
		synctest.Wait()

		got := measured(t, "measured")
		for _, name := range []string{"workqueue_depth-100", "workqueue_depth0", "workqueue_depth100",
			"workqueue_depth200", "workqueue_unfinished_work_seconds"} {
			if got[name] != 0 {
				t.Errorf("%s = %v when nothing is to do", name, got[name])
			}
		}

		if got["workqueue_work_duration_seconds sum"] != 1.4 || got["workqueue_work_duration_seconds count"] != 4 {
			t.Errorf("work took %v s in %v pieces", got["workqueue_work_duration_seconds sum"],
				got["workqueue_work_duration_seconds count"])
		}
	})
}

// TestSameMetrics checks that the queue has the same metrics as controller-runtime's queues, for the same dashboards
// and alerts.
func TestSameMetrics(t *testing.T) {
	t.Parallel()

	theirs := priorityqueue.New[string]("theirs")
	defer theirs.ShutDown()

	ours := New(Options[string]{Name: "ours", Class: func(string) Class { return Changed }, Tenant: tenantOf})
	defer ours.ShutDown()

	theirs.Add("a/1")
	theirs.Done(must(theirs.Get()))

	theirCount, after := measured(t, "theirs"), measured(t, "ours")
	if len(theirCount) == 0 {
		t.Fatal("controller-runtime measures nothing")
	}

	for name := range theirCount {
		if _, found := after[name]; !found {
			t.Errorf("%s is not measured", name)
		}
	}
}

func must(key string, _ bool) string { return key }
