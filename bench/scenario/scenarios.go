package scenario

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// one is a load of one class in namespaces of its name.
func one(c load.Class) load.Spec {
	c.Namespace = c.Name
	return load.Spec{Seed: 1, Classes: []load.Class{c}}
}

// whole lives of a driver and five executors over the namespaces of ten teams; one driver in fifty fails. They come at
// 20 a second, faster than two cores carry, so that the program always has new ones to take and others to look after. One
// in forty stays longer in each phase than the operator debounces executor churn, so that what it writes of that counts.
func whole(name string, n int) load.Spec {
	long := n / 40
	return load.Spec{Seed: 1, Classes: []load.Class{
		{Name: name + "-life", Namespace: name, Namespaces: min(10, n), Count: n - long, Rate: 19.5, Executors: 5, Run: 2 * time.Second, RunMost: 5 * time.Second, Fail: 0.02},
		{Name: name + "-long", Namespace: name, Namespaces: min(10, n), Count: long, Rate: 0.5, Executors: 5, Run: 15 * time.Second, RunMost: 30 * time.Second},
	}}
}

// application is a single one whose driver ends at once.
func application(name, namespace string) *unstructured.Unstructured {
	spec := load.Spec{Classes: []load.Class{{Name: name, Namespace: namespace, Count: 1, Alone: true}}}
	return spec.Applications()[0].Object
}

// probe are short lives that come more slowly than they are carried, which shows latency and not a queue.
func (r *rig) probe(n int) load.Spec {
	return one(load.Class{Name: r.fresh("probe"), Count: n, Rate: 4, Executors: 5, Run: time.Second})
}

// lives has the operator and the plain program carry whole lives, one after the other on the same API server, each
// offered more than it carries. Then lives come to each at half of the operator's rate.
func (r *rig) lives() {
	sum := map[rune]*bill{'o': {}, 'p': {}}
	for _, who := range r.Order {
		r.with(map[rune]string{'o': audit.OperatorAgent, 'p': audit.PlainAgent}[who], func(p *program) {
			b := r.carry(p, whole(r.fresh("team"), r.Lives))
			if b.rate() > 18 {
				check(fmt.Errorf("%.1f applications a second were carried of 20 that came: more have to come for a limit to be seen", b.rate()))
			}
			r.run.Note("lives: %s: %.1f ms of CPU an application, %.2f a second", p.agent, b.cpu.Seconds()*1000/float64(b.apps), b.rate())
			sum[who].merge(b)
		})
	}
	r.note("operator", *sum['o'])
	r.note("plain", *sum['p'])
	if r.Half == 0 {
		return
	}
	for _, of := range [][2]string{{audit.OperatorAgent, "half rate"}, {audit.PlainAgent, "plain, half rate"}} {
		r.with(of[0], func(p *program) {
			half := whole(r.fresh("half"), 40)
			half.Classes = half.Classes[:1]
			c := &half.Classes[0]
			c.Rate = sum['o'].rate() / 2
			c.Count = max(1, int(c.Rate*r.Half.Seconds()))
			r.note(of[1], r.carry(p, half))
		})
	}
}

// burst has the operator take driver-only applications at once, and measures the real spark-submit of each Spark line on
// the same API server.
func (r *rig) burst() {
	r.with(audit.OperatorAgent, func(p *program) {
		r.note("operator", r.carry(p, one(load.Class{Name: r.fresh("burst"), Count: r.Burst, Run: 200 * time.Millisecond})))
	})
	if len(r.Sparks) > 0 && os.Geteuid() != 0 {
		r.run.Note("spark-submit was not measured: its image's files are mounted for it, which takes root.")
		return
	}
	for _, version := range r.Sparks {
		r.submit(version)
	}
}

// submit measures the spark-submit of a version, out of its image: in cluster mode, from the script's start to its exit,
// without waiting for the application. The first one, which reads files from the disk, does not count.
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

// levels name the numbers of live applications: 100, 1,000 and 10,000 in the full plan.
var levels = [3]string{"low", "middle", "high"}

// standing measures the operator with live applications of a driver and five executors at each of three levels: its
// memory, how short lives fare beside them, and how many more it carries at its full rate. In the end it measures the
// start of an operator that finds all of them.
func (r *rig) standing() {
	resident := [3]float64{}
	r.with(audit.OperatorAgent, func(p *program) {
		there := 0
		for i, n := range r.Levels {
			r.stand(load.Class{Name: r.fresh("standing"), Namespaces: 1 + (n-there)/100, Count: n - there, Executors: 5, Placed: true})
			there = n
			rest := r.rest(p).resident
			resident[i] = float64(rest) / 1000
			r.megabytes(levels[i], "resident, at rest", rest)
			if used := r.beside(p, levels[i]); i < len(r.Levels)-1 {
				r.clear(used...) // what is over costs memory too
			}
		}
	})
	slope := func(i int) float64 { return (resident[i] - resident[i-1]) / float64(r.Levels[i]-r.Levels[i-1]) }
	r.add("", "resident a live application, low", slope(1), "kB")
	r.add("", "resident a live application, high", slope(2), "kB")
	r.coldStart()
}

// finished measures the same beside applications that are over, without executors, whose driver pods are kept.
func (r *rig) finished() {
	r.with(audit.OperatorAgent, func(p *program) {
		r.carry(p, one(load.Class{Name: r.fresh("finished"), Namespaces: 1 + r.Finished/1000, Count: r.Finished, Run: 50 * time.Millisecond}))
		r.megabytes("many", "resident, at rest", r.rest(p).resident)
		r.beside(p, "many")
	})
	r.coldStart()
}

// stand creates applications that go on running, and returns once all pods run and the operator's status says so.
func (r *rig) stand(c load.Class) {
	c.Run = forever
	spec, want := one(c), r.nodes.Started()+c.Count*(1+c.Executors)
	r.namespaces(spec.Namespaces()...)
	r.send(spec)
	r.started(want)
	for _, name := range spec.Namespaces() {
		r.until("the applications of "+name+" to be RUNNING", func() bool {
			list := must(r.dyn.Resource(applications).Namespace(name).List(r.ctx, metav1.ListOptions{}))
			all := !slices.ContainsFunc(list.Items, func(app unstructured.Unstructured) bool { return stateOf(&app) != "RUNNING" })
			if !all {
				check(pause(r.ctx, time.Second)) // to read the list again costs what is measured
			}
			return all
		})
	}
}

// started waits until so many pods run or ran.
func (r *rig) started(n int) {
	r.until(fmt.Sprintf("%d pods to run", n), func() bool {
		return r.nodes.Started() >= n
	})
}

// beside measures a probe, and then lives at full rate. It returns their namespaces.
func (r *rig) beside(p *program, in string) []string {
	probe, press := r.probe(r.Probe), whole(r.fresh("press"), r.Pressing)
	press.Classes = press.Classes[:1]
	r.note(in, r.carry(p, probe))
	r.note(in+", full rate", r.carry(p, press))
	return append(probe.Namespaces(), press.Namespaces()...)
}

// launch creates one application, calls f, waits for the driver pod, and returns how long that took from when the
// creation was answered.
func (r *rig) launch(namespace string, f func()) time.Duration {
	r.namespaces(namespace)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	c := load.Class{Name: r.fresh("single"), Namespace: namespace, Count: 1, Run: time.Second, Alone: true}
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
	check(fmt.Errorf("no driver pod of %s/%s came", namespace, c.Name))
	return 0
}

func nothing() {}

// coldStart measures the start of an operator that finds what the world has, until it launched an application that was
// created while no operator ran.
func (r *rig) coldStart() {
	r.calm()
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
	r.quiet(p, r.Quiet)
	r.megabytes("cold start", "resident, peak", p.usage().peak)
}

// failover measures how long it takes until another operator acts after the leader was killed, which leaves its lease to
// expire. The oldest operator leads.
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
			r.launch("failover", nothing) // somebody leads
		}
		r.calm()
		ended := time.Now()
		running[0].kill()
		running = running[1:]
		r.launch("failover", nothing)
		took = append(took, time.Since(ended))
	}
	r.seconds("", "until another acts, most", report.Quantile(took, 1))
}

// deletion measures how long it takes until applications whose drivers run are gone with all that they had, when all are
// deleted at once; and the same of as many bare pods, each with a ConfigMap and a Service that it owns. Bare pods come
// first: if they leave work behind, it makes the applications slower and not what they are compared with.
func (r *rig) deletion() {
	few := max(1, r.Deleted/20) // what is done for the first time does not count
	r.with(audit.OperatorAgent, func(*program) {
		r.stand(load.Class{Name: "uncounted", Count: few, Alone: true})
		r.stand(load.Class{Name: "deleted", Count: r.Deleted, Alone: true})
		driver := must(r.core.CoreV1().Pods("deleted").Get(r.ctx, "deleted-0-driver", metav1.GetOptions{})).Spec
		r.bare(driver, "bare-uncounted", few)
		r.bare(driver, "bare", r.Deleted)
		r.remove(pods, "bare-uncounted", few)
		r.calm()
		r.seconds("bare pods", "until all are gone", r.remove(pods, "bare", r.Deleted))
		r.remove(applications, "uncounted", few)
		r.calm()
		r.seconds("applications", "until all are gone", r.remove(applications, "deleted", r.Deleted))
	})
}

// remove deletes the objects NAME-0 and so on of the namespace NAME and waits until it is empty.
func (r *rig) remove(of schema.GroupVersionResource, name string, n int) time.Duration {
	began := time.Now()
	r.each(n, func(ctx context.Context, i int) error {
		return r.load.Resource(of).Namespace(name).Delete(ctx, fmt.Sprintf("%s-%d", name, i), metav1.DeleteOptions{})
	})
	r.empty(name)
	return time.Since(began)
}

// bare creates pods like a driver without an application, each with a ConfigMap and a Service, and waits until they run.
func (r *rig) bare(spec corev1.PodSpec, namespace string, n int) {
	r.namespaces(namespace)
	token := false
	spec.NodeName, spec.Priority, spec.PreemptionPolicy, spec.Tolerations = "", nil, nil, nil
	spec.AutomountServiceAccountToken = &token // its volume is in the spec
	core, create, want := r.core.CoreV1(), metav1.CreateOptions{}, r.nodes.Started()+n
	r.each(n, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("%s-%d", namespace, i)
		labels := map[string]string{"bare": name}
		made, err := core.Pods(namespace).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: *spec.DeepCopy()}, create)
		if err != nil {
			return err
		}
		owned := metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: made.UID}}}
		if _, err := core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: owned, Data: map[string]string{"name": name}}, create); err != nil {
			return err
		}
		_, err = core.Services(namespace).Create(ctx, &corev1.Service{ObjectMeta: owned, Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: labels, Ports: []corev1.ServicePort{{Name: "driver-rpc-port", Port: 7078}},
		}}, create)
		return err
	})
	r.started(want)
}

// fairness measures how long a single application waits for its driver pod while another namespace's applications, which
// were all created before, queue; against how long alone. It also measures how long it takes until 1,200 of those have
// driver pods, as another operator's users have published that.
func (r *rig) fairness() {
	r.with(audit.OperatorAgent, func(*program) {
		singles := func() (took []time.Duration) {
			for range 5 {
				took = append(took, r.launch("single", nothing))
			}
			return took
		}
		waiting := func() int {
			return r.Crowd - len(must(r.meta.Resource(pods).Namespace("crowd").List(r.ctx, metav1.ListOptions{})).Items)
		}
		r.calm()
		alone := singles()
		r.namespaces("crowd")
		began := time.Now()
		r.send(one(load.Class{Name: "crowd", Count: r.Crowd, Run: forever, Alone: true}))
		before := waiting()
		beside := singles()
		if after := waiting(); r.AtOnce == 1 && (before < r.Crowd*8/10 || after == 0) {
			check(fmt.Errorf("%d of %d applications waited before, %d after: too few to say anything", before, r.Crowd, after))
		}
		r.until("the driver pods of the crowd", func() bool {
			check(pause(r.ctx, time.Second)) // to read the list again costs what is measured
			return waiting() <= max(0, r.Crowd-1200)
		})
		r.seconds("beside", "until 1,200 of the crowd have driver pods", time.Since(began))
		r.seconds("alone", "creation to driver pod, p50", report.Quantile(alone, 0.5))
		r.seconds("beside", "creation to driver pod, most", report.Quantile(beside, 1))
		r.seconds("", "delay by the other namespace", max(0, report.Quantile(beside, 1)-report.Quantile(alone, 0.5)))
	})
}

// hostile measures whether a namespace full of unrelated pods and large ConfigMaps costs the operator memory: operators
// that start and carry a probe, without that namespace and with it (the median counts, as garbage collection is chance),
// and one that is there while the namespace is filled.
func (r *rig) hostile() {
	starts := func(in string) {
		var peaks []int64
		for range r.HostileStarts {
			r.with(audit.OperatorAgent, func(p *program) {
				probe := r.probe(r.HostileProbe)
				r.carry(p, probe)
				peaks = append(peaks, p.usage().peak)
				r.clear(probe.Namespaces()...)
			})
		}
		slices.Sort(peaks)
		r.megabytes(in, "resident, peak", peaks[len(peaks)/2])
	}
	rest := func(p *program, in string) {
		u := r.rest(p)
		r.megabytes(in, "resident, at rest", u.resident)
		r.megabytes(in, "resident, peak of one that stays", u.peak)
	}
	starts("without")
	r.with(audit.OperatorAgent, func(p *program) {
		rest(p, "without")
		r.fill()
		rest(p, "with")
	})
	starts("with")
}

// fill creates pods that no scheduler takes, and ConfigMaps a little smaller than the API server's limit.
func (r *rig) fill() {
	const namespace = "hostile"
	r.namespaces(namespace)
	padding := corev1.EnvVar{Name: "PADDING", Value: strings.Repeat("x", 1000)}
	r.each(r.HostilePods, func(ctx context.Context, i int) error {
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

// schedules measures schedules that are all due at one minute: how late the application of each is there, as a watch
// sees it, and that none is lost or doubled.
func (r *rig) schedules() {
	const namespace, of = "schedules", "sparkoperator.k8s.io/scheduled-app-name"
	r.with(audit.OperatorAgent, func(*program) {
		r.namespaces(namespace)
		due := time.Now().UTC().Add(r.ScheduleRoom).Truncate(time.Minute).Add(time.Minute)
		minute := fmt.Sprintf("%d %d %d %d *", due.Minute(), due.Hour(), due.Day(), due.Month())
		template := application("template", namespace).Object["spec"]
		r.each(r.Schedules, func(ctx context.Context, i int) error {
			_, err := r.dyn.Resource(scheduled).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": scheduled.GroupVersion().String(), "kind": "ScheduledSparkApplication",
				"metadata": map[string]any{"name": fmt.Sprintf("schedule-%d", i), "namespace": namespace},
				"spec":     map[string]any{"schedule": minute, "timeZone": "Etc/UTC", "template": template},
			}}, metav1.CreateOptions{})
			return err
		})
		if room := time.Until(due); room < time.Second {
			check(fmt.Errorf("the schedules were created only %s before they are due", room))
		}
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		last := time.AfterFunc(time.Until(due)+time.Minute, cancel) // a minute without any is the end
		events := must(r.meta.Resource(applications).Namespace(namespace).Watch(ctx, metav1.ListOptions{LabelSelector: of}))
		late, runs := []time.Duration{}, map[string]int{}
		for e := range events.ResultChan() {
			if run, ok := e.Object.(*metav1.PartialObjectMetadata); ok && e.Type == watch.Added {
				late = append(late, time.Since(due))
				runs[run.Labels[of]]++
				last.Reset(time.Minute)
			}
			if len(runs) == r.Schedules {
				last.Reset(r.Quiet) // until then none may come a second time
			}
		}
		r.seconds("", "due to application, most", report.Quantile(late, 1))
		r.add("", "runs lost", float64(r.Schedules-len(runs)), "")
		r.add("", "runs doubled", float64(len(late)-len(runs)), "")
	})
}

// sizes measures what is installed: the operator's binary and its image.
func (r *rig) sizes() {
	dir := must(os.MkdirTemp("", "spark-bench-image-"))
	defer func() { _ = os.RemoveAll(dir) }()
	image := filepath.Join(dir, "operator.tar")
	cmd := exec.CommandContext(r.ctx, r.Local, "image", "operator", "--tag", "docker.io/bench/bench:bench", "--output", image)
	cmd.Dir = r.Root
	text, err := cmd.CombinedOutput()
	if err != nil {
		check(fmt.Errorf("image: %w\n%s", err, text))
	}
	r.megabytes("", "operator binary", must(os.Stat(r.Operator)).Size())
	r.megabytes("", "operator image", must(os.Stat(image)).Size())
}

// parts are the packages whose benchmarks are run.
var parts = []string{"./lifecycle/application", "./spark/submit", "./spark/overlay", "./dialect/sparkoperator/application", "./dialect/apache/application"}

// micro runs the benchmarks of the pure parts of a decision, apart from any API server.
func (r *rig) micro() {
	const pattern = "^Benchmark(Step|Build|Apply|Decode|Encode|Decide|Render)$"
	cmd := exec.CommandContext(r.ctx, "go", append([]string{"test", "-run", "^$", "-bench", pattern, "-benchmem", "-benchtime", r.BenchTime}, parts...)...)
	cmd.Dir = r.Root
	printed, err := cmd.CombinedOutput()
	if err != nil {
		check(fmt.Errorf("%w\n%s", err, printed))
	}
	for name, values := range benchmarks(string(printed)) {
		r.add("time", name, values[0], "ns")
		r.add("memory", name, values[1], "B")
		r.add("allocations", name, values[2], "")
	}
}

// benchmarkLine is a package, or a benchmark's name without the number of processors, and its columns.
var benchmarkLine = regexp.MustCompile(`(?m)^pkg: .*/spark-operator/([^/\s]+/[^/\s]+)|^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(\S+) ns/op\s+(\d+) B/op\s+(\d+) allocs/op`)

// benchmarks reads what go test prints: time, memory and allocations by the package's first two folders, the benchmark
// and its case.
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
