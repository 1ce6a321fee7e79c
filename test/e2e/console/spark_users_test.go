package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// signsIn checks the sign-in with a token: one that the cluster refuses, one that works until the user signs out, and
// one that is revoked while a page is open.
func (w *world) signsIn(t *testing.T) {
	tab := w.alone(t, looks[0], visitPatience)
	tab.checked(t, w.address+"/sign-in")
	tab.signIn(t, w.address, "nonsense")
	tab.eventually(t, "the token is refused", patience, `document.body.innerText.includes("the cluster rejects the token")`)

	tab.signIn(t, w.address, w.token(t, team, "ann"))
	tab.eventually(t, "ann is signed in", patience, `document.body.innerText.includes("system:serviceaccount:default:ann")`)
	tab.hits(t, "button", "Sign out")
	tab.eventually(t, "the sign-in follows", patience, `document.querySelector("#token") !== null`)

	if got := tab.get(t, "/api/v1/objects"); got.Status != http.StatusUnauthorized {
		t.Errorf("after the end of the session, the API answers %d: %.300s", got.Status, got.Text)
	}

	for _, path := range []string{"/", "/namespaces"} {
		if got := tab.get(t, path); !strings.Contains(got.Text, `id="token"`) || strings.Contains(got.Text, "default:ann") {
			t.Errorf("after the end of the session, %s answers %d: %.300s", path, got.Status, got.Text)
		}
	}

	w.account(t, team, "leaver")

	leaver := w.as(t, team, "leaver")
	if err := w.Client.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "leaver"}}); err != nil {
		t.Fatal(err)
	}

	leaver.eventually(t, "the page of a user whose token is revoked leads to the sign-in", sparkPatience, `document.querySelector("#token") !== null`)
}

// twoUsers checks that ann, who has no rights in bob's namespace, cannot tell it from a namespace that does not exist:
// not on a page, by a search, by an address, by a count, or by the API.
func (w *world) twoUsers(t *testing.T) {
	ann := w.as(t, team, "ann")
	ann.eventually(t, "the lists are read", patience, `document.querySelector("[aria-busy]") === null`)

	if text := ann.text(t); strings.Contains(text, "hidden") {
		t.Errorf("ann sees bob's namespace: %s", text)
	}

	for _, path := range []string{
		"/?namespace=hidden-team", "/?q=hidden-pi", "/?q=hidden-owner", "/?label=team%3Dhidden-owner", "/namespaces", "/?namespace=default%2Chidden-team",
		"/o/sparkapplications.sparkoperator.k8s.io/hidden-team/hidden-pi", "/o/sparkapplications.sparkoperator.k8s.io/hidden-team/hidden-pi/logs",
		"/o/sparkapplications.sparkoperator.k8s.io/hidden-team/hidden-pi/manifest", "/a/delete/sparkapplications.sparkoperator.k8s.io/hidden-team/hidden-pi",
		"/ui/hidden-team/hidden-pi-driver/", "/submit?namespace=hidden-team",
		"/api/v1/objects", "/api/v1/objects?namespace=hidden-team", "/api/v1/objects?q=hidden-pi", "/api/v1/namespaces",
		"/api/v1/objects/sparkapplications.sparkoperator.k8s.io/hidden-team/hidden-pi", "/api/v1/objects/sparkapplications.sparkoperator.k8s.io/hidden-team/hidden-pi/logs",
	} {
		absent := strings.ReplaceAll(path, "hidden", "absent")

		got, want := ann.get(t, path), ann.get(t, absent)
		if got.Status != want.Status || alike(got.Text) != alike(want.Text) {
			t.Errorf("%s answers %d, %s answers %d:\n%s\n%s", path, got.Status, absent, want.Status, got.Text, want.Text)
		}
	}

	bob := w.as(t, hidden, "bob")
	bob.eventually(t, "bob sees his application", patience, `[...document.querySelectorAll("td.name a")].some(a => a.innerText === "hidden-pi")`)

	if rows := value[int](t, bob, `document.querySelectorAll("td.name a").length`); rows != 1 {
		t.Errorf("bob sees %d objects, want only his own", rows)
	}

	bob.run(t, chromedp.Navigate("about:blank")) // its events end
}

// alike returns a page without what differs between two requests, and with one name for both namespaces. HTML has
// attributes with the name hidden, too.
func alike(page string) string {
	return varying.ReplaceAllString(strings.ReplaceAll(page, "hidden", "absent"), "")
}

// varying matches the parts of a page that differ between two requests: times, and the tokens of forms.
var varying = regexp.MustCompile(`<time[^>]*>[^<]*</time>|name="(csrf|request)" value="[^"]*"|X-CSRF-Token[^}]*|"(at|now|from|to)":"[^"]*"`)
