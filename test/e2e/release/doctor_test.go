package release

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/strvals"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
)

// find returns the first finding with a level whose text contains a text.
func find(findings []finding, level, text string) (finding, bool) {
	at := slices.IndexFunc(findings, func(f finding) bool { return f.Level == level && strings.Contains(f.Text, text) })
	if at < 0 {
		return finding{}, false
	}
	return findings[at], true
}

// paste executes the command of a finding as a user would: kubectl as it is, and Helm's command with Helm's own code.
func (r *release) paste(fix string) {
	r.t.Helper()

	for part := range strings.SplitSeq(fix, " && ") {
		if words := strings.Fields(strings.ReplaceAll(part, "'", "")); words[0] == "helm" {
			r.helm(words[1:])
			continue
		}

		if _, err := exec.LookPath("kubectl"); err != nil {
			r.t.Skip("needs kubectl")
		}

		run := exec.CommandContext(r.t.Context(), "sh", "-c", part)

		run.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig())
		if out, err := run.CombinedOutput(); err != nil {
			r.t.Fatalf("%s: %v\n%s", part, err, out)
		}
	}
}

// helm executes helm upgrade NAME CHART -n NAMESPACE --reset-then-reuse-values [--set VALUE].
func (r *release) helm(words []string) {
	r.t.Helper()

	if !slices.Equal(words[:1], []string{"upgrade"}) || words[3] != "-n" || words[5] != "--reset-then-reuse-values" {
		r.t.Fatalf("the command of Helm is %q", words)
	}

	cfg, values := action.NewConfiguration(), map[string]any{}
	if err := cfg.Init(&getter{rest: kit.Rest(r.t), namespace: words[4]}, words[4], "secret"); err != nil {
		r.t.Fatal(err)
	}

	if len(words) == 8 && words[6] == "--set" {
		if err := strvals.ParseInto(words[7], values); err != nil {
			r.t.Fatal(err)
		}
	}

	upgrade := action.NewUpgrade(cfg)

	upgrade.Namespace, upgrade.WaitStrategy, upgrade.ResetThenReuseValues, upgrade.ForceConflicts = words[4],
		kube.HookOnlyStrategy, true, true
	if _, err := upgrade.Run(words[1], load(r.t, words[2]), values); err != nil {
		r.t.Fatalf("helm %q: %v", words, err)
	}
}

// mends waits until doctor has a finding, executes its fix, and checks that the finding is gone.
func (r *release) mends(sparkctl, level, text string, more ...string) {
	r.t.Helper()
	var f finding
	kit.Wait(r.t, text, func(context.Context) error {
		all := r.examine(sparkctl, more...)

		var found bool
		if f, found = find(all, level, text); !found {
			return fmt.Errorf("the findings are %+v", all)
		}
		return nil
	})
	r.paste(f.Fix)

	if again, still := find(r.examine(sparkctl, more...), level, text); still {
		r.t.Errorf("after %s the finding remains: %s", f.Fix, again.Text)
	}
}

// object returns a custom resource that is valid enough to be stored.
func object(namespace, version, kind, name string) *unstructured.Unstructured {
	spec := map[string]any{"type": "Scala", "sparkVersion": sparkVersion, "image": sparkImage, "mainClass": "a.B",
		"mainApplicationFile": "local:///a.jar", "driver": map[string]any{}, "executor": map[string]any{}}
	if kind == "ScheduledSparkApplication" {
		spec = map[string]any{"schedule": "@yearly", "template": spec}
	}

	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// alone are values without what another process would have to answer: webhooks, and the lease of the leader.
const alone = "webhook: {enable: false}\ncontroller: {leaderElection: {enable: false}}\n"

// TestDoctorOfTwoReleases checks that doctor has no warning about two releases for different namespaces and changes
// neither from a namespace that it does not serve; that it reports namespaces that both serve; and that it advises a
// change of a release only to those who examine all.
func TestDoctorOfTwoReleases(t *testing.T) {
	a, b := newRelease(t), newRelease(t)
	b.name = "spark-operator-b"

	sparkctl := a.sparkctl()
	for _, r := range []*release{a, b} {
		r.install(currentChart, alone)
		r.playKubelet()
	}

	findings := a.examine(sparkctl)
	for _, f := range findings {
		if f.Level != "ok" && f.Level != "note" || strings.Contains(f.Fix, b.namespace) {
			t.Errorf("%+v", f)
		}
	}

	if _, found := find(findings, "note",
		b.namespace+"/spark-operator-b-controller does not serve the namespace"); !found {
		t.Errorf("the other release is not mentioned: %+v", findings)
	}

	third := newRelease(t)
	if err := a.api.Create(t.Context(),
		object(third.namespace, "sparkoperator.k8s.io/v1beta2", "SparkApplication", "pi")); err != nil {
		t.Fatal(err)
	}

	f, _ := find(third.examine(sparkctl), "error", "no operator serves the namespace "+third.namespace)
	if !strings.HasPrefix(f.Fix, "kubectl get ") || !strings.Contains(f.Text, "serves "+a.namespace) {
		t.Errorf("in a namespace that nobody serves: %+v", f)
	}

	kit.Wait(t, "the explanation", func(ctx context.Context) error {
		text, err := exec.CommandContext(ctx, sparkctl, "explain", "pi", "--kubeconfig",
			third.kubeconfig()).CombinedOutput()
		if flat := strings.Join(strings.Fields(string(text)), " "); !strings.Contains(flat,
			"cause: SparkApplication "+third.namespace+"/pi has waited") ||
			!strings.Contains(flat, "no operator serves the namespace") {
			return fmt.Errorf("%s %w", text, err)
		}
		return nil
	})
	b.upgrade(alone + "spark: {jobNamespaces: [" + a.namespace + ", " + b.namespace + "]}")

	overlap := "both serve sparkoperator.k8s.io in the namespace " + a.namespace
	if f, found := find(a.examine(sparkctl), "warning", overlap); !found || strings.Contains(f.Fix, "helm") ||
		strings.Contains(f.Fix, "scale") {
		t.Errorf("the fix of an overlap is %q", f.Fix)
	}

	if _, found := find(b.examine(sparkctl), "warning", "both serve"); found {
		t.Error("an overlap is reported for a namespace without one")
	}

	a.mends(sparkctl, "warning", overlap, "-A")

	// Now only the older release can give way.
	a.upgrade(alone + "spark: {jobNamespaces: [" + a.namespace + ", " + b.namespace + "]}")
	a.mends(sparkctl, "warning", "both serve sparkoperator.k8s.io in the namespace "+b.namespace, "-A")
}

// TestDoctorOfABrokenInstallation breaks a release in one way after the other. Doctor must find it, and its fix must
// repair it.
func TestDoctorOfABrokenInstallation(t *testing.T) {
	r := newRelease(t)
	r.install(currentChart, alone)
	r.playKubelet()
	sparkctl := r.sparkctl()
	account := metav1.ObjectMeta{Namespace: r.namespace, Name: "spark-operator-controller"}
	edit := func(object client.Object, change func()) error {
		err := r.api.Get(t.Context(), client.ObjectKeyFromObject(object), object)

		change()
		return errors.Join(err, r.api.Update(t.Context(), object))
	}
	role, deployment := &rbacv1.Role{ObjectMeta: account}, &appsv1.Deployment{ObjectMeta: account}
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition"})
	definition.SetName("sparkclusters.spark.apache.org")

	for _, test := range []struct {
		name, level, text string
		spoil             func() error
	}{
		{"no application", "error", "default of drivers lacks rights", func() error {
			return r.api.Create(t.Context(),
				object(r.namespace, "sparkoperator.k8s.io/v1beta2", "SparkApplication", "pi"))
		}},
		{"an old definition", "warning", "which belongs to no release, is older", func() error {
			return edit(definition, func() {
				versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
				for _, version := range versions {
					unstructured.RemoveNestedField(version.(map[string]any), "schema", "openAPIV3Schema", "properties",
						"status", "properties", "operator", "properties", "restartRequest")
				}

				_ = unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions")
			})
		}},
		{"no RoleBinding", "error", "does not serve the namespace",
			func() error { return r.api.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: account}) }},
		{"an edited Role", "error", "it may not patch sparkapplications/status.sparkoperator.k8s.io", func() error {
			return edit(role, func() {
				role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
					return slices.Equal(rule.Resources, []string{"sparkapplications/status"}) &&
						rule.APIGroups[0] == "sparkoperator.k8s.io"
				})
			})
		}},
		{"no replicas", "error", "is scaled to 0 replicas",
			func() error { return edit(deployment, func() { deployment.Spec.Replicas = new(int32) }) }},
		{"a kind that is switched off", "error", "controller.scheduledApplications.enable is false", func() error {
			r.upgrade("webhook: {enable: false}\ncontroller: {leaderElection: {enable: false}, scheduledApplications: {enable: false}}")
			return r.api.Create(t.Context(),
				object(r.namespace, "sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication", "nightly"))
		}},
		{"another namespace", "error", "no operator serves the namespace", func() error {
			r.upgrade(alone + "spark: {jobNamespaces: [default]}")
			return nil
		}},
		{"a namespace without the labels", "error", "no operator serves the namespace", func() error {
			r.upgrade(alone + "spark: {jobNamespaces: [], jobNamespaceSelector: team=data}")
			return nil
		}},
	} {
		if err := test.spoil(); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}

		if test.name != "no replicas" {
			r.playKubelet()
		}

		r.mends(sparkctl, test.level, test.text)
	}

	r.upgrade("webhook: {enable: true}")
	r.playKubelet()

	if f, found := find(r.examine(sparkctl), "error",
		"no replica of "+r.namespace+"/spark-operator-controller leads"); !found || !strings.Contains(f.Fix, " logs ") {
		t.Errorf("the lease is missing, and the fix is %q", f.Fix)
	}
}

// TestDoctorOfAnUntrustedWebhook checks that doctor compares the certificate that the API server trusts with that of
// the replicas, and that the restart that it advises repairs the trust.
func TestDoctorOfAnUntrustedWebhook(t *testing.T) {
	r := newRelease(t)
	r.install(currentChart, "{}")
	_, stop := r.run()
	r.waitTrusted(5)
	r.playKubelet()
	stop()

	sparkctl := r.sparkctl()

	configuration, err := r.configuration(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	other := foreignCertificate(t)
	for i := range configuration.Webhooks {
		configuration.Webhooks[i].ClientConfig.CABundle = other
	}

	if err := r.api.Update(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}

	const text = "does not trust the certificate with which the operator serves ValidatingWebhookConfiguration"
	if f, found := find(r.examine(sparkctl), "warning", text); !found ||
		!strings.HasSuffix(f.Fix, " rollout restart deployment spark-operator-controller") {
		t.Errorf("the fix is %q", f.Fix)
	}

	_, stop = r.run() // no node restarts the pods
	defer stop()

	kit.Wait(t, "the trust", func(context.Context) error {
		if f, found := find(r.examine(sparkctl), "warning", text); found {
			return errors.New(f.Text)
		}
		return nil
	})
}

// TestOperatorRights checks the rights that doctor reviews: with each of them taken away, doctor names it, and no other
// right of the chart's Role is left out of the review.
func TestOperatorRights(t *testing.T) {
	r := newRelease(t)
	r.install(currentChart, alone+"logs: [{}]\n")
	r.playKubelet()
	sparkctl := r.sparkctl()

	role := &rbacv1.Role{}
	if err := r.api.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "spark-operator-controller"},
		role); err != nil {
		t.Fatal(err)
	}

	var want []string
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if !strings.HasSuffix(resource, "/finalizers") { // needed only with the plugin OwnerReferencesPermissionEnforcement
					want = append(want, verb+" "+strings.TrimSuffix(resource+"."+rule.APIGroups[0], "."))
				}
			}
		}
	}

	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"nothing"},
		Verbs: []string{"get"}}}
	if err := r.api.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}

	f, _ := find(r.examine(sparkctl), "error", "does not serve the namespace")
	_, lost, _ := strings.Cut(f.Text, "it may not ")
	lost, _, _ = strings.Cut(lost, ", because ")

	var got []string
	for part := range strings.SplitSeq(lost, "; ") {
		at := strings.LastIndex(part, " ")
		for verb := range strings.SplitSeq(part[:max(at, 0)], ", ") {
			got = append(got, verb+part[at:])
		}
	}

	slices.Sort(want)
	slices.Sort(got)

	if want, got := slices.Compact(want), slices.Compact(got); !slices.Equal(want, got) {
		t.Errorf("the chart grants %q\ndoctor reviews %q", want, got)
	}
}

// foreignCertificate returns a certificate in PEM that no operator has issued.
func foreignCertificate(t *testing.T) []byte {
	t.Helper()

	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
