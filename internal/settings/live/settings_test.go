package live

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/pod-security-admission/api"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

func TestChangedNamespaces(t *testing.T) {
	for _, test := range []struct{ before, after, want []string }{
		{nil, nil, nil},
		{[]string{"a"}, []string{"a"}, nil},
		{[]string{"a", "b"}, []string{"b", "c"}, []string{"a", "c"}},
		{[]string{"a", "b"}, []string{"b", "a"}, nil},
		{nil, []string{"a"}, []string{metav1.NamespaceAll}},
		{[]string{"a"}, nil, []string{metav1.NamespaceAll}},
	} {
		if diff := cmp.Diff(test.want,
			changedNamespaces(config.Namespaces{Names: test.before},
				config.Namespaces{Names: test.after})); diff != "" {
			t.Errorf("%v to %v (-want +got):\n%s", test.before, test.after, diff)
		}
	}
}

// forbidden is a reader whose lists fail because the API server rejects them.
type forbidden struct{ client.Reader }

func (forbidden) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("configmaps is forbidden")
}

// TestUnreadableSettingsKeepConfiguration checks that an operator without the right to list ConfigMaps keeps the
// configuration with which it started and logs the reason once.
func TestUnreadableSettingsKeepConfiguration(t *testing.T) {
	var log strings.Builder
	cfg := config.Default()
	cfg.Namespaces.Names = []string{"team"}
	cfg.DynamicConfig.Source = config.SourceConfigMap
	live := New(cfg)

	d := &follower{live: live, config: cfg.DynamicConfig, namespace: "n", selector: labels.Everything(),
		log: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})}
	for range 3 {
		d.refresh(t.Context(), forbidden{})
	}

	if names := live.Now().Namespaces.Names; !slices.Equal(names, []string{"team"}) {
		t.Errorf("served are %v", names)
	}

	if n := strings.Count(log.String(), "Could not read the dynamic settings"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
}

// TestInvalidPolicyKeepsSettings checks that a dynamic policy replaces the rules of the platform, and that an invalid
// policy leaves the last rules in place. The log names the path of the invalid setting.
func TestInvalidPolicyKeepsSettings(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	cfg := config.Default()
	cfg.Policy.ServerVersion = api.MajorMinorVersion(1, 35)
	live := New(cfg)
	woken := 0
	live.OnNamespaceChange(func(string) { woken++ })
	d := &follower{live: live, log: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})}
	d.apply(map[string]string{policyKey: `rules: [{name: a, images: {allowed: ["registry.example.com/*"]}}]`})

	if rules := live.Now().Policy.Rules; len(rules) != 1 || woken != 1 {
		t.Fatalf("the rules are %v, the function was called %d times", rules, woken)
	}

	if got := live.Now().Policy.ServerVersion; got != cfg.Policy.ServerVersion {
		t.Errorf("the version of the API server is %s", got)
	}

	for text, want := range map[string]string{
		`rules: [{name: a, images: {allowed: ["regexp:("]}}]`: "policy.rules[0].images.allowed[0]",
		`rules: [{name: b, selector: tier=tenant}]`:           "which the operator watches only if its configuration file has a selector",
		`rule: []`: "unknown field",
	} {
		d.apply(map[string]string{policyKey: text, "spark.kubernetes.operator.watchedNamespaces": "team"})

		if now := live.Now(); now.Policy.Rules[0].Name != "a" || len(now.Namespaces.Names) > 0 || woken != 1 {
			t.Errorf("%s is applied: %v", text, now.Policy)
		}

		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, log.String())
		}
	}

	d.apply(nil)

	if rules := live.Now().Policy.Rules; len(rules) != 0 {
		t.Errorf("without the setting the rules are %v", rules)
	}

	if got := live.Now().Policy.ServerVersion; got != cfg.Policy.ServerVersion {
		t.Errorf("without the setting the version of the API server is %s", got)
	}
}

// lateCache is a cache whose start is delayed.
type lateCache struct{ cache.Cache }

func (c lateCache) Start(ctx context.Context) error {
	time.Sleep(100 * time.Millisecond)
	return c.Cache.Start(ctx)
}

// TestWatchReadsOnlyStartedCache checks that the first read waits until the cache has started. An earlier version did
// not wait, so every start of the operator logged an error.
func TestWatchReadsOnlyStartedCache(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")

		if r.URL.Query().Get("sendInitialEvents") != "" {
			w.WriteHeader(http.StatusUnprocessableEntity) // this server has no streaming lists
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
			return
		}

		if r.URL.Query().Get("watch") != "" {
			w.(http.Flusher).Flush()
			<-ctx.Done()
			return
		}

		_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`+
			`{"metadata":{"name":"settings","namespace":"n"},"data":{"spark.kubernetes.operator.watchedNamespaces":"team"}}]}`)
	}))
	defer server.Close()
	defer stop()

	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)

	var log strings.Builder
	live := New(config.Default())
	changed := make(chan string, 10)
	live.OnNamespaceChange(func(namespace string) { changed <- namespace })
	d := &follower{live: live, config: config.DynamicConfig{Source: config.SourceConfigMap}, namespace: "n",
		selector: labels.Everything(),
		log:      funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})}
	d.open = func() (cache.Cache, error) {
		late, err := cache.New(&rest.Config{Host: server.URL},
			cache.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper})
		return lateCache{late}, err
	}

	ended := make(chan error, 1)
	go func() { ended <- d.watch(ctx) }()

	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Error("the ConfigMap was not read")
	}

	stop()

	if err := <-ended; err != nil {
		t.Error(err)
	}

	if strings.Contains(log.String(), "Could not read") {
		t.Errorf("an error was logged at the start:\n%s", &log)
	}
}

// TestUpdateReportsChangedNamespaces checks that Update calls each registered function with each namespace that is
// newly served or no longer served.
func TestUpdateReportsChangedNamespaces(t *testing.T) {
	cfg := config.Default()
	cfg.Namespaces.Names = []string{"a", "b"}
	live := New(cfg)
	var first, second []string
	live.OnNamespaceChange(func(name string) { first = append(first, name) })
	live.OnNamespaceChange(func(name string) { second = append(second, name) })

	next := cfg
	next.Namespaces.Names = []string{"b", "c"}
	live.Update(next)

	for _, woken := range [][]string{first, second} {
		if diff := cmp.Diff([]string{"a", "c"}, woken); diff != "" {
			t.Errorf("namespaces for which the functions were called (-want +got):\n%s", diff)
		}
	}

	if !slices.Equal(live.Now().Namespaces.Names, next.Namespaces.Names) {
		t.Errorf("served are %v", live.Now().Namespaces.Names)
	}
}
