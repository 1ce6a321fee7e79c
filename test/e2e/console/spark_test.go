package console

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

const (
	// team is the namespace of the user ann, and hidden that of the user bob. Both are served.
	team, hidden = "default", "hidden-team"
	// sparkPatience is how long a test waits for Spark.
	sparkPatience = 5 * time.Minute
	// visitPatience is how long a tab of a test with Spark stays open.
	visitPatience = 20 * time.Minute
)

// world is a cluster with a node and the operator, on which the chart has deployed the console.
type world struct {
	*cluster.Cluster
	*browser
	address string // of the console
}

// TestOnSpark uses the console that the chart deploys, in Chromium, with real Spark applications. It is a single test,
// because starting a cluster and loading the images takes a minute.
func TestOnSpark(t *testing.T) {
	if os.Getenv("CONSOLE") != "all" {
		t.Skip("runs real Spark, which takes minutes; CONSOLE=all runs it, and so does make e2e")
	}

	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("a node needs Linux and root")
	}

	c := cluster.ForTest(t, cluster.Options{Root: root, Spark: true})

	w := &world{Cluster: c}
	w.deploy(t)
	w.browser = start(t)
	w.forward(t)

	t.Run("sign-in", w.signsIn)
	t.Run("two users", w.twoUsers)
	t.Run("running application", w.runs)
	t.Run("form", w.forms)
	t.Run("hostile failure", w.failure)
	t.Run("other kinds", w.kinds)
	t.Run("scale", w.scales)
	t.Run("namespace disappears", w.vanishes)
	t.Run("token expires", w.expires)
	t.Run("API server restarts", w.restart)
}

// deploy deploys the console with the chart, as a platform team does for two teams.
func (w *world) deploy(t *testing.T) {
	t.Helper()

	w.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hidden}})

	if err := w.LoadSparkctl(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := w.Helm(t.Context(), "upgrade", cluster.Release, filepath.Join(root, "charts/spark-operator"), "--namespace", cluster.Namespace, "--reuse-values",
		"--set", "console.enable=true,spark.jobNamespaces={"+team+","+hidden+"}", "--set-json", `logs=[{"executors":"Failed"}]`, "--wait", "--timeout", "4m"); err != nil {
		t.Fatal(err)
	}

	w.account(t, team, "ann")
	w.account(t, hidden, "bob")
	w.create(t, w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Namespace, a.Name, a.Labels, a.Spec.Suspend = hidden, "hidden-pi", map[string]string{"team": "hidden-owner"}, new(true)
	}))
}

// forward opens a connection to the console, as docs/console.md describes it. Browsers send the cookie of the session
// without HTTPS only to localhost.
func (w *world) forward(t *testing.T) {
	t.Helper()

	address, stop, err := w.Forward(t.Context(), cluster.Namespace, "spark-operator-console", 80)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(stop)

	w.address = "http://" + strings.Replace(address, "127.0.0.1", "localhost", 1)
}

// example returns the custom resource in a file of examples/, after the given change.
func (w *world) example(t *testing.T, file string, change func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	t.Helper()

	app := &v1beta2.SparkApplication{}
	read(t, file, app)
	change(app)
	return app
}

// account creates a service account with the rights of a member of the team to which its namespace belongs.
func (w *world) account(t *testing.T, namespace, name string) {
	t.Helper()

	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	w.create(t, &corev1.ServiceAccount{ObjectMeta: meta})
	w.create(t, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1beta2.SchemeGroupVersion.Group, sparkv1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "pods/log", "pods/proxy", "events", "configmaps", "services"}, Verbs: []string{"get", "list", "watch"}},
	}})
	w.bind(t, namespace, name, namespace, name)
}

// bind gives a service account the rights of a role.
func (w *world) bind(t *testing.T, namespace, role, home, account string) {
	t.Helper()

	w.create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: home + "-" + account}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: account}},
	})
}

func (w *world) create(t *testing.T, o client.Object) {
	t.Helper()

	if err := w.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// token returns a token that kubectl create token prints.
func (w *world) token(t *testing.T, namespace, name string) string {
	t.Helper()

	line := append(w.KubectlLine(), "create", "token", name, "--namespace", namespace)

	out, err := exec.CommandContext(t.Context(), line[0], line[1:]...).Output()
	if err != nil {
		t.Fatalf("%v: %v", line, err)
	}
	return strings.TrimSpace(string(out))
}

// as opens a tab in which a user has signed in. Each user has cookies of their own.
func (w *world) as(t *testing.T, namespace, name string) *tab {
	t.Helper()

	tab := w.alone(t, looks[0], visitPatience)
	tab.signIn(t, w.address, w.token(t, namespace, name))
	tab.eventually(t, name+" is signed in", patience, `document.querySelector("#all") !== null`)
	return tab
}

// signIn enters a token.
func (w *tab) signIn(t *testing.T, address, token string) {
	t.Helper()

	w.visit(t, address+"/")
	w.run(t, chromedp.WaitVisible("#token", chromedp.ByQuery), chromedp.SetValue("#token", token, chromedp.ByQuery), chromedp.Submit("#token", chromedp.ByQuery))
}

// eventually waits until a JavaScript expression is true, also while the page is replaced by another one.
func (w *tab) eventually(t *testing.T, what string, limit time.Duration, expression string) {
	t.Helper()

	for deadline := time.Now().Add(limit); ; {
		var holds bool

		err := chromedp.Run(w, chromedp.Evaluate(expression, &holds))
		if err == nil && holds {
			return
		}

		if time.Now().After(deadline) || t.Context().Err() != nil {
			t.Fatalf("waited %v for: %s: %v\n%s", limit, what, err, value[string](t, w, "location.href + '\\n' + document.body.innerText.slice(0, 5000)"))
		}

		select {
		case <-time.After(100 * time.Millisecond):
		case <-w.Done():
			t.Fatalf("%s: %v", what, w.Err())
		}
	}
}

// await waits until a condition of an object holds.
func await[T client.Object](t *testing.T, w *world, o T, what string, holds func(T) bool) {
	t.Helper()

	for deadline := time.Now().Add(sparkPatience); ; {
		err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		if err == nil && holds(o) {
			return
		}

		if time.Now().After(deadline) || t.Context().Err() != nil {
			text, _ := json.MarshalIndent(o, "", " ")
			t.Fatalf("waited %v for %s: %v\n%s", sparkPatience, what, err, text)
		}

		select {
		case <-time.After(250 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// gone waits until an object no longer exists.
func (w *world) gone(t *testing.T, o client.Object) {
	t.Helper()

	for deadline := time.Now().Add(sparkPatience); ; {
		err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return
		}

		if time.Now().After(deadline) || t.Context().Err() != nil {
			t.Fatalf("waited %v for the deletion of %s: %v", sparkPatience, o.GetName(), err)
		}

		select {
		case <-time.After(250 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// text returns the text of the page.
func (w *tab) text(t *testing.T) string {
	t.Helper()
	return value[string](t, w, "document.body.innerText")
}

// sees fails the test unless the page has all texts.
func (w *tab) sees(t *testing.T, texts ...string) {
	t.Helper()

	got := w.text(t)
	for _, want := range texts {
		if !strings.Contains(got, want) {
			t.Errorf("the page %s lacks %q:\n%.3000s", value[string](t, w, "location.href"), want, got)
		}
	}
}

// checked opens a page of the console, and checks it with axe-core and for what the browser reports.
func (w *tab) checked(t *testing.T, address string) {
	t.Helper()

	w.seen() // what belongs to earlier pages
	w.visit(t, address)
	w.accessible(t)

	for _, problem := range w.seen() {
		t.Errorf("%s: %s", address, problem)
	}
}

// answer is the response to a request of a page.
type answer struct {
	Status int    `json:"status"`
	Text   string `json:"text"`
}

// get requests a path of the console with the cookie of the page.
func (w *tab) get(t *testing.T, path string) answer {
	t.Helper()
	return value[answer](t, w, fmt.Sprintf(`fetch(%q).then(async r => ({status: r.status, text: await r.text()}))`, path))
}

// hits clicks the element of a selector that has a text.
func (w *tab) hits(t *testing.T, selector, text string) {
	t.Helper()

	w.eventually(t, text+" can be clicked", patience, fmt.Sprintf(
		`(e => e && !e.disabled && (e.click(), true))([...document.querySelectorAll(%q)].find(e => e.innerText.trim() === %q)) === true`, selector, text))
}

// act does an action of an object with its dialog, and returns the commands that the dialog has shown before. The
// function before is called while the dialog waits for the confirmation.
func (w *tab) act(t *testing.T, page, title string, before func()) string {
	t.Helper()

	w.visit(t, page)
	w.hits(t, ".actions button", title)
	w.eventually(t, "the dialog opens", patience, `document.querySelector("#dialog[open] [data-do]") !== null`)

	if before != nil {
		before()
	}

	commands := value[string](t, w, `[...document.querySelectorAll("#dialog code")].map(c => c.textContent).join("\n")`)

	if name := value[string](t, w, `(document.querySelector("#dialog label[for=action-confirm] code") || {}).textContent || ""`); name != "" {
		w.run(t, chromedp.SendKeys("#action-confirm", name, chromedp.ByQuery))
	}

	w.run(t, chromedp.Evaluate(`window.before = true`, nil), chromedp.Click("#dialog [data-do]", chromedp.ByQuery))
	w.eventually(t, title+" is done", patience, `window.before === undefined && document.querySelector("main") !== null`)
	return commands
}
