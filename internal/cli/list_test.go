package cli

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// counting is a proxy to the API server that counts the requests for each path.
type counting struct {
	mu       sync.Mutex
	requests map[string]int
	next     http.Handler
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests[r.Method+" "+r.URL.Path]++
	c.mu.Unlock()
	c.next.ServeHTTP(w, r)
}

// counted returns a kubeconfig whose requests go through a counting proxy.
func counted(t *testing.T, namespace string) (*counting, string) {
	t.Helper()
	rc := kit.Rest(t)

	transport, err := rest.TransportFor(rc)
	if err != nil {
		t.Fatal(err)
	}

	target, err := url.Parse(rc.Host)
	if err != nil {
		t.Fatal(err)
	}

	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	c := &counting{requests: map[string]int{}, next: proxy}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)

	file := clientcmdapi.NewConfig()
	file.Clusters["test"] = &clientcmdapi.Cluster{Server: server.URL}
	file.AuthInfos["test"] = &clientcmdapi.AuthInfo{}
	file.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test", Namespace: namespace}
	file.CurrentContext = "test"

	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return c, path
}

// TestListNeedsOneRequestAPage checks that the verb list reads 1,000 applications with one request for each page of 500
// and for each other kind, and with no other request. The test logs how long the verb takes.
func TestListNeedsOneRequestAPage(t *testing.T) {
	const applications = 1000
	w := scene.New(t)
	names := make(chan int)

	var creators sync.WaitGroup
	for range 16 {
		creators.Go(func() {
			for i := range names {
				app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace,
					Name: fmt.Sprintf("app-%d", i)}, Spec: v1beta2.SparkApplicationSpec{
					Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4",
					Image: new("docker.io/apache/spark:4.1.4"), MainClass: new("a.Main"),
					MainApplicationFile: "local:///main.jar",
				}}
				if err := w.API.Create(t.Context(), app); err != nil {
					t.Error(err)
				}
			}
		})
	}

	for i := range applications {
		names <- i
	}

	close(names)
	creators.Wait()

	proxy, kubeconfig := counted(t, w.Namespace)
	began := time.Now()
	got := run(t, "list", "--kubeconfig", kubeconfig)
	t.Logf("%d applications were listed in %s", applications, time.Since(began).Round(time.Millisecond))

	if lines := strings.Count(got.out, "\n"); got.code != exit.OK || lines != applications+1 {
		t.Fatalf("exit code %d, %d lines, %s", got.code, lines, got.err)
	}

	total := 0
	for _, path := range slices.Sorted(maps.Keys(proxy.requests)) {
		total += proxy.requests[path]

		want := 1
		if path == "GET /apis/sparkoperator.k8s.io/v1beta2/namespaces/"+w.Namespace+"/sparkapplications" {
			want = 2
		}

		if proxy.requests[path] != want {
			t.Errorf("%d requests for %s, want %d", proxy.requests[path], path, want)
		}
	}

	if total != 6 {
		t.Errorf("%d requests: %v", total, proxy.requests)
	}
}
