package console

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// viewer creates a service account that may only read.
func (w *world) viewer(t *testing.T, name string) {
	t.Helper()

	meta := metav1.ObjectMeta{Namespace: team, Name: name}
	w.create(t, &corev1.ServiceAccount{ObjectMeta: meta})
	w.create(t, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1beta2.SchemeGroupVersion.Group, sparkv1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "pods/log", "events", "configmaps"}, Verbs: []string{"get", "list", "watch"}},
	}})
	w.bind(t, team, name, team, name)
}

// views checks what a user sees who may only read: every page, and no action. An action that the page offered before
// the user lost the right is refused in its dialog, and nothing is done; likewise a form that no page has, and a
// submission.
func (w *world) views(t *testing.T, o *others) {
	w.viewer(t, "vera")

	acts := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "vera-acts"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "ann"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: team, Name: "vera"}},
	}
	w.create(t, acts)

	vera := w.as(t, team, "vera")
	page := w.page(schedules, o.nightly)
	vera.visit(t, page+"/manifest") // which does not load itself again
	vera.sees(t, "Suspend")

	if err := w.Client.Delete(t.Context(), acts); err != nil {
		t.Fatal(err)
	}

	action := "/a/suspend" + strings.TrimPrefix(page, w.address+"/o")
	kit.Wait(t, "the loss of the right", func(context.Context) error {
		if got := vera.get(t, action); got.Status != http.StatusForbidden {
			return fmt.Errorf("the dialog answers %d", got.Status)
		}
		return nil
	})
	vera.hits(t, ".actions button", "Suspend")
	vera.eventually(t, "the dialog refuses the action", patience, `(d => d !== null && d.innerText.includes("You have no right to patch this object") && d.querySelector("[data-do]") === null)(document.querySelector("#dialog[open]"))`)
	vera.seen() // the status of the refusal
	vera.accessible(t)

	for _, page := range []string{page, w.page(connects, o.connect), w.page(clusters, o.shared), w.page(apacheApplications, o.apache)} {
		vera.checked(t, page)

		if n := value[int](t, vera, `document.querySelectorAll("h1").length * 100 + document.querySelectorAll(".actions button").length`); n != 100 {
			t.Errorf("%s has %d buttons for a user who may only read", page, n-100)
		}
	}

	vera.forges(t, o.nightly, "suspend", "")
	vera.forges(t, o.nightly, "delete", o.nightly.Name)

	live := &v1beta2.ScheduledSparkApplication{}
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(o.nightly), live); err != nil || live.Generation != o.nightly.Generation || live.DeletionTimestamp != nil {
		t.Errorf("the schedule is changed: %v, %+v", err, live.ObjectMeta)
	}

	vera.cannotSubmit(t, w.address)
	vera.walks(t, w.address)
}

// forges sends the form of an action that the page does not offer, with the token of the session.
func (w *tab) forges(t *testing.T, s *v1beta2.ScheduledSparkApplication, action, confirm string) {
	t.Helper()

	got := value[answer](t, w, fmt.Sprintf(`fetch(%q, {method: "POST", body: new URLSearchParams({csrf: document.querySelector("[name=csrf]").value, uid: %q, generation: %q, request: "forged", confirm: %q})})
		.then(async r => ({status: r.status, text: await r.text()}))`, "/a/"+action+"/"+schedules+"/"+s.Namespace+"/"+s.Name, s.UID, fmt.Sprint(s.Generation), confirm))
	if got.Status != http.StatusForbidden || !strings.Contains(got.Text, "The cluster refuses this") {
		t.Errorf("a forged form of %s is answered with %d: %s", action, got.Status, got.Text)
	}
}

// cannotSubmit checks that a submission of a user who may not create objects is refused while the user types.
func (w *tab) cannotSubmit(t *testing.T, address string) {
	t.Helper()

	manifest, err := os.ReadFile(filepath.Join(root, "examples/spark-pi.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	w.visit(t, address+"/submit?mode=manifest")
	w.types(t, "#f-namespace", team)
	w.types(t, "#text", string(manifest))
	w.eventually(t, "the submission is refused", patience, `document.querySelector("#checks").innerText.includes("you are not allowed to create sparkapplications") && document.querySelector("#checks button.primary").disabled`)
	w.accessible(t)
}
