// Package e2e runs real Spark applications with the operator. Helm installs the operator on an embedded Kubernetes with
// a node.
package e2e

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// root is the root of the repository, relative to this package.
const root = "../.."

// TestOperator installs the operator on a cluster, runs many applications at the same time, and uninstalls the
// operator. It is a single test, because starting a cluster and loading the images takes longer than most applications.
func TestOperator(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster with a node, which takes a minute")
	}

	kubeconfig := kit.ExistingCluster(os.Getenv)
	if kubeconfig == "" && (runtime.GOOS != "linux" || os.Getuid() != 0) {
		t.Skip("a node needs Linux and root: run as root, or set TEST_KUBECONFIG to another cluster (CONTRIBUTING.md)")
	}

	values := []string{"controller.submission.runners=true", "prometheus.dashboard.create=true"}
	if *wholeLife {
		values = append(values, "controller.kueue.enable=true")
	}

	c := cluster.ForTest(t, cluster.Options{Root: root, Spark: true, Kubeconfig: kubeconfig, Values: values})

	suite := &suite{Cluster: c}
	t.Run("together", suite.runGroups)
	t.Run("rules", suite.rules)
	t.Run("web UIs", suite.ui)

	if *wholeLife {
		t.Run("upgrades", suite.upgrades)
		t.Run("History Server", suite.historyServer)
		t.Run("History Server on S3", suite.historyOnS3)
		t.Run("History Server on Google Cloud Storage", suite.historyOnGCS)
	}

	t.Run("kept logs", suite.keptLogs)
	t.Run("uninstall", suite.uninstall)

	if *wholeLife {
		t.Run("rights", suite.rights)
		t.Run("one API group only", suite.oneAPIAlone)
		t.Run("pages that install", suite.followInstalls)
	}
}

// runGroups runs the groups of tests that do not disturb each other. Without the slow scenarios, the groups run at the
// same time, because the last test of a group mostly waits. One of the slow scenarios makes the node unusable for all
// other tests, so with these scenarios the groups run one after another.
func (w *suite) runGroups(t *testing.T) {
	run := w.parallel
	if *wholeLife {
		run = func(t *testing.T, name string, group func(*testing.T)) { t.Run(name, group) }
	}

	t.Run("operator restart", w.survivesRestart)
	run(t, "lines", w.lines) // takes longest
	run(t, "applications", w.applications)
	run(t, "life", w.life)
	run(t, "servers and schedules", w.serversAndSchedules)
	run(t, "spark.apache.org", w.apache)
	run(t, "monitoring", w.monitoring)
	run(t, "staging", w.staging)
	run(t, "pages", w.pages)

	if *wholeLife {
		t.Run("commands of pages", w.followPages)
	}

	run(t, "terminal", w.terminal)
}

// applications tests runs that succeed, fail, are retried or are deleted.
func (w *suite) applications(t *testing.T) {
	w.parallel(t, "examples", w.examples)
	w.parallel(t, "invalid specs are rejected", w.rejectedSpecs)
	w.parallel(t, "causes are reported", w.brokenApplications)
	w.parallel(t, "failed run is retried", w.retries)
	w.parallel(t, "deleted while running", w.deletedWhileRunning)
	w.parallel(t, "spark-submit in a pod", w.bySparkSubmit)
}

// serversAndSchedules tests Spark Connect servers and ScheduledSparkApplications.
func (w *suite) serversAndSchedules(t *testing.T) {
	t.Run("parallel", func(t *testing.T) {
		w.connect(t)
		w.schedules(t)
	})

	if *wholeLife {
		t.Run("slow", func(t *testing.T) {
			w.connectLong(t)
			w.schedulesLong(t)
		})
	}
}

// uninstall checks that, after the release is uninstalled, only the custom resource definitions and the applications
// still exist.
func (w *suite) uninstall(t *testing.T) {
	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Name, a.Spec.Suspend = "kept", new(true)
	})
	w.create(t, app)
	w.await(t, app, time.Minute, "SUSPENDED", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateSuspended
	})

	ctx := t.Context()
	if err := w.Helm(ctx, "uninstall", cluster.Release, "--namespace", cluster.Namespace, "--wait"); err != nil {
		t.Fatal(err)
	}

	ours := client.MatchingLabels{"app.kubernetes.io/instance": cluster.Release}
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{},
		&corev1.SecretList{},
		&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
		&admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfigurationList{},
		&admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{},
		&admissionv1.MutatingAdmissionPolicyList{}, &admissionv1.MutatingAdmissionPolicyBindingList{},
	} {
		eventually(t, time.Minute, "deletion of all objects of the release", func() (string, bool) {
			// An API server before Kubernetes 1.36 serves no policies.
			if err := w.Client.List(ctx, list, ours); err != nil && !meta.IsNoMatchError(err) {
				t.Fatal(err)
			}

			left := objectNames(list)
			return strings.Join(left, ", "), len(left) == 0
		})
	}

	var crds apiextensions.CustomResourceDefinitionList
	if err := w.Client.List(ctx, &crds, ours); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"sparkapplications.sparkoperator.k8s.io",
		"scheduledsparkapplications.sparkoperator.k8s.io"} {
		if !slices.Contains(objectNames(&crds), "/"+want) {
			t.Errorf("the definition %s is gone; there are %v", want, objectNames(&crds))
		}
	}

	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
		t.Errorf("the application is gone with its operator: %v", err)
	}
	// An application can still be deleted without the operator, because it has no finalizer.
	if err := w.Client.Delete(ctx, app); err != nil {
		t.Fatal(err)
	}

	eventually(t, 30*time.Second, "the application to be gone", func() (string, bool) {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(app), app)
		return "it still exists", apierrors.IsNotFound(err)
	})
	w.installAgain(t)
}

// installAgain checks that the release can be installed again while the custom resource definitions still exist. The
// new operator reads objects with list requests, as it does on all clusters before Kubernetes 1.34, whose API server
// cannot stream the initial state of a watch. It also reads ResourceQuotas, which the webhook compares with objects.
func (w *suite) installAgain(t *testing.T) {
	err := w.Install(t.Context(), "--set", "webhook.resourceQuotaEnforcement.enable=true", "--set",
		"controller.env[0].name=KUBE_FEATURE_WatchListClient", "--set-string", "controller.env[0].value=false")
	if err != nil {
		t.Fatal(err)
	}

	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Name, a.Spec.Suspend = "found-again", new(true)
	})
	w.create(t, app)
	w.await(t, app, time.Minute, "SUSPENDED", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateSuspended
	})
}
