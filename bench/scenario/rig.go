// Package scenario runs the bench's scenarios. Each scenario applies one type of load to its own control plane, and
// adds its measurements to a run. A plan is a list of scenarios and the amount of work for them.
//
// A scenario ends at the first error. The functions check() and must() therefore panic if they receive an error. The
// method rig.play recovers from this panic and returns the error.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/report"
	"github.com/sparkoperator/spark-operator/client/clientset/versioned"
)

const (
	// senders is the number of applications that are created at the same time.
	senders = 32
	// idle is the CPU time per second up to which a program counts as idle. An idle program still renews its lease.
	idle = 20 * time.Millisecond
	// calmShare is the share of a core up to which the control plane counts as calm. It is measured over the time
	// calmSpan, which is longer than the pauses of the controllers.
	calmSpan, calmShare = 2 * time.Second, 0.10
)

// failure is an error that ends a scenario.
type failure struct{ error }

func check(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		panic(failure{err})
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// rig is the environment of one scenario: a control plane, simulated nodes, and a client that creates load.
type rig struct {
	controlPlane
	Size
	ctx   context.Context
	run   *report.Run
	name  string // the name of the scenario
	load  dynamic.Interface
	nodes *node.Cluster
	used  int // the number of names that unusedName has returned
	// settings is added to the configuration of operators, and env to their environment.
	settings string
	env      []string
	s3       string // the address of the S3 server; empty if there is none
}

// play runs one scenario by calling its function, and returns the scenario's error. A bare scenario gets no control
// plane. Every other scenario gets its own.
func (r *rig) play(ctx context.Context, limit time.Duration, bare bool, b Binaries, do func(*rig), out io.Writer) (err error) {
	var cancel context.CancelFunc
	r.ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("the scenario exceeded its limit of %s", limit))
	defer cancel()
	defer func() {
		switch recovered := recover().(type) {
		case nil:
		case failure:
			err = errors.Join(recovered.error, err)
		default:
			panic(recovered)
		}
	}()

	r.Binaries = b
	if !bare {
		defer func() { err = errors.Join(err, r.stopControlPlane()) }()

		r.startControlPlane(out)
		_, r.load = r.clients(audit.LoadAgent)
		core, _ := r.clients(audit.NodeAgent)
		r.nodes = must(node.Start(r.ctx, core, must(versioned.NewForConfig(r.config))))
		defer r.nodes.Stop()
	}

	do(r)
	return nil
}

// unusedName returns a name that is unused in this control plane.
func (r *rig) unusedName(name string) string {
	r.used++
	return fmt.Sprintf("%s-%d", name, r.used)
}

// add adds a measurement of the scenario.
func (r *rig) add(in, name string, value float64, unit string) {
	r.run.Add(r.name, in, name, value, unit)
}

func (r *rig) seconds(in, name string, d time.Duration) { r.add(in, name, d.Seconds(), "s") }
func (r *rig) megabytes(in, name string, bytes int64)   { r.add(in, name, float64(bytes)/1e6, "MB") }

// withProgram starts a program and calls f after the program has finished a few applications. No measurement therefore
// includes the time to open connections.
func (r *rig) withProgram(agent string, f func(*program)) {
	p := r.start(agent)
	defer p.kill()

	warm := singleClass(load.Class{Name: r.unusedName("warm"), Count: 10, Executors: 2, Run: 100 * time.Millisecond})
	r.namespaces(warm.Namespaces()...)
	r.runLoad(warm)
	r.waitQuiet(p, time.Second)
	f(p)
	p.stop()
}

// completions records which applications of a load have ended. It holds the applications that have not ended, the time
// of the last end, and an error if the final state of an application was wrong.
type completions struct {
	mu    sync.Mutex
	exits map[string]int32 // by application, the exit code of each driver that has not ended
	last  time.Time
	err   error
	all   chan struct{}
}

func (e *completions) handle(x any) {
	app := x.(*unstructured.Unstructured)
	key, state := app.GetNamespace()+"/"+app.GetName(), stateOf(app)

	e.mu.Lock()
	defer e.mu.Unlock()

	exit, ours := e.exits[key]
	if !ours || state != "COMPLETED" && state != "FAILED" {
		return
	}

	if (state == "FAILED") != (exit != 0) {
		e.err = fmt.Errorf("application %s is %s, but the exit code of its driver is %d", key, state, exit)
	}

	delete(e.exits, key)

	if e.last = time.Now(); len(e.exits) == 0 {
		close(e.all)
	}
}

// stateOf returns the state of an application. The last state of an application of spark.apache.org counts as
// COMPLETED.
func stateOf(app *unstructured.Unstructured) string {
	state, _, _ := unstructured.NestedString(app.Object, "status", "applicationState", "state")
	if last, _, _ := unstructured.NestedString(app.Object, "status", "currentState", "currentStateSummary"); last == "ResourceReleased" {
		state = "COMPLETED"
	}
	return state
}

// resourceOf returns the resource of an application.
func resourceOf(app *unstructured.Unstructured) schema.GroupVersionResource {
	if app.GroupVersionKind().Group == apacheApps.Group {
		return apacheApps
	}
	return applications
}

// runLoad creates a load, waits until all its applications have ended, and returns the time at which the last one
// ended. The scenario fails if the final state of an application does not match the exit code of its driver, because an
// operator that fails applications must not count as fast.
func (r *rig) runLoad(spec load.Spec) time.Time {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()

	e := &completions{exits: map[string]int32{}, all: make(chan struct{})}

	all := spec.Applications()
	for _, a := range all {
		e.exits[a.Namespace+"/"+a.Name] = a.Program.Exit
	}

	for _, name := range spec.Namespaces() {
		watch := dynamicinformer.NewFilteredDynamicInformer(r.load, resourceOf(all[0].Object), name, 0, cache.Indexers{}, nil).Informer()

		handler := must(watch.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: e.handle, UpdateFunc: func(_, x any) { e.handle(x) }}))
		go watch.RunWithContext(ctx)

		cache.WaitForCacheSync(ctx.Done(), handler.HasSynced)
	}

	r.send(spec)

	select {
	case <-ctx.Done():
	case <-e.all:
	}

	e.mu.Lock()
	defer e.mu.Unlock()

	if len(e.exits) > 0 {
		check(fmt.Errorf("%d of %d applications have not ended: %w", len(e.exits), spec.Count(), context.Cause(ctx)))
	}

	check(e.err)
	return e.last
}

// send creates the applications of a load, each at its time or later if the API server cannot keep up.
func (r *rig) send(spec load.Spec) {
	all, began := spec.Applications(), time.Now()
	r.forEach(len(all), func(ctx context.Context, i int) error {
		if err := pause(ctx, all[i].At-time.Since(began)); err != nil {
			return err
		}

		_, err := r.load.Resource(resourceOf(all[i].Object)).Namespace(all[i].Namespace).Create(ctx, all[i].Object, metav1.CreateOptions{})
		return err
	})
}

// waitCalm waits until the control plane is almost idle, so that remaining work of earlier steps (garbage collection,
// Endpoints) does not distort the next measurement. If the control plane stays busy for too long, waitCalm adds a note
// to the run and returns.
func (r *rig) waitCalm() {
	for deadline := time.Now().Add(r.CalmLimit); time.Now().Before(deadline); {
		before, began := r.components(), time.Now()
		check(pause(r.ctx, calmSpan))

		var sum time.Duration
		for component, took := range r.components() {
			sum += took - before[component]
		}

		if sum.Seconds() < calmShare*time.Since(began).Seconds() {
			return
		}
	}

	if r.CalmLimit > 0 {
		r.run.Note("%s: the control plane was still busy after %s.", r.name, r.CalmLimit)
	}
}

// waitQuiet waits until a program has been idle for the given duration. It returns the time at which the program became
// idle. If the program is still not idle after a minute, waitQuiet adds a note to the run and returns the current time.
func (r *rig) waitQuiet(p *program, span time.Duration) (since time.Time) {
	began := time.Now()
	since = began
	second, cpu := began, p.usage().cpu
	r.waitFor("the program to be quiet", func() bool {
		u, now := p.usage(), time.Now()
		switch {
		case u.cpu-cpu > idle:
			since, second, cpu = now, now, u.cpu
		case now.Sub(second) >= time.Second:
			second, cpu = now, u.cpu
		}

		if now.Sub(began) > time.Minute+span {
			r.run.Note("%s: the program was not idle within a minute.", r.name)

			since = now
			return true
		}
		return now.Sub(since) > span
	})
	return since
}

// loadResult holds the costs and the results of one load.
type loadResult struct {
	audit.Account
	apps  int
	rates []float64                // applications per second, one rate for each load
	cpu   time.Duration            // of the program; the quiet time after the load counts, because of debounced writes
	parts map[string]time.Duration // of the control plane and of the bench, until the end
	span  time.Duration            // until the end
	peak  int64
	peaks []int64 // one for each load
}

// carry creates a load while a program runs, waits until all applications of the load have ended, and returns the costs
// and the results.
func (r *rig) carry(p *program, spec load.Spec) loadResult {
	r.namespaces(spec.Namespaces()...)
	r.waitCalm()
	used, before, began := p.usage(), r.components(), time.Now()
	ended := r.runLoad(spec)

	b := loadResult{apps: spec.Count(), span: ended.Sub(began), parts: map[string]time.Duration{}}
	for component, took := range r.components() {
		b.parts[component] = took - before[component]
	}

	since := r.waitQuiet(p, r.Quiet)
	last := p.usage()
	b.peak, b.peaks, b.cpu = last.peak, []int64{last.peak}, last.cpu-used.cpu
	scope := audit.Scope{From: began, To: since.Add(r.Quiet), Namespaces: spec.Namespaces(), Controller: p.agent}
	log := must(os.Open(filepath.Join(r.dir, "audit.log")))
	defer func() { _ = log.Close() }()

	b.Account = must(audit.Read(log, scope))
	// The rate is derived from the times of the writes. A rate that is derived from the ends of applications would
	// favour a program that starts all applications before it ends any.
	b.rates = []float64{report.Rate(b.Answers) * float64(b.apps) / float64(len(b.Answers))}
	return b
}

// merge adds the costs and results of another load, which the same program managed.
func (b *loadResult) merge(o loadResult) {
	if b.parts == nil {
		b.parts = map[string]time.Duration{}
	}

	b.Add(o.Account)

	b.apps, b.rates, b.cpu, b.span, b.peak = b.apps+o.apps, append(b.rates, o.rates...), b.cpu+o.cpu, b.span+o.span, max(b.peak, o.peak)

	b.peaks = append(b.peaks, o.peaks...)
	for component, took := range o.parts {
		b.parts[component] += took
	}
}

// rate returns the mean number of applications per second, over all loads that the result contains.
func (b *loadResult) rate() (mean float64) {
	for _, r := range b.rates {
		mean += r / float64(len(b.rates))
	}
	return mean
}

// note adds the measurements of a load result to the run.
func (r *rig) note(in string, b loadResult) {
	n := float64(b.apps)
	r.add(in, "applications a second", b.rate(), "1/s")
	r.add(in, "CPU an application", b.cpu.Seconds()*1000/n, "ms")
	r.megabytes(in, "resident, peak", b.peak)

	all := b.cpu
	for component, took := range b.parts {
		all += took
		r.seconds(in, "CPU of "+component, took)
	}

	r.add(in, "share of all cores", all.Seconds()/b.span.Seconds()/float64(runtime.NumCPU()), "")

	for name, lags := range map[string][]time.Duration{
		"creation to driver pod": b.Launch, "driver event to status": b.Driver, "executor event to status": b.Executor,
	} {
		r.seconds(in, name+", p50", report.Quantile(lags, 0.5))
		r.seconds(in, name+", p99", report.Quantile(lags, 0.99))
	}

	r.add(in, "applications without a driver pod", float64(b.NoDriver), "")
	r.add(in, "driver events without a status", float64(b.NoStatus), "")
	r.add(in, "executor events without a status", float64(b.NoExecutorStatus), "")

	for _, class := range audit.Classes {
		r.add(in, class+" an application", float64(b.Writes[class])/n, "")
		r.add(in, class+", most of one life", float64(b.MaxWrites[class]), "")
	}

	r.add(in, "writes an application", float64(b.Writes[audit.Objects]+b.Writes[audit.StatusWrites]+b.Writes[audit.Events]+b.Writes[audit.Others])/n, "")
	r.add(in, "bytes sent an application", float64(b.Bytes)/n, "B")
	r.add(in, "everybody's writes an application", float64(b.AllWrites)/n, "")
	r.add(in, "refused writes an application", float64(b.Rejected)/n, "")
	r.add(in, "writes for no application", float64(b.WithoutApplication), "")
	r.add(in, "writes for other applications", float64(b.OtherNamespaces), "")
}

// restingUsage waits until a program is idle, makes it collect garbage, and returns its CPU time and memory.
func (r *rig) restingUsage(p *program) usage {
	r.waitQuiet(p, time.Second)
	check(r.get("http://" + p.pprof + "/debug/pprof/heap?gc=1"))
	check(pause(r.ctx, r.Ease))
	return p.usage()
}

// deleteApplications deletes the applications of namespaces and waits until all their objects are gone.
func (r *rig) deleteApplications(namespaces ...string) {
	for _, name := range namespaces {
		check(r.load.Resource(applications).Namespace(name).DeleteCollection(r.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		r.waitEmpty(name)
	}
}
