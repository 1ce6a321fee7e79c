package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/console"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestLinks follows the links and the buttons of all pages, with an object of each kind, as a user with all rights in a
// namespace and as one who may only read. None leads nowhere. The pages of the second user have no button for an
// action.
func TestLinks(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.Namespace, Name: name} }

	w.Application("link-pi", scene.WithDriver)
	w.Schedule("link-nightly", "0 3 * * *")
	w.Application("link-run", func(a *v1beta2.SparkApplication) {
		a.Labels = map[string]string{v1beta2.ScheduledAppNameLabel: "link-nightly"}
	})
	setState(w, "link-run", v1beta2.ApplicationStateFailed)
	w.Create(&v1alpha1.SparkConnect{ObjectMeta: meta("link-server"), Spec: v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4"}})
	// The operator cannot render this application, because it has no program.
	w.Create(&sparkv1.SparkApplication{ObjectMeta: meta("link-apache"), Spec: sparkv1.ApplicationSpec{RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"}}})
	w.Create(&sparkv1.SparkCluster{ObjectMeta: meta("link-cluster"), Spec: sparkv1.ClusterSpec{RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"}}})

	owner, viewer := account(w, "owner", w.Namespace), account(w, "viewer", w.Namespace)
	w.Create(&rbacv1.Role{ObjectMeta: meta("acts"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1beta2.SchemeGroupVersion.Group, sparkv1.SchemeGroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}})
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: meta("acts"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "acts"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: "owner"}},
	})

	s := serve(t, team(t), func(o *console.Options) { o.Namespaces = []string{w.Namespace} })
	for name, token := range map[string]string{"owner": owner, "viewer": viewer} {
		b := s.user(token)
		b.waitFor("/", "link-cluster")

		if got := b.get("/o/sparkapplications.spark.apache.org/" + w.Namespace + "/link-apache/manifest"); !strings.Contains(got.text, "are missing") || !strings.Contains(got.text, "runtimeVersions") {
			t.Errorf("the manifest that cannot be rendered answers %d: %s", got.status, plain(got.text))
		}

		pages, actions := b.walk()
		if t.Logf("%s: %d links, %d of them to actions", name, pages, actions); pages < 50 || (actions > 0) != (name == "owner") {
			t.Errorf("%s reaches %d links and %d actions", name, pages, actions)
		}
	}
}

// links matches the links of a page, and the paths that its buttons request.
var links = regexp.MustCompile(` (?:href|hx-get)="([^"]+)"`)

// walk requests every link that a user can reach from the table, and returns their number, and that of the dialogs of
// actions among them. It follows no links of pages with a query: filters and orders have no end.
func (b *browser) walk() (pages, actions int) {
	b.t.Helper()

	from, next := map[string]string{"/": ""}, []string{"/"}
	for ; len(next) > 0; next = next[1:] {
		at, err := url.Parse(next[0])
		if err != nil {
			b.t.Fatalf("the link %q on %s: %v", next[0], from[next[0]], err)
		}

		got := b.get(next[0])
		if got.status >= http.StatusBadRequest {
			b.t.Errorf("%s answers %d, linked by %s", next[0], got.status, from[next[0]])
		}

		if strings.HasPrefix(at.Path, "/a/") {
			actions++
		}

		if at.RawQuery != "" || !strings.HasPrefix(got.Get("Content-Type"), "text/html") {
			continue
		}

		for _, match := range links.FindAllStringSubmatch(got.text, -1) {
			to, err := at.Parse(html.UnescapeString(match[1]))
			if err != nil || to.Host != "" || to.Scheme != "" || to.Path == at.Path && to.Fragment != "" {
				continue
			}

			if path := to.RequestURI(); from[path] == "" && path != "/" {
				from[path], next = next[0], append(next, path)
			}
		}
	}
	return len(from), actions
}
