package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/report"
)

// creators is the number of clients that create applications at the same time in the scenario creations.
const creators = 16

// reviewed and unreviewed are the cases of the scenario creations, by the letters of Size.CreationOrder.
const (
	reviewed   = "reviewed"
	unreviewed = "not reviewed"
	oneClient  = ", one client"
)

// creations measures what the validating webhook adds to the creation of an application. The applications are created,
// with and without the webhook in turn, by 16 clients that create as many as they can, and then by one client.
//
// The bench holds the lease of the operator, so that the operator never leads: it answers reviews, as each replica
// does, and does nothing else about the applications. A measurement therefore contains no work of their lives. Both
// cases include the operator's watch of the applications.
func (r *rig) creations() {
	r.holdLease()
	hook := r.serveReviews()
	p := r.start(audit.OperatorAgent)
	defer p.kill()

	var clients []dynamic.Interface
	for range creators {
		_, client := r.clients(audit.LoadAgent)
		clients = append(clients, client)
	}

	sum := map[string]*created{}
	for _, letter := range r.CreationOrder {
		in := map[rune]string{'w': reviewed, 'n': unreviewed}[letter]
		r.review(hook, in == reviewed)
		r.create(p, clients, max(1, r.Creations/10)) // opens connections

		for _, c := range []struct {
			by      string
			clients []dynamic.Interface
			n       int
		}{{"", clients, r.Creations}, {oneClient, clients[:1], max(1, r.Creations/4)}} {
			load, name := r.create(p, c.clients, c.n), in+c.by
			r.run.Note("creations: %s: %.2f ms of CPU a creation, %.0f a second, p50 %.2f ms",
				name, load.cpuEach(), load.rate(), report.Quantile(load.took, 0.5).Seconds()*1000)

			if sum[name] == nil {
				sum[name] = &created{}
			}

			sum[name].add(load)
		}
	}

	for in, load := range sum {
		r.noteCreated(in, *load)
	}

	for _, by := range []string{"", oneClient} {
		with, without := sum[reviewed+by], sum[unreviewed+by]
		r.add("review"+by, "CPU of the operator", with.cpuEach()-without.cpuEach(), "ms")
		r.add("review"+by, "CPU of the API server", with.serverEach()-without.serverEach(), "ms")
		r.add("review"+by, "latency, p50", (report.Quantile(with.took, 0.5)-report.Quantile(without.took, 0.5)).Seconds()*1000, "ms")
	}
}

// created holds the costs of creations.
type created struct {
	took        []time.Duration
	span        time.Duration
	cpu, server time.Duration // of the operator and of the API server
}

func (c *created) add(o created) {
	c.took, c.span, c.cpu, c.server = append(c.took, o.took...), c.span+o.span, c.cpu+o.cpu, c.server+o.server
}

func (c *created) cpuEach() float64    { return c.cpu.Seconds() * 1000 / float64(len(c.took)) }
func (c *created) rate() float64       { return float64(len(c.took)) / c.span.Seconds() }
func (c *created) serverEach() float64 { return c.server.Seconds() * 1000 / float64(len(c.took)) }

// create creates n applications by some clients, each of which creates one after the other, and deletes them.
func (r *rig) create(p *program, clients []dynamic.Interface, n int) (all created) {
	name := r.unusedName("created")
	r.namespaces(name)
	r.waitCalm()

	objects := singleClass(load.Class{Name: name, Count: n, Executors: 2}).Applications()
	all.took = make([]time.Duration, n)
	next := make(chan int)
	used, server, began := p.usage().cpu, r.components()["kube-apiserver"], time.Now()

	var group sync.WaitGroup

	errs := make([]error, len(clients))
	for c, client := range clients {
		group.Go(func() {
			for i := range next {
				began := time.Now()

				if _, err := client.Resource(applications).Namespace(name).Create(r.ctx, objects[i].Object, metav1.CreateOptions{}); err != nil {
					errs[c] = err
				}

				all.took[i] = time.Since(began)
			}
		})
	}

	for i := range n {
		next <- i
	}

	close(next)
	group.Wait()
	check(errs...)

	all.span, all.server = time.Since(began), r.components()["kube-apiserver"]-server
	r.waitQuiet(p, time.Second)
	all.cpu = p.usage().cpu - used

	r.deleteApplications(name)
	return all
}

func (r *rig) noteCreated(in string, c created) {
	r.add(in, "creations a second", c.rate(), "1/s")
	r.add(in, "CPU of the operator", c.cpuEach(), "ms")
	r.add(in, "CPU of the API server", c.serverEach(), "ms")
	r.add(in, "latency, p50", report.Quantile(c.took, 0.5).Seconds()*1000, "ms")
	r.add(in, "latency, p99", report.Quantile(c.took, 0.99).Seconds()*1000, "ms")
}

// holdLease creates the lease of the operator's leader, with a holder that never releases it.
func (r *rig) holdLease() {
	now := metav1.NowMicro()
	must(r.core.CoordinationV1().Leases("default").Create(r.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "spark-operator-controller-lock"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("the bench"), LeaseDurationSeconds: new(int32(forever.Seconds())), AcquireTime: &now, RenewTime: &now},
	}, metav1.CreateOptions{}))
}

// serveReviews adds the webhook to the settings of the next operator, and returns the configuration by which the API
// server calls it. The configuration is that of the chart, but with the address of a process instead of a Service.
func (r *rig) serveReviews() *admissionv1.ValidatingWebhookConfiguration {
	address, dir := freePorts(1)[0], filepath.Join(r.dir, "webhook")
	check(os.MkdirAll(dir, 0o700))

	chain, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	check(err, os.WriteFile(filepath.Join(dir, "tls.crt"), chain, 0o600), os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	r.settings = fmt.Sprintf("webhook: {bindAddress: %q, certDir: %q}\n", address, dir)

	var conditions []admissionv1.MatchCondition
	check(yaml.Unmarshal(must(os.ReadFile(filepath.Join(r.Root, "charts/spark-operator/files/webhook-condition.yaml"))), &conditions))
	conditions = append(conditions, admissionv1.MatchCondition{Name: "by-others", Expression: "request.userInfo.username != 'system:serviceaccount:spark-operator:controller'"})

	return &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "validate." + applications.Group, AdmissionReviewVersions: []string{"v1"}, MatchConditions: conditions, TimeoutSeconds: new(int32(10)),
		SideEffects: new(admissionv1.SideEffectClassNone), FailurePolicy: new(admissionv1.Fail),
		ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://" + address + "/validate-sparkoperator-k8s-io-v1beta2-sparkapplication"), CABundle: chain},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{applications.Group}, APIVersions: []string{applications.Version}, Resources: []string{applications.Resource}},
		}},
	}}}
}

// review makes the API server call the webhook, or not, and waits until it does so.
func (r *rig) review(hook *admissionv1.ValidatingWebhookConfiguration, on bool) {
	hooks := r.core.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	check(hooks.DeleteCollection(r.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))

	if on {
		must(hooks.Create(r.ctx, hook, metav1.CreateOptions{}))
	}

	wrong := application("wrong", "default")
	check(unstructured.SetNestedField(wrong.Object, map[string]any{"cores": int64(2), "coreLimit": "1"}, "spec", "executor"))
	r.waitFor("the webhook to be called or not", func() bool {
		_, err := r.dyn.Resource(applications).Namespace("default").Create(r.ctx, wrong.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return (err != nil) == on
	})
}
