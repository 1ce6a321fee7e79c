package chart

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

const validatingPolicyAPI = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"

// TestPodAdmission checks what judges pods by the rules of the policy: the webhook, policies of the API server, or
// both. The operator's configuration and its rights must match. If nothing judges pods although there are rules about
// them, the notes contain a warning.
func TestPodAdmission(t *testing.T) {
	const rules = "config: {policy: {rules: [{name: all, level: restricted}, {name: tenants, selector: tier=tenant, images: {allowed: [spark]}}]}}, "
	for name, c := range map[string]struct {
		values   string
		apis     []string
		want     config.PodAdmission
		policies int
		advisory bool
	}{
		"no rules": {"{}", []string{validatingPolicyAPI}, config.PodAdmission{}, 0, false},
		"no rules about pods": {"{config: {policy: {rules: [{name: all, limits: {executors: 1}, tolerations: null}]}}}",
			[]string{validatingPolicyAPI}, config.PodAdmission{}, 0, false},
		"rules": {"{" + rules + "}", []string{validatingPolicyAPI},
			config.PodAdmission{Webhook: true, Policy: true}, 3, false},
		"before Kubernetes 1.30": {"{" + rules + "}", nil, config.PodAdmission{Webhook: true}, 0, false},
		"without a webhook": {"{" + rules + "webhook: {enable: false}}", []string{validatingPolicyAPI},
			config.PodAdmission{Policy: true}, 3, false},
		"switched off": {"{" + rules + "webhook: {pods: {enable: false}}}",
			[]string{validatingPolicyAPI}, config.PodAdmission{}, 0, true},
		"nothing can judge": {"{" + rules + "webhook: {enable: false}}", nil, config.PodAdmission{},
			0, true},
		"values of an older release": {"{" + rules + "webhook: {pods: null}}", []string{validatingPolicyAPI},
			config.PodAdmission{Webhook: true, Policy: true}, 3, false},
		"rules that can be replaced": {"{" + rules +
			"spark: {jobNamespaces: ['']}, controller: {dynamicConfig: {enable: true}}}", []string{validatingPolicyAPI},
			config.PodAdmission{Webhook: true}, 0, false},
		"labels compared as numbers": {"{config: {policy: {rules: [{name: a, selector: 'tier>1', images: {allowed: [spark]}}]}}}", []string{validatingPolicyAPI}, config.PodAdmission{Webhook: true, Policy: true}, 0, false},
		"limits, which only Go judges": {"{config: {policy: {rules: [{name: a, limits: {cores: 4}}]}}}",
			[]string{validatingPolicyAPI}, config.PodAdmission{Webhook: true, Policy: true}, 0, false},
	} {
		r := mustRender(t, install{values: c.values, apis: c.apis})

		cfg := configOf(t, r)
		if cfg.Webhook.Pods != c.want {
			t.Errorf("%s: the configuration has %+v, want %+v", name, cfg.Webhook.Pods, c.want)
		}

		if sets := fromPolicy(cfg); sets != (c.want != config.PodAdmission{} || c.advisory) {
			t.Errorf("%s: the operator finds rules about pods: %t", name, sets)
		}

		var bound []string
		for _, binding := range objectsOf[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](r) {
			bound = append(bound, binding.Spec.PolicyName)
		}

		policies := 0
		for _, policy := range objectsOf[*admissionregistrationv1.ValidatingAdmissionPolicy](r) {
			if strings.Contains(policy.Name, "-pods-") || strings.Contains(policy.Name, "-priority-") {
				policies++
			}

			if !slices.Contains(bound, policy.Name) {
				t.Errorf("%s: nothing binds %s", name, policy.Name)
			}
		}

		if policies != c.policies {
			t.Errorf("%s: %d policies, want %d", name, policies, c.policies)
		}

		if hooks := podHooks(r); (len(hooks) > 0) != c.want.Webhook {
			t.Errorf("%s: webhooks %+v", name, hooks)
		}

		readsClasses := slices.ContainsFunc(objectsOf[*rbacv1.ClusterRole](r),
			func(role *rbacv1.ClusterRole) bool { return strings.HasSuffix(role.Name, "-priority-classes") })
		if readsClasses != c.want.Webhook {
			t.Errorf("%s: the right to read priority classes: %t", name, readsClasses)
		}

		if strings.Contains(r.notes, "advisory for executors") != c.advisory {
			t.Errorf("%s: notes %s", name, r.notes)
		}
	}

	if _, err := render(t, install{values: "{" + rules + "controller: {dynamicConfig: {enable: true}}}"}); err == nil ||
		!strings.Contains(err.Error(), "webhook.pods.failurePolicy") {
		t.Errorf("all namespaces depend on the webhook: %v", err)
	}
}

// fromPolicy reports whether the operator finds rules about pods.
func fromPolicy(cfg config.Configuration) bool { return cfg.Policy.JudgesPods() }

// podHooks returns the webhooks for pods.
func podHooks(r rendered) (hooks []admissionregistrationv1.ValidatingWebhook) {
	for _, configuration := range objectsOf[*admissionregistrationv1.ValidatingWebhookConfiguration](r) {
		for _, hook := range configuration.Webhooks {
			if strings.HasPrefix(hook.Name, "pods-") {
				hooks = append(hooks, hook)
			}
		}
	}
	return hooks
}

// TestPodWebhook checks which pods reach the webhook: those in served namespaces with rules, without kube-system and
// the release's namespace.
func TestPodWebhook(t *testing.T) {
	const rules = "config: {policy: {rules: [{name: a, selector: tier=tenant, images: {allowed: [spark]}}, {name: b, selector: 'team in (x, y)', podSecurity: baseline}]}}"

	hooks := podHooks(mustRender(t,
		install{values: "{" + rules +
			", spark: {jobNamespaces: [jobs]}, webhook: {pods: {failurePolicy: Ignore, exemptAccounts: [jobs/ci]}}}"}))
	if len(hooks) != 2 {
		t.Fatalf("%d webhooks, want one for each selector", len(hooks))
	}

	for i, want := range []string{"kubernetes.io/metadata.name In [jobs], kubernetes.io/metadata.name NotIn [kube-system spark-operator], tier In [tenant]",
		"kubernetes.io/metadata.name In [jobs], kubernetes.io/metadata.name NotIn [kube-system spark-operator], team In [x y]"} {
		var requirements []string
		for _, r := range hooks[i].NamespaceSelector.MatchExpressions {
			requirements = append(requirements, r.Key+" "+string(r.Operator)+" ["+strings.Join(r.Values, " ")+"]")
		}

		if got := strings.Join(requirements, ", "); got != want {
			t.Errorf("selects %s\nwant %s", got, want)
		}

		if *hooks[i].FailurePolicy != admissionregistrationv1.Ignore ||
			*hooks[i].ClientConfig.Service.Path != "/validate--v1-pod" ||
			!slices.Equal(hooks[i].Rules[0].Resources, []string{"pods", "pods/ephemeralcontainers", "pods/resize"}) {
			t.Errorf("%+v", hooks[i])
		}

		if who := hooks[i].MatchConditions[1].Expression; !strings.Contains(who,
			`in ["system:serviceaccount:jobs:ci"]`) || !strings.Contains(who, `k == "spark-role"`) {
			t.Errorf("judges %s", who)
		}
	}
	// Jobs that an administrator runs in the release's namespace are judged too. Pods of all others are judged by a value.
	all := podHooks(mustRender(t,
		install{values: "{" + rules +
			", spark: {jobNamespaces: [spark-operator], allowReleaseNamespace: true}, webhook: {pods: {all: true}}}"}))
	if values := all[0].NamespaceSelector.MatchExpressions[1].Values; !slices.Equal(values, []string{"kube-system"}) ||
		len(all[0].MatchConditions) != 1 || *all[0].FailurePolicy != admissionregistrationv1.Fail {
		t.Errorf("%+v", all[0])
	}
	// Without a selector, there is one webhook for all served namespaces.
	if one := podHooks(mustRender(t,
		install{values: "config: {policy: {rules: [{name: a, podSecurity: baseline}, {name: b, selector: a=b, podSecurity: baseline}]}}"})); len(one) != 1 {
		t.Errorf("%+v", one)
	}
}
