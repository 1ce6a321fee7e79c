package chart

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/admit"
)

const policyAPI = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"

// TestExecutorAdmission checks which objects the chart renders to change executors at admission: a webhook, a policy or
// both. The operator's configuration must name exactly these mechanisms. Otherwise the operator would label executors
// for a mechanism that does not exist.
func TestExecutorAdmission(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		apis   []string
		want   config.ExecutorAdmission
	}{
		"default values": {"{}", nil, config.ExecutorAdmission{Webhook: true}},
		"cluster with mutating admission policies": {"{}", []string{policyAPI},
			config.ExecutorAdmission{Webhook: true, Policy: true}},
		"webhook disabled": {"webhook: {enable: false}", []string{policyAPI},
			config.ExecutorAdmission{Policy: true}},
		"webhook disabled, cluster without policies": {"webhook: {enable: false}", nil, config.ExecutorAdmission{}},
		"executor admission disabled": {"webhook: {executors: {enable: false}}", []string{policyAPI},
			config.ExecutorAdmission{}},
		"API group disabled": {"controller: {sparkOperator: {enable: false}}",
			[]string{policyAPI}, config.ExecutorAdmission{}},
		"values of an older release": {"webhook: {executors: null}", []string{policyAPI},
			config.ExecutorAdmission{Webhook: true, Policy: true}},
		"certificate from the user's Secret": {"webhook: {certificate: {secret: mine, caBundle: PEM}}", nil,
			config.ExecutorAdmission{Webhook: true}},
		"certificate from cert-manager": {"certManager: {enable: true}", nil,
			config.ExecutorAdmission{Webhook: true}},
	} {
		r := mustRender(t, install{values: c.values, apis: c.apis})
		if got := configOf(t, r).Webhook.Executors; got != c.want {
			t.Errorf("%s: the configuration has %+v, want %+v", name, got, c.want)
		}

		hooks, policies := objectsOf[*admissionregistrationv1.MutatingWebhookConfiguration](r),
			objectsOf[*admissionregistrationv1.MutatingAdmissionPolicy](r)

		bindings := objectsOf[*admissionregistrationv1.MutatingAdmissionPolicyBinding](r)
		if (len(hooks) == 1) != c.want.Webhook || (len(policies) == 1) != c.want.Policy ||
			(len(bindings) == 1) != c.want.Policy {
			t.Errorf("%s: %d configurations, %d policies, %d bindings", name, len(hooks), len(policies), len(bindings))
		}

		if c.want.Webhook {
			if bundle := string(hooks[0].Webhooks[0].ClientConfig.CABundle); (bundle == "PEM") != strings.Contains(c.values, "PEM") {
				t.Errorf("%s: bundle %q", name, bundle)
			}

			if inject := hooks[0].Annotations["cert-manager.io/inject-ca-from"]; (inject == "spark-operator/spark-operator-certificate") != strings.Contains(c.values, "certManager") {
				t.Errorf("%s: annotation %q", name, inject)
			}
		}
	}
}

// TestExecutorWebhook checks that only executors with the webhook's label reach the webhook, and that the API server
// rejects such a pod if the webhook does not answer.
func TestExecutorWebhook(t *testing.T) {
	r := mustRender(t, install{values: "webhook: {failurePolicy: Ignore, timeoutSeconds: 3, port: 7443}"})

	configuration, service := objectOf[*admissionregistrationv1.MutatingWebhookConfiguration](t, r),
		webhookService(t, r)
	if configuration.Name != configOf(t, r).Webhook.SelfSigned.Configuration || len(configuration.Webhooks) != 1 {
		t.Fatalf("%+v", configuration)
	}

	hook := configuration.Webhooks[0]
	selects(t, hook.ObjectSelector, admit.Webhook)

	to, rule := hook.ClientConfig.Service, hook.Rules[0]
	if *to.Path != "/mutate--v1-pod" || to.Name != service.Name || to.Namespace != service.Namespace ||
		*to.Port != 7443 {
		t.Errorf("it calls %+v", to)
	}

	if *hook.FailurePolicy != admissionregistrationv1.Fail ||
		*hook.SideEffects != admissionregistrationv1.SideEffectClassNone || *hook.TimeoutSeconds != 3 ||
		*hook.ReinvocationPolicy != admissionregistrationv1.IfNeededReinvocationPolicy || len(rule.Operations) != 1 ||
		rule.Operations[0] != admissionregistrationv1.Create ||
		!slices.Equal(rule.Resources, []string{"pods"}) || len(configuration.Webhooks) != 1 {
		t.Errorf("%+v", hook)
	}

	rights := 0
	for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "mutatingwebhookconfigurations") {
				rights++

				if !slices.Equal(rule.ResourceNames, []string{configuration.Name}) ||
					!slices.Equal(rule.Verbs, []string{"get", "update"}) {
					t.Errorf("%+v", rule)
				}
			}
		}
	}

	if rights != 1 {
		t.Errorf("%d rules for the configuration", rights)
	}

	for _, role := range objectsOf[*rbacv1.ClusterRole](mustRender(t,
		install{values: "webhook: {executors: {enable: false}}"})) {
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "mutatingwebhookconfigurations") {
				t.Errorf("a right without use: %+v", rule)
			}
		}
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, by admit.Mechanism) {
	t.Helper()

	if selector == nil || len(selector.MatchLabels) != 1 || selector.MatchLabels[admit.Label] != string(by) ||
		len(selector.MatchExpressions) > 0 {
		t.Errorf("it selects %+v, want the label %s: %s", selector, admit.Label, by)
	}
}

// TestExecutorPolicy checks the MutatingAdmissionPolicy and the namespaces to which it is bound, in both versions of
// its API.
func TestExecutorPolicy(t *testing.T) {
	values := "spark: {jobNamespaces: [a], jobNamespaceSelector: spark=enabled}"
	r := mustRender(t, install{values: values, apis: []string{policyAPI}})
	policy := objectOf[*admissionregistrationv1.MutatingAdmissionPolicy](t, r)
	selects(t, policy.Spec.MatchConstraints.ObjectSelector, admit.Policy)

	if *policy.Spec.FailurePolicy != admissionregistrationv1.Fail ||
		policy.Spec.ReinvocationPolicy != admissionregistrationv1.IfNeededReinvocationPolicy {
		t.Errorf("%+v", policy.Spec)
	}

	var names []string
	for _, binding := range objectsOf[*admissionregistrationv1.MutatingAdmissionPolicyBinding](r) {
		if binding.Spec.PolicyName != policy.Name || binding.Spec.MatchResources.NamespaceSelector == nil {
			t.Errorf("%+v", binding.Spec)
		}

		names = append(names, binding.Name)
	}

	if !slices.Equal(names, []string{"spark-operator-admission", "spark-operator-admission-labels"}) {
		t.Errorf("bindings %v", names)
	}

	if hooks := objectOf[*admissionregistrationv1.MutatingWebhookConfiguration](t, r).Webhooks; len(hooks) != 2 ||
		hooks[0].NamespaceSelector == nil || hooks[1].NamespaceSelector == nil {
		t.Errorf("webhooks %+v", hooks)
	}

	older := mustRender(t, install{apis: []string{"admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy"}})
	if objectOf[*admissionregistrationv1beta1.MutatingAdmissionPolicy](t,
		older).Name != objectOf[*admissionregistrationv1beta1.MutatingAdmissionPolicyBinding](t,
		older).Spec.PolicyName {
		t.Error("the binding of the beta version names another policy")
	}
}
