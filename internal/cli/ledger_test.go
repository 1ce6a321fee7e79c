package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	runrecord "github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

// firstNight is when the first run of the tests' schedule was launched.
var firstNight = time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)

// streams returns streams without a terminal.
func streams() terminal.Streams { return terminal.Streams{In: strings.NewReader("")} }

// used returns a usage with round numbers of hours.
func used(hours int64, oneOff ...func(*statusv1.OperatorUsage)) *statusv1.OperatorUsage {
	u := &statusv1.OperatorUsage{
		Attempt: 1, Time: &metav1.Time{Time: firstNight}, PeakExecutors: 4,
		Driver:    statusv1.UsageOfPods{UsageSums: statusv1.UsageSums{CPUMillicoreSeconds: 3600_000 * hours, MemoryMiBSeconds: 2 * 3600 * 1024 * hours, CostNanos: 50_000_000 * hours}, Largest: statusv1.UsageRate{CPUMillicores: 1000, MemoryMiB: 2048}},
		Executors: statusv1.UsageOfPods{UsageSums: statusv1.UsageSums{CPUMillicoreSeconds: 4 * 3600_000 * hours, MemoryMiBSeconds: 8 * 3600 * 1024 * hours, CostNanos: 200_000_000 * hours}, Largest: statusv1.UsageRate{CPUMillicores: 1000, MemoryMiB: 2048}},
	}
	for _, change := range oneOff {
		change(u)
	}
	return u
}

// ledgerOf creates runs of the schedule nightly, and an application that still runs. The runs 1 to 5 exist only as
// records. It returns the arguments that select the cluster.
func ledgerOf(t *testing.T) (w *scene.World, kubeconfig string, records []*runrecord.Record) {
	t.Helper()
	w = scene.New(t)
	_, kubeconfig = counted(t, w.Namespace)

	var schedule v1beta2.ScheduledSparkApplication
	w.Schedule("nightly", "0 2 * * *", func(s *v1beta2.ScheduledSparkApplication) {
		s.Spec.Suspend, s.Spec.Template.Executor.Memory = new(true), new("1536m")
	}).DeepCopyInto(&schedule)

	for i := range 7 {
		launched := firstNight.Add(time.Duration(i) * 24 * time.Hour)
		ended := launched.Add(time.Duration(10+i) * time.Minute)
		app := w.Application(fmt.Sprintf("nightly-%d", i+1), scene.WithDriver, func(app *v1beta2.SparkApplication) {
			app.Labels = map[string]string{v1beta2.ScheduledAppNameLabel: "nightly", "team": "data"}
		})

		o := &statusv1.OperatorStatus{
			Phase: "Done", Attempt: 1, Outcome: "Succeeded", SubmittedAt: &metav1.MicroTime{Time: launched}, EndedAt: &metav1.MicroTime{Time: ended}, Usage: used(int64(i + 1)),
		}
		if i == 5 {
			o.Outcome, o.Cause, o.ExecutorFailure = "Failed", &statusv1.OperatorCause{Reason: "DriverFailed", Message: "it failed"}, &statusv1.OperatorCause{Reason: "OOMKilled"}
		}

		app.Status.Operator, app.Status.AppState.State = o, v1beta2.ApplicationStateCompleted
		if err := w.API.Status().Update(t.Context(), app); err != nil {
			t.Fatal(err)
		}

		if i < 5 {
			r := runrecord.Of(app, ended)
			records = append(records, r)

			w.Remove(app)
		}
	}

	app := w.Application("stream", scene.WithDriver, func(app *v1beta2.SparkApplication) { app.Labels = map[string]string{"team": "web"} })

	app.Status.Operator = &statusv1.OperatorStatus{Phase: "Running", Attempt: 1, SubmittedAt: &metav1.MicroTime{Time: firstNight}, Usage: used(100, func(u *statusv1.OperatorUsage) { u.Pending.QueueSeconds = 90 })}
	if err := w.API.Status().Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	return w, kubeconfig, records
}

// TestLedgerOfStore checks the verbs usage, runs and advise with records in an object store. An unreadable record, a
// record of another schedule in the wrong place, and logs in the same store are left out.
func TestLedgerOfStore(t *testing.T) {
	t.Parallel()
	w, kubeconfig, records := ledgerOf(t)
	directory := t.TempDir()

	write := func(key string, text []byte) {
		t.Helper()

		name := filepath.Join(directory, key)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range records {
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}

		write(w.Namespace+"/"+store.Runs+"/nightly/"+r.Key(), text)

		if r == records[0] {
			write(w.Namespace+"/"+store.Runs+"/hourly/"+r.Key(), text)
		}
	}

	write(w.Namespace+"/"+store.Runs+"/nightly/20260309T000000Z-broken.json", []byte("{"))
	write(w.Namespace+"/nightly-1/uid/1/index.json", []byte("{}"))

	verb := func(name string, args ...string) result {
		t.Helper()

		got := runWith(t.Context(), streams(), append(args, "--kubeconfig", kubeconfig, "--store", "file://"+directory)...)
		if got.code != exit.OK {
			t.Errorf("%v: exit code %d: %s", args, got.code, got.err)
		}

		if name != "" {
			golden(t, "ledger/"+name, strings.ReplaceAll(got.out, w.Namespace, "NAMESPACE"))
		}
		return got
	}
	verb("usage.txt", "usage", "--by", "label=team")
	verb("usage.csv", "usage", "--by", "schedule", "-o", "csv")
	verb("usage.json", "usage", "-l", "team=data", "-o", "json")
	verb("usage-name.txt", "usage", "--by", "name", "--since", "90000d")
	verb("advise.txt", "advise", "nightly")

	runs := verb("runs.txt", "runs", "nightly", "--utc")
	for _, note := range []string{"nightly/20260309T000000Z-broken.json is left out"} {
		if !strings.Contains(runs.err, note) {
			t.Errorf("no note about %s: %s", note, runs.err)
		}
	}

	lines := strings.Split(verb("", "usage", "--since", "7d").out, "\n")
	if fields := strings.Fields(lines[1]); len(fields) < 2 || fields[1] != "1" {
		t.Errorf("of the last 7 days there is one run, that continues:\n%s", strings.Join(lines, "\n"))
	}

	var patch map[string]any
	if err := yaml.Unmarshal([]byte(verb("", "advise", "nightly").out), &patch); err != nil {
		t.Fatal(err)
	}

	text, _ := yaml.Marshal(patch)
	if err := w.API.Patch(t.Context(), &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "nightly"}},
		client.RawPatch("application/merge-patch+json", mustJSON(t, text)), client.DryRunAll, client.FieldValidation("Strict")); err != nil {
		t.Errorf("the patch is refused: %v", err)
	}
}

func mustJSON(t *testing.T, text []byte) []byte {
	t.Helper()

	out, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLedgerOfConfigMaps checks that records in a ConfigMap lead to the same table as those in a store.
func TestLedgerOfConfigMaps(t *testing.T) {
	t.Parallel()
	w, kubeconfig, records := ledgerOf(t)

	maps := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "records", Labels: map[string]string{runrecord.GroupLabel: "nightly"}}, Data: map[string]string{}}
	for _, r := range records {
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}

		maps.Data[r.Key()] = string(text)
	}

	w.Create(maps)

	got := runWith(t.Context(), streams(), "runs", "nightly", "--utc", "--kubeconfig", kubeconfig)

	want, err := os.ReadFile("testdata/ledger/runs.txt")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got.out); diff != "" || got.err != "" {
		t.Errorf("%s%s", got.err, diff)
	}
}

// TestLedgerOfStatus checks that without --store, the records are read from the store that the status of an application
// names. A status that names a server, or a store that cannot be read, causes a note.
func TestLedgerOfStatus(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an S3 server")
	}

	w, kubeconfig, records := ledgerOf(t)

	root := t.TempDir()
	for _, r := range records {
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}

		name := filepath.Join(root, "logs", "spark", r.StoreKey())
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}

	t.Setenv("AWS_ENDPOINT_URL", "http://"+stores.S3(t, root))
	t.Setenv("AWS_REGION", "us-east-1")

	place := func(name, url, query string) {
		t.Helper()

		app := w.Get(name)

		app.Status.Operator.Logs = &statusv1.OperatorLogs{Attempt: 1, Place: fmt.Sprintf("%s/%s/%s/%s/1%s", url, w.Namespace, name, app.UID, query)}
		if err := w.API.Status().Update(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	}
	runs := func() result {
		t.Helper()

		got := runWith(t.Context(), streams(), "runs", "nightly", "--utc", "--kubeconfig", kubeconfig)
		if got.code != exit.OK {
			t.Errorf("exit code %d: %s", got.code, got.err)
		}
		return got
	}

	place("nightly-6", "s3://logs/spark", "")

	want, err := os.ReadFile("testdata/ledger/runs.txt")
	if err != nil {
		t.Fatal(err)
	}

	if got := runs(); got.out != string(want) || got.err != "" {
		t.Errorf("%s%s", got.err, cmp.Diff(string(want), got.out))
	}

	place("stream", "s3://nobodys", "")
	place("nightly-7", "s3://logs/spark", "?endpoint=http://evil.example.com")

	got := runs()
	for _, note := range []string{"NoSuchBucket", "may have records in a store that is not read"} {
		if !strings.Contains(strings.Join(strings.Fields(got.err), " "), note) {
			t.Errorf("no note %q: %s", note, got.err)
		}
	}

	if got.out != string(want) {
		t.Error(cmp.Diff(string(want), got.out))
	}
}

// TestLedgerShowsUsage checks the usage on the screen of the verb status, and the order of the verb list by cost.
func TestLedgerShowsUsage(t *testing.T) {
	t.Parallel()
	_, kubeconfig, _ := ledgerOf(t)

	status := runWith(t.Context(), streams(), "status", "stream", "--kubeconfig", kubeconfig)
	if want := "used:      500.00 core-hours, 1000.00 GiB-hours, cost 25.00, at most 4 executors at once, waited 90s for a queue\n"; !strings.Contains(status.out, want) {
		t.Errorf("no line %q in\n%s", want, status.out)
	}

	list := strings.Split(runWith(t.Context(), streams(), "list", "--sort", "cost", "--kubeconfig", kubeconfig).out, "\n")
	if len(list) < 4 || !strings.Contains(list[0], "COST") || !strings.Contains(list[1], " stream ") || !strings.Contains(list[2], " nightly-7 ") {
		t.Errorf("the list by cost is\n%s", strings.Join(list, "\n"))
	}
}

// TestLedgerRefuses checks the messages about wrong arguments.
func TestLedgerRefuses(t *testing.T) {
	t.Parallel()
	_, kubeconfig := counted(t, scene.New(t).Namespace)

	for _, test := range []struct {
		args, want string
		code       exit.Code
	}{
		{"usage --by team", "label=KEY", exit.Usage},
		{"usage --since yesterday", "write 7d, 12h or 1d12h", exit.Usage},
		{"usage --since -3h", "write 7d, 12h or 1d12h", exit.Usage},
		{"usage -o xml", "csv, json", exit.Usage},
		{"usage --store bucket", "is not the URL of a store", exit.Usage},
		{"runs nightly", "set --store", exit.Cluster},
		{"runs", "name an object", exit.Usage},
	} {
		got := runWith(t.Context(), streams(), append(strings.Fields(test.args), "--kubeconfig", kubeconfig)...)
		if got.code != test.code || !strings.Contains(got.err, test.want) {
			t.Errorf("%s: exit code %d, %s; want %d and %q", test.args, got.code, got.err, test.code, test.want)
		}
	}
}
