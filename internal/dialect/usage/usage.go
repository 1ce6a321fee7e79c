// Package usage computes what the pods of an attempt have requested, multiplied by time. Each pod counts once, from its
// assignment to a node until its containers ended or it was deleted.
//
// A pod that exists is counted as a whole in each computation, from the times in its status. When it has ended, its
// final amount moves to the settled sums, and its number to the settled set. Passes that are late, repeated or lost
// therefore change nothing. If the operator did not run when an executor ended and was deleted, the executor is open in
// the stored usage, but neither a pod nor an event shows its end. Its amount up to the stored time is known then, and
// it counts until the driver ended or, while the driver runs, until the computation.
//
// steps.go has the number of executors over time.
package usage

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/executors"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Facts are the facts from which usage is computed.
type Facts struct {
	Attempt int32
	Seen    lifecycle.Observed
	// Created is when the custom resource was created. Before its first attempt, its wait reason counts from then.
	Created time.Time
	// Waits is the wait reason of the custom resource since the last status write; empty if there was none.
	Waits string
	// Known reports that the custom resource has a status, although it has no attempt.
	Known bool
	// NextRun reports that the custom resource had ended permanently and continues, so that its next run begins.
	NextRun bool
	// Live reports that the attempt should have a driver. If it should not, its pods are about to end, so the stored sums
	// are not extrapolated.
	Live bool
	Now  time.Time
	// Price returns the cost of a second of a pod, in billionths of the unit of the prices; nil without prices.
	Price func(lifecycle.PodUse) int64
	// DriverSamples and ExecutorSamples are what pods of the attempt used since the last status write.
	DriverSamples, ExecutorSamples statusv1.UsageSamples
}

// Next returns the usage after the stored usage, which may be nil. It does not change the stored usage.
func Next(stored *statusv1.OperatorUsage, f Facts) *statusv1.OperatorUsage {
	now, last := f.Now.Unix(), f.Created.Unix()

	u := statusv1.OperatorUsage{Attempt: f.Attempt}

	switch {
	case stored == nil && (f.Attempt > 0 || f.Known): // another version of the operator has launched it
		last = now
	case stored != nil:
		u = valid(*stored)
		if u.Time != nil {
			last = min(u.Time.Unix(), now)
		}
	}

	if seconds := pending(&u.Pending, f.Waits); seconds != nil {
		*seconds += max(now-last, 0)
	}

	steps := ParseSteps(u.ExecutorSteps)

	var edges []edge
	if u.Attempt != f.Attempt {
		edges = ended(count(&u, f, last, now), now)
		u = statusv1.OperatorUsage{Attempt: f.Attempt, Pending: u.Pending, Earlier: Total(&u), EarlierRuns: u.EarlierRuns}
	}

	if edges = append(edges, count(&u, f, last, now)...); !f.Live {
		edges = ended(edges, now)
	}

	steps = continued(steps, last, now, edges)

	u.Driver.Sampled, u.Executors.Sampled = PlusSamples(u.Driver.Sampled, f.DriverSamples), PlusSamples(u.Executors.Sampled, f.ExecutorSamples)
	if f.NextRun {
		u.EarlierRuns, u.Pending, steps = Total(&u), statusv1.UsagePending{}, []Step{{At: now}}
	}

	if !f.Live {
		u.Driver.Requested, u.Executors.Requested = statusv1.UsageRate{}, statusv1.UsageRate{}
	}

	u.ExecutorSteps, u.Time = formatSteps(steps), &metav1.Time{Time: time.Unix(now, 0).UTC()}
	return &u
}

// Total returns the sums over all attempts.
func Total(u *statusv1.OperatorUsage) statusv1.UsageSums {
	return Plus(u.Earlier, Plus(u.Driver.UsageSums, u.Executors.UsageSums))
}

// Growth returns how much the sums of all attempts have grown from one usage to another. Either may be nil.
func Growth(before, after *statusv1.OperatorUsage) statusv1.UsageSums {
	total := func(u *statusv1.OperatorUsage) statusv1.UsageSums {
		if u == nil {
			return statusv1.UsageSums{}
		}
		return Total(u)
	}
	return minus(total(after), total(before))
}

// OfRun returns the sums of the current or last run.
func OfRun(u *statusv1.OperatorUsage) statusv1.UsageSums { return minus(Total(u), u.EarlierRuns) }

// At returns the usage at a later time than the stored one, if the pods that existed then still exist.
func At(u *statusv1.OperatorUsage, now time.Time) *statusv1.OperatorUsage {
	later := valid(*u)
	if u.Time == nil {
		return &later
	}

	seconds := now.Unix() - u.Time.Unix()
	for _, part := range []*statusv1.UsageOfPods{&later.Driver, &later.Executors} {
		part.UsageSums = Plus(part.UsageSums, times(part.Requested, seconds))
	}
	return &later
}

// count updates the sums of the attempt of u. The argument last is the stored time. It returns the starts and ends of
// the executors that were not settled before.
func count(u *statusv1.OperatorUsage, f Facts, last, now int64) (edges []edge) {
	driver := driverOf(f.Seen, u.Attempt)
	until := countDriver(&u.Driver, driver, f.rate(driver), last, now, u.Attempt)
	stored := minus(u.Executors.UsageSums, u.SettledSums) // of the executors that were open
	t := tally{open: executors.ParseIDs(u.Open), settled: executors.ParseIDs(u.Settled), last: last, now: now, largest: u.Executors.Largest}
	t.cut = len(t.open) == executors.MaxRanges

	for _, pod := range executorsOf(f.Seen, u.Attempt) {
		if pod.From == 0 || !t.add(pod, f.rate(pod.PodUse)) {
			continue
		}

		edges = append(edges, edge{pod.From, 1})
		if pod.Until > 0 {
			edges = append(edges, edge{pod.Until, -1})
		}
	}

	u.SettledSums = Plus(u.SettledSums, t.ended)
	if t.cut || t.open.Len() > t.known.pods {
		lost := Plus(minus(stored, t.known.UsageSums), times(plusRate(u.Executors.Requested, t.known.Requested, -1), until-last))
		u.SettledSums = Plus(u.SettledSums, lost)
	}

	u.Executors.UsageSums, u.Executors.Requested, u.Executors.Largest = Plus(u.SettledSums, t.running.UsageSums), t.running.Requested, t.largest
	u.Settled, u.Open = t.settledSet().String(), t.still.Cut(executors.MaxRanges).String()
	u.PeakExecutors = max(u.PeakExecutors, peak(edges))
	return append(edges, t.lost(until)...)
}

// tally collects what executors have used.
type tally struct {
	open, settled executors.IDSet // of the stored usage; settled grows
	cut           bool            // whether open lacks executors with higher numbers than those in it
	shown         executors.IDSet // settled executors that a pod or an event still shows
	last, now     int64           // the stored time and the present time
	found, still  executors.IDSet // the executors that were added, and those of them that have not ended
	ended         statusv1.UsageSums
	running       statusv1.UsageOfPods
	largest       statusv1.UsageRate // of one executor
	known         struct {           // the executors that were open, until the stored time
		statusv1.UsageOfPods
		pods int64
	}
}

// add adds an executor and what it requests. It returns false if the executor is settled or was added before.
func (t *tally) add(pod executor, requested statusv1.UsageRate) bool {
	if t.settled.Has(pod.id) {
		t.shown.Add(pod.id)
		return false
	}

	if !t.found.Add(pod.id) {
		return false
	}

	t.largest = larger(t.largest, requested)
	if t.open.Has(pod.id) {
		t.known.pods++
	}

	if t.wasOpen(pod) {
		t.known.UsageSums = Plus(t.known.UsageSums, times(requested, t.last-pod.From))
		t.known.Requested = plusRate(t.known.Requested, requested, 1)
	}

	if pod.Until > 0 {
		t.ended = Plus(t.ended, times(requested, pod.Until-pod.From))
		t.settled.Add(pod.id)
		t.shown.Add(pod.id)
	} else {
		t.running.UsageSums = Plus(t.running.UsageSums, times(requested, t.now-pod.From))
		t.running.Requested = plusRate(t.running.Requested, requested, 1)
		t.still.Add(pod.id)
	}
	return true
}

// wasOpen reports whether an executor that is not settled was open at the stored time.
func (t *tally) wasOpen(pod executor) bool {
	return t.open.Has(pod.id) || t.cut && pod.id > t.open.Max() && pod.From <= t.last
}

// settledSet returns the settled executors in at most MaxRanges ranges. If there are more, it drops those that neither
// a pod nor an event shows any more. They cannot be counted again.
func (t *tally) settledSet() executors.IDSet {
	if len(t.settled) > executors.MaxRanges {
		t.settled = t.shown
	}
	return t.settled.Closed(executors.MaxRanges)
}

// countDriver updates the sums of the driver. It returns until when executors count whose end is unknown.
func countDriver(u *statusv1.UsageOfPods, driver lifecycle.PodUse, requested statusv1.UsageRate, last, now int64, attempt int32) (until int64) {
	switch {
	case driver.From > 0:
		until = cmp.Or(driver.Until, now)

		sums := times(requested, until-driver.From)
		if driver.Until > 0 && sameAmounts(u.UsageSums, sums) {
			// The stored sums have the end of the driver. Its price may have changed since then, or its node is gone.
			sums.CostNanos, requested.CostNanos = u.UsageSums.CostNanos, u.Largest.CostNanos
		}

		u.UsageSums, u.Requested, u.Largest = sums, statusv1.UsageRate{}, larger(u.Largest, requested)
		if driver.Until == 0 {
			u.Requested = requested
		}
		return until
	case attempt == 0: // a standalone cluster has no driver
		return now
	case u.Requested != statusv1.UsageRate{}: // neither a pod nor an event shows its end
		u.UsageSums, u.Requested = Plus(u.UsageSums, times(u.Requested, now-last)), statusv1.UsageRate{}
		return now
	}
	return last // the driver had ended before
}

// sameAmounts reports whether two sums differ at most in their costs.
func sameAmounts(a, b statusv1.UsageSums) bool {
	a.CostNanos, b.CostNanos = 0, 0
	return a == b
}

// driverOf returns what the driver of an attempt has used; the zero value if nothing shows it.
func driverOf(seen lifecycle.Observed, attempt int32) (use lifecycle.PodUse) {
	if driver := seen.Driver(attempt); driver != nil {
		return driver.Use
	}

	for i := range seen.GonePods {
		if pod := &seen.GonePods[i]; pod.Driver && pod.Attempt == attempt {
			use = pod.Use
		}
	}
	return use
}

// executor is what an executor has used, with its number.
type executor struct {
	id int64
	lifecycle.PodUse
}

// executorsOf returns what the executors of an attempt have used, or all pods of a standalone cluster. Those that exist
// come first.
func executorsOf(seen lifecycle.Observed, attempt int32) []executor {
	all := make([]executor, 0, len(seen.Executors)+len(seen.Members)+len(seen.GonePods))
	for i := range seen.Members {
		m := &seen.Members[i]
		all = append(all, executor{ID(m.Name, m.Use.From), m.Use})
	}

	for i := range seen.Executors {
		if e := &seen.Executors[i]; e.Attempt == attempt {
			all = append(all, executor{ID(e.Name, e.Use.From), e.Use})
		}
	}

	for i := range seen.GonePods {
		if pod := &seen.GonePods[i]; !pod.Driver && pod.Attempt == attempt {
			all = append(all, executor{ID(pod.Name, pod.Use.From), pod.Use})
		}
	}
	return all
}

// ID returns the number of an executor that got a node at the given time. A StatefulSet gives a name to several pods
// one after the other, so the numbers of its executors depend on that time too.
func ID(name string, from int64) int64 {
	if id := executors.ID(name); id < 1<<32 {
		return id
	}
	return executors.ID(name + "@" + strconv.FormatInt(from, 10))
}

// edge is the start or the end of an executor.
type edge struct {
	at   int64
	step int32
}

// peak returns the largest number of executors that had a node at the same time. An executor that ended in a second
// does not count beside one that started in it.
func peak(edges []edge) (most int32) {
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })

	var count int32
	for _, e := range edges {
		count += e.step
		most = max(most, count)
	}
	return most
}

// waits maps wait reasons to the field of UsagePending that counts them.
var waits = map[string]func(*statusv1.UsagePending) *int64{
	"Unschedulable":                    func(p *statusv1.UsagePending) *int64 { return &p.UnschedulableSeconds },
	lifecycle.ReasonSchedulerSilent:    func(p *statusv1.UsagePending) *int64 { return &p.UnschedulableSeconds },
	"ImagePullBackOff":                 func(p *statusv1.UsagePending) *int64 { return &p.ImagePullSeconds },
	"InvalidImageName":                 func(p *statusv1.UsagePending) *int64 { return &p.ImagePullSeconds },
	"ErrImageNeverPull":                func(p *statusv1.UsagePending) *int64 { return &p.ImagePullSeconds },
	lifecycle.ReasonQuota:              func(p *statusv1.UsagePending) *int64 { return &p.QuotaSeconds },
	lifecycle.ReasonSchedulingGated:    func(p *statusv1.UsagePending) *int64 { return &p.QueueSeconds },
	lifecycle.ReasonQuotaPending:       func(p *statusv1.UsagePending) *int64 { return &p.QueueSeconds },
	lifecycle.ReasonQuotaRequestFailed: func(p *statusv1.UsagePending) *int64 { return &p.QueueSeconds },
	lifecycle.ReasonFlavorUnreadable:   func(p *statusv1.UsagePending) *int64 { return &p.QueueSeconds },
	lifecycle.ReasonQueueEviction:      func(p *statusv1.UsagePending) *int64 { return &p.QueueSeconds },
}

// pending returns the field that counts a wait reason; nil if no field does.
func pending(p *statusv1.UsagePending, reason string) *int64 {
	if field, counts := waits[reason]; counts {
		return field(p)
	}
	return nil
}

// limit bounds each sum and each rate. Sums that users wrote into a status cannot overflow then.
const limit = math.MaxInt64 / 8

// valid returns a usage without the values that Next never returns. Users with the right to write a status may have
// written them.
func valid(u statusv1.OperatorUsage) statusv1.OperatorUsage {
	for _, sums := range []*statusv1.UsageSums{&u.Driver.UsageSums, &u.Executors.UsageSums, &u.Earlier, &u.EarlierRuns, &u.SettledSums} {
		*sums = Plus(*sums, statusv1.UsageSums{})
	}

	for _, rate := range []*statusv1.UsageRate{&u.Driver.Requested, &u.Executors.Requested, &u.Driver.Largest, &u.Executors.Largest} {
		*rate = plusRate(*rate, statusv1.UsageRate{}, 1)
	}

	for _, seconds := range []*int64{&u.Pending.UnschedulableSeconds, &u.Pending.ImagePullSeconds, &u.Pending.QuotaSeconds, &u.Pending.QueueSeconds} {
		*seconds = within(*seconds)
	}

	u.PeakExecutors, u.ExecutorSteps = max(u.PeakExecutors, 0), formatSteps(ParseSteps(u.ExecutorSteps))
	return u
}

func within(n int64) int64 { return max(0, min(n, limit)) }

func product(rate, seconds int64) int64 {
	if rate > 0 && seconds > limit/rate {
		return limit
	}
	return within(rate * max(seconds, 0))
}

// Plus returns the sum of two sums.
func Plus(a, b statusv1.UsageSums) statusv1.UsageSums {
	return statusv1.UsageSums{
		CPUMillicoreSeconds: within(within(a.CPUMillicoreSeconds) + within(b.CPUMillicoreSeconds)),
		MemoryMiBSeconds:    within(within(a.MemoryMiBSeconds) + within(b.MemoryMiBSeconds)),
		GPUSeconds:          within(within(a.GPUSeconds) + within(b.GPUSeconds)),
		CostNanos:           within(within(a.CostNanos) + within(b.CostNanos)),
	}
}

func minus(a, b statusv1.UsageSums) statusv1.UsageSums {
	return statusv1.UsageSums{
		CPUMillicoreSeconds: within(a.CPUMillicoreSeconds - b.CPUMillicoreSeconds), MemoryMiBSeconds: within(a.MemoryMiBSeconds - b.MemoryMiBSeconds),
		GPUSeconds: within(a.GPUSeconds - b.GPUSeconds), CostNanos: within(a.CostNanos - b.CostNanos),
	}
}

func times(r statusv1.UsageRate, seconds int64) statusv1.UsageSums {
	return statusv1.UsageSums{
		CPUMillicoreSeconds: product(r.CPUMillicores, seconds), MemoryMiBSeconds: product(r.MemoryMiB, seconds),
		GPUSeconds: product(r.GPUs, seconds), CostNanos: product(r.CostNanos, seconds),
	}
}

func (f *Facts) rate(pod lifecycle.PodUse) statusv1.UsageRate {
	r := statusv1.UsageRate{CPUMillicores: pod.Requests.MilliCPU, MemoryMiB: pod.Requests.MiB, GPUs: pod.Requests.GPUs}
	if f.Price != nil {
		r.CostNanos = within(f.Price(pod))
	}
	return r
}

// SampleInterval is the time between two samples of the used CPU and memory.
const SampleInterval = time.Minute

// MeanCPU returns the mean of the CPU that a pod used, in thousandths of a CPU. Without samples it is 0.
func MeanCPU(s statusv1.UsageSamples) int64 {
	if s.Count <= 0 {
		return 0
	}
	return s.CPUMillicoreSeconds / int64(SampleInterval.Seconds()) / s.Count
}

// PlusSamples returns the samples of both.
func PlusSamples(a, b statusv1.UsageSamples) statusv1.UsageSamples {
	return statusv1.UsageSamples{
		Count: within(within(a.Count) + within(b.Count)), PeakMemoryMiB: within(max(a.PeakMemoryMiB, b.PeakMemoryMiB)),
		CPUMillicoreSeconds: within(within(a.CPUMillicoreSeconds) + within(b.CPUMillicoreSeconds)),
		MemoryMiBSeconds:    within(within(a.MemoryMiBSeconds) + within(b.MemoryMiBSeconds)),
	}
}

func larger(a, b statusv1.UsageRate) statusv1.UsageRate {
	return statusv1.UsageRate{
		CPUMillicores: max(a.CPUMillicores, b.CPUMillicores), MemoryMiB: max(a.MemoryMiB, b.MemoryMiB), GPUs: max(a.GPUs, b.GPUs), CostNanos: max(a.CostNanos, b.CostNanos),
	}
}

// plusRate returns a rate plus a multiple of another one, but at least 0.
func plusRate(a, b statusv1.UsageRate, factor int64) statusv1.UsageRate {
	return statusv1.UsageRate{
		CPUMillicores: within(within(a.CPUMillicores) + factor*within(b.CPUMillicores)), MemoryMiB: within(within(a.MemoryMiB) + factor*within(b.MemoryMiB)),
		GPUs: within(within(a.GPUs) + factor*within(b.GPUs)), CostNanos: within(within(a.CostNanos) + factor*within(b.CostNanos)),
	}
}
