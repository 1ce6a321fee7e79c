package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

func webhookOf(t *testing.T, values string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	return objectOf[*admissionregistrationv1.ValidatingWebhookConfiguration](t, mustRender(t, install{values: values}))
}

// TestWebhook checks that the webhook's configuration, Service, port and paths fit together.
func TestWebhook(t *testing.T) {
	r := mustRender(t, install{values: "webhook: {port: 7443, portName: hook}"})
	service, pod := webhookService(t, r), objectOf[*appsv1.Deployment](t, r).Spec.Template

	port := service.Spec.Ports[0]
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) || port.Port != 7443 ||
		port.TargetPort.StrVal != "hook" {
		t.Errorf("the Service is %+v", service.Spec)
	}

	if !slices.ContainsFunc(pod.Spec.Containers[0].Ports,
		func(p corev1.ContainerPort) bool { return p.Name == "hook" && p.ContainerPort == 7443 }) {
		t.Errorf("the ports are %v", pod.Spec.Containers[0].Ports)
	}

	if got := configOf(t, r).Webhook; got.BindAddress != ":7443" || got.SelfSigned.Service != service.Name ||
		got.SelfSigned.Namespace != service.Namespace {
		t.Errorf("the configuration is %+v", got)
	}

	var names []string
	for _, hook := range objectOf[*admissionregistrationv1.ValidatingWebhookConfiguration](t, r).Webhooks {
		names = append(names, hook.Name)
		rule, to := hook.Rules[0], hook.ClientConfig.Service

		want := "/validate-" + strings.ReplaceAll(rule.APIGroups[0], ".",
			"-") + "-" + rule.APIVersions[0] + "-" + strings.TrimSuffix(rule.Resources[0], "s")
		if *to.Path != want || to.Name != service.Name || to.Namespace != service.Namespace || *to.Port != 7443 ||
			len(hook.ClientConfig.CABundle) > 0 {
			t.Errorf("%s calls %+v, want the path %s", hook.Name, to, want)
		}

		if *hook.FailurePolicy != admissionregistrationv1.Ignore ||
			*hook.SideEffects != admissionregistrationv1.SideEffectClassNone || *hook.TimeoutSeconds != 5 ||
			*rule.Scope != admissionregistrationv1.NamespacedScope || len(rule.Operations) != 2 ||
			hook.MatchConditions[0].Expression != "request.userInfo.username != 'system:serviceaccount:spark-operator:spark-operator-controller'" {
			t.Errorf("%s is %+v", hook.Name, hook)
		}
	}

	if diff := cmp.Diff([]string{
		"validate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io",
		"validate-sparkoperator-k8s-io-v1beta2-scheduledsparkapplication.sparkoperator.k8s.io",
		"validate-sparkoperator-k8s-io-v1alpha1-sparkconnect.sparkoperator.k8s.io",
		"validate-spark-apache-org-v1-sparkapplication.spark.apache.org",
		"validate-spark-apache-org-v1-sparkcluster.spark.apache.org",
	}, names); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}

func webhookService(t *testing.T, r rendered) *corev1.Service {
	t.Helper()

	for _, service := range objectsOf[*corev1.Service](r) {
		if service.Name == "spark-operator-admission-svc" {
			return service
		}
	}

	t.Fatal("the webhook has no Service")
	return nil
}

// TestWebhookOfServedKinds checks that only served kinds reach the webhook, and that the chart's webhook values reach
// the webhook configuration.
func TestWebhookOfServedKinds(t *testing.T) {
	for values, want := range map[string]int{
		"{}": 5, "controller: {sparkOperator: {enable: false}}": 2, "controller: {apache: {enable: false}}": 3,
		"controller: {connect: {enable: false}, scheduledApplications: {enable: false}, apache: {clusters: {enable: false}}}": 2,
	} {
		if got := len(webhookOf(t, values).Webhooks); got != want {
			t.Errorf("%s: %d webhooks, want %d", values, got, want)
		}
	}

	hook := webhookOf(t, "webhook: {failurePolicy: Fail, timeoutSeconds: 3}").Webhooks[0]
	if *hook.FailurePolicy != admissionregistrationv1.Fail || *hook.TimeoutSeconds != 3 {
		t.Errorf("%+v", hook)
	}
}

// TestWebhookOfServedNamespaces checks that exactly the served namespaces reach the webhook, each once.
func TestWebhookOfServedNamespaces(t *testing.T) {
	for _, c := range []struct {
		values string
		labels map[string]string
		want   int // number of webhooks for SparkApplications
	}{
		{"{jobNamespaces: [a, b]}", map[string]string{corev1.LabelMetadataName: "a"}, 1},
		{"{jobNamespaces: [a, b]}", map[string]string{corev1.LabelMetadataName: "c"}, 0},
		{"{jobNamespaces: []}", map[string]string{corev1.LabelMetadataName: "c"}, 1},
		{"{jobNamespaces: ['', a]}", map[string]string{corev1.LabelMetadataName: "c"}, 1},
		{"{jobNamespaces: [a], jobNamespaceSelector: spark=enabled}",
			map[string]string{corev1.LabelMetadataName: "a", "spark": "enabled"}, 1},
		{"{jobNamespaces: [a], jobNamespaceSelector: spark=enabled}",
			map[string]string{corev1.LabelMetadataName: "b", "spark": "enabled"}, 1},
		{"{jobNamespaces: [a], jobNamespaceSelector: spark=enabled}",
			map[string]string{corev1.LabelMetadataName: "b"}, 0},
		{"{jobNamespaces: [], jobNamespaceSelector: 'team in (x, y),tier!=test, !old,spark'}",
			map[string]string{"team": "y", "spark": ""}, 1},
		{"{jobNamespaces: [], jobNamespaceSelector: 'team in (x, y),tier!=test, !old,spark'}",
			map[string]string{"team": "z", "spark": ""}, 0},
		{"{jobNamespaces: [], jobNamespaceSelector: 'team in (x, y),tier!=test, !old,spark'}",
			map[string]string{"team": "x", "spark": "", "tier": "test"}, 0},
		{"{jobNamespaces: [], jobNamespaceSelector: 'team in (x, y),tier!=test, !old,spark'}",
			map[string]string{"team": "x", "spark": "", "old": ""}, 0},
		{"{jobNamespaces: [], jobNamespaceSelector: 'team in (x, y),tier!=test, !old,spark'}",
			map[string]string{"team": "x"}, 0},
		{"{jobNamespaces: [], jobNamespaceSelector: 'kubernetes.io/metadata.name notin (kube-system)'}",
			map[string]string{corev1.LabelMetadataName: "kube-system"}, 0},
		{"{jobNamespaces: [], jobNamespaceSelector: 'a==b'}", map[string]string{"a": "b"}, 1},
	} {
		got := 0
		for _, hook := range webhookOf(t, "spark: "+c.values).Webhooks {
			selector, err := metav1.LabelSelectorAsSelector(hook.NamespaceSelector)
			if err != nil {
				t.Fatal(err)
			}

			if hook.NamespaceSelector == nil {
				selector = labels.Everything()
			}

			if hook.Rules[0].APIGroups[0] == "spark.apache.org" && hook.Rules[0].Resources[0] == "sparkapplications" &&
				selector.Matches(labels.Set(c.labels)) {
				got++
			}
		}

		if got != c.want {
			t.Errorf("%s: %d webhooks for %v, want %d", c.values, got, c.labels, c.want)
		}
	}

	for _, hook := range webhookOf(t, "controller: {dynamicConfig: {enable: true}}").Webhooks {
		if hook.NamespaceSelector != nil {
			t.Errorf("dynamic settings may serve any namespace, but %s has the selector %v", hook.Name,
				hook.NamespaceSelector)
		}
	}
}

// TestWebhookCertificates checks the three sources of the webhook's certificate: the operator, cert-manager and a
// Secret of the user. The operator has rights on a Secret only if it issues the certificate itself.
func TestWebhookCertificates(t *testing.T) {
	for name, c := range map[string]struct {
		values, secret, kinds string
	}{
		"self-signed": {"webhook: {certificate: {lifetime: 24h}}", "", "[]"},
		"cert-manager": {"certManager: {enable: true, duration: 2h, renewBefore: 1h}",
			"spark-operator-admission-certs", "[Issuer Certificate]"},
		"another issuer": {"certManager: {enable: true, issuerRef: {kind: ClusterIssuer, name: ca}}",
			"spark-operator-admission-certs", "[Certificate]"},
		"the user's Secret": {"webhook: {certificate: {secret: mine, caBundle: PEM}}", "mine", "[]"},
	} {
		r := mustRender(t, install{values: c.values})
		got := configOf(t, r).Webhook

		self := c.secret == ""
		if (got.SelfSigned.Secret != "") != self || (got.CertDir == "") != self {
			t.Errorf("%s: %+v", name, got)
		}

		if self && got.SelfSigned.Lifetime.String() != "{24h0m0s}" &&
			got.SelfSigned.Lifetime.Duration.String() != "24h0m0s" {
			t.Errorf("%s: lifetime %v", name, got.SelfSigned.Lifetime)
		}

		if n := len(objectsOf[*corev1.Secret](r)); (n == 1) != self {
			t.Errorf("%s: %d Secrets", name, n)
		}

		rights := slices.ContainsFunc(objectsOf[*rbacv1.Role](r),
			func(role *rbacv1.Role) bool { return role.Name == "spark-operator-admission" })
		if rights != self {
			t.Errorf("%s: the right on a Secret is granted: %t", name, rights)
		}

		var kinds []string
		for _, o := range objectsOf[*unstructured.Unstructured](r) {
			kinds = append(kinds, o.GetKind())
		}

		if fmt.Sprint(kinds) != c.kinds {
			t.Errorf("%s: objects %v, want %s", name, kinds, c.kinds)
		}

		if mounted := mountedSecret(objectOf[*appsv1.Deployment](t, r), got.CertDir); mounted != c.secret {
			t.Errorf("%s: Secret %q is mounted, want %q", name, mounted, c.secret)
		}

		hooks := objectOf[*admissionregistrationv1.ValidatingWebhookConfiguration](t, r)
		if inject := hooks.Annotations["cert-manager.io/inject-ca-from"]; (inject == "spark-operator/spark-operator-certificate") != strings.Contains(c.values, "certManager") {
			t.Errorf("%s: annotation %q", name, inject)
		}

		if bundle := string(hooks.Webhooks[0].ClientConfig.CABundle); (bundle == "PEM") != (c.secret == "mine") {
			t.Errorf("%s: bundle %q", name, bundle)
		}
	}

	certificate := objectsOf[*unstructured.Unstructured](mustRender(t,
		install{values: "certManager: {enable: true, duration: 2h, renewBefore: 1h}"}))[1]

	spec, _, _ := unstructured.NestedMap(certificate.Object, "spec")
	if spec["duration"] != "2h" || spec["renewBefore"] != "1h" ||
		fmt.Sprint(spec["dnsNames"]) != "[spark-operator-admission-svc.spark-operator.svc spark-operator-admission-svc.spark-operator.svc.cluster.local]" {
		t.Errorf("the Certificate is %v", spec)
	}
}

// mountedSecret returns the name of the Secret that is mounted at a directory. The Secret must be optional, so that the
// pod also runs without it. If no such Secret is mounted there, the result is empty.
func mountedSecret(deployment *appsv1.Deployment, dir string) string {
	pod := deployment.Spec.Template.Spec
	for _, mount := range pod.Containers[0].VolumeMounts {
		for _, volume := range pod.Volumes {
			if mount.MountPath == dir && volume.Name == mount.Name && volume.Secret != nil && *volume.Secret.Optional {
				return volume.Secret.SecretName
			}
		}
	}
	return ""
}

// TestWebhookQuotas checks that the operator may read ResourceQuotas only if the values enable the webhook's quota
// check. The chart must then grant this right in every served namespace.
func TestWebhookQuotas(t *testing.T) {
	for values, want := range map[string]int{
		"{}": 0, "webhook: {resourceQuotaEnforcement: {enable: true}}": 1,
		"{webhook: {resourceQuotaEnforcement: {enable: true}}, spark: {jobNamespaces: [a, b]}}": 2,
		"{webhook: {resourceQuotaEnforcement: {enable: true}}, spark: {jobNamespaces: []}}":     1,
	} {
		r := mustRender(t, install{values: values})
		if got := configOf(t, r).Webhook.ResourceQuotaEnforcement.Enabled; got != (want > 0) {
			t.Errorf("%s: enabled: %t", values, got)
		}

		var rules []rbacv1.PolicyRule
		for _, role := range objectsOf[*rbacv1.Role](r) {
			rules = append(rules, role.Rules...)
		}

		for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
			rules = append(rules, role.Rules...)
		}

		got := 0
		for _, rule := range rules {
			if !slices.Contains(rule.Resources, "resourcequotas") {
				continue
			}

			if got++; !slices.Equal(rule.Verbs, []string{"list", "watch"}) || len(rule.Resources) != 1 ||
				rule.APIGroups[0] != "" {
				t.Errorf("%s: %v", values, rule)
			}
		}

		if got != want {
			t.Errorf("%s: %d rules, want %d", values, got, want)
		}
	}

	if got := configOf(t, mustRender(t,
		install{values: "webhook: {shutdownDelay: 9s}"})).Webhook.ShutdownDelay.Duration; got != 9*time.Second {
		t.Errorf("the delay is %v", got)
	}
}

// TestWebhookThatIsOff checks that the chart renders no object, port or address of the webhook if the values disable
// it.
func TestWebhookThatIsOff(t *testing.T) {
	r := mustRender(t, install{values: "webhook: {enable: false}"})
	if got := configOf(t, r).Webhook.BindAddress; got != config.Off {
		t.Errorf("it is served at %s", got)
	}

	for _, o := range r.objects {
		if strings.Contains(o.GetName(), "admission") {
			t.Errorf("%T %s is left", o, o.GetName())
		}
	}

	for _, port := range objectOf[*appsv1.Deployment](t, r).Spec.Template.Spec.Containers[0].Ports {
		if port.ContainerPort == 9443 {
			t.Error("the port is open")
		}
	}
}
