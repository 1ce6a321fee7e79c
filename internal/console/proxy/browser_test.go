package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// page is a page of a Spark UI whose script tries what Spark's scripts need, and what a hostile script would try. Like
// jQuery, which reads the executors, it sends a header for which the browser first asks.
const page = `<!DOCTYPE html><html><head><script src="%[1]s/static/ui.js"></script><script>setUIRoot = root => root; setUIRoot('%[1]s')</script></head>
<body><ul id="done"></ul><script>
const say = text => { const li = document.createElement("li"); li.textContent = text; document.getElementById("done").append(li) };
say("script " + window.loaded);
localStorage.setItem("k", "v"); say("storage " + localStorage.getItem("k"));
say("origin " + self.origin);
try { say("cookie " + document.cookie) } catch (e) { say("cookie refused") }
fetch("%[1]s/api/v1/applications", {headers: {"X-Requested-With": "XMLHttpRequest"}}).then(r => r.json()).then(j => say("rest " + j.id), e => say("rest refused"));
fetch("/api/v1/objects", {credentials: "include"}).then(r => r.text()).then(() => say("console read"), e => say("console refused"));
fetch("/sign-out", {method: "POST", credentials: "include", mode: "no-cors"}).then(() => say("sent"), e => say("send refused"));
fetch("https://evil.example/").then(() => say("evil read"), e => say("evil refused"));
</script></body></html>`

// TestInTheBrowser opens a page in Chromium: what Spark's scripts need works, and a script cannot read the console.
func TestInTheBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CONSOLE") == "all" {
		t.Fatal("Chromium is not installed; tools/chromium.sh installs it")
	}

	if err != nil {
		t.Skip("Chromium is not installed; tools/chromium.sh installs it")
	}

	w, s := scene.New(t), serve(t)
	runs(t, w, "pi-driver", identity.RoleDriver, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		root := r.Header.Get("X-Forwarded-Context")

		switch r.URL.Path {
		case "/jobs/":
			out.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(out, page, root)
		case "/static/ui.js":
			out.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(out, "window.loaded = true")
		case "/api/v1/applications":
			out.Header().Set("Content-Type", "application/json")
			fmt.Fprint(out, `{"id":"spark-1"}`)
		}
	}))

	path := s.opened(w, "pi-driver", account(w, "ann", "pods", "pods/proxy"))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	var out bytes.Buffer
	run := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--virtual-time-budget=20000", "--dump-dom", s.URL+path+"/jobs/")
	run.Stdout = &out
	run.WaitDelay = 10 * time.Second

	if err := run.Run(); err != nil {
		t.Fatalf("Chromium: %v", err)
	}

	for _, want := range []string{"script true", "storage v", "origin null", "cookie refused", "rest spark-1", "console refused", "send refused", "evil refused"} {
		if !strings.Contains(out.String(), "<li>"+want+"</li>") {
			t.Errorf("the page does not report %q:\n%s", want, out.String())
		}
	}
}
