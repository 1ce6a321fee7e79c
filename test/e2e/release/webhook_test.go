package release

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// admission returns the existing objects of the webhook in the form "Kind name".
func (r *release) admission() (found []string) {
	r.t.Helper()

	for _, list := range []client.ObjectList{
		&admissionregistrationv1.ValidatingWebhookConfigurationList{},
		&admissionregistrationv1.MutatingWebhookConfigurationList{},
		&admissionregistrationv1.MutatingAdmissionPolicyList{},
		&admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
		&corev1.SecretList{}, &corev1.ServiceList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
	} {
		err := r.api.List(r.t.Context(), list)
		if meta.IsNoMatchError(err) {
			continue // an API server before Kubernetes 1.36 serves no policies
		}

		if err != nil {
			r.t.Fatal(err)
		}

		err = meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if strings.Contains(object.GetName(), "-admission") &&
				(object.GetNamespace() == r.namespace || object.GetNamespace() == "") {
				found = append(found, strings.TrimPrefix(fmt.Sprintf("%T ", object), "*v1.")+object.GetName())
			}
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return found
}

// configuration returns the webhook's configuration.
func (r *release) configuration(ctx context.Context) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	return configuration, r.api.Get(ctx, client.ObjectKey{Name: "spark-operator-admission"}, configuration)
}

// waitTrusted waits until the API server trusts the operator's certificate in every webhook.
func (r *release) waitTrusted(webhooks int) {
	r.t.Helper()
	kit.Wait(r.t, "the bundles", func(ctx context.Context) error {
		configuration, err := r.configuration(ctx)
		if err != nil {
			return err
		}

		if n := len(configuration.Webhooks); n != webhooks {
			return fmt.Errorf("%d webhooks, want %d", n, webhooks)
		}

		for _, hook := range configuration.Webhooks {
			if len(hook.ClientConfig.CABundle) == 0 {
				return fmt.Errorf("%s has no bundle", hook.Name)
			}
		}
		return nil
	})
}

// run starts the operator with the configuration and the rights of the release, and returns the record of its requests.
// The function stop stops the operator. If the test does not call stop, the operator stops at the end of the test.
func (r *release) run() (requests *record, stop func()) {
	r.t.Helper()
	dir := r.t.TempDir()

	requests = &record{}

	files := map[string]string{"config.yaml": r.configurationFile(),
		"kubeconfig": fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
		clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}`,
			r.proxy(requests))}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	var log bytes.Buffer
	operator := exec.Command(gobuild.Must(r.t, ".", "./cmd/spark-operator"), "controller", "start", "--config="+filepath.Join(dir, "config.yaml"))
	operator.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(dir, "kubeconfig"))

	operator.Stdout, operator.Stderr = &log, &log
	if err := operator.Start(); err != nil {
		r.t.Fatal(err)
	}

	stop = sync.OnceFunc(func() {
		if err := errors.Join(operator.Process.Signal(syscall.SIGTERM), operator.Wait()); err != nil {
			r.t.Errorf("the operator ended with %v", err)
		}

		if r.t.Failed() {
			r.t.Log(log.String())
		}
	})
	r.t.Cleanup(stop)
	return requests, stop
}

// configurationFile returns the operator's configuration file in the release, with addresses that are free on this
// machine.
func (r *release) configurationFile() string {
	r.t.Helper()

	cfg, err := config.Parse([]byte(r.stored()))
	if err != nil {
		r.t.Fatal(err)
	}

	cfg.Health.BindAddress, cfg.Metrics.BindAddress, cfg.Pprof.BindAddress, cfg.Webhook.BindAddress = config.Off,
		config.Off, config.Off, "127.0.0.1:0"

	text, err := kyaml.Marshal(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// proxy starts a proxy that records requests and passes them on to the API server with the identity of the release's
// service account. It returns the URL of the proxy.
func (r *release) proxy(requests *record) string {
	r.t.Helper()
	rc := kit.Rest(r.t)
	rc.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + r.namespace + ":" + r.controller(),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + r.namespace, "system:authenticated"}}

	transport, err := rest.TransportFor(rc)
	if err != nil {
		r.t.Fatal(err)
	}

	to, err := url.Parse(rc.Host)
	if err != nil {
		r.t.Fatal(err)
	}

	if to.Scheme == "" {
		to = &url.URL{Scheme: "https", Host: rc.Host}
	}

	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(req *httputil.ProxyRequest) { req.SetURL(to) }, Transport: transport, FlushInterval: -1,
		ModifyResponse: func(answer *http.Response) error {
			requests.add(answer.Request, answer.StatusCode)
			return nil
		},
	})
	r.t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// record collects requests in the form "verb resource name". For a forbidden request it also contains a line with the
// prefix "forbidden: ".
type record struct {
	mu   sync.Mutex
	seen map[string]bool
}

// add records a request. It reads the resource and the name from the path, which is /api/v1/... or
// /apis/GROUP/VERSION/... with an optional namespaces/NAMESPACE.
func (r *record) add(req *http.Request, status int) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	if parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3}[parts[0]]):]; len(parts) > 2 &&
		parts[0] == "namespaces" {
		parts = parts[2:]
	}

	if len(parts) == 0 {
		return // discovery
	}

	named := len(parts) > 1

	verb := map[string]string{http.MethodPut: "update", http.MethodPost: "create", http.MethodPatch: "patch",
		http.MethodDelete: "delete"}[req.Method]
	switch {
	case req.Method == http.MethodGet && named:
		verb = "get"
	case req.Method == http.MethodGet && req.URL.Query().Get("watch") != "":
		verb = "watch"
	case req.Method == http.MethodGet:
		verb = "list"
	}

	line := verb + " " + parts[0]
	if named {
		line += " " + parts[1]
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	if r.seen == nil {
		r.seen = map[string]bool{}
	}

	r.seen[line] = true
	if status == http.StatusForbidden {
		r.seen["forbidden: "+line] = true
	}
}

// matching returns the requests for the given resources, and all forbidden requests.
func (r *record) matching(resources ...string) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for line := range r.seen {
		if strings.HasPrefix(line, "forbidden: ") || slices.Contains(resources, strings.Fields(line)[1]) {
			lines = append(lines, line)
		}
	}

	slices.Sort(lines)
	return lines
}

// TestWebhookOfARelease upgrades a release from the last chart without a webhook to the current chart. It then changes
// the values to serve fewer kinds and to disable the webhook. A disabled webhook must leave no objects except the
// mutating admission policy, which the API server applies without the webhook. Uninstalling the release must remove all
// objects. The environment variable OLD_CHART can name the directory of another chart for the first installation.
func TestWebhookOfARelease(t *testing.T) {
	r := newRelease(t)
	r.install(cmp.Or(os.Getenv("OLD_CHART"),
		filepath.Join("test", "e2e", "release", "testdata", "before-webhook")), "{}")

	if found := r.admission(); len(found) > 0 {
		t.Fatalf("before: %q", found)
	}

	r.upgrade("{}")
	_, stop := r.run()
	r.waitTrusted(5)

	on := r.admission()
	if len(on) < 8 { // one object of each kind
		t.Errorf("when it is on: %q", on)
	}

	r.upgrade("controller: {connect: {enable: false}}")
	r.waitTrusted(4)

	app := r.anApplication()
	r.upgrade("{webhook: {failurePolicy: Fail}}")
	r.waitTrusted(10) // each kind has an entry for its spec and one for everything else
	stop()
	r.editsWithoutAnswer(app)
	r.upgrade("webhook: {enable: false}")

	policies := slices.DeleteFunc(slices.Clone(on),
		func(object string) bool { return !strings.HasPrefix(object, "MutatingAdmissionPolicy") })
	if left := r.admission(); !slices.Equal(left, policies) {
		t.Errorf("when it is off: %q, want %q", left, policies)
	}

	r.upgrade("webhook: {resourceQuotaEnforcement: {enable: true}}")

	if found := r.admission(); !slices.Equal(found, on) {
		t.Errorf("when it is on again: %q, want %q", found, on)
	}

	r.uninstall()

	if left := r.admission(); len(left) > 0 {
		t.Errorf("after the end of the release: %q", left)
	}
}

// anApplication creates an application that is suspended.
func (r *release) anApplication() *unstructured.Unstructured {
	r.t.Helper()

	app := &unstructured.Unstructured{}
	if err := kyaml.Unmarshal([]byte(`
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: edited}
spec:
  suspend: true
  type: Scala
  mode: cluster
  sparkVersion: 4.1.4
  image: spark
  mainClass: Main
  mainApplicationFile: local:///app.jar
  driver: {cores: 1}
  executor: {instances: 1}
`), &app.Object); err != nil {
		r.t.Fatal(err)
	}

	app.SetNamespace(r.namespace)

	if err := r.api.Create(r.t.Context(), app); err != nil {
		r.t.Fatal(err)
	}
	return app
}

// editsWithoutAnswer checks that the API server refuses a new spec while nobody answers the webhook and its failure
// policy is Fail, but takes labels, finalizers and suspend.
func (r *release) editsWithoutAnswer(app *unstructured.Unstructured) {
	r.t.Helper()

	patch := func(ctx context.Context, text string) error {
		return r.api.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	}
	kit.Wait(r.t, "a new spec to be refused", func(ctx context.Context) error {
		if err := patch(ctx, fmt.Sprintf(`{"spec": {"arguments": ["%d"]}}`, time.Now().UnixNano())); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})

	for _, text := range []string{`{"metadata": {"labels": {"a": "b"}}}`, `{"metadata": {"finalizers": ["example.com/a"]}}`,
		`{"metadata": {"finalizers": null}}`, `{"spec": {"suspend": false}}`, `{"spec": {"suspend": null}}`} {
		if err := patch(r.t.Context(), text); err != nil {
			r.t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRightsOfTheWebhook runs the operator with the rights of the chart, and records its requests for the objects that
// the webhook needs, such as its Secret. The operator must use each right on these objects, and must not need any other
// right.
func TestRightsOfTheWebhook(t *testing.T) {
	r := newRelease(t)
	// Without the feature, an informer lists and watches, as with an API server before Kubernetes 1.34.
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	r.install(currentChart, "webhook: {resourceQuotaEnforcement: {enable: true}}")
	requests, stop := r.run()
	r.waitTrusted(5)

	resources := []string{"secrets", "validatingwebhookconfigurations", "mutatingwebhookconfigurations",
		"resourcequotas"}
	want := r.grantedRequests(resources)
	kit.Wait(t, "the requests", func(context.Context) error {
		if got := requests.matching(resources...); !slices.Equal(got, want) {
			return errors.New(strings.Join(got, ", "))
		}
		return nil
	})
	stop()

	if got := requests.matching(resources...); !slices.Equal(got, want) {
		t.Errorf("requests %q, rights %q", got, want)
	}
}

// grantedRequests returns the requests that the release's roles allow on the given resources. It omits rules for
// Secrets that name no Secret. Such rules are for the Secrets of drivers.
func (r *release) grantedRequests(resources []string) (lines []string) {
	r.t.Helper()
	var rules []rbacv1.PolicyRule
	var roles rbacv1.RoleList
	var clusterRoles rbacv1.ClusterRoleList

	ours := client.MatchingLabels{"app.kubernetes.io/instance": name, "app.kubernetes.io/component": "controller"}
	if err := errors.Join(r.api.List(r.t.Context(), &roles, client.InNamespace(r.namespace), ours),
		r.api.List(r.t.Context(), &clusterRoles, ours)); err != nil {
		r.t.Fatal(err)
	}

	for _, role := range roles.Items {
		rules = append(rules, role.Rules...)
	}

	for _, role := range clusterRoles.Items {
		rules = append(rules, role.Rules...)
	}

	for _, rule := range rules {
		for _, resource := range rule.Resources {
			if !slices.Contains(resources, resource) || resource == "secrets" && len(rule.ResourceNames) == 0 {
				continue
			}

			for _, verb := range rule.Verbs {
				line := verb + " " + resource
				if len(rule.ResourceNames) == 0 {
					lines = append(lines, line)
				}

				for _, name := range rule.ResourceNames {
					lines = append(lines, line+" "+name)
				}
			}
		}
	}

	slices.Sort(lines)
	return lines
}
