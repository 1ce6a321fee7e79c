package console

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	verb "github.com/sparkoperator/spark-operator/internal/cli/console"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	kit.Main(m)
}

// until waits until a JavaScript expression is true.
func (w *tab) until(t *testing.T, what, expression string) {
	t.Helper()

	if err := chromedp.Run(w, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience/2))); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, value[string](t, w, "document.querySelector('main').innerText"))
	}
}

// kubeconfig writes a configuration of kubectl with the credentials of a client.
func kubeconfig(t *testing.T, rc *rest.Config) string {
	t.Helper()

	if err := rest.LoadTLSFiles(rc); err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{"test": {Server: rc.Host, CertificateAuthorityData: rc.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {ClientCertificateData: rc.CertData, ClientKeyData: rc.KeyData, Token: rc.BearerToken}},
		Contexts:  map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}}, CurrentContext: "test",
	}, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// serveLocal runs sparkctl console as in a terminal, and returns the address that it opens in a browser.
func serveLocal(t *testing.T, rc *rest.Config) (address string) {
	t.Helper()

	config, dir := kubeconfig(t, rc), t.TempDir()
	opened := filepath.Join(dir, "opened")

	script := filepath.Join(dir, "browser")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf %s \"$*\" >'"+opened+".part' && mv '"+opened+".part' '"+opened+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	t.Setenv("BROWSER", script)
	t.Setenv("HOME", dir)

	ctx, cancel := context.WithCancel(context.Background())
	cmd := verb.Command(terminal.Streams{In: strings.NewReader(""), Out: t.Output(), Err: t.Output(), Width: 120})
	cmd.SetArgs([]string{"--kubeconfig", config})

	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	t.Cleanup(func() {
		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}

		if left, err := filepath.Glob(filepath.Join(dir, "*.html")); err != nil || len(left) > 0 {
			t.Errorf("the console leaves %v, %v", left, err)
		}
	})

	kit.Wait(t, "the browser", func(context.Context) error {
		text, err := os.ReadFile(opened)
		address = string(text)
		return err
	})
	return address
}

// isPrivate checks that what sparkctl console opens has no secret that other users of the machine could see: not the
// arguments of the browser, and not its file.
func isPrivate(t *testing.T, address string) {
	t.Helper()

	file, isFile := strings.CutPrefix(address, "file://")
	if !isFile || strings.Contains(address, "token") {
		t.Fatalf("the arguments of the browser are %q", address)
	}

	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the browser: %v, %v", info, err)
	}
}

// keepsCookies checks that programs behind other ports of this machine receive no cookie of the console.
func (w *tab) keepsCookies(t *testing.T) {
	t.Helper()

	var cookies []string

	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { cookies = append(cookies, r.Header.Get("Cookie")) }))
	w.run(t, chromedp.Navigate(other.URL), chromedp.Navigate(strings.Replace(other.URL, "127.0.0.1", "localhost", 1)))
	other.Close()

	if len(cookies) < 2 || strings.Contains(strings.Join(cookies, ""), "sparkctl") {
		t.Errorf("other ports of this machine receive the cookies %q", cookies)
	}
}

// TestTableIsLive opens the console of sparkctl on a real API server. A change of an application reaches the page by
// itself, the search filters without a reload, and a hostile message is text.
func TestTableIsLive(t *testing.T) {
	cluster := scene.New(t)
	app := cluster.Application("live-pi")
	other := cluster.Application("live-other")

	c := cluster.API
	w := start(t).open(t, looks[0]) // before sparkctl console gets another home directory
	address := serveLocal(t, kit.Rest(t))
	isPrivate(t, address)
	w.run(t, chromedp.Navigate(address))
	w.eventually(t, "the user is signed in", patience, `document.querySelector("#all") !== null`)
	w.seen() // the page that leads there has no icon
	w.until(t, "both applications are in the table", `document.querySelectorAll("td.name").length >= 2`)
	w.accessible(t)
	w.run(t, chromedp.Evaluate("window.sameDocument = true", nil))

	const message = `<img src=x onerror="window.attacked = true">`

	before := client.MergeFrom(app.DeepCopy())
	app.Status.AppState = v1beta2.ApplicationState{State: v1beta2.ApplicationStateFailed, ErrorMessage: message}
	app.Status.Conditions = []metav1.Condition{{Type: "Failed", Status: metav1.ConditionTrue, Reason: "Test", Message: message, LastTransitionTime: metav1.Now()}}

	if err := c.Status().Patch(t.Context(), app, before); err != nil {
		t.Fatal(err)
	}

	written := time.Now()

	w.until(t, "the failure is on the page", `[...document.querySelectorAll("tr")].some(r => r.innerText.includes("live-pi") && r.querySelector(".badge.failed"))`)
	t.Logf("the page showed the change %v after the write", time.Since(written).Round(time.Millisecond))

	w.until(t, "the message is text", `document.body.innerText.includes("<img src=x onerror=")`)

	w.run(t, chromedp.SendKeys("#q", "live-other", chromedp.ByQuery))
	w.until(t, "the search filters", `location.search.includes("q=live-other") && document.querySelectorAll("td.name").length === 1`)

	if !value[bool](t, w, "window.sameDocument === true && window.attacked === undefined") {
		t.Error("the page was loaded again, or the message of an application ran a script")
	}

	w.isLocal(t)
	w.refreshes(t, func(state v1beta2.ApplicationStateType) {
		before := client.MergeFrom(other.DeepCopy())
		other.Status.AppState = v1beta2.ApplicationState{State: state}

		if err := c.Status().Patch(t.Context(), other, before); err != nil {
			t.Fatal(err)
		}
	})

	w.tells(t)

	for _, problem := range w.seen() {
		t.Error(problem)
	}

	table := value[string](t, w, "location.origin")
	w.keepsCookies(t)
	w.signsInAgain(t, table)
}

// signsInAgain opens an event stream after the session has ended, as the browser does after a restart of the console.
// The sign-in follows, instead of a page that never becomes live again.
func (w *tab) signsInAgain(t *testing.T, address string) {
	t.Helper()

	w.run(t, chromedp.Navigate(address))
	w.eventually(t, "the table", patience, `document.querySelector("#all") !== null`)
	w.run(t, network.ClearBrowserCookies(), chromedp.Evaluate(`{
		const stream = Object.assign(document.createElement("div"), {id: "again"});
		stream.setAttribute("hx-ext", "sse");
		stream.setAttribute("sse-connect", "/events");
		document.querySelector("#main").append(stream);
		htmx.process(stream);
	}`, nil))
	w.eventually(t, "the sign-in", patience, `location.pathname === "/sign-in"`)
}

// isLocal checks that sparkctl console refuses other host names, unknown tokens and other addresses of the machine.
func (w *tab) isLocal(t *testing.T) {
	t.Helper()

	port := value[string](t, w, "location.port")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	get := func(host, path string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}

		r.Host = host

		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode, response.Header.Get("Location")
	}

	if status, _ := get("evil.example:"+port, "/"); status != http.StatusMisdirectedRequest {
		t.Errorf("another host name is answered with %d", status)
	}

	if status, to := get("127.0.0.1:"+port, "/open?token=used"); to != "/sign-in" {
		t.Errorf("an unknown token leads to %d %q", status, to)
	}

	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}

	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(ip.IP.String(), port)); err == nil {
				_ = conn.Close()

				t.Errorf("the console listens at %s", ip.IP)
			}
		}
	}
}

// refreshes checks that the page of an application shows a change by itself, but not while details are open.
func (w *tab) refreshes(t *testing.T, set func(v1beta2.ApplicationStateType)) {
	t.Helper()

	w.run(t, chromedp.Evaluate(`document.querySelector("td.name a").click()`, nil))
	w.eventually(t, "the page of the application", patience, `document.querySelector("#refresh") !== null`)

	for _, act := range []string{
		`getSelection().selectAllChildren(document.querySelector("h1"))`, `document.querySelector("#main a").focus()`,
		`dialog.showModal()`, `document.querySelector("#main").append(Object.assign(document.createElement("details"), {open: true}))`,
	} {
		if !value[bool](t, w, `!busy() && (`+act+`, !!busy())`) {
			t.Errorf("the page loads itself again after %s", act)
		}

		w.run(t, chromedp.Evaluate(`getSelection().removeAllRanges(); document.activeElement.blur(); dialog.close(); `+
			`document.querySelectorAll("#main details").forEach(d => d.open = false); window.sameDocument = true`, nil))
	}

	set(v1beta2.ApplicationStateRunning)
	w.until(t, "the new state", `document.querySelector(".badge.running") !== null && window.sameDocument === true`)
}

// tells suspends the application of the page, and checks that the next page says what was done, and the one after that
// nothing. An observer sees the notice, however short it is.
func (w *tab) tells(t *testing.T) {
	t.Helper()

	const observer = `window.told = ""; new MutationObserver(() => { window.told += document.getElementById("notice")?.textContent ?? ""; }).observe(document, {childList: true, subtree: true})`
	w.run(t, chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(observer).Do(ctx)
		return err
	}))

	address := value[string](t, w, "location.href")
	shows(t, w.act(t, address, "Suspend", nil), "sparkctl suspend", " patch sparkapplications.sparkoperator.k8s.io live-other")
	w.eventually(t, "the page says what was done", patience, `window.told.includes("live-other is suspended")`)
	w.visit(t, address)

	if told := value[string](t, w, "window.told"); told != "" {
		t.Errorf("the next page says %q", told)
	}
}
