package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// The kinds in the paths of pages.
const (
	schedules          = "scheduledsparkapplications.sparkoperator.k8s.io"
	connects           = "sparkconnects.sparkoperator.k8s.io"
	clusters           = "sparkclusters.spark.apache.org"
	apacheApplications = "sparkapplications.spark.apache.org"
)

// others are objects of the kinds that the other tests do not run. They start at the same time.
type others struct {
	nightly *v1beta2.ScheduledSparkApplication
	connect *v1alpha1.SparkConnect
	shared  *sparkv1.SparkCluster
	apache  *sparkv1.SparkApplication
}

// create creates the objects with few resources.
func (o *others) create(t *testing.T, w *world) {
	t.Helper()

	o.nightly, o.connect, o.shared, o.apache = &v1beta2.ScheduledSparkApplication{}, &v1alpha1.SparkConnect{}, &sparkv1.SparkCluster{}, &sparkv1.SparkApplication{}
	read(t, "spark-pi-schedule.yaml", o.nightly)
	read(t, "spark-connect.yaml", o.connect)
	read(t, "apache-cluster.yaml", o.shared)
	read(t, "apache-pi.yaml", o.apache)

	o.nightly.Name, o.nightly.Spec.Schedule, o.nightly.Spec.Template.Executor.Instances = "nightly", "0 3 1 1 *", new(int32(1))
	o.connect.Name, o.connect.Spec.Executor.Instances = "notebooks", new(int32(1))
	o.shared.Name, o.shared.Spec.ClusterTolerations.InstanceConfig = "shared", sparkv1.WorkerInstanceConfig{InitWorkers: 1, MinWorkers: 1, MaxWorkers: 1}
	o.shared.Spec.MasterSpec = &sparkv1.MasterSpec{MemberSpec: member("master", 7077)}
	o.shared.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: member("worker", 8081)}
	o.apache.Spec.SparkConf["spark.executor.instances"] = "1"

	w.create(t, o.nightly)
	w.create(t, o.connect)
	w.create(t, o.shared)
	w.create(t, o.apache)
}

// member describes the members of a cluster with few resources, and a probe without a long period.
func member(container string, port int) sparkv1.MemberSpec {
	return sparkv1.MemberSpec{StatefulSetSpec: &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"template": {"spec": {"containers": [{"name": %q,
		"resources": {"requests": {"cpu": "100m", "memory": "512Mi"}}, "readinessProbe": {"tcpSocket": {"port": %d}, "periodSeconds": 1}}]}}}`, container, port)}}
}

// kinds opens the pages of a schedule, a Connect server, a cluster and an application of spark.apache.org that run. It
// starts a run of the schedule, and submits a command line. A user who may only read sees the same without the actions,
// and the links of all pages lead somewhere.
func (w *world) kinds(t *testing.T) {
	o := &others{}
	o.create(t, w)

	ann := w.as(t, team, "ann")
	line := w.line(t, ann)

	t.Run("schedule", func(t *testing.T) { w.schedule(t, ann, o) })
	t.Run("application of spark.apache.org", func(t *testing.T) { w.apacheApplication(t, ann, o) })
	t.Run("Connect server", func(t *testing.T) { w.connectServer(t, ann, o) })
	t.Run("cluster", func(t *testing.T) { w.sharedCluster(t, ann, o) })
	t.Run("submitted line", func(t *testing.T) { w.completes(t, line) })
	t.Run("viewer", func(t *testing.T) { w.views(t, o) })
	t.Run("links", func(t *testing.T) { ann.walks(t, w.address) })

	for _, object := range []client.Object{o.nightly, o.connect, o.shared, o.apache} {
		if err := w.Client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// line submits a command line of spark-submit. A file of the user's machine is refused while the user types.
func (w *world) line(t *testing.T, ann *tab) *v1beta2.SparkApplication {
	t.Helper()

	const line = `spark-submit --master k8s://https://kubernetes.default:443 --deploy-mode cluster --name from-line --class org.apache.spark.examples.SparkPi \
  --driver-memory 512m --executor-memory 512m --num-executors 1 --conf spark.kubernetes.container.image=` + cluster.SparkImage + ` \
  --conf spark.kubernetes.authenticate.driver.serviceAccountName=` + cluster.ServiceAccount + ` \
  --conf spark.kubernetes.driver.request.cores=200m --conf spark.kubernetes.executor.request.cores=200m \
  local:///opt/spark/examples/jars/spark-examples.jar 2`

	ann.checked(t, w.address+"/submit?mode=line")
	ann.types(t, "#f-namespace", team)
	ann.types(t, "#text", strings.Replace(line, "local:///opt", "/home/ann", 1))
	ann.eventually(t, "the file of another machine is refused", patience, `document.querySelector("#checks").innerText.includes("is a file of your machine") && document.querySelector("#checks button.primary").disabled`)

	ann.types(t, "#text", line)
	ann.eventually(t, "the line becomes a manifest", patience, `document.querySelector("#checks").textContent.includes("mainClass: org.apache.spark.examples.SparkPi") && !document.querySelector("#checks button.primary").disabled`)
	ann.accessible(t)
	ann.submits(t, "sparkctl submit -n "+team)
	return &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: value[string](t, ann, `location.pathname.split("/").pop()`)}}
}

// completes waits until an application has completed.
func (w *world) completes(t *testing.T, app *v1beta2.SparkApplication) {
	t.Helper()
	await(t, w, app, "the end of the run", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateCompleted
	})
}

// schedule starts a run by hand. The run is on the page of the schedule, and leads back to it.
func (w *world) schedule(t *testing.T, ann *tab, o *others) {
	page := w.page(schedules, o.nightly)
	shows(t, ann.act(t, page, "Run now", func() { ann.accessible(t) }), "sparkctl trigger", "kubectl patch "+schedules+" nightly -n "+team, "sparkoperator.dev/run-now")
	await(t, w, o.nightly, "a run", func(s *v1beta2.ScheduledSparkApplication) bool { return s.Status.LastRunName != "" })

	run := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: o.nightly.Status.LastRunName}}
	w.completes(t, run)
	ann.eventually(t, "the page shows the end of the run by itself", patience, fmt.Sprintf(`[...document.querySelectorAll("#main tr")].some(r => r.innerText.includes(%q) && r.innerText.includes("succeeded"))`, run.Name))
	ann.shown(t, page, "0 3 1 1 *", "Run now", "Suspend", run.Name)

	ann.hits(t, "#main td a", run.Name)
	ann.eventually(t, "the page of the run", patience, fmt.Sprintf(`location.pathname.endsWith(%q) && document.querySelector("h1") !== null`, "/"+run.Name))
	ann.sees(t, "COMPLETED")
	ann.hits(t, "#main dd a", o.nightly.Name)
	ann.eventually(t, "the page of the schedule", patience, fmt.Sprintf(`location.pathname === %q`, strings.TrimPrefix(page, w.address)))
}

// apacheApplication opens the pages of an application of spark.apache.org that has ended.
func (w *world) apacheApplication(t *testing.T, ann *tab, o *others) {
	await(t, w, o.apache, "the end of the run", func(a *sparkv1.SparkApplication) bool {
		return a.Status.CurrentState != nil && a.Status.CurrentState.CurrentStateSummary == sparkv1.ApplicationResourceReleased
	})

	page := w.page(apacheApplications, o.apache)
	ann.shown(t, page, "apache-pi", "Restart", "Delete")

	for _, part := range []string{"logs", "stages", "manifest", "usage"} {
		ann.checked(t, page+"/"+part)
	}

	ann.checked(t, page+"/manifest")
	ann.run(t, chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil))
	ann.sees(t, "apiVersion: spark.apache.org/v1", "spec.sparkConf[spark.driver.memory]", "the operator")
	ann.accessible(t)
}

// connectServer opens the page of a Connect server that runs, and its Spark UI.
func (w *world) connectServer(t *testing.T, ann *tab, o *others) {
	await(t, w, o.connect, "the server", func(c *v1alpha1.SparkConnect) bool { return c.Status.State == v1alpha1.SparkConnectStateReady })
	page := w.page(connects, o.connect)
	ann.shown(t, page, "sc://notebooks-server.default:15002", "SparkSession.builder.remote", "No session is known", "Scale")
	ann.opensUI(t, page, `document.body.innerText.includes("Spark Jobs")`)
}

// sharedCluster opens the page of a cluster that runs, and the UI of its master.
func (w *world) sharedCluster(t *testing.T, ann *tab, o *others) {
	await(t, w, o.shared, "the cluster", func(c *sparkv1.SparkCluster) bool {
		return c.Status.CurrentState != nil && c.Status.CurrentState.CurrentStateSummary == sparkv1.ClusterRunningHealthy && c.Status.Workers != nil && c.Status.Workers.Ready == 1
	})

	page := w.page(clusters, o.shared)
	ann.shown(t, page, "Members", "Master", "Workers", "No application has connected to the cluster", "Scale")
	ann.opensUI(t, page, `document.body.innerText.includes("Spark Master at spark://")`)
}

// shown opens a page in each look, and checks it there with axe-core, for its width, for what the browser reports, and
// for texts.
func (w *tab) shown(t *testing.T, address string, texts ...string) {
	t.Helper()

	for _, l := range looks {
		w.looksAs(t, l)
		w.checked(t, address)
		w.fits(t, l)
		w.sees(t, texts...)
	}

	w.looksAs(t, looks[0])
}

// opensUI follows the link to the Spark UI on a page.
func (w *tab) opensUI(t *testing.T, page, holds string) {
	t.Helper()
	w.visit(t, page)
	w.hits(t, ".actions a", "Spark UI")
	w.eventually(t, "the Spark UI", patience, `location.pathname.startsWith("/spark/") && `+holds)
	w.seen() // what Spark's own pages report
}

// walked are the links of the pages that a user can reach.
type walked struct {
	Links int      `json:"links"`
	Wrong []string `json:"wrong"`
}

// walk follows the links and the buttons on all pages. It opens a page with a query, but follows none of its links:
// filters and orders have no end. The Spark UI is not a page of the console.
const walk = `(async () => {
	const from = new Map([["/", ""]]), wrong = [];
	const open = async path => {
		const address = new URL(path, location.href);
		const response = await fetch(path, {redirect: address.pathname.startsWith("/ui/") ? "manual" : "follow"});
		if (response.type === "opaqueredirect") return [];
		if (response.status >= 400) wrong.push(path + " answers " + response.status + ", linked by " + from.get(path));
		const page = new DOMParser().parseFromString(await response.text(), "text/html"), found = [];
		for (const element of page.querySelectorAll("a[href], [hx-get]")) {
			const link = element.getAttribute("href") ?? element.getAttribute("hx-get"), to = new URL(link, address);
			if (link.startsWith("#") && !page.getElementById(link.slice(1))) wrong.push(path + " has no place " + link);
			if (to.origin === location.origin && link !== "" && !link.startsWith("#")) found.push(to.pathname + to.search);
		}
		return address.search || address.pathname.startsWith("/a/") ? [] : found.map(to => [to, path]);
	};
	for (let next = [...from.keys()]; next.length > 0;) {
		const found = (await Promise.all(next.map(open))).flat();
		next = [];
		for (const [to, path] of found) if (!from.has(to)) { from.set(to, path); next.push(to); }
	}
	return {links: from.size, wrong};
})()`

// walks checks that no link and no button of the pages that a user can reach leads nowhere.
func (w *tab) walks(t *testing.T, address string) {
	t.Helper()
	w.visit(t, address+"/submit")

	got := value[walked](t, w, walk)
	for _, wrong := range got.Wrong {
		t.Error(wrong)
	}

	// The table, the namespaces, the installation, three ways to submit, and the tabs of seven objects.
	if t.Logf("%d links", got.Links); got.Links < 50 {
		t.Errorf("only %d links were found", got.Links)
	}
}
