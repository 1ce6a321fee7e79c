package e2e

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// browses opens the web UI of a running application in the browser of the desk, and closes the connection with Ctrl-C.
func (d *desk) browses(t *testing.T, app *v1beta2.SparkApplication) {
	s := d.open(t, wide)
	s.enter("sparkctl ui first-pi")
	s.until("the web UI of SparkApplication default/first-pi is at http://127.0.0.1:")
	var address string
	eventually(t, patience, "the browser", func() (string, bool) {
		text, err := os.ReadFile(d.browsed)
		address = strings.TrimSpace(string(text))
		return "it was not started", err == nil && address != ""
	})

	if text := fetch(t, address+"api/v1/applications", http.StatusOK); !strings.Contains(text,
		app.Status.SparkApplicationID) {
		t.Errorf("the browser was opened at %s, which answers %s", address, text)
	}

	s.interrupted("is at " + address + " (press Ctrl-C to disconnect)")
}

// measures shows what the pods of a running application use, with the metrics API of a real metrics-server. The node
// must run on this machine, because it runs a program of this machine.
func (d *desk) measures(t *testing.T, app *v1beta2.SparkApplication) {
	d.installMetrics(t)

	row := regexp.MustCompile(`(?m)^ *(\S+) +(driver|executor) +([0-9.]+m?) +100m +([0-9.]+(?:Mi|Gi)) +\S+`)
	s := d.open(t, wide)
	var used [][]string
	eventually(t, patience, "values for both pods", func() (string, bool) {
		text := d.plain(t, "top", app.Name)
		used = row.FindAllStringSubmatch(text, -1)
		return text, len(used) == 2
	})

	for _, pod := range used {
		if pod[3] == "0m" && pod[4] == "0Mi" {
			t.Errorf("the pod %s of a running application uses nothing", pod[1])
		}
	}

	s.run("sparkctl top first-pi", app.Status.DriverInfo.PodName, "stages: ").fits(wide).capture("top")
	d.open(t, narrow).run("sparkctl top first-pi", app.Status.DriverInfo.PodName, "stages: ").fits(narrow)
	s.run("sparkctl doctor", "the metrics API has the CPU and memory of pods")
}

// installMetrics installs a metrics-server until the end of the test.
func (d *desk) installMetrics(t *testing.T) {
	t.Helper()
	server := gobuild.Must(t, "tools/metrics", "sigs.k8s.io/metrics-server/cmd/metrics-server")

	text, err := os.ReadFile("testdata/metrics-server.yaml")
	if err != nil {
		t.Fatal(err)
	}

	manifest := filepath.Join(t.TempDir(), "metrics-server.yaml")
	if err := os.WriteFile(manifest,
		[]byte(strings.NewReplacer("PROGRAM", server, "IMAGE", cluster.SparkImage).Replace(string(text))),
		0o600); err != nil {
		t.Fatal(err)
	}

	if err := d.Kubectl(t.Context(), "apply", "--filename", manifest); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if t.Failed() {
			name, args := d.KubectlLine()[0],
				append(d.KubectlLine()[1:], "logs", "--namespace", "kube-system", "metrics-server")
			text, err := exec.Command(name, args...).CombinedOutput()
			t.Logf("metrics-server: %v\n%s", err, text)
		}

		if err := d.Kubectl(context.WithoutCancel(t.Context()), "delete", "--filename", manifest); err != nil {
			t.Error(err)
		}
	})
}

// stages submits an application with a large local file to a store that is a directory, and sees the progress of the
// upload. The application's driver never starts.
func (d *desk) stages(t *testing.T) {
	if err := os.WriteFile(filepath.Join(d.dir, "model.bin"), make([]byte, 64_000_000), 0o600); err != nil {
		t.Fatal(err)
	}

	s := d.open(t, wide)
	s.enter(`sparkctl submit --deploy-mode cluster --object-name staged-pi --stage $STORE \`)
	s.enter(`  --conf spark.kubernetes.driver.node.selector.example.dev/none=none --files model.bin pi.py`)
	s.ends(0)

	for _, has := range []string{"100% model.bin (64 MB)", "100% pi.py", "SparkApplication default/staged-pi created"} {
		if !strings.Contains(words(s.output), has) {
			t.Errorf("the screen lacks %q:\n%s", has, s.output)
		}
	}

	s.fits(wide).capture("stage")

	if n := len(d.stored(t)); n != 2 {
		t.Errorf("the store has %d files", n)
	}

	s.run("sparkctl delete staged-pi --yes --wait", "staged-pi deleted")

	if files := d.stored(t); len(files) > 0 {
		t.Errorf("the store still has %v", files)
	}
}

// stored returns the paths of the files in the desk's store.
func (d *desk) stored(t *testing.T) (files []string) {
	t.Helper()

	err := filepath.WalkDir(d.store, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// connects opens a Python shell on a Spark Connect server, and lets the server compute a sum.
func (d *desk) connects(t *testing.T) {
	server := d.connectServer(t, "terminal-connect", nil)
	d.create(t, server)
	d.awaitServer(t, server, "")
	s := d.open(t, wide)
	s.enter("sparkctl connect terminal-connect --shell")
	s.until(">>>")
	s.enter(`spark.range(1000).selectExpr("sum(id)").collect()`)
	s.until("499500")
	s.enter("exit()")
	s.ends(0)

	if _, err := exec.LookPath("pyspark"); err != nil { // that of this machine would print a banner
		s.capture("shell")
	}

	s = d.open(t, wide)
	s.enter("sparkctl connect terminal-connect")
	s.until("is reachable at this address")

	address := regexp.MustCompile(`sc://localhost:[0-9]+`).FindString(s.output)
	if text, err := exec.CommandContext(t.Context(), filepath.Join(root, "tools/connect-client.sh"), "-c",
		`from pyspark.sql import SparkSession; print(SparkSession.builder.remote("`+address+
			`").getOrCreate().range(10).count())`,
	).CombinedOutput(); err != nil || !strings.HasSuffix(strings.TrimSpace(string(text)), "10") {
		t.Errorf("a client at the address that the verb connect prints: %v\n%s", err, text)
	}

	s.interrupted("SparkConnect default/terminal-connect is reachable at this address until you press Ctrl-C")
	d.remove(t, server)
}

// changes uses the verbs that change an application, on the application that has ended.
func (d *desk) changes(t *testing.T, app *v1beta2.SparkApplication) {
	watch := d.open(t, narrow)
	watch.enter("sparkctl list --kind app --newer 1h --watch")
	watch.until("first-pi")

	s := d.open(t, wide)
	s.run("sparkctl restart first-pi --yes", "a restart is requested")
	s.run("sparkctl wait first-pi --for=running --timeout=5m", "RUNNING")
	s.run("sparkctl suspend first-pi --yes", "first-pi")
	d.await(t, app, patience, "SUSPENDED", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateSuspended
	})
	watch.until("SUSPENDED")
	watch.fits(narrow)
	s.run("sparkctl explain first-pi", "sparkctl resume app/first-pi")
	s.run("sparkctl resume first-pi", "first-pi")
	s.run("kubectl spark wait first-pi --for=running --timeout=5m", "RUNNING")
	d.awaitEvent(t, app, "a restart", func(e corev1.Event) bool { return strings.Contains(e.Reason, "Submitted") })
	s.run("kubectl spark delete first-pi --wait --yes", "first-pi deleted")

	if left := d.dependents(t, app); len(left) > 0 {
		t.Errorf("after delete --wait there are still %v", left)
	}
}
