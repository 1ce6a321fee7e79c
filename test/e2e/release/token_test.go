package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// byController returns a client with the identity of the release's controller, to which the test adds the rights on
// all webhook configurations and admission policies. So only the policy of the chart limits it.
func (r *release) byController() client.Client {
	r.t.Helper()

	account := "spark-operator-controller"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}

	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: r.namespace},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.namespace},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: r.namespace, Name: account}}}
	for _, object := range []client.Object{role, binding} {
		if err := r.api.Create(r.t.Context(), object); err != nil {
			r.t.Fatal(err)
		}

		r.t.Cleanup(func() { _ = r.api.Delete(context.Background(), object) })
	}

	rc := kit.Rest(r.t)
	rc.Impersonate.UserName, rc.Impersonate.Groups = "system:serviceaccount:"+r.namespace+":"+account,
		[]string{"system:serviceaccounts", "system:authenticated"}

	c, err := client.New(rc, client.Options{Scheme: r.api.Scheme()})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// change is an edit of a webhook configuration of either kind: exactly one argument is not nil.
type change struct {
	meta       func(*metav1.ObjectMeta)
	validating func(*admissionregistrationv1.ValidatingWebhook)
	mutating   func(*admissionregistrationv1.MutatingWebhook)
}

// TestTokenCannotRedirectAdmission checks on a real API server that the controller's account can change the bundles of
// its own webhooks, and nothing else of any webhook configuration. With a stolen token one could otherwise read every
// Secret of the cluster when it is written, and change every pod.
func TestTokenCannotRedirectAdmission(t *testing.T) {
	r := newRelease(t)
	r.install(currentChart, "{}")
	_, stop := r.run()
	r.waitTrusted(5) // the rotation works under the policy
	stop()

	thief := r.byController()
	own := func() (*admissionregistrationv1.ValidatingWebhookConfiguration,
		*admissionregistrationv1.MutatingWebhookConfiguration) {
		v, m := &admissionregistrationv1.ValidatingWebhookConfiguration{},
			&admissionregistrationv1.MutatingWebhookConfiguration{}

		key := client.ObjectKey{Name: "spark-operator-admission"}
		if err := errors.Join(r.api.Get(t.Context(), key, v), r.api.Get(t.Context(), key, m)); err != nil {
			t.Fatal(err)
		}
		return v, m
	}
	refused := func(name string, err error) {
		t.Helper()

		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) ||
			!strings.Contains(err.Error(), "may change only the caBundle") {
			t.Errorf("%s: %v", name, err)
		}
	}
	v, m := own()
	kit.Wait(t, "the API server to enforce the policy", func(ctx context.Context) error {
		edited := v.DeepCopy()

		edited.Labels["a"] = "b"
		if err := thief.Update(ctx, edited, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("a label can be set: %w", err)
		}
		return nil
	})

	everything := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"},
			Resources: []string{"*/*"}},
	}}
	url, service := "https://evil.example.com/",
		admissionregistrationv1.ServiceReference{Namespace: "evil", Name: "evil"}

	ignore, scope := admissionregistrationv1.Ignore, &metav1.LabelSelector{}
	for name, c := range map[string]change{
		"a label":         {meta: func(m *metav1.ObjectMeta) { m.Labels["a"] = "b" }},
		"a missing label": {meta: func(m *metav1.ObjectMeta) { m.Labels = nil }},
		"an annotation":   {meta: func(m *metav1.ObjectMeta) { m.Annotations = map[string]string{"a": "b"} }},
		"a finalizer":     {meta: func(m *metav1.ObjectMeta) { m.Finalizers = []string{"a.b/c"} }},
		"an owner": {meta: func(m *metav1.ObjectMeta) {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}}
		}},
		"a URL": {nil, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ClientConfig.Service, w.ClientConfig.URL = nil, &url
		}, func(w *admissionregistrationv1.MutatingWebhook) {
			w.ClientConfig.Service, w.ClientConfig.URL = nil, &url
		}},
		"a Service": {nil, func(w *admissionregistrationv1.ValidatingWebhook) { w.ClientConfig.Service = &service },
			func(w *admissionregistrationv1.MutatingWebhook) { w.ClientConfig.Service = &service }},
		"a path": {nil, func(w *admissionregistrationv1.ValidatingWebhook) { w.ClientConfig.Service.Path = new("/x") },
			func(w *admissionregistrationv1.MutatingWebhook) { w.ClientConfig.Service.Path = new("/x") }},
		"a port": {nil, func(w *admissionregistrationv1.ValidatingWebhook) { w.ClientConfig.Service.Port = new(int32(1)) }, func(w *admissionregistrationv1.MutatingWebhook) { w.ClientConfig.Service.Port = new(int32(1)) }},
		"rules": {nil, func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules = everything },
			func(w *admissionregistrationv1.MutatingWebhook) { w.Rules = everything }},
		"a further rule": {nil, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules = append(w.Rules,
				everything...)
		}, func(w *admissionregistrationv1.MutatingWebhook) { w.Rules = append(w.Rules, everything...) }},
		"a failure policy": {nil, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.FailurePolicy = new(admissionregistrationv1.Fail)
		}, func(w *admissionregistrationv1.MutatingWebhook) { w.FailurePolicy = &ignore }},
		"a namespace": {nil, func(w *admissionregistrationv1.ValidatingWebhook) { w.NamespaceSelector = scope },
			func(w *admissionregistrationv1.MutatingWebhook) { w.NamespaceSelector = scope }},
		"an object selector": {nil, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, func(w *admissionregistrationv1.MutatingWebhook) { w.ObjectSelector = scope }},
		"a timeout":      {nil, func(w *admissionregistrationv1.ValidatingWebhook) { w.TimeoutSeconds = new(int32(30)) }, func(w *admissionregistrationv1.MutatingWebhook) { w.TimeoutSeconds = new(int32(30)) }},
		"a match policy": {nil, func(w *admissionregistrationv1.ValidatingWebhook) { w.MatchPolicy = new(admissionregistrationv1.Exact) }, func(w *admissionregistrationv1.MutatingWebhook) { w.MatchPolicy = new(admissionregistrationv1.Exact) }},
		"no match condition": {nil, func(w *admissionregistrationv1.ValidatingWebhook) { w.MatchConditions = nil },
			func(w *admissionregistrationv1.MutatingWebhook) {
				w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "a", Expression: "true"}}
			}},
		"side effects": {nil, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.SideEffects = new(admissionregistrationv1.SideEffectClassNoneOnDryRun)
		}, func(w *admissionregistrationv1.MutatingWebhook) {
			w.SideEffects = new(admissionregistrationv1.SideEffectClassNoneOnDryRun)
		}},
		"another name": {nil, func(w *admissionregistrationv1.ValidatingWebhook) { w.Name = "evil.example.com" },
			func(w *admissionregistrationv1.MutatingWebhook) { w.Name = "evil.example.com" }},
		"a reinvocation": {nil, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.AdmissionReviewVersions = []string{"v1", "v1beta1"}
		}, func(w *admissionregistrationv1.MutatingWebhook) {
			w.ReinvocationPolicy = new(admissionregistrationv1.NeverReinvocationPolicy)
		}},
	} {
		v, m := v.DeepCopy(), m.DeepCopy()
		if c.meta != nil {
			c.meta(&v.ObjectMeta)
			c.meta(&m.ObjectMeta)
		}

		if c.validating != nil {
			c.validating(&v.Webhooks[len(v.Webhooks)-1])
			c.mutating(&m.Webhooks[0])
		}

		refused(name+" of the validating webhook", thief.Update(t.Context(), v, client.DryRunAll))
		refused(name+" of the mutating webhook", thief.Update(t.Context(), m, client.DryRunAll))
	}

	more, fewer, none, turned := v.DeepCopy(), v.DeepCopy(), m.DeepCopy(), v.DeepCopy()
	more.Webhooks = append(more.Webhooks, *v.Webhooks[0].DeepCopy())
	more.Webhooks[len(v.Webhooks)].Name = "evil.example.com"
	fewer.Webhooks, none.Webhooks = fewer.Webhooks[1:], nil
	slices.Reverse(turned.Webhooks)

	for name, object := range map[string]client.Object{"another webhook": more, "a webhook less": fewer,
		"no webhook": none, "another order": turned} {
		refused(name, thief.Update(t.Context(), object, client.DryRunAll))
	}

	patch := client.RawPatch("application/json-patch+json",
		[]byte(`[{"op":"replace","path":"/webhooks/0/rules/0/resources/0","value":"*"}]`))
	refused("a patch", thief.Patch(t.Context(), m.DeepCopy(), patch, client.DryRunAll))
	created := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: r.namespace},
		Webhooks: m.Webhooks}
	refused("a creation", thief.Create(t.Context(), created.DeepCopy(), client.DryRunAll))
	refused("a deletion", thief.Delete(t.Context(), m.DeepCopy(), client.DryRunAll))

	if err := r.api.Create(t.Context(), created); err != nil { // the administrator may
		t.Fatal(err)
	}

	created.Webhooks[0].ClientConfig.CABundle = nil
	refused("a bundle of another configuration", thief.Update(t.Context(), created, client.DryRunAll))

	if err := r.api.Delete(t.Context(), created); err != nil {
		t.Error(err)
	}

	for i := range v.Webhooks {
		v.Webhooks[i].ClientConfig.CABundle = append(v.Webhooks[i].ClientConfig.CABundle, '\n')
	}

	m.Webhooks[0].ClientConfig.CABundle = nil
	for _, object := range []client.Object{v, m} {
		if err := thief.Update(t.Context(), object); err != nil {
			t.Errorf("a bundle: %v", err)
		}
	}

	_, stop = r.run() // a replica that starts repairs the bundles
	defer stop()

	kit.Wait(t, "the bundle of the mutating webhook", func(context.Context) error {
		if _, m := own(); len(m.Webhooks[0].ClientConfig.CABundle) == 0 {
			return errors.New("it is empty")
		}
		return nil
	})
}

// examine runs sparkctl doctor as an administrator and returns its findings.
func (r *release) examine(sparkctl string, more ...string) (findings []finding) {
	r.t.Helper()
	var out, errs bytes.Buffer
	run := exec.CommandContext(r.t.Context(), sparkctl, append([]string{"doctor", "-o", "json"}, more...)...)
	// With the flag --kubeconfig, the commands of the findings would have it too.
	run.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig())
	run.Stdout, run.Stderr = &out, &errs

	err := run.Run()
	if wrong := json.Unmarshal(out.Bytes(), &findings); wrong != nil {
		r.t.Fatalf("%v, %v: %s%s", err, wrong, &out, &errs)
	}

	if failed := slices.ContainsFunc(findings,
		func(f finding) bool { return f.Level == "error" || f.Level == "unknown" }); failed != (err != nil) {
		r.t.Errorf("%v: %s", err, &out)
	}
	return findings
}

// kubeconfig writes a kubeconfig of an administrator, whose namespace is that of the release, and returns its path.
func (r *release) kubeconfig() string {
	r.t.Helper()
	rc := kit.Rest(r.t)
	file := clientcmdapi.NewConfig()
	file.Clusters["test"] = &clientcmdapi.Cluster{Server: rc.Host, CertificateAuthority: rc.CAFile,
		CertificateAuthorityData: rc.CAData, InsecureSkipTLSVerify: rc.Insecure}
	file.AuthInfos["test"] = &clientcmdapi.AuthInfo{
		ClientCertificate: rc.CertFile, ClientCertificateData: rc.CertData, ClientKey: rc.KeyFile,
		ClientKeyData: rc.KeyData, Token: rc.BearerToken,
	}
	file.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test", Namespace: r.namespace}
	file.CurrentContext = "test"

	path := filepath.Join(r.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// playKubelet makes the controller's pod ready, because no node runs it. On an API server without controllers it makes
// the Deployment ready.
func (r *release) playKubelet() {
	r.t.Helper()
	kit.Wait(r.t, "a ready replica", func(ctx context.Context) error {
		deployment, pods := &appsv1.Deployment{}, &corev1.PodList{}

		err := errors.Join(r.api.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name + "-controller"},
			deployment), r.api.List(ctx, pods, client.InNamespace(r.namespace)))
		if err != nil || deployment.Status.ReadyReplicas > 0 {
			return err
		}

		for i := range pods.Items {
			pod := &pods.Items[i]
			pod.Status.Phase, pod.Status.Conditions = corev1.PodRunning,
				[]corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			err = errors.Join(err, r.api.Status().Update(ctx, pod))
		}

		if len(pods.Items) == 0 {
			deployment.Status.Replicas, deployment.Status.ReadyReplicas, deployment.Status.AvailableReplicas = 1, 1, 1
			err = r.api.Status().Update(ctx, deployment)
		}
		return errors.Join(err, errors.New("no replica is ready"))
	})
}

// finding is a finding of sparkctl doctor.
type finding struct{ Level, Check, Text, Fix string }

// sparkctl returns the path of sparkctl.
func (r *release) sparkctl() string {
	r.t.Helper()

	return gobuild.Must(r.t, ".", "./cmd/sparkctl")
}

// TestDoctorOfADefaultInstallation checks that doctor has no warning about a release with the chart's default values,
// and that a webhook configuration that is missing is an error. Doctor used to advise to delete the mutating webhook of
// every release, and who obeyed lost settings of executors without a message.
func TestDoctorOfADefaultInstallation(t *testing.T) {
	r := newRelease(t)
	r.install(currentChart, "{}")
	_, stop := r.run()
	defer stop()

	r.waitTrusted(5)
	r.playKubelet()

	sparkctl, hooks := r.sparkctl(), 0
	for _, f := range r.examine(sparkctl) {
		if f.Level == "warning" || f.Level == "error" || f.Level == "unknown" {
			t.Errorf("%+v", f)
		}

		if f.Check == "admission" && f.Level == "ok" &&
			strings.Contains(f.Text, "WebhookConfiguration spark-operator-admission calls") {
			hooks++
		}
	}

	if hooks != 2 {
		t.Errorf("%d webhooks were checked", hooks)
	}

	key := metav1.ObjectMeta{Name: "spark-operator-admission"}
	for _, object := range []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: key},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: key}} {
		if err := r.api.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}

		missing := strings.ReplaceAll(fmt.Sprintf("its %T is missing", object), "*v1.", "")
		if !slices.ContainsFunc(r.examine(sparkctl), func(f finding) bool {
			return f.Level == "error" && strings.Contains(f.Text, missing) && strings.HasPrefix(f.Fix, "helm upgrade")
		}) {
			t.Errorf("no error with %q", missing)
		}
	}

	orphan := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: r.namespace + "-webhook",
			Labels: map[string]string{"app.kubernetes.io/name": "spark-operator"}},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "a.example.com", AdmissionReviewVersions: []string{"v1"},
			SideEffects:  new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: r.namespace, Name: "gone"}},
		}},
	}
	if err := r.api.Create(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.api.Delete(context.Background(), orphan) }()

	if !slices.ContainsFunc(r.examine(sparkctl), func(f finding) bool {
		return f.Fix == "kubectl delete mutatingwebhookconfiguration "+orphan.Name
	}) {
		t.Error("the webhook of an operator that is gone is not reported")
	}

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "gone"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}

	endpoints := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "gone",
			Labels: map[string]string{discoveryv1.LabelServiceName: "gone"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
	}
	if err := errors.Join(r.api.Create(t.Context(), service), r.api.Create(t.Context(), endpoints)); err != nil {
		t.Fatal(err)
	}

	if slices.ContainsFunc(r.examine(sparkctl), func(f finding) bool { return strings.Contains(f.Fix, orphan.Name) }) {
		t.Error("doctor advises to delete a webhook that a pod answers")
	}
}
