package console

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// failing is a driver that fails with what a hostile author would write.
const failing = `raise RuntimeError('<img src=x onerror="window.attacked = true"><script>window.attacked = true</script> \x1b[31mred')`

// forms submits an application with the form, and follows it until it has completed.
func (w *world) forms(t *testing.T) {
	ann := w.as(t, team, "ann")
	ann.checked(t, w.address+"/submit")
	ann.types(t, "#f-namespace", team)

	for field, text := range map[string]string{
		"name": "from-form", "file": "local:///opt/spark/examples/src/main/python/pi.py", "arguments": "2", "account": cluster.ServiceAccount,
		"driverMemory": "512m", "executors": "1", "executorMemory": "512m", "conf": "spark.kubernetes.driver.request.cores=200m\nspark.kubernetes.executor.request.cores=200m",
	} {
		ann.types(t, "[name="+field+"]", text)
	}

	ann.eventually(t, "the missing image is found", patience, `document.querySelector("#checks").innerText.includes("image") && document.querySelector("#checks button.primary").disabled`)

	ann.types(t, "[name=image]", cluster.SparkImage)
	ann.eventually(t, "the form has no finding", patience, `document.querySelector("#checks").innerText.includes("No finding")`)
	ann.accessible(t)
	ann.submits(t, "sparkctl submit")

	// As with spark-submit, the name gets a random end.
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: value[string](t, ann, `location.pathname.split("/").pop()`)}}
	await(t, w, app, "the end of the run", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateCompleted
	})

	// Spark has deleted the executor, so only the status shows that there was one.
	ann.checked(t, w.page(applications, app))
	ann.sees(t, "COMPLETED")
	ann.eventually(t, "the plot has the executor", patience, `Number(document.querySelector(".plot .most")?.innerText) >= 1`)
}

// failure checks that what a hostile author lets an application fail with is text: in the table, on the page of the
// application, and in its log.
func (w *world) failure(t *testing.T) {
	app := w.scripted(t, "hostile", failing)
	w.create(t, app)
	await(t, w, app, "the failure", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateFailed
	})

	ann := w.as(t, team, "ann")
	page := w.page(applications, app)

	for _, address := range []string{w.address + "/?q=hostile", page, page + "/logs", w.address + "/namespaces"} {
		ann.checked(t, address)

		if address != w.address+"/namespaces" { // which has only the reason
			ann.eventually(t, "the message is text", patience, `document.querySelector("main").innerText.includes('<img src=x onerror="window.attacked = true"><script>')`)
		}

		if value[bool](t, ann, `window.attacked === true || document.body.textContent.includes("\x1b")`) {
			t.Errorf("%s ran the script of a message, or has a control character", address)
		}
	}
}

// scales changes the number of workers of a cluster. The commands in the dialog follow the number while it is typed,
// and the button works without a second click.
func (w *world) scales(t *testing.T) {
	target := &sparkv1.SparkCluster{}
	read(t, "apache-cluster.yaml", target)
	target.Namespace, target.Name, target.Spec.Suspend = team, "scaled", new(true)
	target.Spec.ClusterTolerations.InstanceConfig = sparkv1.WorkerInstanceConfig{InitWorkers: 1, MinWorkers: 1, MaxWorkers: 1}
	w.create(t, target)

	ann := w.as(t, team, "ann")
	commands := ann.act(t, w.page("sparkclusters.spark.apache.org", target), "Scale", func() {
		ann.keys(t, "#action-input", "3")
		ann.eventually(t, "the commands follow the number", patience, `(c => c.includes("--replicas 3") && c.includes('"initWorkers":3'))(document.querySelector("#dialog").innerText)`)
		ann.accessible(t)

		if got := value[string](t, ann, `document.querySelector("#action-input").value`); got != "3" {
			t.Errorf("the number is %q after the commands have followed it, want 3", got)
		}
	})
	shows(t, commands, "sparkctl scale", "kubectl patch sparkclusters.spark.apache.org scaled -n "+team)
	await(t, w, target, "the number of workers", func(c *sparkv1.SparkCluster) bool { return c.Spec.ClusterTolerations.InstanceConfig.InitWorkers == 3 })

	// The object of an open dialog disappears, and the dialog reports that instead of a command.
	ann.visit(t, w.page("sparkclusters.spark.apache.org", target))
	ann.hits(t, ".actions button", "Scale")
	ann.eventually(t, "the dialog opens", patience, `document.querySelector("#dialog[open] #action-input") !== null`)

	if err := w.Client.Delete(t.Context(), target); err != nil {
		t.Fatal(err)
	}

	w.gone(t, target)
	ann.keys(t, "#action-input", "4")
	ann.eventually(t, "the dialog reports the deletion", patience, `document.querySelector("#dialog [role=alert]") !== null && document.querySelector("#dialog [data-do]") === null`)
}

// keys replaces the text of a field with the keyboard.
func (w *tab) keys(t *testing.T, field, text string) {
	t.Helper()
	w.run(t, chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).select()`, field), nil), chromedp.SendKeys(field, text, chromedp.ByQuery))
}

// row returns a JavaScript expression: whether the table has an object with a name.
func row(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("td.name a")].some(a => a.innerText === %q)`, name)
}
