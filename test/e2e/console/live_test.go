package console

import (
	"context"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console"
	"github.com/sparkoperator/spark-operator/internal/console/session"
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

// serveLocal serves the console as sparkctl console does. The second result returns the path that signs in, once.
func serveLocal(t *testing.T, rc *rest.Config) (address string, ticket func() string) {
	t.Helper()

	c, err := kube.New(rc, "default")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	sessions := session.New(session.Options{Idle: time.Hour, Lifetime: time.Hour, Cookie: "sparkctl-console", Local: session.Local(t.Context(), c)})
	server := httptest.NewUnstartedServer(console.New(ctx, console.Options{Sessions: sessions}))
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	t.Cleanup(func() { cancel(); server.Close() })
	return server.URL, func() string { return "/open?token=" + sessions.Ticket() }
}

// TestTableIsLive opens the console on a real API server. A change of an application reaches the page by itself, the
// search filters without a reload, and a hostile message is text.
func TestTableIsLive(t *testing.T) {
	cluster := scene.New(t)
	app := cluster.Application("live-pi")
	cluster.Application("live-other")

	c := cluster.API
	address, ticket := serveLocal(t, kit.Rest(t))

	w := start(t).open(t, looks[0])
	w.visit(t, address+ticket())
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

	for _, problem := range w.seen() {
		t.Error(problem)
	}
}
