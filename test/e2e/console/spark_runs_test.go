package console

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// program is a driver that logs what a hostile author would log, and then a line five times a second.
const program = `import sys, time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(1000).count()
print("\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x07", flush=True)
print("x" * 10_000_000, flush=True)
print('<img src=x onerror="window.attacked = true"><script>window.attacked = true</script>', flush=True)
n = 0
while True:
    n += 1
    print("tick", n, flush=True)
    time.sleep(0.2)
`

// read reads the custom resource in a file of examples/.
func read(t *testing.T, file string, into any) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, "examples", file))
	if err != nil {
		t.Fatal(err)
	}

	if err := kyaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// scripted returns a Python application whose program is in a ConfigMap, which it creates.
func (w *world) scripted(t *testing.T, name, program string) *v1beta2.SparkApplication {
	t.Helper()

	w.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name + "-program"}, Data: map[string]string{"main.py": program}})

	return w.example(t, "spark-pi-python.yaml", func(a *v1beta2.SparkApplication) {
		a.Name, a.Spec.MainApplicationFile, a.Spec.Arguments = name, "local:///opt/program/main.py", nil
		a.Spec.Volumes = []corev1.Volume{{Name: "program", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name + "-program"}}}}}
		a.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: "program", MountPath: "/opt/program"}}
	})
}

// page returns the address of the page of an object.
func (w *world) page(kind string, o client.Object) string {
	return w.address + "/o/" + kind + "/" + o.GetNamespace() + "/" + o.GetName()
}

const applications = "sparkapplications.sparkoperator.k8s.io"

func ticking(a *v1beta2.SparkApplication) bool {
	return a.Status.AppState.State == v1beta2.ApplicationStateRunning && a.Status.Executors != nil && a.Status.Executors.Running > 0
}

// runs submits a manifest, follows the application in its log, its Spark UI and its other tabs, and then suspends,
// resumes, restarts and deletes it.
func (w *world) runs(t *testing.T) {
	app := w.scripted(t, "ticking", program)

	text, err := kyaml.Marshal(map[string]any{"apiVersion": v1beta2.SchemeGroupVersion.String(), "kind": "SparkApplication", "metadata": map[string]any{"name": app.Name}, "spec": app.Spec})
	if err != nil {
		t.Fatal(err)
	}

	ann := w.as(t, team, "ann")
	ann.pastes(t, w.address, string(text))
	await(t, w, app, "the run", ticking)

	page := w.page(applications, app)
	ann.checked(t, page)
	ann.sees(t, "RUNNING", "Executors running/wanted", "1/1", "ticking-driver")
	ann.visit(t, page+"/logs")
	ann.eventually(t, "the first job has ended", patience, `document.body.textContent.includes("tick 1\n")`)

	t.Run("log", func(t *testing.T) { w.liveLog(t, ann, page) })
	t.Run("Spark UI", func(t *testing.T) { w.sparkUI(t, ann, page) })
	t.Run("tabs", func(t *testing.T) {
		ann.checked(t, page+"/stages")
		ann.sees(t, "COMPLETE")
		ann.checked(t, page+"/stages?stage=0.0")
		ann.sees(t, "Tasks of stage 0", "Durations of complete tasks", "SUCCESS")
		ann.checked(t, page+"/stages?stage=0.0&status=failed")
		ann.sees(t, "No task of the stage is failed")
		ann.checked(t, w.address+"/?q=name%3Dticking+attempts%3C2+duration%3E1s+memory%3E64Mi")
		ann.sees(t, "ticking")
		ann.checked(t, w.address+"/?q=duration%3E1d")
		ann.sees(t, "Nothing matches the filters")
		ann.checked(t, page+"/manifest")
		ann.sees(t, "local:///opt/program/main.py")
		ann.checked(t, page+"/usage")
		ann.checked(t, w.address+"/namespaces")
		ann.sees(t, team, "ticking")
		ann.checked(t, w.address+"/doctor?run=true")
		ann.checked(t, w.address+"/")
	})
	t.Run("life", func(t *testing.T) { w.lives(t, ann, page, app) })
}

// pastes submits a manifest. An error in it is found while the user types, and Submit waits until it is gone.
func (w *tab) pastes(t *testing.T, address, manifest string) {
	t.Helper()

	w.checked(t, address+"/submit?mode=manifest")
	w.types(t, "#f-namespace", team)
	w.types(t, "#text", strings.Replace(manifest, "mainApplicationFile:", "mainApplicationFyle:", 1))
	w.eventually(t, "the misspelled field is found", patience, `document.querySelector("#checks").innerText.includes("mainApplicationFyle") && document.querySelector("#checks button.primary").disabled`)
	w.accessible(t)

	w.types(t, "#text", manifest)
	w.eventually(t, "the manifest has no finding", patience, `document.querySelector("#checks").innerText.includes("No finding")`)
	w.submits(t, "sparkctl create")
}

// types replaces the text of a field, with the event that a keyboard causes.
func (w *tab) types(t *testing.T, field, text string) {
	t.Helper()
	w.run(t, chromedp.Evaluate(fmt.Sprintf(`(f => { f.value = %q; f.dispatchEvent(new Event("input", {bubbles: true})); })(document.querySelector(%q))`, text, field), nil))
}

// submits checks that the command is shown, and clicks Submit. The page of the application follows.
func (w *tab) submits(t *testing.T, command string) {
	t.Helper()

	if shown := value[string](t, w, `document.querySelector("#checks .copy code").textContent`); !strings.Contains(shown, command) {
		t.Errorf("the page shows the command %q, want %q", shown, command)
	}

	w.hits(t, "#checks button", "Submit")
	w.eventually(t, "the page of the application follows", patience, `location.pathname.startsWith("/o/")`)
}

// liveLog checks that new lines of a running driver appear, and that hostile lines are text.
func (w *world) liveLog(t *testing.T, ann *tab, page string) {
	ann.visit(t, page+"/logs")

	const last = `Number(([...document.querySelectorAll("pre.log .l")].map(l => l.textContent).filter(l => l.startsWith("tick ")).pop() || "tick 0").slice(5))`
	ann.eventually(t, "the log has lines", patience, last+" > 3")

	before := value[int](t, ann, last)
	ann.eventually(t, "further lines follow", patience, fmt.Sprintf("%s > %d", last, before))
	ann.accessible(t)

	log := value[string](t, ann, `document.querySelector("pre.log").textContent`)
	for _, want := range []string{`<img src=x onerror="window.attacked = true"><script>`, "more bytes)", `red \x1b]8;;http://evil.example\x07link\x07`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}

	if strings.Contains(log, "\x1b") || len(log) > 1<<20 || value[bool](t, ann, "window.attacked === true") {
		t.Errorf("the log of %d bytes has control characters, a whole line of 10 MB, or a script that ran", len(log))
	}

	ann.types(t, "#log-search", "onerror")
	ann.eventually(t, "the search hides other lines", patience, `[...document.querySelectorAll("pre.log .l")].filter(l => !l.hidden).length === 1`)

	for _, problem := range ann.seen() {
		t.Error(problem)
	}
}

// sparkUI opens the Spark UI of a running driver through the console, and follows its links.
func (w *world) sparkUI(t *testing.T, ann *tab, page string) {
	ann.visit(t, page)
	ann.run(t, chromedp.Evaluate(`[...document.querySelectorAll(".actions a")].find(a => a.innerText === "Spark UI").click()`, nil))
	ann.eventually(t, "the jobs are shown", patience, `location.pathname.endsWith("/jobs/") && document.body.innerText.includes("Spark Jobs")`)
	ann.eventually(t, "the styles have arrived", patience, `[...document.styleSheets].length > 2 && getComputedStyle(document.querySelector(".navbar")).display === "flex"`)

	prefix := strings.TrimSuffix(value[string](t, ann, "location.pathname"), "jobs/")

	for _, link := range []struct{ title, path, holds string }{
		{"Stages", "stages/", `document.body.innerText.includes("Completed Stages")`},
		{"Environment", "environment/", `document.body.innerText.includes("Spark Properties")`},
		// Scripts read the rows of the driver and of an executor from Spark's REST API, also through the console.
		{"Executors", "executors/", `(rows => rows.some(r => r.startsWith("driver")) && rows.some(r => r.startsWith("1")))([...document.querySelectorAll("#active-executors-table tbody tr")].map(r => r.innerText))`},
	} {
		ann.run(t, chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll("ul.navbar-nav a, .navbar a")].find(a => a.innerText.trim() === %q).click()`, link.title), nil))
		ann.eventually(t, "the page "+link.title, patience, fmt.Sprintf(`location.pathname === %q && %s`, prefix+link.path, link.holds))
	}

	ann.seen() // what Spark's own pages report
}

// lives suspends, resumes, restarts and deletes a running application. Each dialog shows the commands that do the same,
// and nothing happens before it is confirmed.
func (w *world) lives(t *testing.T, ann *tab, page string, app *v1beta2.SparkApplication) {
	generation := func() int64 {
		await(t, w, app, "the application", func(*v1beta2.SparkApplication) bool { return true })
		return app.Generation
	}

	before := generation()
	commands := ann.act(t, page, "Suspend", func() {
		ann.accessible(t)

		if generation() != before {
			t.Error("the application was changed before the confirmation")
		}
	})
	shows(t, commands, "sparkctl suspend", "kubectl patch "+applications+" ticking -n default", `"suspend":true`)
	await(t, w, app, "the suspension", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateSuspended && a.Status.Operator.Logs != nil && a.Status.Operator.Logs.KeptAt != nil
	})

	ann.checked(t, page+"/logs")
	ann.eventually(t, "the kept log is shown", patience, `document.body.innerText.includes("kept") && document.querySelector("pre.log").textContent.includes("tick 1\n")`)

	shows(t, ann.act(t, page, "Resume", nil), "sparkctl resume", `"suspend":false`)
	await(t, w, app, "the second run", ticking)

	first := app.Status.DriverInfo.PodName + app.Status.SubmissionID

	shows(t, ann.act(t, page, "Restart", nil), "sparkctl restart", "kubectl patch")
	await(t, w, app, "the third run", func(a *v1beta2.SparkApplication) bool {
		return ticking(a) && a.Status.DriverInfo.PodName+a.Status.SubmissionID != first
	})

	shows(t, ann.act(t, page, "Delete", nil), "sparkctl delete", "kubectl delete "+applications+" ticking -n default")

	w.gone(t, app)
	ann.visit(t, w.address+"/")
	ann.eventually(t, "the table has it no more", patience, `document.querySelector("[aria-busy]") === null && ![...document.querySelectorAll("td.name a")].some(a => a.innerText === "ticking")`)
}

// shows checks the commands of a dialog.
func shows(t *testing.T, commands string, wanted ...string) {
	t.Helper()

	for _, want := range wanted {
		if !strings.Contains(commands, want) {
			t.Errorf("the dialog lacks %q:\n%s", want, commands)
		}
	}
}
