package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	kyaml "sigs.k8s.io/yaml"
)

func unstructuredOf(doc []byte) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	return u, kyaml.UnmarshalStrict(doc, &u.Object)
}

// names returns the rendered objects as "Kind namespace/name".
func names(r rendered) []string {
	var found []string
	for _, o := range r.objects {
		found = append(found, fmt.Sprintf("%s %s/%s", o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(),
			o.GetName()))
	}

	slices.Sort(found)
	return found
}

// TestValuesDecideWhichObjectsExist checks the names of all rendered objects for various values. It lists every name,
// because other tools and users' manifests refer to these names.
func TestValuesDecideWhichObjectsExist(t *testing.T) {
	for _, test := range []struct {
		name string
		in   install
		want []string
	}{
		{"defaults", install{}, []string{
			"ClusterRole /spark-operator-admission",
			"ClusterRoleBinding /spark-operator-admission",
			"ConfigMap spark-operator/spark-operator-controller",
			"Deployment spark-operator/spark-operator-controller",
			"MutatingWebhookConfiguration /spark-operator-admission",
			"Role default/spark-operator-controller",
			"Role default/spark-operator-spark",
			"Role spark-operator/spark-operator-admission",
			"Role spark-operator/spark-operator-controller-lock",
			"RoleBinding default/spark-operator-controller",
			"RoleBinding default/spark-operator-spark",
			"RoleBinding spark-operator/spark-operator-admission",
			"RoleBinding spark-operator/spark-operator-controller-lock",
			"Secret spark-operator/spark-operator-admission-certs",
			"Service spark-operator/spark-operator-admission-svc",
			"ServiceAccount default/spark-operator-spark",
			"ServiceAccount spark-operator/spark-operator-controller",
			"ValidatingAdmissionPolicy /spark-operator-admission-ca",
			"ValidatingAdmissionPolicyBinding /spark-operator-admission-ca",
			"ValidatingWebhookConfiguration /spark-operator-admission",
		}},
		{"another release in a job namespace",
			install{release: "team", namespace: "ops",
				values: "spark: {jobNamespaces: [ops, jobs, jobs], allowReleaseNamespace: true}"}, []string{
				"ClusterRole /team-spark-operator-admission",
				"ClusterRoleBinding /team-spark-operator-admission",
				"ConfigMap ops/team-spark-operator-controller",
				"Deployment ops/team-spark-operator-controller",
				"MutatingWebhookConfiguration /team-spark-operator-admission",
				"Role jobs/team-spark-operator-controller",
				"Role jobs/team-spark-operator-spark",
				"Role ops/team-spark-operator-admission",
				"Role ops/team-spark-operator-controller",
				"Role ops/team-spark-operator-controller-lock",
				"Role ops/team-spark-operator-spark",
				"RoleBinding jobs/team-spark-operator-controller",
				"RoleBinding jobs/team-spark-operator-spark",
				"RoleBinding ops/team-spark-operator-admission",
				"RoleBinding ops/team-spark-operator-controller",
				"RoleBinding ops/team-spark-operator-controller-lock",
				"RoleBinding ops/team-spark-operator-spark",
				"Secret ops/team-spark-operator-admission-certs",
				"Service ops/team-spark-operator-admission-svc",
				"ServiceAccount jobs/team-spark-operator-spark",
				"ServiceAccount ops/team-spark-operator-controller",
				"ServiceAccount ops/team-spark-operator-spark",
				"ValidatingAdmissionPolicy /team-spark-operator-admission-ca",
				"ValidatingAdmissionPolicyBinding /team-spark-operator-admission-ca",
				"ValidatingWebhookConfiguration /team-spark-operator-admission",
			}},
		{"every namespace, and accounts in one",
			install{values: `{spark: {jobNamespaces: ["", jobs]}, fullnameOverride: so}`}, []string{
				"ClusterRole /so-admission",
				"ClusterRole /so-controller",
				"ClusterRoleBinding /so-admission",
				"ClusterRoleBinding /so-controller",
				"ConfigMap spark-operator/so-controller",
				"Deployment spark-operator/so-controller",
				"MutatingWebhookConfiguration /so-admission",
				"Role jobs/so-spark",
				"Role spark-operator/so-admission",
				"Role spark-operator/so-controller-lock",
				"RoleBinding jobs/so-spark",
				"RoleBinding spark-operator/so-admission",
				"RoleBinding spark-operator/so-controller-lock",
				"Secret spark-operator/so-admission-certs",
				"Service spark-operator/so-admission-svc",
				"ServiceAccount jobs/so-spark",
				"ServiceAccount spark-operator/so-controller",
				"ValidatingAdmissionPolicy /so-admission-ca",
				"ValidatingAdmissionPolicyBinding /so-admission-ca",
				"ValidatingWebhookConfiguration /so-admission",
			}},
		{"namespaces by label, and one by name",
			install{values: `spark: {jobNamespaces: [jobs], jobNamespaceSelector: "spark=enabled"}`}, []string{
				"ClusterRole /spark-operator-admission",
				"ClusterRole /spark-operator-controller",
				"ClusterRoleBinding /spark-operator-admission",
				"ClusterRoleBinding /spark-operator-controller",
				"ConfigMap spark-operator/spark-operator-controller",
				"Deployment spark-operator/spark-operator-controller",
				"MutatingWebhookConfiguration /spark-operator-admission",
				"Role jobs/spark-operator-spark",
				"Role spark-operator/spark-operator-admission",
				"Role spark-operator/spark-operator-controller-lock",
				"RoleBinding jobs/spark-operator-spark",
				"RoleBinding spark-operator/spark-operator-admission",
				"RoleBinding spark-operator/spark-operator-controller-lock",
				"Secret spark-operator/spark-operator-admission-certs",
				"Service spark-operator/spark-operator-admission-svc",
				"ServiceAccount jobs/spark-operator-spark",
				"ServiceAccount spark-operator/spark-operator-controller",
				"ValidatingAdmissionPolicy /spark-operator-admission-ca",
				"ValidatingAdmissionPolicyBinding /spark-operator-admission-ca",
				"ValidatingWebhookConfiguration /spark-operator-admission",
			}},
		{"objects that the user creates are left out", install{values: `
controller: {serviceAccount: {create: false, name: mine}, rbac: {create: false}, leaderElection: {enable: false}}
spark: {jobNamespaces: [], serviceAccount: {create: false}, rbac: {create: false}}
crds: {install: false}`}, []string{
			"ConfigMap spark-operator/spark-operator-controller",
			"Deployment spark-operator/spark-operator-controller",
			"MutatingWebhookConfiguration /spark-operator-admission",
			"Secret spark-operator/spark-operator-admission-certs",
			"Service spark-operator/spark-operator-admission-svc",
			"ValidatingAdmissionPolicy /spark-operator-admission-ca",
			"ValidatingAdmissionPolicyBinding /spark-operator-admission-ca",
			"ValidatingWebhookConfiguration /spark-operator-admission",
		}},
		{"all optional objects", install{values: `
controller: {replicas: 2, podDisruptionBudget: {enable: true}, pprof: {enable: true, bindAddress: 0.0.0.0}, networkPolicy: {enable: true}}
prometheus: {metrics: {authentication: true}, podMonitor: {create: true, labels: {team: a}}, rules: {create: true}, dashboard: {create: true}}
spark: {serviceAccount: {create: false}, rbac: {create: false}}`, apis: monitoringAPIs}, []string{
			"ClusterRole /spark-operator-admission",
			"ClusterRole /spark-operator-controller-reviews",
			"ClusterRole /spark-operator-metrics-reader",
			"ClusterRoleBinding /spark-operator-admission",
			"ClusterRoleBinding /spark-operator-controller-reviews",
			"ConfigMap spark-operator/spark-operator-controller",
			"ConfigMap spark-operator/spark-operator-dashboard",
			"Deployment spark-operator/spark-operator-controller",
			"MutatingWebhookConfiguration /spark-operator-admission",
			"NetworkPolicy spark-operator/spark-operator-controller",
			"PodDisruptionBudget spark-operator/spark-operator-controller-pdb",
			"PodMonitor spark-operator/spark-operator-podmonitor",
			"PrometheusRule spark-operator/spark-operator",
			"Role default/spark-operator-controller",
			"Role spark-operator/spark-operator-admission",
			"Role spark-operator/spark-operator-controller-lock",
			"RoleBinding default/spark-operator-controller",
			"RoleBinding spark-operator/spark-operator-admission",
			"RoleBinding spark-operator/spark-operator-controller-lock",
			"Secret spark-operator/spark-operator-admission-certs",
			"Service spark-operator/spark-operator-admission-svc",
			"Service spark-operator/spark-operator-controller-svc",
			"ServiceAccount spark-operator/spark-operator-controller",
			"ValidatingAdmissionPolicy /spark-operator-admission-ca",
			"ValidatingAdmissionPolicyBinding /spark-operator-admission-ca",
			"ValidatingWebhookConfiguration /spark-operator-admission",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := mustRender(t, test.in)
			if diff := cmp.Diff(test.want, names(r)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNamesAreShortened checks that names and labels are valid even if the release has the longest possible name.
func TestNamesAreShortened(t *testing.T) {
	long := strings.Repeat("a-very-long-name-", 4)[:52] + "x" // Helm allows 53 characters in a release name
	for _, in := range []install{
		{release: long, namespace: "ops"},
		{release: "r", namespace: "ops", values: "nameOverride: " + strings.Repeat("n", 63)},
		{release: "r", namespace: "ops", values: "fullnameOverride: " + strings.Repeat("f", 63)},
	} {
		for _, o := range mustRender(t, in).objects {
			if faults := validation.IsDNS1123Label(o.GetName()); len(faults) > 0 {
				t.Errorf("%T %s: %v", o, o.GetName(), faults)
			}

			for key, value := range o.GetLabels() {
				if faults := validation.IsValidLabelValue(value); len(faults) > 0 {
					t.Errorf("%T %s: label %s=%s: %v", o, o.GetName(), key, value, faults)
				}
			}
		}
	}
}

func TestCommonLabelsAreOnEverything(t *testing.T) {
	r := mustRender(t, install{values: "commonLabels: {team: data}"})
	for _, o := range r.objects {
		for key, want := range map[string]string{"team": "data", "app.kubernetes.io/managed-by": "Helm",
			"app.kubernetes.io/instance": "spark-operator"} {
			if got := o.GetLabels()[key]; got != want {
				t.Errorf("%T %s: label %s is %q, want %q", o, o.GetName(), key, got, want)
			}
		}
	}

	if pod := objectOf[*appsv1.Deployment](t, r).Spec.Template; pod.Labels["team"] != "data" {
		t.Errorf("the pod's labels are %v", pod.Labels)
	}
}

func TestControllerIsRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}

	pod := objectOf[*appsv1.Deployment](t, mustRender(t, install{})).Spec.Template

	level := psa.LevelVersion{Level: psa.LevelRestricted, Version: psa.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			t.Errorf("Pod Security Standard restricted: %s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}

	container := pod.Spec.Containers[0]
	if s := container.SecurityContext; s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		t.Error("the root file system is writable")
	}

	if user := pod.Spec.SecurityContext.RunAsUser; user == nil || *user != 65532 {
		t.Errorf("runs as user %v, want 65532", user)
	}
}

func TestDeploymentHasTheValues(t *testing.T) {
	d := objectOf[*appsv1.Deployment](t, mustRender(t, install{values: `
image: {registry: registry.example, repository: team/operator, tag: "7", pullPolicy: Always, pullSecrets: [{name: regcred}]}
controller:
  labels: {a: b}
  annotations: {c: d}
  env: [{name: HTTPS_PROXY, value: "http://proxy"}]
  volumes: [{name: extra, emptyDir: {}}]
  volumeMounts: [{name: extra, mountPath: /extra}]
  sidecars: [{name: proxy, image: "proxy:1"}]
  replicas: 3
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  hostUsers: false
  priorityClassName: high
  nodeSelector: {disk: ssd}
  tolerations: [{key: k, operator: Exists}]
`}))
	pod := d.Spec.Template
	container := pod.Spec.Containers[0]

	selector := labels.SelectorFromSet(d.Spec.Selector.MatchLabels)
	for _, check := range []struct {
		name      string
		got, want any
	}{
		{"container's name", container.Name, "spark-operator-controller"},
		{"image", container.Image, "registry.example/team/operator:7"},
		{"pull policy", container.ImagePullPolicy, corev1.PullAlways},
		{"pull secrets", pod.Spec.ImagePullSecrets, []corev1.LocalObjectReference{{Name: "regcred"}}},
		{"arguments", container.Args, []string{"controller", "start", "--config=/etc/spark-operator/config.yaml"}},
		{"liveness", container.LivenessProbe.HTTPGet.Path, "/healthz"},
		{"readiness", container.ReadinessProbe.HTTPGet.Path, "/readyz"},
		{"env", container.Env, []corev1.EnvVar{
			{Name: "GOMAXPROCS", Value: "1"}, {Name: "GOGC", Value: "25"}, {Name: "HEAP_RESERVE_MIB", Value: "64"},
			{Name: "GOMEMLIMIT", Value: "966367641"}, {Name: "HTTPS_PROXY", Value: "http://proxy"},
		}},
		{"mounts", len(container.VolumeMounts), 2},
		{"volumes", len(pod.Spec.Volumes), 2},
		{"sidecar", pod.Spec.Containers[1].Name, "proxy"},
		{"replicas", *d.Spec.Replicas, int32(3)},
		{"host users", *pod.Spec.HostUsers, false},
		{"priority class", pod.Spec.PriorityClassName, "high"},
		{"node selector", pod.Spec.NodeSelector, map[string]string{"disk": "ssd"}},
		{"tolerations", len(pod.Spec.Tolerations), 1},
		{"spread selects the pod", pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels,
			d.Spec.Selector.MatchLabels},
		{"selector matches the pod", selector.Matches(labels.Set(pod.Labels)), true},
		{"label", pod.Labels["a"], "b"},
		{"annotation", pod.Annotations["c"], "d"},
		{"service account", pod.Spec.ServiceAccountName, "spark-operator-controller"},
	} {
		if diff := cmp.Diff(check.want, check.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", check.name, diff)
		}
	}

	ports := map[string]int32{}
	for _, p := range container.Ports {
		ports[p.Name] = p.ContainerPort
	}

	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		if port := probe.HTTPGet.Port; port.Type != intstr.String || ports[port.StrVal] != 8081 {
			t.Errorf("probe %s uses port %s of %v, want 8081", probe.HTTPGet.Path, port.String(), ports)
		}
	}

	if ports["metrics"] != 8080 {
		t.Errorf("ports are %v, want metrics at 8080", ports)
	}
}

func TestDisruptionBudgetSelectsTheController(t *testing.T) {
	r := mustRender(t, install{values: "controller: {replicas: 2, podDisruptionBudget: {enable: true}}"})

	pdb, d := objectOf[*policyv1.PodDisruptionBudget](t, r), objectOf[*appsv1.Deployment](t, r)
	if diff := cmp.Diff(d.Spec.Selector, pdb.Spec.Selector); diff != "" {
		t.Errorf("selector (-deployment +budget):\n%s", diff)
	}

	if pdb.Spec.MinAvailable.IntValue() != 1 {
		t.Errorf("minAvailable is %v, want 1", pdb.Spec.MinAvailable)
	}
}

// TestRightsAreMinimal compares all rights with a complete list, so that every added or removed right is a deliberate
// decision.
func TestRightsAreMinimal(t *testing.T) {
	for _, in := range []install{{}, {values: "spark: {jobNamespaces: []}"},
		{values: "controller: {submission: {mode: Native}}"},
		{values: "spark: {jobNamespaceSelector: spark=enabled}"}} {
		r := mustRender(t, in)

		want := maps.Clone(controllerRights)
		if native := strings.Contains(in.values, "Native"); native {
			delete(want, "/secrets")
		}

		if strings.Contains(in.values, "Selector") {
			want["/namespaces"] = "list watch"
		}

		roles := map[string][]rbacv1.PolicyRule{}
		for _, role := range objectsOf[*rbacv1.Role](r) {
			roles[role.Name] = role.Rules
		}

		for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
			roles[role.Name] = append(roles[role.Name], role.Rules...)
		}

		for name, rules := range roles {
			for _, rule := range rules {
				all := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames,
					rule.NonResourceURLs)
				if slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, "*") }) {
					t.Errorf("role %s has a wildcard: %v", name, rule)
				}

				if reads := []string{"get", "list", "watch"}; slices.Contains(rule.Resources, "secrets") &&
					name != "spark-operator-admission" &&
					slices.ContainsFunc(rule.Verbs, func(verb string) bool { return slices.Contains(reads, verb) }) {
					t.Errorf("role %s reads Secrets: %v", name, rule)
				}
			}
		}

		if diff := cmp.Diff(want, granted(roles["spark-operator-controller"])); diff != "" {
			t.Errorf("rights of the controller (-want +got):\n%s", diff)
		}

		if diff := cmp.Diff(webhookRights, roles["spark-operator-admission"]); diff != "" {
			t.Errorf("rights of the webhook (-want +got):\n%s", diff)
		}

		if diff := cmp.Diff(leaseRights, granted(roles["spark-operator-controller-lock"])); diff != "" {
			t.Errorf("rights on the lease (-want +got):\n%s", diff)
		}
	}
}

// webhookRights are the webhook's rights: its own Secret and its own configuration.
var webhookRights = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"spark-operator-admission-certs"},
		Verbs: []string{"get", "update"}},
	{APIGroups: []string{"admissionregistration.k8s.io"},
		Resources:     []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
		ResourceNames: []string{"spark-operator-admission"}, Verbs: []string{"get", "update"}},
}

var (
	controllerRights = map[string]string{
		"sparkoperator.k8s.io/sparkapplications":                     "create delete get list watch",
		"sparkoperator.k8s.io/sparkapplications/status":              "patch",
		"sparkoperator.k8s.io/sparkapplications/finalizers":          "update",
		"sparkoperator.k8s.io/scheduledsparkapplications":            "get list watch",
		"sparkoperator.k8s.io/scheduledsparkapplications/status":     "patch",
		"sparkoperator.k8s.io/scheduledsparkapplications/finalizers": "update",
		"sparkoperator.k8s.io/sparkconnects":                         "get list watch",
		"sparkoperator.k8s.io/sparkconnects/status":                  "patch",
		"sparkoperator.k8s.io/sparkconnects/finalizers":              "update",
		"spark.apache.org/sparkapplications":                         "delete get list patch watch",
		"spark.apache.org/sparkapplications/status":                  "patch",
		"spark.apache.org/sparkapplications/finalizers":              "update",
		"spark.apache.org/sparkclusters":                             "get list patch watch",
		"spark.apache.org/sparkclusters/status":                      "patch",
		"spark.apache.org/sparkclusters/finalizers":                  "update",
		"apps/statefulsets":                                          "create delete get list patch watch",
		"autoscaling/horizontalpodautoscalers":                       "create delete get list patch watch",
		"/pods":                                                      "create delete get list watch",
		"/configmaps":                                                "create delete get list patch watch",
		"/services":                                                  "create delete get list patch watch",
		"/events":                                                    "create get list patch",
		"/serviceaccounts":                                           "get",
		"/secrets":                                                   "create deletecollection",
		"authorization.k8s.io/localsubjectaccessreviews":             "create",
		"networking.k8s.io/networkpolicies":                          "create delete get list patch watch",
		"policy/poddisruptionbudgets":                                "create delete get list patch watch",
	}
	leaseRights = map[string]string{
		"coordination.k8s.io/leases":                                 "create",
		"coordination.k8s.io/leases[spark-operator-controller-lock]": "get update",
		"/events": "create",
	}
)

// TestExposureAddsRights checks that the controller has rights on Ingresses and routes only if a value enables them.
// The values are controller.uiIngress and controller.uiRoute for objects of sparkoperator.k8s.io, and
// controller.exposure for objects of spark.apache.org.
func TestExposureAddsRights(t *testing.T) {
	const all = "create delete get list patch watch"

	exposed := map[string]string{"networking.k8s.io/ingresses": all, "gateway.networking.k8s.io/httproutes": all,
		"gateway.networking.k8s.io/grpcroutes": all}
	for values, want := range map[string]map[string]string{
		"{}": {},
		"controller: {uiIngress: {enable: true}}":                              {"networking.k8s.io/ingresses": all},
		"controller: {uiRoute: {enable: true}}":                                {"gateway.networking.k8s.io/httproutes": all},
		"controller: {exposure: {enable: true}}":                               exposed,
		"controller: {exposure: {enable: true}, apache: {enable: false}}":      {},
		"{spark: {jobNamespaces: []}, controller: {exposure: {enable: true}}}": exposed,
	} {
		got := map[string]string{}

		r := mustRender(t, install{values: values})
		for _, role := range objectsOf[*rbacv1.Role](r) {
			if role.Name == "spark-operator-controller" {
				got = granted(role.Rules)
			}
		}

		for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
			if role.Name == "spark-operator-controller" {
				got = granted(role.Rules)
			}
		}

		maps.DeleteFunc(got, func(key, _ string) bool {
			return !strings.HasSuffix(key, "ingresses") && !strings.HasSuffix(key, "routes")
		})

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s adds the rights (-want +got):\n%s", values, diff)
		}
	}
}

// granted returns the verbs that the rules grant. The keys have the form "group/resource[name]".
func granted(rules []rbacv1.PolicyRule) map[string]string {
	rights := map[string]string{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				key := group + "/" + resource
				if len(rule.ResourceNames) > 0 {
					key += fmt.Sprint(rule.ResourceNames)
				}
				// Several rules can grant verbs on the same resource.
				verbs := slices.Sorted(slices.Values(append(strings.Fields(rights[key]), rule.Verbs...)))
				rights[key] = strings.Join(slices.Compact(verbs), " ")
			}
		}
	}
	return rights
}

// TestDriverRightsFollowTheValues checks the rights of drivers and of pods that run spark-submit. A driver creates and
// deletes executors. When it stops, it deletes its objects by label, which needs the verb deletecollection (Spark's
// KubernetesClusterSchedulerBackend). Only pods that run spark-submit have rights on Secrets and NetworkPolicies. These
// pods have their own service account, unless the values disable it. With the default values there are no such pods, so
// there is neither the account nor its rights. A policy limits the verb patch to objects that spark-submit created.
func TestDriverRightsFollowTheValues(t *testing.T) {
	drivers := map[string]string{
		"/pods": "create delete deletecollection get list patch watch", "/configmaps": "create deletecollection",
		"/services": "deletecollection", "/persistentvolumeclaims": "create deletecollection list",
	}

	submitters := map[string]string{
		"/pods": "create delete", "/configmaps": "create patch", "/services": "create patch",
		"/secrets":                "create patch",
		"/persistentvolumeclaims": "create patch", "networking.k8s.io/networkpolicies": "create patch",
	}
	for _, test := range []struct{ values, account, bound string }{
		{"{}", "", ""},
		{"controller: {submission: {mode: Native}}", "", ""},
		{"controller: {submission: {mode: Native, runners: true}}", "", ""},
		{"spark: {submission: {serviceAccount: {name: mine}}}", "", ""},
		{"controller: {submission: {mode: SparkSubmit}}", "spark-operator-submit", "spark-operator-submit"},
		{"controller: {submission: {runners: true}}", "spark-operator-submit", "spark-operator-submit"},
		{"{controller: {submission: {runners: true}}, spark: {submission: {serviceAccount: {name: mine}}}}", "mine",
			"mine"},
		{"{controller: {submission: {runners: true}}, spark: {submission: {serviceAccount: {create: false, name: mine}}}}", "mine", "mine"},
		{"{controller: {submission: {runners: true}}, spark: {submission: {serviceAccount: {create: false}}}}", "",
			"spark-operator-spark"},
		{"{controller: {submission: {runners: true}}, spark: {submission: {serviceAccount: {name: spark-operator-spark}}}}", "spark-operator-spark", "spark-operator-spark"},
		{"{controller: {submission: {runners: true}}, spark: {rbac: {create: false}}}", "", ""},
		{"{controller: {submission: {runners: true}}, spark: {jobNamespaces: []}}", "", ""},
		{"{controller: {submission: {runners: true}}, spark: {jobNamespaceSelector: spark=enabled}}",
			"spark-operator-submit", "spark-operator-submit"},
	} {
		r := mustRender(t, install{values: test.values})

		rights, bound := map[string]map[string]string{}, ""
		for _, role := range objectsOf[*rbacv1.Role](r) {
			rights[role.Name] = granted(role.Rules)
		}

		for _, b := range objectsOf[*rbacv1.RoleBinding](r) {
			if b.RoleRef.Name == "spark-operator-submit" {
				bound = b.Subjects[0].Name
			}
		}

		if got, made := rights["spark-operator-spark"]; made {
			if diff := cmp.Diff(drivers, got); diff != "" {
				t.Errorf("%s: rights of drivers (-want +got):\n%s", test.values, diff)
			}
		}

		if got, made := rights["spark-operator-submit"]; made {
			if diff := cmp.Diff(submitters, got); diff != "" {
				t.Errorf("%s: rights of spark-submit (-want +got):\n%s", test.values, diff)
			}
		}

		limited := ""
		for _, policy := range objectsOf[*admissionregistrationv1.ValidatingAdmissionPolicy](r) {
			if len(policy.Spec.MatchConditions) == 1 && policy.Spec.MatchConditions[0].Name == "spark-submit" {
				limited = policy.Spec.MatchConditions[0].Expression
			}
		}

		if want := `request.userInfo.username in ["system:serviceaccount:default:` + test.bound +
			`"]`; test.bound != "" && limited != want || test.bound == "" && limited != "" {
			t.Errorf("%s: the policy applies to %s, want %s", test.values, limited, want)
		}

		if got := configOf(t, r).Submission.ServiceAccount; got != test.account || bound != test.bound {
			t.Errorf("%s: spark-submit runs as %q, but the account %q has the rights; want %q, %q", test.values, got,
				bound, test.account, test.bound)
		}

		var names []string
		for _, account := range objectsOf[*corev1.ServiceAccount](r) {
			if slices.Contains(names, account.Namespace+"/"+account.Name) {
				t.Errorf("%s: %s exists twice", test.values, account.Name)
			}

			names = append(names, account.Namespace+"/"+account.Name)
		}
	}

	r := mustRender(t, install{values: "{controller: {submission: {runners: true}}, spark: {jobNamespaces: [jobs]}}"})

	bound := map[string]rbacv1.Subject{}
	for _, b := range objectsOf[*rbacv1.RoleBinding](r) {
		bound[b.Namespace+"/"+b.RoleRef.Name] = b.Subjects[0]
	}

	for role, want := range map[string]rbacv1.Subject{
		"jobs/spark-operator-submit": {Kind: "ServiceAccount", Name: "spark-operator-submit",
			Namespace: "jobs"},
		"jobs/spark-operator-spark": {Kind: "ServiceAccount", Name: "spark-operator-spark",
			Namespace: "jobs"},
		"jobs/spark-operator-controller": {Kind: "ServiceAccount", Name: "spark-operator-controller",
			Namespace: "spark-operator"},
		"spark-operator/spark-operator-controller-lock": {Kind: "ServiceAccount", Name: "spark-operator-controller",
			Namespace: "spark-operator"},
	} {
		if diff := cmp.Diff(want, bound[role]); diff != "" {
			t.Errorf("role %s is bound to (-want +got):\n%s", role, diff)
		}
	}
}

// TestDefinitionsFollowTheValues checks that the values decide which custom resource definitions are rendered. The
// rendered definitions equal the generated ones, apart from the release's labels and the keep policy.
func TestDefinitionsFollowTheValues(t *testing.T) {
	const sparkoperator, apache = "sparkoperator.k8s.io", "spark.apache.org"

	generated := readCRDs(t)
	for _, test := range []struct {
		values string
		keep   string
		groups []string // groups whose definitions must be rendered
	}{
		{"", "keep", []string{sparkoperator, apache}},
		{"crds: {keep: false}", "", []string{sparkoperator, apache}},
		{"crds: {install: false}", "", nil},
		{"crds: {sparkoperator: {enable: false}}", "keep", []string{apache}},
		{"crds: {apache: {enable: false}}", "keep", []string{sparkoperator}},
		{"crds: {sparkoperator: {enable: false}, apache: {enable: false}}", "", nil},
	} {
		got := map[string]*apiextensions.CustomResourceDefinition{}
		for _, crd := range objectsOf[*apiextensions.CustomResourceDefinition](mustRender(t,
			install{values: test.values, definitions: true})) {
			got[crd.Name] = crd
		}

		for name, want := range generated {
			crd := got[name]
			if wanted := slices.Contains(test.groups, want.Spec.Group); (crd != nil) != wanted {
				t.Errorf("values %q: %s rendered: %v, want %v", test.values, name, crd != nil, wanted)
			}

			if crd == nil {
				continue
			}

			if diff := cmp.Diff(want.Spec, crd.Spec); diff != "" {
				t.Errorf("values %q: %s (-generated +rendered):\n%s", test.values, name, diff)
			}

			if policy := crd.Annotations["helm.sh/resource-policy"]; policy != test.keep {
				t.Errorf("values %q: %s has the resource policy %q, want %q", test.values, name, policy, test.keep)
			}

			for key, value := range want.Annotations {
				if crd.Annotations[key] != value {
					t.Errorf("%s lost annotation %s=%s", name, key, value)
				}
			}
		}
	}
}

// TestDefinitionsCanBeApplied checks that the custom resource definitions are small enough for `kubectl apply`, which
// stores the whole object in an annotation. All annotations of an object together are limited to 256 KiB.
func TestDefinitionsCanBeApplied(t *testing.T) {
	for _, crd := range objectsOf[*apiextensions.CustomResourceDefinition](mustRender(t, install{definitions: true})) {
		compact, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}

		if len(compact) >= 256<<10 {
			t.Errorf("%s has %d bytes as compact JSON, the limit is %d", crd.Name, len(compact), 256<<10)
		}
	}
}

// TestNamesCanBeDigits renders the chart with namespaces, accounts and a release whose names are digits, which YAML
// reads as numbers without quotes. Helm then fails, or the API server refuses the object.
func TestNamesCanBeDigits(t *testing.T) {
	r := mustRender(t, install{
		release: "12", namespace: "456", users: true,
		apis: []string{"spark.apache.org/v1", "sparkoperator.k8s.io/v1beta2", "monitoring.coreos.com/v1", "monitoring.coreos.com/v1/PodMonitor", "monitoring.coreos.com/v1/PrometheusRule", "cert-manager.io/v1", validatingPolicyAPI},
		values: `
namespaces: {create: true}
spark: {jobNamespaces: ["123", "1e3"], serviceAccount: {name: "7", aliases: ["8"]}, submission: {serviceAccount: {name: "9"}}}
controller:
  serviceAccount: {name: "10"}
  priorityClassName: "15"
  submission: {mode: SparkSubmit}
  networkPolicy: {enable: true}
  kueue: {enable: true}
  dynamicConfig: {enable: true, create: true, source: File}
  apache: {sentinels: {enable: true, namespaces: ["123"], application: {create: true}, cluster: {create: true}}}
historyServer: {enable: true, logDirectory: "s3a://logs", serviceAccount: {name: "11"}}
console: {enable: true, tls: {secret: "16"}, ingress: {enable: true, host: a.example.com, ingressClassName: "17"}, proxy: {enable: true, secret: "13"}, networkPolicy: {enable: true, from: [{podSelector: {}}]}}
certManager: {enable: true}
nameOverride: "14"
webhook: {resourceQuotaEnforcement: {enable: true}}
prometheus: {podMonitor: {create: true}, rules: {create: true}, dashboard: {create: true}}
`})

	seen := 0

	for _, o := range r.objects {
		content, isUnstructured := o.(*unstructured.Unstructured)
		if !isUnstructured { // the decoder has refused numbers
			continue
		}

		for _, path := range numbersAsNames(content.Object, "") {
			t.Errorf("%s %s: %s is a number", content.GetKind(), content.GetName(), path)
		}

		seen++
	}

	if seen < 5 {
		t.Errorf("only %d custom resources", seen)
	}
}

// numbersAsNames returns the paths of numbers where Kubernetes wants names: in metadata, in fields that are called so,
// and in arguments.
func numbersAsNames(value any, path string) (found []string) {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			found = append(found, numbersAsNames(below, path+"."+key)...)
		}
	case []any:
		for _, below := range value {
			found = append(found, numbersAsNames(below, path)...)
		}
	case string, bool, nil:
	default:
		if regexp.MustCompile(`(?i)^\.metadata\.|(name|namespaces?|account|args|arguments|matchLabels\.[^ ]*|secret)$`).MatchString(path) {
			found = append(found, path)
		}
	}
	return found
}

// TestMemoryLimitSetsGOMEMLIMIT checks that the controller has a memory limit and that GOMEMLIMIT is below it.
func TestMemoryLimitSetsGOMEMLIMIT(t *testing.T) {
	for values, want := range map[string]string{
		"{}": "1Gi 966367641",
		"controller: {resources: {limits: {memory: 2Gi}}}":                                  "2Gi 1932735283",
		"controller: {resources: {limits: {memory: 500M}}}":                                 "500M 450000000",
		"controller: {resources: {limits: {memory: 1073741824}}}":                           "1073741824 966367641",
		"controller: {resources: {limits: {memory: 1.5Gi}}}":                                "1536Mi 1449551462",
		"controller: {resources: {limits: {memory: null}}}":                                 "0 ",
		"controller: {resources: {limits: null}}":                                           "0 ",
		"controller: {resources: null}":                                                     "0 ",
		"controller: {env: [{name: GOMEMLIMIT, value: 700MiB}]}":                            "1Gi 700MiB",
		"controller: {resources: {limits: {cpu: 2}}, env: [{name: HTTPS_PROXY, value: p}]}": "1Gi 966367641",
	} {
		container := objectOf[*appsv1.Deployment](t,
			mustRender(t, install{values: values})).Spec.Template.Spec.Containers[0]

		var limits []string
		for _, env := range container.Env {
			if env.Name == "GOMEMLIMIT" {
				limits = append(limits, env.Value)
			}
		}

		if got := container.Resources.Limits.Memory().String() + " " + strings.Join(limits, " "); got != want {
			t.Errorf("%s: limit and GOMEMLIMIT are %q, want %q", values, got, want)
		}
	}
}

// TestGoRuntimeValuesBecomeVariables checks the environment variables for Go's runtime. A null value omits the
// variable. If controller.env contains a variable that the chart also sets, the one in controller.env replaces the
// chart's.
func TestGoRuntimeValuesBecomeVariables(t *testing.T) {
	for values, want := range map[string]string{
		"{}": "GOMAXPROCS=1 GOGC=25 HEAP_RESERVE_MIB=64 GOMEMLIMIT=966367641",
		"controller: {go: {maxProcs: 4, gcPercent: 200, heapReserveMiB: 32}}":                                            "GOMAXPROCS=4 GOGC=200 HEAP_RESERVE_MIB=32 GOMEMLIMIT=966367641",
		"controller: {go: {gcPercent: 'off', heapReserveMiB: 0}}":                                                        "GOMAXPROCS=1 GOGC=off HEAP_RESERVE_MIB=0 GOMEMLIMIT=966367641",
		"controller: {go: {maxProcs: null, gcPercent: null, heapReserveMiB: null}}":                                      "GOMEMLIMIT=966367641",
		"controller: {go: null, resources: {limits: null}}":                                                              "",
		"controller: {env: [{name: GOGC, value: '75'}]}":                                                                 "GOMAXPROCS=1 HEAP_RESERVE_MIB=64 GOMEMLIMIT=966367641 GOGC=75",
		"controller: {env: [{name: GOMAXPROCS, value: '2'}, {name: GOGC, value: '9'}, {name: GOMEMLIMIT, value: 1GiB}]}": "HEAP_RESERVE_MIB=64 GOMAXPROCS=2 GOGC=9 GOMEMLIMIT=1GiB",
	} {
		var got []string
		for _, env := range objectOf[*appsv1.Deployment](t,
			mustRender(t, install{values: values})).Spec.Template.Spec.Containers[0].Env {
			got = append(got, env.Name+"="+env.Value)
		}

		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: the environment is %q, want %q", values, got, want)
		}
	}
}

// TestPprofIsLoopback checks that profiles are reachable only inside the pod by default, because they may contain
// secrets.
func TestPprofIsLoopback(t *testing.T) {
	for values, want := range map[string]string{
		"controller: {pprof: {enable: true}}":                         "127.0.0.1:6060, 0 Services",
		"controller: {pprof: {enable: true, bindAddress: 0.0.0.0}}":   "0.0.0.0:6060, 1 Services",
		"controller: {pprof: {enable: true, bindAddress: '::'}}":      "[::]:6060, 1 Services",
		"controller: {pprof: {enable: true, bindAddress: ''}}":        ":6060, 1 Services",
		"controller: {pprof: {bindAddress: 0.0.0.0}}":                 "0, 0 Services",
		"controller: {pprof: {enable: true, bindAddress: localhost}}": "localhost:6060, 0 Services",
	} {
		r := mustRender(t, install{values: values})
		if got := fmt.Sprintf("%s, %d Services", configOf(t, r).Pprof.BindAddress,
			len(objectsOf[*corev1.Service](r))-1); got != want {
			t.Errorf("%s: %s, want %s", values, got, want)
		}
	}
}

// TestMetricsAuthenticationNeedsReviews checks that the controller has the right to review tokens only if access to the
// metrics needs authentication.
func TestMetricsAuthenticationNeedsReviews(t *testing.T) {
	for values, want := range map[string]bool{
		"{}": false, "prometheus: {metrics: {authentication: true}}": true,
		"prometheus: {metrics: {authentication: true, enable: false}}": false,
	} {
		r := mustRender(t, install{values: values})

		rights := map[string]string{}
		for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
			if role.Name != "spark-operator-admission" {
				maps.Copy(rights, granted(role.Rules))
			}
		}

		may := rights["authentication.k8s.io/tokenreviews"] == "create" &&
			rights["authorization.k8s.io/subjectaccessreviews"] == "create"

		scheme := objectOf[*appsv1.Deployment](t, r).Spec.Template.Annotations["prometheus.io/scheme"]
		if may != want || len(rights) > 2 || (scheme == "https") != want {
			t.Errorf("%s: rights %v, scheme %q", values, rights, scheme)
		}
	}

	if !configOf(t, mustRender(t,
		install{values: "prometheus: {metrics: {authentication: true}}"})).Metrics.Authentication {
		t.Error("the operator's configuration lacks authentication")
	}

	if _, err := render(t, install{values: "{prometheus: {metrics: {authentication: true}}, controller: {apache: {metrics: {enable: true}}}}"}); err == nil {
		t.Error("the second metrics port has no authentication")
	}
}

// TestNetworkPolicySelectsTheController checks that the network policy lets the controller's pods accept connections
// only at the ports that they serve. Only the configured peers may read metrics.
func TestNetworkPolicySelectsTheController(t *testing.T) {
	if policies := objectsOf[*networkingv1.NetworkPolicy](mustRender(t, install{})); len(policies) > 0 {
		t.Errorf("without the switch: %v", policies)
	}

	r := mustRender(t, install{values: `
controller:
  networkPolicy: {enable: true, metricsFrom: [{namespaceSelector: {matchLabels: {a: b}}}], webhookFrom: [{ipBlock: {cidr: 10.0.0.1/32}}]}
  pprof: {enable: true}`})
	policy := objectOf[*networkingv1.NetworkPolicy](t, r).Spec

	pod := objectOf[*appsv1.Deployment](t, r).Spec.Template
	if !labels.SelectorFromSet(policy.PodSelector.MatchLabels).Matches(labels.Set(pod.Labels)) {
		t.Errorf("it selects %v", policy.PodSelector)
	}

	got := ""
	for _, rule := range policy.Ingress {
		for _, port := range rule.Ports {
			got += fmt.Sprintf("%d from %d, ", port.Port.IntVal, len(rule.From))
		}
	}

	if got != "8081 from 0, 9443 from 1, 8080 from 1, " || len(policy.PolicyTypes) != 1 {
		t.Errorf("it is %s %+v", got, policy)
	}

	open := objectOf[*networkingv1.NetworkPolicy](t,
		mustRender(t, install{values: "controller: {networkPolicy: {enable: true}}"})).Spec.Ingress
	if len(open) != 3 || len(open[1].From) != 0 {
		t.Errorf("without webhookFrom it is %+v", open)
	}

	out := objectOf[*networkingv1.NetworkPolicy](t,
		mustRender(t, install{values: "controller: {networkPolicy: {enable: true, egress: [{ports: [{port: 6443}]}]}}"})).Spec
	if len(out.PolicyTypes) != 2 || len(out.Egress) != 1 {
		t.Errorf("with egress it is %+v", out)
	}
}
