// Package pages has sample data for each page of the console, and serves the pages as the console does. Its objects
// went through the functions of package model, so that a page shows what the console would show.
package pages

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/view"
)

// Page is a page with sample data. Its path is that of the page in the console, or a made-up one for a second state.
type Page struct {
	Name, Path string
	Body       templ.Component
}

// All returns the pages with sample data at the given time.
func All(now time.Time) []Page {
	page := func(title, section string) model.Page {
		return model.Page{Title: title, Section: section, User: "ana@example.org", Cluster: "staging", CSRF: "token", Now: now, SignOut: true}
	}
	none := model.Page{Title: "Sign in", Now: now}

	failed, running, retrying := application(now, "failed"), application(now, "running"), application(now, "retrying")
	window := table.WindowOf(rows(now), table.Query{}, now)
	window.Fresh = table.Fresh{At: now.Add(-2 * time.Second), Live: true}

	filtered := table.WindowOf(rows(now), table.Query{Text: "no such application"}, now)
	filtered.Fresh = table.Fresh{At: now.Add(-90 * time.Second), Live: true, Stale: "the API server does not answer"}

	empty := table.WindowOf(nil, table.Query{}, now)
	empty.Notes = []string{"You may not list sparkclusters.spark.apache.org."}

	loading := empty
	loading.Loading, loading.Notes = true, nil

	denied := table.WindowOf(nil, table.Query{}, now)
	denied.Denied = true

	return []Page{
		{"all", "/", view.All(page("All", "all"), window)},
		{"all-filtered", "/?q=no+such+application", view.All(page("All", "all"), filtered)},
		{"all-empty", "/empty", view.All(page("All", "all"), empty)},
		{"all-loading", "/loading", view.All(page("All", "all"), loading)},
		{"all-denied", "/denied", view.All(page("All", "all"), denied)},
		{"application", running.Path(), view.Application(page(running.Name, "all"), running)},
		{"application-failed", failed.Path(), view.Application(page(failed.Name, "all"), failed)},
		{"application-retrying", retrying.Path(), view.Application(page(retrying.Name, "all"), retrying)},
		{"application-new", "/new", view.Application(page("new", "all"), application(now, "new"))},
		{"logs", running.Path() + "/logs", view.Logs(page(running.Name, "all"), running.Object, logs())},
		{"logs-empty", "/no-logs", view.Logs(page(running.Name, "all"), running.Object, model.Logs{Missing: "The driver pod is gone, and the operator keeps no logs."})},
		{"stages", running.Path() + "/stages", view.Stages(page(running.Name, "all"), running.Object, stages(now))},
		{"stages-empty", "/no-stages", view.Stages(page(running.Name, "all"), running.Object, model.Stages{Missing: "Spark's REST API does not answer through the API server."})},
		{"manifest", running.Path() + "/manifest", view.ManifestPage(page(running.Name, "all"), running.Object, spec())},
		{"usage", running.Path() + "/usage", view.UsagePage(page(running.Name, "all"), running.Object, running.Usage)},
		{"schedule", "/o/scheduledsparkapplications.sparkoperator.k8s.io/etl/nightly", view.Schedule(page("nightly", "all"), schedule(now))},
		{"schedule-compared", "/o/scheduledsparkapplications.sparkoperator.k8s.io/etl/nightly?compare=1&compare=2", view.Schedule(page("nightly", "all"), compared(schedule(now)))},
		{"connect", "/o/sparkconnects.sparkoperator.k8s.io/analytics/notebooks", view.Connect(page("notebooks", "all"), connect(now))},
		{"cluster", "/o/sparkclusters.spark.apache.org/analytics/shared", view.Cluster(page("shared", "all"), cluster(now))},
		{"namespaces", "/namespaces", view.Namespaces(page("Namespaces", "namespaces"), namespaces(now))},
		{"namespaces-empty", "/no-namespaces", view.Namespaces(page("Namespaces", "namespaces"), model.Namespaces{})},
		{"namespaces-loading", "/loading-namespaces", view.Namespaces(page("Namespaces", "namespaces"), model.Namespaces{Loading: true})},
		{"doctor", "/doctor?run=true", view.Doctor(page("Installation", "doctor"), doctor(now))},
		{"doctor-problem", "/no-doctor", view.Doctor(page("Installation", "doctor"), model.Doctor{Problem: "You may not read customresourcedefinitions."})},
		{"submit", "/submit", view.Submit(page("Submit", "submit"), model.Submit{Mode: "form", Namespace: "etl", Form: model.Form{Name: "my-app"}})},
		{"submit-manifest", "/submit?mode=manifest", view.Submit(page("Submit", "submit"), submission())},
		{"dialog", "/dialog", dialogPage(page("Delete", "all"))},
		{"sign-in", "/sign-in", view.SignIn(none, model.SignIn{})},
		{"sign-in-local", "/sign-in-local", view.SignIn(none, model.SignIn{Local: true, Problem: "The address was used before."})},
		{"problem", "/problem", view.ProblemPage(page("Not found", "all"), model.Problem{
			Status: 404, Title: "There is no such page, or you may not see it", Why: "The object does not exist, or your rights do not reach its namespace.", Do: "Check the name, or ask for the right to get it.",
		})},
	}
}

// Handler serves the pages with the present time, the assets, an event stream without events, and a check of a
// submission that does not end.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/assets/", view.Assets())
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the browser may have gone

		<-r.Context().Done()
	})
	mux.HandleFunc("/submit/check", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the browser has gone

		<-r.Context().Done()
	})
	mux.HandleFunc("/a/", func(w http.ResponseWriter, r *http.Request) {
		_ = view.Dialog(model.Page{CSRF: "token"}, dialog()).Render(r.Context(), w) // the browser may have gone
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", model.Policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")

		for _, page := range All(time.Now()) {
			if page.Path == r.URL.RequestURI() {
				_ = page.Body.Render(r.Context(), w) // the browser may have gone
				return
			}
		}

		http.NotFound(w, r)
	})
	return mux
}

func dialog() model.Dialog {
	return model.Dialog{
		Action: "delete", Title: "Delete", Object: "ScheduledSparkApplication etl/nightly", Post: "/a/delete/scheduledsparkapplications.sparkoperator.k8s.io/etl/nightly", Danger: true, Confirm: "nightly",
		Commands: []string{"sparkctl delete schedule/nightly -n etl", "kubectl delete scheduledsparkapplications.sparkoperator.k8s.io nightly -n etl"},
		Effect:   "Its runs are deleted too, also those that are active.",
	}
}

// dialogPage shows the dialog of an action without a click.
func dialogPage(p model.Page) templ.Component {
	return templ.Join(view.Layout(p), view.Dialog(p, dialog()))
}

func logs() model.Logs {
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, "26/11/29 12:00:%02d INFO TaskSetManager: Finished task %d.0 in stage 3.0 (TID %d) in 412 ms on 10.1.2.3 (executor 2) (%d/200)\n", i, i, 600+i, i)
	}

	driver := lines.String() + "26/11/29 12:01:00 WARN TaskSetManager: Lost task 61.0 in stage 3.0 (TID 661) (10.1.2.3 executor 2): FetchFailed <b>not bold</b>\n" +
		"26/11/29 12:01:01 ERROR Executor: Exception in task 61.0 in stage 3.0\njava.io.IOException: No space left on device\n"
	return model.Logs{Follow: true, Sources: []model.LogSource{
		{Name: "driver", Title: "driver", Selected: true, Text: driver}, {Name: "1", Title: "executor 1", Selected: true, Text: driver[:2000] + "\n"},
		{Name: "2", Title: "executor 2"}, {Name: "kept-1", Title: "driver, attempt 1", Kept: true},
	}}
}

func stages(now time.Time) model.Stages {
	return model.Stages{Fresh: table.Fresh{At: now}, Stages: []model.Stage{
		{ID: 4, Name: "count at orders.py:41", Status: "ACTIVE", Tasks: 200, Active: 16, Complete: 120, FailedTasks: 2, Duration: 84 * time.Second, InputBytes: 12 << 30, ShuffleRead: 3 << 30, ShuffleWrite: 900 << 20},
		{ID: 3, Name: "parquet at orders.py:30", Status: "COMPLETE", Tasks: 64, Complete: 64, Duration: 40 * time.Second, InputBytes: 30 << 30, SpilledBytes: 2 << 30},
		{ID: 2, Name: "parquet at orders.py:12", Status: "FAILED", Tasks: 8, Complete: 3, FailedTasks: 4, Problem: "Job aborted due to stage failure: Task 3 in stage 2.0 failed 4 times"},
	}, Chosen: &model.Tasks{
		Stage: 4, Path: "/ui/etl/orders-driver/stages/stage/?id=4&attempt=0", Median: 410 * time.Millisecond, Most: 900 * time.Millisecond, Longest: 14200 * time.Millisecond,
		Tasks: []model.Task{
			{Index: 61, Attempt: 1, Status: "RUNNING", Executor: "2", Locality: "PROCESS_LOCAL", Duration: 21300 * time.Millisecond},
			{Index: 12, Status: "SUCCESS", Executor: "1", Locality: "NODE_LOCAL", Duration: 14200 * time.Millisecond, Collected: 80 * time.Millisecond, InputBytes: 128 << 20, ShuffleRead: 48 << 20, ShuffleWrite: 9 << 20},
			{Index: 61, Status: "FAILED", Executor: "2", Locality: "PROCESS_LOCAL", Duration: 512 * time.Millisecond, SpilledBytes: 700 << 20, Problem: "java.io.IOException: No space left on device"},
		},
	}}
}

func spec() model.Spec {
	return model.Spec{
		Manifest:  "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata:\n  name: orders\n  namespace: etl\nspec:\n  type: Python\n  sparkVersion: 4.1.4\n",
		Effective: "spark.app.name=orders\nspark.eventLog.enabled=true\nspark.executor.instances=4\n",
		Properties: []model.Origin{
			{Name: "spark.app.name", Value: "orders", From: "the operator"}, {Name: "spark.eventLog.enabled", Value: "true", From: "defaults[0] (history)"},
			{Name: "spark.executor.instances", Value: "4", From: "spec.executor.instances"},
		},
		Origins:  []model.Origin{{Name: "sparkConf[spark.eventLog.enabled]", Value: "true", From: "defaults[0] (history)"}},
		Rendered: []model.Rendered{{Kind: "Pod", Name: "orders-driver", YAML: "apiVersion: v1\nkind: Pod\n"}},
		Attempts: []string{"1", "2", model.Now}, A: "1", B: "2",
		Changes: []model.Change{{Name: "spec.executor.memory", Before: "4g", After: "8g"}},
	}
}

func namespaces(now time.Time) model.Namespaces {
	list := model.NamespacesOf(rows(now))
	for i := range list {
		if list[i].Name == "etl" {
			list[i].CPU, list[i].Memory, list[i].Queue = model.Share{Used: 46000, Limit: 64000}, model.Share{Used: 180 << 30, Limit: 192 << 30}, "batch of etl: 4 admitted, 2 pending, cpu 46, memory 180Gi"
		}
	}
	return model.Namespaces{Namespaces: list, Fresh: table.Fresh{At: now}}
}

func doctor(now time.Time) model.Doctor {
	return model.Doctor{Fresh: table.Fresh{At: now}, Findings: []findings.Finding{
		{Level: findings.Error, Check: "rights", Text: "The service account etl/spark may not create pods.", Fix: "kubectl create rolebinding spark --clusterrole=spark --serviceaccount=etl:spark -n etl"},
		{Level: findings.Warning, Check: "quota", Text: "The quota of namespace etl has 4 CPUs left."},
		{Level: findings.OK, Check: "operator", Text: "One operator v1.4.0 serves all namespaces."},
		{Level: findings.Note, Check: "history server", Text: "No History Server is configured."},
	}}
}

func submission() model.Submit {
	return model.Submit{Mode: "manifest", Namespace: "etl", Text: spec().Manifest, Checks: model.Checks{
		Checked: true, Manifest: spec().Manifest, Command: "sparkctl create -n etl -f app.yaml",
		Findings: []preview.Finding{
			{Line: 7, Severity: preview.Error, Rule: "required", Field: "spec.mainApplicationFile", Message: "is missing; set the path of the program"},
			{Line: 9, Severity: preview.Warning, Rule: "memory", Field: "spec.executor.memory", Message: "has no effect, because spark.executor.memory in sparkConf takes precedence"},
		},
	}}
}

// results are the results of the sample rows.
var results = []kube.Result{kube.Running, kube.Running, kube.Succeeded, kube.Failed, kube.Pending, kube.Suspended}
