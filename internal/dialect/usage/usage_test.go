package usage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/executors"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

var (
	small = lifecycle.Requests{MilliCPU: 1000, MiB: 1408}
	large = lifecycle.Requests{MilliCPU: 4000, MiB: 9011, GPUs: 2}
)

// price is the price of a second of a pod.
func price(pod lifecycle.PodUse) int64 { return pod.Requests.MiB + 7*pod.Requests.GPUs }

const start = 1_800_000_000

// life is the true story of an attempt: when each of its pods had a node.
type life struct {
	driver    lifecycle.PodUse
	executors []lifecycle.PodUse
	deleted   []int64 // when the pod of each executor disappears, at its end or later
}

// newLife returns a random life of at most ten minutes.
func newLife(random *rand.Rand) life {
	requests := []lifecycle.Requests{small, large}

	l := life{driver: lifecycle.PodUse{Requests: small, From: start, Until: start + 60 + random.Int64N(500)}}
	for range random.IntN(40) {
		from := start + 5 + random.Int64N(l.driver.Until-start-10)
		use := lifecycle.PodUse{Requests: requests[random.IntN(2)], From: from, Until: from + random.Int64N(l.driver.Until-from)}
		l.executors = append(l.executors, use)
		l.deleted = append(l.deleted, use.Until+random.Int64N(5)*random.Int64N(20))
	}
	return l
}

// at returns what a pass sees at a time: pods that exist, and the executors that ended and disappeared after the last
// write.
func (l *life) at(now, written int64, attempt int32, lost func(i int) bool) (seen lifecycle.Observed) {
	visible := func(use lifecycle.PodUse) lifecycle.PodUse {
		if use.Until > now {
			use.Until = 0
		}

		if use.From > now {
			use.From = 0
		}
		return use
	}
	seen.Drivers = []lifecycle.Driver{{Attempt: attempt, Use: visible(l.driver)}}

	for i, use := range l.executors {
		name := fmt.Sprint("app-exec-", i+1)
		switch {
		case l.deleted[i] > now && use.From-2 <= now: // pods exist before they have a node
			seen.Executors = append(seen.Executors, lifecycle.Executor{Name: name, Attempt: attempt, Use: visible(use)})
		case l.deleted[i] <= now && l.deleted[i] > written && !lost(i):
			seen.GonePods = append(seen.GonePods, lifecycle.GonePod{Name: name, Attempt: attempt, Use: use})
		}
	}
	return seen
}

// truth adds up a life second by second, without the code under test.
func (l *life) truth() (driver, executors statusv1.UsageSums, most int32) {
	add := func(sums *statusv1.UsageSums, r lifecycle.Requests) {
		sums.CPUMillicoreSeconds += r.MilliCPU
		sums.MemoryMiBSeconds += r.MiB
		sums.GPUSeconds += r.GPUs
		sums.CostNanos += price(lifecycle.PodUse{Requests: r})
	}

	for second := int64(start); second < l.driver.Until; second++ {
		add(&driver, l.driver.Requests)

		var count int32
		for _, use := range l.executors {
			if use.From <= second && second < use.Until {
				add(&executors, use.Requests)
				count++
			}
		}

		most = max(most, count)
	}
	return driver, executors, most
}

// TestUsageOfLives checks the sums of random lives against sums that are computed second by second, whenever statuses
// are written. Passes are repeated, and the stored usage goes through a status.
func TestUsageOfLives(t *testing.T) {
	t.Parallel()

	for number := range effort.Count(t, 500) {
		random := rand.New(rand.NewPCG(uint64(number), 1))

		var (
			stored *statusv1.OperatorUsage
			want   statusv1.UsageSums
		)
		for attempt := range int32(1 + random.IntN(3)) {
			l := newLife(random)
			written := int64(start)
			end := l.driver.Until + 100

			for now := start + random.Int64N(20); ; now += random.Int64N(60) {
				now = min(now, end)

				view := max(now-random.Int64N(5)*random.Int64N(2), written) // the caches may be late

				stored = Next(stored, Facts{
					Attempt: attempt, Seen: l.at(view, written, attempt, func(int) bool { return false }),
					Created: time.Unix(start, 0), Live: view < l.driver.Until, Price: price, Now: time.Unix(now, random.Int64N(1e9)),
				})
				if written = view; now == end {
					break
				}
			}

			driver, executors, most := l.truth()
			if diff := cmp.Diff(driver, stored.Driver.UsageSums) + cmp.Diff(executors, stored.Executors.UsageSums); diff != "" {
				t.Fatalf("life %d, attempt %d (-want +got):\n%s", number, attempt, diff)
			}

			if stored.PeakExecutors != most {
				t.Fatalf("life %d: a peak of %d executors, want %d", number, stored.PeakExecutors, most)
			}

			want = Plus(want, Plus(driver, executors))
			if diff := cmp.Diff(want, Total(stored)); diff != "" {
				t.Fatalf("life %d, attempt %d, total (-want +got):\n%s", number, attempt, diff)
			}
		}
	}
}

// TestUsageOfLostExecutors checks lives in which the operator did not run while some executors ended and were deleted.
// The sums then have these executors until the status was last written, and at most until the pass or until the driver
// ended.
func TestUsageOfLostExecutors(t *testing.T) {
	t.Parallel()

	for number := range effort.Count(t, 500) {
		random := rand.New(rand.NewPCG(uint64(number), 2))
		l := newLife(random)

		var stored *statusv1.OperatorUsage

		written, end := int64(start), l.driver.Until+100
		_, least, _ := l.truth()

		_, most, _ := l.truth()
		for now := start + random.Int64N(20); ; now += random.Int64N(200) {
			now = min(now, end)

			lost := map[int]bool{}
			for i, use := range l.executors {
				if l.deleted[i] > now || l.deleted[i] <= written || random.IntN(3) > 0 {
					continue
				}

				lost[i] = true

				if use.Until <= written && use.From <= written {
					continue // its end is stored
				}

				// The amount after the last write is unknown. It lies between nothing and all of the time.
				from := max(use.From, written)
				least = minus(least, times(new(Facts).rate(use), use.Until-from))
				most = Plus(most, times(new(Facts).rate(use), max(min(now, l.driver.Until)-use.Until, 0)))
			}

			stored = Next(stored, Facts{
				Attempt: 1, Seen: l.at(now, written, 1, func(i int) bool { return lost[i] }), Live: now < l.driver.Until, Now: time.Unix(now, 0),
			})
			if written = now; now == end {
				break
			}
		}

		got := stored.Executors.UsageSums
		if got.CPUMillicoreSeconds < least.CPUMillicoreSeconds || got.CPUMillicoreSeconds > most.CPUMillicoreSeconds ||
			got.MemoryMiBSeconds < least.MemoryMiBSeconds || got.MemoryMiBSeconds > most.MemoryMiBSeconds {
			t.Fatalf("life %d: %+v is not between %+v and %+v", number, got, least, most)
		}
	}
}

// TestLostDriver checks that a driver whose end nobody saw counts until the pass that found it missing.
func TestLostDriver(t *testing.T) {
	t.Parallel()

	first := Next(nil, Facts{Attempt: 1, Live: true, Price: price, Now: time.Unix(start+100, 0), Seen: lifecycle.Observed{
		Drivers: []lifecycle.Driver{{Attempt: 1, Use: lifecycle.PodUse{Requests: large, From: start}}},
	}})
	second := Next(first, Facts{Attempt: 1, Now: time.Unix(start+130, 0)})
	third := Next(second, Facts{Attempt: 1, Now: time.Unix(start+900, 0)})

	want := statusv1.UsageSums{CPUMillicoreSeconds: 4000 * 130, MemoryMiBSeconds: 9011 * 130, GPUSeconds: 260, CostNanos: 9025 * 130}
	if diff := cmp.Diff(want, third.Driver.UsageSums); diff != "" {
		t.Error(diff)
	}

	gone := Next(first, Facts{Attempt: 2, Live: true, Price: price, Now: time.Unix(start+200, 0), Seen: lifecycle.Observed{
		GonePods: []lifecycle.GonePod{{Attempt: 1, Driver: true, Use: lifecycle.PodUse{Requests: large, From: start, Until: start + 110}}},
	}})

	want = statusv1.UsageSums{CPUMillicoreSeconds: 4000 * 110, MemoryMiBSeconds: 9011 * 110, GPUSeconds: 220, CostNanos: 9025 * 110}
	if diff := cmp.Diff(want, gone.Earlier); diff != "" {
		t.Error(diff)
	}
}

// TestEndedPodsKeepTheirCost checks that a changed price applies to a driver that runs, and not to one whose end the
// stored usage has, as long as its pod or an event shows it. The prices of an operator that restarted, or the price of
// a deleted node, replaced the whole cost of such a driver. Executors that ended were settled.
func TestEndedPodsKeepTheirCost(t *testing.T) {
	const (
		end  = start + 100
		cost = 100 * 1408
	)

	driver := lifecycle.PodUse{Requests: small, From: start}
	executor := lifecycle.Executor{Name: "app-exec-1", Attempt: 1, Use: lifecycle.PodUse{Requests: small, From: start, Until: start + 10}}
	next := func(stored *statusv1.OperatorUsage, seen lifecycle.Observed, at, factor int64) *statusv1.OperatorUsage {
		return Next(stored, Facts{
			Attempt: 1, Seen: seen, Created: time.Unix(start, 0), Live: seen.Driver(1) != nil && seen.Driver(1).Use.Until == 0, Now: time.Unix(at, 0),
			Price: func(pod lifecycle.PodUse) int64 { return factor * price(pod) },
		})
	}
	shown := func(until int64) lifecycle.Observed {
		use := driver
		use.Until = until
		return lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1, Use: use}}, Executors: []lifecycle.Executor{executor}}
	}

	runs := next(nil, shown(0), start+50, 1)
	if dearer := next(runs, shown(0), end, 3); dearer.Driver.CostNanos != 3*cost || dearer.Executors.CostNanos != 10*1408 {
		t.Errorf("a driver that runs costs %d, and an executor that ended %d", dearer.Driver.CostNanos, dearer.Executors.CostNanos)
	}

	ended := next(runs, shown(end), end+1, 1)
	if ended.Driver.CostNanos != cost {
		t.Errorf("the driver costs %d, want %d", ended.Driver.CostNanos, cost)
	}

	gone := driver
	gone.Until = end

	for name, seen := range map[string]lifecycle.Observed{
		"pod":   shown(end),
		"event": {GonePods: []lifecycle.GonePod{{Name: "app-driver", Attempt: 1, Driver: true, Use: gone}}},
	} {
		for _, factor := range []int64{0, 3} {
			after := next(ended, seen, end+60, factor)
			after.Time = ended.Time

			if diff := cmp.Diff(ended, after); diff != "" {
				t.Errorf("%s, %d times the price: %s", name, factor, diff)
			}
		}
	}
}

// TestUsageOfCluster checks the sums of a standalone cluster, which has no attempts. A pod that replaces another one
// has its name. A pod whose end nobody observed counts until the pass that finds it missing.
func TestUsageOfCluster(t *testing.T) {
	t.Parallel()

	member := func(name string, from int64) lifecycle.Member {
		return lifecycle.Member{Name: name, Use: lifecycle.PodUse{Requests: small, From: start + from}}
	}
	at := func(second int64, seen lifecycle.Observed) Facts {
		return Facts{Known: true, Live: true, Waits: "Unschedulable", Seen: seen, Now: time.Unix(start+second, 0)}
	}
	pods := func(all ...lifecycle.Member) lifecycle.Observed { return lifecycle.Observed{Members: all} }

	first := Next(nil, at(100, pods(member("c-master-0", 10), member("c-worker-0", 20), member("c-worker-1", 20))))

	replaced := pods(member("c-master-0", 10), member("c-worker-0", 20), member("c-worker-1", 160))
	replaced.GonePods = []lifecycle.GonePod{{Name: "c-worker-1", Use: lifecycle.PodUse{Requests: small, From: start + 20, Until: start + 150}}}
	second := Next(first, at(200, replaced))
	third := Next(second, at(300, pods(member("c-master-0", 10), member("c-worker-0", 290), member("c-worker-1", 160))))
	last := Next(third, Facts{Known: true, Now: time.Unix(start+400, 0)})

	for i, test := range []struct {
		usage   *statusv1.OperatorUsage
		seconds int64 // of pods
		running int64
	}{
		{first, 90 + 80 + 80, 3},
		{second, 190 + 180 + 130 + 40, 3},
		{third, 290 + (280 + 10) + 130 + 140, 3},
		{last, 390 + (280 + 110) + 130 + 240, 0},
	} {
		want := statusv1.UsageSums{CPUMillicoreSeconds: 1000 * test.seconds, MemoryMiBSeconds: 1408 * test.seconds}
		if diff := cmp.Diff(want, Total(test.usage)); diff != "" {
			t.Errorf("pass %d: %s", i+1, diff)
		}

		if got := test.usage.Executors.Requested; got.CPUMillicores != 1000*test.running {
			t.Errorf("pass %d: %+v are requested", i+1, got)
		}
	}

	if last.PeakExecutors != 3 || last.Pending.UnschedulableSeconds != 200 {
		t.Errorf("the usage is %+v", last)
	}
}

// TestExtrapolatedUsage checks the usage at a time after the stored one.
func TestExtrapolatedUsage(t *testing.T) {
	t.Parallel()

	seen := lifecycle.Observed{
		Drivers:   []lifecycle.Driver{{Attempt: 1, Use: lifecycle.PodUse{Requests: small, From: start}}},
		Executors: []lifecycle.Executor{{Name: "a-exec-1", Attempt: 1, Use: lifecycle.PodUse{Requests: large, From: start + 10}}},
	}
	now := func(second int64) Facts {
		return Facts{Attempt: 1, Seen: seen, Live: true, Now: time.Unix(start+second, 0)}
	}

	later := At(Next(nil, now(60)), time.Unix(start+600, 0))
	if diff := cmp.Diff(Total(Next(nil, now(600))), Total(later)); diff != "" {
		t.Error(diff)
	}
}

// TestPendingByCause checks that the time before a write counts for the wait reason of that time.
func TestPendingByCause(t *testing.T) {
	t.Parallel()

	var stored *statusv1.OperatorUsage
	for i, reason := range []string{"", "KueueAdmissionPending", "Unschedulable", "ImagePullBackOff", "QuotaExceeded", "DriverStarting"} {
		stored = Next(stored, Facts{Created: time.Unix(start, 0), Waits: reason, Now: time.Unix(start+int64(i+1)*int64(i+1), 0)})
	}

	// An earlier version of the operator may have launched an attempt, without usage in the status.
	if got := Next(nil, Facts{Attempt: 2, Created: time.Unix(start, 0), Waits: "Unschedulable", Now: time.Unix(start+1e6, 0)}).Pending; got != (statusv1.UsagePending{}) {
		t.Errorf("time before usage was counted: %+v", got)
	}

	want := statusv1.UsagePending{QueueSeconds: 3, UnschedulableSeconds: 5, ImagePullSeconds: 7, QuotaSeconds: 9}
	if diff := cmp.Diff(want, stored.Pending); diff != "" {
		t.Error(diff)
	}

	// The records of two runs of a custom resource are added up, so none may have the waiting time of the other.
	next := Next(stored, Facts{NextRun: true, Now: time.Unix(start+100, 0)})
	next = Next(next, Facts{Attempt: 1, Waits: "Unschedulable", Now: time.Unix(start+104, 0)})

	if diff := cmp.Diff(statusv1.UsagePending{UnschedulableSeconds: 4}, next.Pending); diff != "" {
		t.Error("the next run:", diff)
	}
}

// FuzzStoredUsage checks that no usage in a status, which users may have written, leads to a panic, to negative sums or
// to an endless loop.
func FuzzStoredUsage(f *testing.F) {
	f.Add(int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64), "1-1099511627776", "7,1-3", int64(-1))
	f.Add(int64(0), int64(5), int64(1<<61), "0-4", "", int64(start+1000))
	f.Fuzz(func(t *testing.T, sum, rate, other int64, open, settled string, at int64) {
		part := statusv1.UsageOfPods{
			UsageSums: statusv1.UsageSums{CPUMillicoreSeconds: sum, MemoryMiBSeconds: other, GPUSeconds: rate, CostNanos: sum},
			Requested: statusv1.UsageRate{CPUMillicores: rate, MemoryMiB: other, GPUs: sum, CostNanos: rate},
		}
		stored := &statusv1.OperatorUsage{
			Attempt: 1, Driver: part, Executors: part, Earlier: part.UsageSums, SettledSums: part.UsageSums, Open: open, Settled: settled,
			Time: &metav1.Time{Time: time.Unix(at, 0)}, PeakExecutors: int32(other), Pending: statusv1.UsagePending{QueueSeconds: rate},
		}
		before := stored.DeepCopy()

		seen := (&life{driver: lifecycle.PodUse{Requests: large, From: start}, executors: []lifecycle.PodUse{{Requests: small, From: start + 3}}, deleted: []int64{start + 99}}).
			at(start+50, start, 1, func(int) bool { return false })
		for _, attempt := range []int32{1, 2} {
			u := Next(stored, Facts{Attempt: attempt, Seen: seen, Waits: "KueueAdmissionPending", Live: true, Now: time.Unix(start+1000, 0)})
			for _, sums := range []statusv1.UsageSums{u.Driver.UsageSums, u.Executors.UsageSums, u.Earlier, u.SettledSums, Total(u), Total(At(u, time.Unix(start+1e6, 0)))} {
				if sums.CPUMillicoreSeconds < 0 || sums.MemoryMiBSeconds < 0 || sums.GPUSeconds < 0 || sums.CostNanos < 0 {
					t.Errorf("negative: %+v", u)
				}
			}

			if u.Pending.QueueSeconds < 0 || u.PeakExecutors < 0 {
				t.Errorf("negative: %+v", u)
			}
		}

		if diff := cmp.Diff(before, stored); diff != "" {
			t.Errorf("the stored usage changed: %s", diff)
		}
	})
}

// TestUsageOfManyExecutors checks sums of more executors than the sets in a status can tell apart: every second number
// is missing, or the numbers are those of a StatefulSet. Executors start and end in random order. Once, the operator
// restarts, and a single executor has disappeared meanwhile.
func TestUsageOfManyExecutors(t *testing.T) {
	t.Parallel()

	const count, lost = 3 * executors.MaxRanges, 1

	for name, format := range map[string]string{"gaps": "app-exec-%d", "StatefulSet": "app-exec-s-%d"} {
		random, now := rand.New(rand.NewPCG(3, uint64(len(name)))), int64(start)

		var (
			stored *statusv1.OperatorUsage
			want   statusv1.UsageSums
		)

		from, until := make([]int64, count), make([]int64, count)
		for i := range from {
			from[i] = start + 10 + random.Int64N(50)

			until[i] = start + 200 + random.Int64N(300)
			if i == lost {
				until[i] = start + 120
			}

			want = Plus(want, times(new(Facts).rate(lifecycle.PodUse{Requests: small}), until[i]-from[i]))
		}

		for written := now; now < start+600; written, now = now, now+20+random.Int64N(20) {
			seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1, Use: lifecycle.PodUse{Requests: small, From: start}}}}
			for i := range from {
				use := lifecycle.PodUse{Requests: small, From: from[i], Until: until[i]}

				pod := fmt.Sprintf(format, 2*i+1)
				switch {
				case from[i] > now || until[i]+5 <= written || i == lost && until[i] <= now:
				case until[i]+5 <= now: // deleted since the last write
					seen.GonePods = append(seen.GonePods, lifecycle.GonePod{Name: pod, Attempt: 1, Use: use})
				default:
					if until[i] > now {
						use.Until = 0
					}

					seen.Executors = append(seen.Executors, lifecycle.Executor{Name: pod, Attempt: 1, Use: use})
				}
			}

			stored = Next(stored, Facts{Attempt: 1, Seen: seen, Live: true, Now: time.Unix(now, 0)})
		}

		// The end of the lost executor is known to at most 40 s.
		extra := minus(stored.Executors.UsageSums, want).CPUMillicoreSeconds
		if missing := minus(want, stored.Executors.UsageSums).CPUMillicoreSeconds; missing > 40*small.MilliCPU || extra > 40*small.MilliCPU {
			t.Errorf("%s: %d core-seconds are missing and %d too many, of %d", name, missing/1000, extra/1000, want.CPUMillicoreSeconds/1000)
		}

		if size := len(stored.Open) + len(stored.Settled); size > 2*executors.MaxRanges*32 {
			t.Errorf("%s: the sets have %d bytes", name, size)
		}
	}
}

// BenchmarkNext measures what usage adds to a status write of an application with many executors.
func BenchmarkNext(b *testing.B) {
	for _, executors := range []int{5, 1000} {
		b.Run(fmt.Sprint(executors, " executors"), func(b *testing.B) {
			l := life{driver: lifecycle.PodUse{Requests: small, From: start, Until: start + 1000}}
			for range executors {
				l.executors = append(l.executors, lifecycle.PodUse{Requests: large, From: start + 10, Until: start + 900})
				l.deleted = append(l.deleted, start+900)
			}

			facts := Facts{Attempt: 1, Seen: l.at(start+500, start, 1, func(int) bool { return false }), Live: true, Now: time.Unix(start+500, 0), Price: price}
			stored := Next(nil, facts)

			b.ReportAllocs()

			for b.Loop() {
				Next(stored, facts)
			}
		})
	}
}
