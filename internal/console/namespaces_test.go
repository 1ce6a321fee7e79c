package console_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/console"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestNamespaces checks the page of the namespaces: states, quotas as far as the user may read them, and nothing about
// the namespaces of others.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, "the usage of quotas")

	w, others := scene.New(t), scene.New(t)
	others.Application("theirs")
	w.Application("one")
	w.Application("two")
	setState(w, "two", v1beta2.ApplicationStateFailed)

	w.Create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "large"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"requests.cpu": resource.MustParse("8")}}})
	w.Create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "scoped"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"requests.cpu": resource.MustParse("1")}, Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating},
	}})

	read := func(b *browser) (page model.Namespaces) {
		got := b.get("/api/v1/namespaces?namespace=" + w.Namespace + "," + others.Namespace)
		if err := json.Unmarshal([]byte(got.text), &page); err != nil || got.status != http.StatusOK {
			t.Fatalf("status %d: %v", got.status, err)
		}
		return page
	}

	admin := serve(t, alone(t, kit.Rest(t))).local()
	admin.waitFor("/api/v1/namespaces?namespace="+w.Namespace, `"limit":8000`)

	page := read(admin)
	if len(page.Namespaces) != 2 {
		t.Fatalf("an administrator sees %+v", page.Namespaces)
	}

	viewer := serve(t, team(t), func(o *console.Options) { o.Namespaces = []string{w.Namespace, others.Namespace} }).user(account(w, "viewer", w.Namespace))

	page = read(viewer)
	if len(page.Namespaces) != 1 || page.Namespaces[0].Name != w.Namespace || page.Namespaces[0].Counts["failed"] != 1 || page.Namespaces[0].Counts["pending"] != 1 || page.Namespaces[0].CPU.Limit != 0 {
		t.Errorf("a viewer of one namespace sees %+v", page.Namespaces)
	}

	if !slices.ContainsFunc(page.Notes, func(note string) bool { return strings.Contains(note, "resourcequotas") }) {
		t.Errorf("the notes are %v, want the missing right", page.Notes)
	}
}

// TestInstallation checks that the page of the installation has the findings of sparkctl doctor, with the user's
// rights.
func TestInstallation(t *testing.T) {
	t.Parallel()

	var page model.Doctor
	if err := json.Unmarshal([]byte(serve(t, alone(t, kit.Rest(t))).local().get("/api/v1/doctor").text), &page); err != nil || page.Loading || len(page.Findings) == 0 {
		t.Errorf("the page is %+v: %v", page, err)
	}
}
