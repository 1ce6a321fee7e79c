package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// uiBase is the path of the application's web UI.
const uiBase = "/default/web"

// ui tests the web UI of a running application, through the node port of its Service and through its Ingress. The test
// simulates ingress-nginx. It upgrades the release so that the operator creates Ingresses, and does not undo this
// change. Therefore this test is the last one before the release is uninstalled.
func (w *suite) ui(t *testing.T) {
	err := w.Helm(t.Context(), "upgrade", cluster.Release, filepath.Join(root, "charts/spark-operator"), "--namespace",
		cluster.Namespace,
		"--reuse-values", "--wait", "--timeout", "2m", "--set", "controller.uiIngress.enable=true", "--set",
		"controller.exposure.enable=true",
		"--set-literal", "controller.uiIngress.urlFormat=https://spark.example.com/{{$appNamespace}}/{{$appName}}")
	if err != nil {
		t.Fatal(err)
	}

	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Name = "web"
		a.Spec.MainClass, a.Spec.Arguments = new("dev.sparkoperator.failures.Sleeps"), nil
		a.Spec.MainApplicationFile = "local:///opt/spark/examples/jars/spark-failures.jar"
		a.Spec.Executor.Instances = new(int32(1))
	})
	w.create(t, app)
	w.await(t, app, patience, "a running executor", func(a *v1beta2.SparkApplication) bool {
		return a.Status.Executors != nil && a.Status.Executors.Running > 0
	})

	if info := app.Status.DriverInfo; info.WebUIServiceName != "web-ui-svc" || info.WebUIPort != 4040 ||
		info.WebUIIngressName != "web-ui-ingress" || info.WebUIIngressAddress != "https://spark.example.com"+uiBase {
		t.Errorf("driverInfo is %+v", info)
	}

	if c := condition(app, "Exposed"); c.Status != metav1.ConditionTrue {
		t.Errorf("condition Exposed is %+v", c)
	}

	direct := w.openNodePort(t, app)

	var known []struct{ ID string }
	if err := json.Unmarshal([]byte(fetch(t, direct+"/api/v1/applications", http.StatusOK)), &known); err != nil {
		t.Fatal(err)
	}

	if len(known) != 1 || known[0].ID != app.Status.SparkApplicationID {
		t.Errorf("the REST API knows %v, want %s", known, app.Status.SparkApplicationID)
	}

	var ingress networkingv1.Ingress
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: "web-ui-ingress"},
		&ingress); err != nil {
		t.Fatal(err)
	}

	browse(t, asNginx(t, &ingress, direct)+uiBase, app.Status.SparkApplicationID)
	w.sparkctl(t, app)
	w.remove(t, app)

	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(&ingress), &ingress); !apierrors.IsNotFound(err) {
		t.Errorf("the Ingress outlives its application: %v", err)
	}
}

// openNodePort edits a running application so that its UI Service gets a node port, which must not start a new run. It
// returns an address that is reachable from outside the pods' network.
func (w *suite) openNodePort(t *testing.T, app *v1beta2.SparkApplication) string {
	t.Helper()

	before := app.DeepCopy()

	app.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServiceType: new(corev1.ServiceTypeNodePort)}
	if err := w.Client.Patch(t.Context(), app, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	var service corev1.Service
	eventually(t, time.Minute, "a port on the node", func() (string, bool) {
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: "web-ui-svc"},
			&service); err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%+v", service.Spec), service.Spec.Ports[0].NodePort != 0
	})

	if want := service.Spec.ClusterIP + ":4040"; app.Status.DriverInfo.WebUIAddress != want {
		t.Errorf("webUIAddress is %s, want %s", app.Status.DriverInfo.WebUIAddress, want)
	}

	var node corev1.Node
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: w.nodeName(t)}, &node); err != nil {
		t.Fatal(err)
	}

	at := slices.IndexFunc(node.Status.Addresses,
		func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	direct := "http://" + net.JoinHostPort(node.Status.Addresses[at].Address,
		strconv.Itoa(int(service.Spec.Ports[0].NodePort)))
	eventually(t, time.Minute, "an answer at "+direct, func() (string, bool) {
		answer, err := http.Get(direct + "/api/v1/version")
		if err != nil {
			return err.Error(), false
		}
		return answer.Status, answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	return direct
}

// asNginx starts a server that forwards requests as ingress-nginx does for the given Ingress, and returns its address.
// The path of the Ingress is a regular expression. An annotation of the Ingress gives the path that the backend
// receives.
func asNginx(t *testing.T, ingress *networkingv1.Ingress, backend string) string {
	t.Helper()

	location := regexp.MustCompile("^" + ingress.Spec.Rules[0].HTTP.Paths[0].Path)
	target := strings.ReplaceAll(ingress.Annotations["nginx.ingress.kubernetes.io/rewrite-target"], "$2", "${2}")

	to, err := url.Parse(backend)
	if err != nil {
		t.Fatal(err)
	}

	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // nginx forwards the host, and redirects contain it
		r.Out.URL.Path, r.Out.URL.RawPath = location.ReplaceAllString(r.In.URL.Path, target), ""
	}}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if !location.MatchString(request.URL.Path) {
			http.NotFound(answer, request)
			return
		}

		proxy.ServeHTTP(answer, request)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// reference matches a link from an HTML page to another page, a stylesheet, a script or an image.
var reference = regexp.MustCompile(`(?:href|src)="([^"#]+)"`)

// browse opens the UI as a browser does, and follows the references in its pages. Every reference must be below the
// base path and must exist.
func browse(t *testing.T, base, id string) {
	t.Helper()

	answer, err := http.Get(base)
	if err != nil {
		t.Fatal(err)
	}

	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}

	root, _ := url.Parse(base)
	if got := answer.Request.URL; answer.StatusCode != http.StatusOK || got.Host != root.Host ||
		got.Path != root.Path+"/jobs/" {
		t.Fatalf("%s leads to %s: %s", base, got, answer.Status)
	}

	seen, kinds := map[string]bool{}, map[string]int{}
	for _, page := range []string{"/jobs/", "/stages/", "/storage/", "/environment/", "/executors/"} {
		text := fetch(t, base+page, http.StatusOK)
		if !strings.Contains(text, "'"+root.Path+"'") {
			t.Errorf("%s does not tell its scripts where the UI begins", page)
		}

		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			link, err := url.Parse(strings.ReplaceAll(found[1], "&amp;", "&"))
			if err != nil || link.IsAbs() || seen[link.Path] || link.Path == "" {
				continue
			}

			seen[link.Path] = true
			if !strings.HasPrefix(link.Path, root.Path+"/") {
				t.Errorf("%s refers to %s, which is not below %s", page, link, root.Path)
				continue
			}

			fetch(t, root.Scheme+"://"+root.Host+link.String(), http.StatusOK)
			kinds[path.Ext(link.Path)]++
		}
	}

	if kinds[".css"] == 0 || kinds[".js"] == 0 || len(seen) < 10 {
		t.Errorf("only %v are referred to", seen)
	}
	// The scripts of the executors' page send this request.
	if text := fetch(t, base+"/api/v1/applications/"+id+"/allexecutors", http.StatusOK); !strings.Contains(text,
		`"driver"`) {
		t.Errorf("the executors are %s", text)
	}

	t.Logf("%d references below %s, by kind: %v", len(seen), root.Path, kinds)
}

// fetch requests an address, checks the status of the response and returns the body.
func fetch(t *testing.T, address string, want int) string {
	t.Helper()

	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()

	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}

	if answer.StatusCode != want {
		t.Errorf("%s: %s", address, answer.Status)
	}
	return string(text)
}
