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

	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
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
	// manifests are the reader's files that are manifests of the page, by name: their index in it. The first manifest is
	// app.yaml, unless they name another one.
	manifests map[string]int
	// replace has pairs of a placeholder of the page and what a reader writes there.
	replace []string
	// inRepository says that the page's commands run in a clone of the repository.
	inRepository bool
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

// fastStart measures one pair of runs instead of five.
var fastStart = followed{page: "how-to/fast-start", inRepository: true, wants: []string{"pair 1, with settings: first task after", "executor registered"},
	replace: []string{" KUBECONFIG", " $KUBECONFIG", "APPLICATION.yaml", "../../examples/spark-pi.yaml", " IMAGE", " " + cluster.SparkImage + " -pairs 1",
		"KEY=VALUE", "spark.ui.enabled=false"}}

// installPages are the pages whose commands install the operator. A stand-in for another operator has left an
// application that runs.
var installPages = []followed{
	{page: "tutorials/from-kubeflow", replace: thisImage,
		before: map[int]string{
			0: gone + `
helm install spark-operator test/e2e/testdata/peers/kubeflow -n spark-operator --set 'spark.jobNamespaces={default},controller.workers=5'
test/e2e/testdata/peers/leave.sh test/e2e/testdata/peers/kubeflow.yaml sparkapplications.sparkoperator.k8s.io default theirs-driver`,
			1: takenOver("default"),
			2: `kubectl exec theirs-driver -- touch /tmp/enough
kubectl wait sparkapplications.sparkoperator.k8s.io/theirs --for=jsonpath='{.status.applicationState.state}'=COMPLETED --timeout=2m`,
		},
		wants: []string{`"spark-operator-controller" deleted`, "has been upgraded", "SparkApplicationTakenOver", "theirs condition met"}},
	{page: "tutorials/from-apache", replace: thisImage,
		before: map[int]string{
			0: gone + `
kubectl apply --server-side --force-conflicts -f charts/spark-operator/files/crds/spark.apache.org_sparkapplications.yaml
kubectl create namespace spark
kubectl create serviceaccount spark -n spark
kubectl create deployment spark-kubernetes-operator -n spark --replicas=0 --image=docker.io/apache/spark-kubernetes-operator:1.0.0
test/e2e/testdata/peers/leave.sh test/e2e/testdata/peers/apache.yaml sparkapplications.spark.apache.org spark theirs-0-driver`,
			1: takenOver("spark"),
			2: `kubectl exec theirs-0-driver -n spark -- touch /tmp/enough
kubectl wait sparkapplications.spark.apache.org/theirs -n spark --for=jsonpath='{.status.currentState.currentStateSummary}'=ResourceReleased --timeout=2m`,
		},
		wants: []string{"deployment.apps/spark-kubernetes-operator scaled", "STATUS: deployed", "SparkApplicationTakenOver", "theirs condition met", "apache-pi created", "apache-pi"}},
	// Nobody plays Kueue: its definitions are there, and its objects can be created.
	{page: "tutorials/two-teams", manifests: map[string]int{"namespaces.yaml": 0, "values.yaml": 1, "app.yaml": 2},
		replace: []string{"-f values.yaml", "-f values.yaml --set image.tag=e2e"},
		before: map[int]string{
			0: gone + "\nkubectl apply -f namespaces.yaml",
			1: `{ sed 's/serviceAccount: .*}/serviceAccount: other}/' app.yaml | kubectl apply -f - 2>&1 || true; } | grep 'the platform team'
kubectl apply --server-side -f test/kit/kueue/definitions.yaml`,
		},
		wants: []string{"namespace/team-a created", "STATUS: deployed", "the platform team", "localqueue.kueue.x-k8s.io/research created", "rolebinding.rbac.authorization.k8s.io/spark-users created"}},
}

// gone uninstalls the release of the earlier tests.
const gone = "helm uninstall spark-operator -n spark-operator --wait"

// takenOver returns commands that wait until the application of the other operator is followed.
func takenOver(namespace string) string {
	return strings.ReplaceAll(`kubectl rollout status deployment/spark-operator-controller -n spark-operator --timeout=3m
for i in {1..60}; do
  kubectl get events -n NAMESPACE --field-selector reason=SparkApplicationTakenOver | grep theirs && break
  sleep 1
done`, "NAMESPACE", namespace)
}

// thisImage replaces the image in the commands of pages.
var thisImage = []string{"=REGISTRY", "=docker.io", "=REPOSITORY", "=sparkoperator/spark-operator", "=TAG", "=e2e"}

// followInstalls runs the commands of the pages that install the operator. It comes last, because these pages leave
// another release than the other tests need.
func (w *suite) followInstalls(t *testing.T) { w.followAll(t, installPages) }

// followPages runs the commands of pages one after another, exactly as they are there, and checks what they print. They
// use the names of the examples, so that they do not run beside other tests.
func (w *suite) followPages(t *testing.T) {
	w.followAll(t, append(slices.Clone(followedPages), fastStart))

	for _, left := range []string{"sparkapplication.sparkoperator.k8s.io/must-run", "secret/registry", "secret/store", "configmap/hadoop-client"} {
		if err := w.Kubectl(t.Context(), "delete", left, "--namespace", "default"); err != nil {
			t.Error(err)
		}
	}
}

// followAll runs the commands of pages one after another, exactly as they are there but for placeholders.
func (w *suite) followAll(t *testing.T, pages []followed) {
	t.Helper()

	d := w.newDesk(t)
	if err := os.Symlink(w.HelmProgram(), filepath.Join(d.bin, "helm")); err != nil {
		t.Fatal(err)
	}

	for _, f := range pages {
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
}

// follow runs the commands of a page in a directory with the examples, the chart and the reader's files, and returns
// what they print.
func (d *desk) follow(t *testing.T, f followed) string {
	t.Helper()

	file := filepath.Join(root, "docs", f.page+".md")

	dir := root
	if !f.inRepository {
		dir = f.directory(t, file)
	}

	var printed strings.Builder
	for i, block := range markdown.Blocks(t, file, "sh") {
		if slices.Contains(f.skip, i) {
			continue
		}

		commands := f.before[i] + "\n" + strings.NewReplacer(f.replace...).Replace(block.Text)
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

// directory returns a new directory with the reader's files, the examples, the chart and the tests.
func (f *followed) directory(t *testing.T, file string) string {
	t.Helper()

	dir := t.TempDir()
	for _, name := range []string{"examples", "charts", "test"} {
		target, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}

		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	files := map[string]string{}
	if manifests := markdown.Blocks(t, file, "yaml"); len(manifests) > 0 {
		files["app.yaml"] = manifests[0].Text
		for name, i := range f.manifests {
			files[name] = manifests[i].Text
		}
	}

	maps.Copy(files, f.files)

	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
