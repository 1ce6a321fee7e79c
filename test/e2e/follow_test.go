package e2e

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/markdown"
)

// followed is a page whose commands run.
type followed struct {
	page string
	// skip are the blocks of commands that need what the cluster does not have.
	skip []int
	// program is what the commands need besides kubectl, Helm and sparkctl. A machine without it skips the page.
	program string
	// files are the reader's files, by name.
	files map[string]string
	// before are the reader's own commands before a block, which the page assumes.
	before map[int]string
	wants  []string // texts in what the commands print, in this order
}

// followedPages are the tutorials and how-to pages whose commands run, in this order. An application of one page stays
// for the next pages.
var followedPages = []followed{
	{page: "tutorials/first-application", wants: []string{"spark-pi created", "Pi is roughly 3.1", "COMPLETED", "docker.io/apache/spark:nothing", `"no-image" deleted`}},
	{page: "tutorials/first-schedule", wants: []string{"spark-pi-schedule created", "spark-pi-schedule-", "suspended", `"spark-pi-schedule" deleted`}},
	{page: "tutorials/spark-submit-to-yaml", wants: []string{"pi created"}},
	// The skipped block forwards a port until it is interrupted.
	{page: "tutorials/connect-notebook", skip: []int{1}, wants: []string{"spark-connect created", "condition met", `"spark-connect" deleted`}},
	{page: "how-to/airflow", wants: []string{"spark-pi created", "Pi is roughly 3.1"}},
	{page: "how-to/troubleshooting", wants: []string{"default/spark-pi is COMPLETED"}},
	{page: "how-to/disaster-recovery", program: "jq",
		before: map[int]string{
			0: "sed 's/name: spark-pi/name: must-run/' examples/spark-pi.yaml | kubectl apply -f -",
			1: "kubectl delete sparkapplications.sparkoperator.k8s.io must-run spark-pi pi",
		},
		wants: []string{`"must-run" deleted`, "must-run created"}},
	{page: "how-to/private-registries", wants: []string{"secret/registry created"}},
	{page: "how-to/object-stores", files: map[string]string{"user": "u", "secret": "s"}, wants: []string{"secret/store created"}},
	{page: "how-to/spark-configuration",
		files: map[string]string{"core-site.xml": "<configuration/>", "hdfs-site.xml": "<configuration/>"},
		wants: []string{"configmap/hadoop-client created", "spark.sql.shuffle.partitions=64"}},
	// The skipped blocks need charts of the internet and the definitions of the Prometheus operator.
	{page: "how-to/prometheus", skip: []int{0, 1, 2, 3}, wants: []string{"kind: ConfigMap", "kind: PrometheusRule"}},
	{page: "how-to/upgrading", wants: []string{"has been upgraded", "successfully rolled out"}},
}

// followPages runs the commands of pages one after another, exactly as they are there, and checks what they print. They
// use the names of the examples, so that they do not run beside other tests.
func (w *suite) followPages(t *testing.T) {
	d := w.newDesk(t)
	if err := os.Symlink(filepath.Join(w.Dir, "helm"), filepath.Join(d.bin, "helm")); err != nil {
		t.Fatal(err)
	}

	for _, f := range followedPages {
		t.Run(f.page, func(t *testing.T) {
			if _, err := exec.LookPath(cmp.Or(f.program, "bash")); err != nil {
				t.Skip(err)
			}

			printed := d.follow(t, f)
			for _, want := range f.wants {
				_, after, found := strings.Cut(printed, want)
				if !found {
					t.Errorf("the commands do not print %q in\n%s", want, printed)
				}

				printed = after
			}
		})
	}

	for _, left := range []string{"sparkapplication.sparkoperator.k8s.io/must-run", "secret/registry", "secret/store", "configmap/hadoop-client"} {
		if err := w.Kubectl(t.Context(), "delete", left, "--namespace", "default"); err != nil {
			t.Error(err)
		}
	}
}

// follow runs the commands of a page in a directory with the examples, the chart and the reader's files, and returns
// what they print. The first manifest of the page is the reader's file app.yaml.
func (d *desk) follow(t *testing.T, f followed) string {
	t.Helper()

	dir := t.TempDir()
	for _, name := range []string{"examples", "charts"} {
		target, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}

		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	file, files := filepath.Join(root, "docs", f.page+".md"), map[string]string{}
	if manifests := markdown.Blocks(t, file, "yaml"); len(manifests) > 0 {
		files["app.yaml"] = manifests[0].Text
	}

	maps.Copy(files, f.files)

	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	var printed strings.Builder
	for i, block := range markdown.Blocks(t, file, "sh") {
		if slices.Contains(f.skip, i) {
			continue
		}

		commands := f.before[i] + "\n" + block.Text
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)

		cmd.Dir, cmd.Env = dir, append(os.Environ(), d.env...)
		cmd.Env = append(cmd.Env, "HELM_CACHE_HOME="+d.Dir, "HELM_CONFIG_HOME="+d.Dir, "HELM_DATA_HOME="+d.Dir)

		out, err := cmd.CombinedOutput()
		printed.Write(out)

		if err != nil {
			t.Fatalf("%v in\n%s\n%s", err, commands, out)
		}
	}
	return printed.String()
}
