package console

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// restart ends the API server while a page is open. The page reports that it is not live, and recovers without being
// loaded again. The test uses sparkctl console, because a connection of kubectl to a pod ends with the API server.
func (w *world) restart(t *testing.T) {
	ann := w.alone(t, looks[0], visitPatience)
	ann.run(t, chromedp.Navigate(serveLocal(t, rest.CopyConfig(w.Config))))
	ann.eventually(t, "the table is live", patience, `document.querySelector(".fresh.live") !== null && document.querySelector("[aria-busy]") === null`)

	// The observer sees each state of the page, however short it is.
	ann.run(t, chromedp.Evaluate(`window.sameDocument = true; window.outages = [];
		new MutationObserver(() => { const f = document.querySelector(".fresh.stale"); if (f) window.outages.push(f.innerText); }).observe(document.body, {childList: true, subtree: true})`, nil))

	if err := w.KillComponent(t.Context(), "kube-apiserver"); err != nil {
		t.Fatal(err)
	}

	ann.eventually(t, "the page reports the outage", sparkPatience, `window.outages.length > 0`)
	ann.eventually(t, "the page recovers", sparkPatience, `document.querySelector(".fresh.live") !== null`)

	text := value[string](t, ann, `window.outages[0]`)
	if !strings.HasPrefix(text, "Not live since") {
		t.Errorf("during the outage the page reports %q", text)
	}

	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Namespace, a.Name, a.Spec.Suspend = team, "after-outage", new(true)
	})
	w.create(t, app)
	ann.eventually(t, "the page shows a new application", patience, row(app.Name))

	if !value[bool](t, ann, "window.sameDocument === true") {
		t.Error("the page was loaded again")
	}
}

// expires checks that a page whose token expires leads to the sign-in, which leads back to the page.
func (w *world) expires(t *testing.T) {
	w.account(t, team, "guest")
	token := w.brief(t, w.token(t, team, "guest"), 30*time.Second)

	tab := w.alone(t, looks[0], visitPatience)
	tab.signIn(t, w.address, token)
	tab.eventually(t, "guest is signed in", patience, `document.querySelector("#all") !== null`)
	tab.eventually(t, "the page leads to the sign-in", sparkPatience, `document.querySelector("#token") !== null`)

	if got := tab.get(t, "/api/v1/objects"); got.Status != http.StatusUnauthorized {
		t.Errorf("with an expired token, the API answers %d: %.300s", got.Status, got.Text)
	}

	tab.signIn(t, w.address, token)
	tab.eventually(t, "the expired token is refused", patience, `document.body.innerText.includes("the cluster rejects the token")`)

	// The page for which the session was over follows the sign-in.
	tab.visit(t, w.address+"/?q=expired")
	tab.run(t, chromedp.SetValue("#token", w.token(t, team, "guest"), chromedp.ByQuery), chromedp.Submit("#token", chromedp.ByQuery))
	tab.eventually(t, "the page follows the sign-in", patience, `location.search.includes("q=expired") && document.querySelector("#all") !== null`)
}

// brief returns a token that expires soon, with the claims of another one. The API server issues none that is valid for
// less than ten minutes, so the test signs it with the key of the cluster.
func (w *world) brief(t *testing.T, token string, lifetime time.Duration) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(w.Dir, "cluster/pki/service-accounts.key"))
	if err != nil {
		t.Fatal(err)
	}

	block, _ := pem.Decode(text)

	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}

	parts := strings.Split(token, ".")
	claims := map[string]any{}

	text, err = base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}

	if err != nil {
		t.Fatal(err)
	}

	claims["exp"] = time.Now().Add(lifetime).Unix()

	text, err = json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}

	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(text)
	sum := sha256.Sum256([]byte(signed))

	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}

	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...) // ES256, RFC 7518
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// vanishes deletes a namespace while its pages are open. The table loses its rows and stays live, and the page of its
// object is answered as the page of an object that never existed.
func (w *world) vanishes(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "leaving"}}
	w.create(t, namespace)
	w.account(t, namespace.Name, "ann")
	w.bind(t, namespace.Name, "ann", team, "ann")

	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Namespace, a.Name, a.Spec.Suspend = namespace.Name, "leaving-pi", new(true)
	})
	w.create(t, app)

	kept := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) { a.Namespace, a.Name, a.Spec.Suspend = team, "staying-pi", new(true) })
	w.create(t, kept)

	ann := w.as(t, team, "ann")
	ann.visit(t, w.address+"/?namespace=default%2Cleaving")
	ann.eventually(t, "the table has both applications", patience, row(app.Name)+" && "+row(kept.Name))
	ann.run(t, chromedp.Evaluate("window.sameDocument = true", nil))

	page := w.page(applications, app)
	if got := ann.get(t, strings.TrimPrefix(page, w.address)); got.Status != http.StatusOK {
		t.Fatalf("the page of the application answers %d", got.Status)
	}

	if err := w.Client.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}

	ann.eventually(t, "the table loses the application", sparkPatience, "!"+row(app.Name)+" && "+row(kept.Name))
	w.gone(t, namespace)

	if !value[bool](t, ann, "window.sameDocument === true") {
		t.Error("the page was loaded again")
	}

	ann.eventually(t, "the table is live", sparkPatience, `document.querySelector(".fresh.live") !== null`)

	got := ann.get(t, strings.TrimPrefix(page, w.address))
	want := ann.get(t, strings.ReplaceAll(strings.TrimPrefix(page, w.address), "leaving", "missing"))

	if got.Status != http.StatusNotFound || alike(strings.ReplaceAll(got.Text, "leaving", "missing")) != alike(want.Text) {
		t.Errorf("the page of the deleted application answers %d, that of none %d:\n%s\n%s", got.Status, want.Status, got.Text, want.Text)
	}

	ann.visit(t, w.address+"/?namespace=leaving")
	ann.eventually(t, "the filter finds nothing", patience, `document.querySelector("[aria-busy]") === null && document.querySelectorAll("td.name a").length === 0`)
}
