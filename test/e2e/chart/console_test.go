package chart

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"
)

// consoleName is the prefix of the names of the console's objects.
const consoleName = "spark-operator-console"

// consoleObjects returns the objects of the console of a type.
func consoleObjects[T client.Object](r rendered) (found []T) {
	for _, o := range objectsOf[T](r) {
		if strings.HasPrefix(o.GetName(), consoleName) {
			found = append(found, o)
		}
	}
	return found
}

// TestConsoleHasNoRights checks that the console has no rights and no token, and that its pod meets the strictest Pod
// Security Standard. With a proxy, its only right is to impersonate.
func TestConsoleHasNoRights(t *testing.T) {
	r := mustRender(t, install{values: "console: {enable: true}"})

	for _, o := range r.objects {
		switch o.(type) {
		case *rbacv1.Role, *rbacv1.ClusterRole, *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
			if strings.HasPrefix(o.GetName(), consoleName) {
				t.Errorf("there is a %T", o)
			}
		}
	}

	pod := consoleObjects[*appsv1.Deployment](r)[0].Spec.Template

	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}

	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
		t.Errorf("the pod is not restricted: %s", result.ForbiddenDetail())
	}

	if *pod.Spec.AutomountServiceAccountToken || !*pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem || pod.Spec.ServiceAccountName != consoleName {
		t.Errorf("the pod has a token, another account or a file system that can be written: %+v", pod.Spec)
	}

	r = mustRender(t, install{values: "console: {enable: true, proxy: {enable: true, secret: proxy, groups: [data], users: [jane]}}"})

	roles := consoleObjects[*rbacv1.ClusterRole](r)
	if len(roles) != 1 || len(roles[0].Rules) != 2 || len(consoleObjects[*rbacv1.ClusterRoleBinding](r)) != 1 {
		t.Fatalf("the console with a proxy has the roles %+v", roles)
	}

	for i, want := range []string{"users: jane", "groups: data"} {
		rule := roles[0].Rules[i]
		if got := strings.Join(rule.Resources, " ") + ": " + strings.Join(rule.ResourceNames, " "); got != want || strings.Join(rule.Verbs, " ") != "impersonate" {
			t.Errorf("rule %d is %+v, want %s", i, rule, want)
		}
	}

	if !*consoleObjects[*appsv1.Deployment](r)[0].Spec.Template.Spec.AutomountServiceAccountToken {
		t.Error("the console cannot impersonate without a token")
	}
}

// TestConsoleIsReachable checks that the Service, the Ingress and the NetworkPolicy lead to the console's port, and
// that the console accepts the names of the Ingress and of the route.
func TestConsoleIsReachable(t *testing.T) {
	r := mustRender(t, install{values: `spark: {jobNamespaces: [team-a]}
console:
  enable: true
  hosts: ["localhost:8443"]
  tls: {secret: cert}
  ingress: {enable: true, host: c.example.com}
  route: {enable: true, parentRefs: [{name: g}], hostnames: [r.example.com]}
  networkPolicy: {enable: true, from: [{podSelector: {}}]}
`})
	pod, service := consoleObjects[*appsv1.Deployment](r)[0].Spec.Template, consoleObjects[*corev1.Service](r)[0]

	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, the pod has %v", key, value, pod.Labels)
		}
	}

	if service.Spec.Ports[0].Port != 443 || pod.Spec.Containers[0].Ports[0].ContainerPort != 8443 || pod.Spec.Containers[0].ReadinessProbe.HTTPGet.Scheme != corev1.URISchemeHTTPS {
		t.Errorf("with a certificate, the ports are %+v and %+v", service.Spec.Ports, pod.Spec.Containers[0].Ports)
	}

	if backend := consoleObjects[*networkingv1.Ingress](r)[0].Spec.Rules[0].HTTP.Paths[0].Backend.Service; backend.Name != service.Name || backend.Port.Name != service.Spec.Ports[0].Name {
		t.Errorf("the Ingress leads to %+v", backend)
	}

	if ports := consoleObjects[*networkingv1.NetworkPolicy](r)[0].Spec.Ingress[0].Ports; len(ports) != 1 || ports[0].Port.IntVal != 8443 {
		t.Errorf("the NetworkPolicy opens %+v", ports)
	}

	var config struct {
		Server     string
		Hosts      []string
		Namespaces []string
		TLS        struct{ CertFile string }
	}
	if err := kyaml.Unmarshal([]byte(consoleObjects[*corev1.ConfigMap](r)[0].Data["console.yaml"]), &config); err != nil {
		t.Fatal(err)
	}

	if got := strings.Join(append(config.Hosts, config.Namespaces...), " "); got != "localhost:8443 c.example.com r.example.com team-a" || config.Server == "" || config.TLS.CertFile == "" {
		t.Errorf("the configuration is %+v", config)
	}

	if image := pod.Spec.Containers[0].Image; !strings.Contains(image, "/sparkctl:") {
		t.Errorf("the image is %s", image)
	}
}

// TestConsoleWithOldValues renders the chart with the values of a version without a console, as with --reuse-values.
func TestConsoleWithOldValues(t *testing.T) {
	if r := mustRender(t, install{values: "console: null"}); len(consoleObjects[*appsv1.Deployment](r)) > 0 {
		t.Error("there is a console")
	}
}

func TestIncompleteConsolesAreRejected(t *testing.T) {
	for values, want := range map[string]string{
		"proxy: {enable: true}":             "console.proxy.secret",
		"ingress: {enable: true}":           "console.ingress.host",
		"route: {enable: true}":             "console.route.parentRefs",
		"proxy: {groups: [system:masters]}": "groups",
		"sessions: {idle: never}":           "idle",
		"unknown: true":                     "unknown",
	} {
		if _, err := render(t, install{values: "console: {enable: true, " + values + "}"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
}
