package scenario

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/report"
	"github.com/sparkoperator/spark-operator/test/record/submitter"
)

// forever is longer than any scenario.
const forever = 12 * time.Hour

// singleClass returns a load of one class. Its namespaces have the name of the class.
func singleClass(c load.Class) load.Spec {
	c.Namespace = c.Name
	return load.Spec{Seed: 1, Classes: []load.Class{c}}
}

// completeLives returns a load of applications with five executors each, in the namespaces of ten teams. One driver in
// fifty fails. The applications are created at 20 a second, which is more than the operator can handle on two cores.
// One application in forty runs for at least 15 s. This is longer than the operator's debounce of executor churn, so
// the operator writes the debounced status.
func completeLives(name string, n int) load.Spec {
	long := n / 40
	return load.Spec{Seed: 1, Classes: []load.Class{
		{Name: name + "-life", Namespace: name, Namespaces: min(10, n), Count: n - long, Rate: 19.5, Executors: 5, Run: 2 * time.Second, RunMost: 5 * time.Second, Fail: 0.02},
		{Name: name + "-long", Namespace: name, Namespaces: min(10, n), Count: long, Rate: 0.5, Executors: 5, Run: 15 * time.Second, RunMost: 20 * time.Second},
	}}
}

// application returns a single application whose driver ends at once.
func application(name, namespace string) *unstructured.Unstructured {
	spec := load.Spec{Classes: []load.Class{{Name: name, Namespace: namespace, Count: 1, Alone: true}}}
	return spec.Applications()[0].Object
}

// probe returns a load of n short applications. They are created at 4 a second, so that no application waits in a
// queue. Their latency is therefore the latency of an operator without other work.
func (r *rig) probe(n int) load.Spec {
	return singleClass(load.Class{Name: r.unusedName("probe"), Count: n, Rate: 4, Executors: 5, Run: time.Second})
}

// lives compares the operator with the plain program, over the whole life of applications. It runs them one after the
// other on the same API server. First, the applications are created faster than either program can handle them. Then,
// they are created at half of the rate that the operator has reached.
func (r *rig) lives() {
	sum := map[rune]*loadResult{'o': {}, 'p': {}}
	for _, letter := range r.Order {
		r.withProgram(map[rune]string{'o': audit.OperatorAgent, 'p': audit.PlainAgent}[letter], func(p *program) {
			b := r.carry(p, completeLives(r.unusedName("team"), r.Lives))
			if b.rate() > 18 {
				check(fmt.Errorf("the program finished %.1f applications a second, but only 20 a second are created, so its limit is not visible: raise the rates in completeLives", b.rate()))
			}

			r.run.Note("lives: %s: %.1f ms of CPU an application, %.2f a second", p.agent, b.cpu.Seconds()*1000/float64(b.apps), b.rate())
			sum[letter].merge(b)
		})
	}

	r.note("operator", *sum['o'])
	r.note("plain", *sum['p'])

	if r.Half == 0 {
		return
	}

	for _, half := range []struct{ agent, in string }{{audit.OperatorAgent, "half rate"}, {audit.PlainAgent, "plain, half rate"}} {
		r.withProgram(half.agent, func(p *program) {
			spec := completeLives(r.unusedName("half"), 40)
			spec.Classes = spec.Classes[:1]
			c := &spec.Classes[0]
			c.Rate = sum['o'].rate() / 2
			c.Count = max(1, int(c.Rate*r.Half.Seconds()))
			r.note(half.in, r.carry(p, spec))
		})
	}
}

// burst creates applications without executors, all at once, and measures how the operator manages them. It also
// measures the real spark-submit of each Spark line on the same API server.
func (r *rig) burst() {
	r.withProgram(audit.OperatorAgent, func(p *program) {
		r.note("operator", r.carry(p, singleClass(load.Class{Name: r.unusedName("burst"), Count: r.Burst, Run: 200 * time.Millisecond})))
	})

	if len(r.Sparks) > 0 && os.Geteuid() != 0 {
		r.run.Note("spark-submit was not measured, because only root can mount its image's files: run the bench as root.")
		return
	}

	for _, version := range r.Sparks {
		r.submit(version)
	}
}

// apache measures how often the operator writes for applications of spark.apache.org, whose drivers have no executors.
func (r *rig) apache() {
	r.withProgram(audit.OperatorAgent, func(p *program) {
		r.note("operator", r.carry(p, singleClass(load.Class{Name: r.unusedName("apache"), Count: r.Apache, Rate: 4, Run: time.Second, Apache: true})))
	})
}

// submit measures the spark-submit of a Spark version, from the image of this version. spark-submit submits in cluster
// mode and does not wait for the application. The measurement starts with the script and stops at its exit. The first
// submission does not count, because it reads files from the disk that later submissions find in memory.
func (r *rig) submit(version string) {
	const namespace, dir = "spark-submit", "/case" // where a submitter finds its files
	r.namespaces(namespace)
	token := must(r.core.CoreV1().ServiceAccounts(namespace).CreateToken(r.ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{}))
	archive := must(exec.CommandContext(r.ctx, r.Local, "image", "spark", "--version", version).Output())
	files := map[string]string{"token": token.Status.Token, "ca.crt": string(r.config.CAData)}
	m := must(submitter.OnHost(r.ctx, version, strings.TrimSpace(string(archive)), files))
	defer func() { _ = m.Close() }()

	var sum submitter.Cost
	for i := range r.Submits + 1 {
		args := []string{"--master", "k8s://" + r.config.Host, "--deploy-mode", "cluster", "--class", "org.apache.spark.examples.SparkPi", "--name", fmt.Sprintf("submit-%d", i)}
		for _, conf := range []string{
			"kubernetes.submission.waitAppCompletion=false", "kubernetes.namespace=" + namespace,
			"kubernetes.container.image=docker.io/apache/spark:" + version, "kubernetes.authenticate.driver.serviceAccountName=default",
			"kubernetes.authenticate.submission.oauthTokenFile=" + dir + "/token", "kubernetes.authenticate.submission.caCertFile=" + dir + "/ca.crt",
			"executor.instances=1", "driver.memory=512m", "executor.memory=512m",
		} {
			args = append(args, "--conf", "spark."+conf)
		}

		cost := must(m.Submit(r.ctx, append(args, "local:///opt/spark/examples/jars/spark-examples.jar"), io.Discard))
		if i > 0 {
			sum.CPU, sum.Wall, sum.Peak = sum.CPU+cost.CPU, sum.Wall+cost.Wall, max(sum.Peak, cost.Peak)
		}
	}

	in, n := "spark-submit "+version, time.Duration(r.Submits)
	r.seconds(in, "CPU", sum.CPU/n)
	r.seconds(in, "wall", sum.Wall/n)
	r.megabytes(in, "resident, peak", sum.Peak)
}

// levels contains the names of the three load levels. In the full plan the levels are 100, 1,000 and 10,000 live
// applications.
var levels = [3]string{"low", "middle", "high"}

// standing measures the operator while many applications run, each with a driver and five executors. It adds
// applications up to each of three levels. At each level, it measures the operator's memory, the latency of short
// applications, and the rate at full load. At the end, it measures how an operator starts while all these applications
// exist.
func (r *rig) standing() {
	resident := [3]float64{}
	r.withProgram(audit.OperatorAgent, func(p *program) {
		live := 0
		for i, n := range r.Levels {
			r.createRunning(load.Class{Name: r.unusedName("standing"), Namespaces: 1 + (n-live)/100, Count: n - live, Executors: 5, Placed: true})
			live = n
			rest := r.restingUsage(p).resident
			resident[i] = float64(rest) / 1000
			r.megabytes(levels[i], "resident, at rest", rest)

			if used := r.measureBeside(p, levels[i]); i < len(r.Levels)-1 {
				r.deleteApplications(used...) // applications that have ended use memory too
			}
		}
	})

	slope := func(i int) float64 { return (resident[i] - resident[i-1]) / float64(r.Levels[i]-r.Levels[i-1]) }
	r.add("", "resident a live application, low", slope(1), "kB")
	r.add("", "resident a live application, high", slope(2), "kB")
	r.coldStart()
}

// finished measures the operator while many applications exist that have ended. They have no executors, but their
// driver pods still exist. It measures the operator's memory, the latency of short applications, the rate at full load,
// and the start of an operator.
func (r *rig) finished() {
	r.withProgram(audit.OperatorAgent, func(p *program) {
		r.carry(p, singleClass(load.Class{Name: r.unusedName("finished"), Namespaces: 1 + r.Finished/1000, Count: r.Finished, Run: 50 * time.Millisecond}))
		r.megabytes("many", "resident, at rest", r.restingUsage(p).resident)
		r.measureBeside(p, "many")
	})
	r.coldStart()
}

// createRunning creates applications that keep running until the end of the scenario. It returns when all their pods
// run and every application is RUNNING.
func (r *rig) createRunning(c load.Class) {
	c.Run = forever
	spec, want := singleClass(c), r.nodes.Started()+c.Count*(1+c.Executors)
	r.namespaces(spec.Namespaces()...)
	r.send(spec)
	r.waitStarted(want)

	for _, name := range spec.Namespaces() {
		r.waitFor("the applications of "+name+" to be RUNNING", func() bool {
			list := must(r.dyn.Resource(applications).Namespace(name).List(r.ctx, metav1.ListOptions{}))

			all := !slices.ContainsFunc(list.Items, func(app unstructured.Unstructured) bool { return stateOf(&app) != "RUNNING" })
			if !all {
				check(pause(r.ctx, time.Second)) // rarely, because a list slows down the measured program
			}
			return all
		})
	}
}

// waitStarted waits until n pods were started.
func (r *rig) waitStarted(n int) {
	r.waitFor(fmt.Sprintf("%d pods to run", n), func() bool {
		return r.nodes.Started() >= n
	})
}

// measureBeside measures the operator while all earlier applications of the scenario still exist. First it measures the
// latency of a few short applications, and then the rate at full load. It returns the namespaces of these two loads.
func (r *rig) measureBeside(p *program, in string) []string {
	probe, press := r.probe(r.Probe), completeLives(r.unusedName("press"), r.Pressing)
	press.Classes = press.Classes[:1]

	r.note(in, r.carry(p, probe))
	r.note(in+", full rate", r.carry(p, press))
	return append(probe.Namespaces(), press.Namespaces()...)
}

// launch creates one application, calls f and waits for the driver pod. It returns the time between the API server's
// answer to the creation and the appearance of the driver pod.
func (r *rig) launch(namespace string, f func()) time.Duration {
	r.namespaces(namespace)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()

	c := load.Class{Name: r.unusedName("single"), Namespace: namespace, Count: 1, Run: time.Second, Alone: true}
	spec := load.Spec{Classes: []load.Class{c}}
	driver := metav1.ListOptions{LabelSelector: "sparkoperator.k8s.io/app-name=" + c.Name + "-0"}
	events := must(r.meta.Resource(pods).Namespace(namespace).Watch(ctx, driver))
	r.send(spec)

	created := time.Now()

	f()

	for e := range events.ResultChan() {
		if e.Type == watch.Added {
			return time.Since(created)
		}
	}

	check(fmt.Errorf("application %s/%s got no driver pod before the scenario's time limit", namespace, c.Name))
	return 0
}

// coldStart creates an application while no operator runs, and then starts an operator. This operator finds all objects
// that the scenario created before. coldStart measures the time from the operator's start until the application has a
// driver pod, and the operator's peak memory.
func (r *rig) coldStart() {
	r.waitCalm()
	var p *program
	var began time.Time
	defer func() {
		if p != nil {
			p.kill()
		}
	}()

	r.launch("waiting", func() {
		began = time.Now()
		p = r.start(audit.OperatorAgent)
	})
	r.seconds("cold start", "until the first decision", time.Since(began))
	r.waitQuiet(p, r.Quiet)
	r.megabytes("cold start", "resident, peak", p.usage().peak)
}

// failover runs two operators and kills the leader, which is the older one. It measures the time until the other
// operator creates a driver pod. A killed leader does not release its lease, so the other operator waits until the
// lease expires.
func (r *rig) failover() {
	var running []*program
	defer func() {
		for _, p := range running {
			p.kill()
		}
	}()

	var took []time.Duration
	for range r.Failovers {
		for len(running) < 2 {
			running = append(running, r.start(audit.OperatorAgent))
			r.launch("failover", func() {}) // wait until an operator leads
		}

		r.waitCalm()

		ended := time.Now()

		running[0].kill()
		running = running[1:]

		r.launch("failover", func() {})

		took = append(took, time.Since(ended))
	}

	r.seconds("", "until another acts, most", report.Quantile(took, 1))
}

// deletion deletes many applications with running drivers at once, and measures the time until all their objects are
// gone. For comparison, it first measures the same for equally many bare pods, each of which owns as many ConfigMaps
// and Services as a driver. The bare pods come first, so that leftover work of the control plane can only slow down the
// deletion of the applications. The comparison therefore never favours the operator.
func (r *rig) deletion() {
	few := max(1, r.Deleted/20) // deleted before each measurement, because the first deletions are slower
	r.withProgram(audit.OperatorAgent, func(*program) {
		r.createRunning(load.Class{Name: "uncounted", Count: few, Alone: true})
		r.createRunning(load.Class{Name: "deleted", Count: r.Deleted, Alone: true})
		driver := r.driverOf("deleted", "deleted-0")
		r.createBarePods(driver, "bare-uncounted", few)
		r.createBarePods(driver, "bare", r.Deleted)
		r.remove(pods, "bare-uncounted", few)
		r.waitCalm()
		r.seconds("bare pods", "until all are gone", r.remove(pods, "bare", r.Deleted))
		r.remove(applications, "uncounted", few)
		r.waitCalm()
		r.seconds("applications", "until all are gone", r.remove(applications, "deleted", r.Deleted))
	})
}

// remove deletes the objects NAME-0 to NAME-(n-1) in the namespace NAME, and returns the time until the namespace was
// empty.
func (r *rig) remove(resource schema.GroupVersionResource, name string, n int) time.Duration {
	began := time.Now()

	r.forEach(n, func(ctx context.Context, i int) error {
		return r.load.Resource(resource).Namespace(name).Delete(ctx, fmt.Sprintf("%s-%d", name, i), metav1.DeleteOptions{})
	})
	r.waitEmpty(name)
	return time.Since(began)
}

// owner is a pod with the objects that it owns.
type owner struct {
	spec     corev1.PodSpec
	maps     []corev1.ConfigMap
	services []corev1.Service
}

// driverOf returns the driver of an application, with the objects that the operator created for it.
func (r *rig) driverOf(namespace, application string) owner {
	core, list := r.core.CoreV1(), metav1.ListOptions{}
	pod := must(core.Pods(namespace).Get(r.ctx, application+"-driver", metav1.GetOptions{}))
	// Objects that exist before the pod are owned by the application.
	foreign := func(meta metav1.ObjectMeta) bool {
		return !slices.ContainsFunc(meta.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.UID == pod.UID || o.UID == pod.OwnerReferences[0].UID
		})
	}

	return owner{
		spec:     pod.Spec,
		maps:     slices.DeleteFunc(must(core.ConfigMaps(namespace).List(r.ctx, list)).Items, func(o corev1.ConfigMap) bool { return foreign(o.ObjectMeta) }),
		services: slices.DeleteFunc(must(core.Services(namespace).List(r.ctx, list)).Items, func(o corev1.Service) bool { return foreign(o.ObjectMeta) }),
	}
}

// createBarePods creates running pods that resemble a driver. Each of them owns copies of the driver's objects.
func (r *rig) createBarePods(driver owner, namespace string, n int) {
	r.namespaces(namespace)

	token := false
	spec := driver.spec
	spec.NodeName, spec.Priority, spec.PreemptionPolicy, spec.Tolerations = "", nil, nil, nil
	spec.AutomountServiceAccountToken = &token // the driver's spec already has the volume of the token
	core, create, want := r.core.CoreV1(), metav1.CreateOptions{}, r.nodes.Started()+n
	r.forEach(n, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("%s-%d", namespace, i)
		labels := map[string]string{"bare": name}

		made, err := core.Pods(namespace).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: *spec.DeepCopy()}, create)
		if err != nil {
			return err
		}

		owned := func(i int) metav1.ObjectMeta {
			return metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: made.UID}}}
		}
		for i, config := range driver.maps {
			if _, err := core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: owned(i), Data: config.Data}, create); err != nil {
				return err
			}
		}

		for i, service := range driver.services {
			copied := &corev1.Service{ObjectMeta: owned(i), Spec: corev1.ServiceSpec{Selector: labels, Ports: service.Spec.Ports}}
			if service.Spec.ClusterIP == corev1.ClusterIPNone {
				copied.Spec.ClusterIP = corev1.ClusterIPNone
			}

			if _, err := core.Services(namespace).Create(ctx, copied, create); err != nil {
				return err
			}
		}
		return nil
	})
	r.waitStarted(want)
}

// fairness measures how long a single application waits for its driver pod. It measures this twice: alone, and while
// many older applications of another namespace wait in the queue. It also measures the time until 1,200 of these older
// applications have driver pods. Users of another operator have published such a time.
func (r *rig) fairness() {
	r.withProgram(audit.OperatorAgent, func(*program) {
		singles := func() (took []time.Duration) {
			for range 5 {
				took = append(took, r.launch("single", func() {}))
			}
			return took
		}
		waiting := func() int {
			return r.Crowd - len(must(r.meta.Resource(pods).Namespace("crowd").List(r.ctx, metav1.ListOptions{})).Items)
		}

		r.waitCalm()

		alone := singles()

		r.namespaces("crowd")

		began := time.Now()

		r.send(singleClass(load.Class{Name: "crowd", Count: r.Crowd, Run: forever, Alone: true}))

		before := waiting()
		beside := singles()

		if after := waiting(); r.AtOnce == 1 && (before < r.Crowd*8/10 || after == 0) {
			check(fmt.Errorf("%d of %d applications in the namespace crowd were waiting before the measurement, and %d after it. These are too few for a valid result: raise Crowd in the plan", before, r.Crowd, after))
		}

		r.waitFor("the driver pods of 1,200 applications in the namespace crowd", func() bool {
			check(pause(r.ctx, time.Second)) // rarely, because a list slows down the measured program
			return waiting() <= max(0, r.Crowd-1200)
		})
		r.seconds("beside", "until 1,200 of the crowd have driver pods", time.Since(began))
		r.seconds("alone", "creation to driver pod, p50", report.Quantile(alone, 0.5))
		r.seconds("beside", "creation to driver pod, most", report.Quantile(beside, 1))
		r.seconds("", "delay by the other namespace", max(0, report.Quantile(beside, 1)-report.Quantile(alone, 0.5)))
	})
}

// hostile measures how unrelated pods and large ConfigMaps in another namespace affect the operator's memory. It
// creates these objects while an operator runs. Before and after that, it starts several operators one after the other,
// and each of them manages a few short applications. The measurement is the median of their peaks, because garbage
// collection is random.
func (r *rig) hostile() {
	starts := func(in string) {
		var peaks []int64
		for range r.HostileStarts {
			r.withProgram(audit.OperatorAgent, func(p *program) {
				probe := r.probe(r.HostileProbe)
				r.carry(p, probe)
				peaks = append(peaks, p.usage().peak)

				r.deleteApplications(probe.Namespaces()...)
			})
		}

		slices.Sort(peaks)
		r.megabytes(in, "resident, peak", peaks[len(peaks)/2])
	}
	rest := func(p *program, in string) {
		u := r.restingUsage(p)
		r.megabytes(in, "resident, at rest", u.resident)
		r.megabytes(in, "resident, peak of one that stays", u.peak)
	}

	starts("without")
	r.withProgram(audit.OperatorAgent, func(p *program) {
		rest(p, "without")
		r.fill()
		rest(p, "with")
	})
	starts("with")
}

// fill creates ConfigMaps slightly smaller than the API server's limit, and pods that no scheduler handles.
func (r *rig) fill() {
	const namespace = "hostile"
	r.namespaces(namespace)

	padding := corev1.EnvVar{Name: "PADDING", Value: strings.Repeat("x", 1000)}
	r.forEach(r.HostilePods, func(ctx context.Context, i int) error {
		_, err := r.core.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("unrelated-%d", i), Labels: map[string]string{"app": "unrelated", "number": fmt.Sprint(i)}},
			Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "unrelated", Env: []corev1.EnvVar{padding}}}},
		}, metav1.CreateOptions{})
		return err
	})

	large := map[string]string{"large": strings.Repeat("x", 900_000)}
	for i := range r.HostileMaps {
		name := metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i)}
		must(r.core.CoreV1().ConfigMaps(namespace).Create(r.ctx, &corev1.ConfigMap{ObjectMeta: name, Data: large}, metav1.CreateOptions{}))
	}
}

// schedules measures the delay of many runs that are due in the same minute, and counts lost and doubled runs.
func (r *rig) schedules() {
	const namespace, scheduleLabel = "schedules", "sparkoperator.k8s.io/scheduled-app-name"
	r.withProgram(audit.OperatorAgent, func(*program) {
		r.namespaces(namespace)
		due := time.Now().UTC().Add(r.ScheduleRoom).Truncate(time.Minute).Add(time.Minute)
		minute := fmt.Sprintf("%d %d %d %d *", due.Minute(), due.Hour(), due.Day(), due.Month())
		template := application("template", namespace).Object["spec"]
		r.forEach(r.Schedules, func(ctx context.Context, i int) error {
			_, err := r.dyn.Resource(scheduled).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": scheduled.GroupVersion().String(), "kind": "ScheduledSparkApplication",
				"metadata": map[string]any{"name": fmt.Sprintf("schedule-%d", i), "namespace": namespace},
				"spec":     map[string]any{"schedule": minute, "timeZone": "Etc/UTC", "template": template},
			}}, metav1.CreateOptions{})
			return err
		})

		if room := time.Until(due); room < time.Second {
			check(fmt.Errorf("the schedules were created only %s before they are due: raise ScheduleRoom in the plan", room))
		}

		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()

		last := time.AfterFunc(time.Until(due)+time.Minute, cancel) // ends the watch after a minute without a run
		events := must(r.meta.Resource(applications).Namespace(namespace).Watch(ctx, metav1.ListOptions{LabelSelector: scheduleLabel}))

		late, runs := []time.Duration{}, map[string]int{}
		for e := range events.ResultChan() {
			if run, ok := e.Object.(*metav1.PartialObjectMetadata); ok && e.Type == watch.Added {
				late = append(late, time.Since(due))
				runs[run.Labels[scheduleLabel]]++

				last.Reset(time.Minute)
			}

			if len(runs) == r.Schedules {
				last.Reset(r.Quiet) // all runs exist; a second run of a schedule would appear soon
			}
		}

		r.seconds("", "due to application, most", report.Quantile(late, 1))
		r.add("", "runs lost", float64(r.Schedules-len(runs)), "")
		r.add("", "runs doubled", float64(len(late)-len(runs)), "")
	})
}

// parts lists the packages whose benchmarks are run.
var parts = []string{"./internal/lifecycle/application", "./spark/submit/native", "./spark/overlay", "./internal/dialect/sparkoperator/application", "./internal/dialect/apache/application"}

// micro runs the Go benchmarks of functions that need no API server.
func (r *rig) micro() {
	const pattern = "^Benchmark(Step|Build|Apply|Decode|Encode|Decide|Render)$"
	cmd := exec.CommandContext(r.ctx, "go", append([]string{"test", "-run", "^$", "-bench", pattern, "-benchmem", "-benchtime", r.BenchTime}, parts...)...)
	cmd.Dir = r.Root

	printed, err := cmd.CombinedOutput()
	if err != nil {
		check(fmt.Errorf("go test -bench failed: %w\n%s", err, printed))
	}

	for name, values := range benchmarks(string(printed)) {
		r.add("time", name, values[0], "ns")
		r.add("memory", name, values[1], "B")
		r.add("allocations", name, values[2], "")
	}
}

// benchmarkLine matches two kinds of lines in the output of go test: a line with the name of a package, and a line with
// the result of a benchmark. The captured name of the benchmark excludes the suffix with the number of processors, such
// as -8.
var benchmarkLine = regexp.MustCompile(`(?m)^pkg: .*/spark-operator/(?:internal/)?([^/\s]+/[^/\s]+)|^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(\S+) ns/op\s+(\d+) B/op\s+(\d+) allocs/op`)

// benchmarks parses the output of go test. It returns the time, bytes and allocations per operation of each benchmark.
// The key consists of the first two directories of the package, the name of the benchmark, and the name of its
// subbenchmark.
func benchmarks(printed string) map[string][3]float64 {
	found, pkg := map[string][3]float64{}, ""
	for _, m := range benchmarkLine.FindAllStringSubmatch(printed, -1) {
		if m[1] != "" {
			pkg = m[1]
			continue
		}

		var values [3]float64
		for i := range values {
			values[i] = must(strconv.ParseFloat(m[3+i], 64))
		}

		found[pkg+" "+strings.Replace(m[2], "/", " ", 1)] = values
	}
	return found
}
