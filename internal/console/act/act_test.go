package act_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/console/act"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// examples are manifests of all five kinds.
var examples = []string{"spark-pi.yaml", "spark-pi-schedule.yaml", "spark-connect.yaml", "apache-pi.yaml", "apache-cluster.yaml"}

// create submits an object of each of the five kinds as one manifest, and returns the objects.
func (b *browser) create() (objects []client.Object) {
	b.T.Helper()

	var text []string
	for _, name := range examples {
		text = append(text, b.example(name))
	}

	var got act.Submitted
	if answer := b.call("/submissions", act.Submission{Mode: "manifest", Namespace: b.Namespace, Text: strings.Join(text, "\n---\n")}, &got); answer.status != http.StatusCreated {
		b.T.Fatalf("the manifest was not submitted: %d %s", answer.status, answer.text)
	}

	for _, done := range got.Created {
		k, err := kinds.Named(done.Kind)
		if err != nil {
			b.T.Fatal(err)
		}

		object := k.New()
		object.SetNamespace(done.Namespace)
		object.SetName(done.Name)

		found := b.live(object)
		if found == nil || found.GetUID() != done.UID {
			b.T.Fatalf("%+v was created, but the cluster has %v", done, found)
		}

		objects = append(objects, found)
	}

	if len(objects) != len(kinds.All) {
		b.T.Fatalf("%d objects were created: %s", len(objects), fmt.Sprint(got))
	}
	return objects
}

// suspended returns spec.suspend of an object.
func suspended(object client.Object) bool {
	text, _ := json.Marshal(object)

	var tree struct {
		Spec struct {
			Suspend bool `json:"suspend"`
		} `json:"spec"`
	}

	_ = json.Unmarshal(text, &tree)
	return tree.Spec.Suspend
}

// TestActions does each action with an object of each kind, as a user would in the browser: the dialog shows the
// commands, and the confirmation changes the object.
func TestActions(t *testing.T) {
	s := serve(t, nil)
	token := s.token("owner", s.Namespace, everything...)
	b := s.user(token)

	user, err := s.sessions.Of(nil, &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}, false)
	if err != nil {
		t.Fatal(err)
	}

	offered := func(object client.Object) (names []string) {
		for _, a := range act.Offered(t.Context(), user.User, s.live(object)) {
			names = append(names, a.Name)
		}
		return names
	}

	for _, object := range b.create() {
		k := kinds.Of(object)
		want := map[*kinds.Kind][]string{kinds.Schedule: {"trigger", "suspend", "delete"}, kinds.SparkCluster: {"restart", "scale", "suspend", "delete"}, kinds.SparkConnect: {"restart", "scale", "suspend", "delete"}}[k]

		if want == nil {
			want = []string{"restart", "suspend", "delete"}
		}

		if got := offered(object); !slices.Equal(got, want) {
			t.Errorf("%s: the actions are %v, want %v", k.Name, got, want)
		}

		checkDialog(b, object)

		done := func(action, place string, change ...string) client.Object {
			t.Helper()

			if got := b.confirm(path(action, object), change...); got.status != http.StatusSeeOther || got.Get("Location") != place {
				t.Errorf("%s %s: %d %s: %s", action, k.Name, got.status, got.Get("Location"), plain(got.text))
			}
			return s.live(object)
		}
		page := "/o/" + k.FullName() + "/" + s.Namespace + "/" + object.GetName()

		if !suspended(done("suspend", page)) || !slices.Contains(offered(object), "resume") || slices.Contains(offered(object), "suspend") {
			t.Errorf("%s: not suspended, or %v is offered", k.Name, offered(object))
		}

		if suspended(done("resume", page)) {
			t.Errorf("%s: not resumed", k.Name)
		}

		switch k {
		case kinds.Schedule:
			if done("trigger", page).GetAnnotations()[v1beta2.RunNowAnnotation] == "" {
				t.Error("no run is requested")
			}

			if got := b.get(path("restart", object)); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text, "has no run of its own to restart") {
				t.Errorf("restart of a schedule: %d %s", got.status, plain(got.text))
			}
		default:
			if done("restart", page).GetAnnotations()[lifecycle.RestartAnnotation] == "" {
				t.Errorf("%s: no restart is requested", k.Name)
			}
		}

		switch scaled := s.live(object).(type) {
		case *sparkv1.SparkCluster:
			if got := done("scale", page, "replicas", "7").(*sparkv1.SparkCluster).Spec.ClusterTolerations.InstanceConfig.InitWorkers; got != 7 {
				t.Errorf("the cluster has %d workers", got)
			}
		case *v1alpha1.SparkConnect:
			if got := *done("scale", page, "replicas", "7").(*v1alpha1.SparkConnect).Spec.Executor.Instances; got != 7 {
				t.Errorf("the server has %d executors", got)
			}
		default:
			if got := b.call(strings.Replace(strings.Replace(page, "/o/", "/objects/", 1)+"/scale", "//", "/", 1), act.Order{Replicas: new(int32(1))}, nil); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text, "cannot be scaled") {
				t.Errorf("scale %T: %d %s", scaled, got.status, got.text)
			}
		}

		// The script of the page shows what was done.
		if got := b.post(path("suspend", object), filled(b.get(path("suspend", object)).text), "Hx-Request", "true"); got.status != http.StatusNoContent || got.Get("Hx-Redirect") != page || got.Get("X-Done") != fmt.Sprintf("%s %s/%s is suspended", k.Kind, s.Namespace, object.GetName()) {
			t.Errorf("suspend %s by the script: %d %v: %s", k.Name, got.status, got.Header, plain(got.text))
		}

		if got := b.confirm(path("delete", object), "confirm", "another"); got.status != http.StatusUnprocessableEntity || s.live(object) == nil {
			t.Errorf("%s was deleted with a wrong confirmation: %d %s", k.Name, got.status, plain(got.text))
		}

		confirm := ""
		if strings.Contains(b.get(path("delete", object)).text, "to confirm") {
			confirm = object.GetName()
		}

		if left := done("delete", "/", "confirm", confirm); left != nil && left.GetDeletionTimestamp() == nil {
			t.Errorf("%s: not deleted", k.Name)
		}
	}
}

// checkDialog checks that the dialogs of an object show quoted commands of sparkctl and kubectl, and what happens to
// objects of its kind.
func checkDialog(b *browser, object client.Object) {
	b.T.Helper()

	k := kinds.Of(object)
	name, namespace := object.GetName(), object.GetNamespace()

	ends := map[*kinds.Kind]string{kinds.Schedule: "Its runs are deleted too", kinds.SparkApplication: "sparkctl submit"}
	if text := plain(b.get(path("delete", object)).text); !strings.Contains(text, cmp.Or(ends[k], "Its pods and the other objects")) || strings.Contains(text, ends[kinds.Schedule]) != (k == kinds.Schedule) {
		b.T.Errorf("the dialog of a deletion says about %s: %s", k.Name, text)
	}

	for action, commands := range map[string][]string{
		"suspend": {fmt.Sprintf("sparkctl suspend %s/%s -n %s", k.Name, name, namespace), fmt.Sprintf(`kubectl patch %s %s -n %s --type merge -p '{"spec":{"suspend":true}}'`, k.FullName(), name, namespace)},
		"delete":  {fmt.Sprintf("sparkctl delete %s/%s -n %s", k.Name, name, namespace), fmt.Sprintf("kubectl delete %s %s -n %s", k.FullName(), name, namespace)},
	} {
		text := strings.NewReplacer("&#39;", "'", "&#34;", `"`, "&quot;", `"`).Replace(b.get(path(action, object)).text)
		for _, command := range commands {
			if !strings.Contains(text, command) {
				b.T.Errorf("the dialog of %s lacks %s: %s", action, command, plain(text))
			}
		}
	}
}

// TestRights checks that a user without a right is not offered the action and cannot do it by a request of its own, and
// that a user without any right in a namespace does not learn whether it or its objects exist.
func TestRights(t *testing.T) {
	s := serve(t, nil)
	app := s.Application("pi")
	elsewhere := kit.Namespace(t)

	viewerToken := s.token("viewer", s.Namespace, "get", "list", "watch")
	viewer, stranger := s.user(viewerToken), s.user(s.token("stranger", elsewhere, everything...))

	user, err := s.sessions.Of(nil, &http.Request{Header: http.Header{"Authorization": {"Bearer " + viewerToken}}}, false)
	if err != nil {
		t.Fatal(err)
	}

	if got := act.Offered(t.Context(), user.User, app); len(got) > 0 {
		t.Errorf("a viewer is offered %v", got)
	}

	form := url.Values{"uid": {string(app.UID)}, "generation": {"1"}, "request": {"r"}}
	order := act.Order{UID: app.UID}

	for _, action := range []string{"suspend", "restart", "delete"} {
		api := strings.Replace(path(action, app), "/a/"+action, "/objects", 1) + "/" + action
		for what, got := range map[string]answer{"dialog": viewer.get(path(action, app)), "form": viewer.post(path(action, app), form), "API": viewer.call(api, order, nil)} {
			if got.status != http.StatusForbidden {
				t.Errorf("%s by a viewer, %s: %d %s", action, what, got.status, plain(got.text))
			}
		}

		for _, other := range []string{strings.Replace(path(action, app), s.Namespace, "no-such-namespace", 1), strings.Replace(path(action, app), "/pi", "/no-such-app", 1)} {
			for _, ask := range []func(string) answer{stranger.get, func(path string) answer { return stranger.post(path, form) }} {
				mine, theirs := ask(path(action, app)), ask(other)
				hide := strings.NewReplacer(s.Namespace, "NS", "no-such-namespace", "NS", "no-such-app", "pi")

				if mine.status != http.StatusNotFound || theirs.status != mine.status || hide.Replace(mine.text) != hide.Replace(theirs.text) {
					t.Errorf("%s by a stranger: %d %s, but of nothing: %d %s", action, mine.status, plain(mine.text), theirs.status, plain(theirs.text))
				}
			}
		}
	}

	if left := s.Get("pi"); left.ResourceVersion != app.ResourceVersion {
		t.Error("the application has changed")
	}

	for _, b := range []*browser{viewer, stranger} {
		mine, theirs := b.check(s.Namespace, s.example("spark-pi.yaml")), b.check("no-such-namespace", s.example("spark-pi.yaml"))
		if mine.Errors() != 1 || !strings.Contains(mine.Findings[0].Message, "you are not allowed to create sparkapplications") {
			t.Errorf("without the right to create: %+v", mine)
		}

		if fmt.Sprint(mine) != strings.ReplaceAll(fmt.Sprint(theirs), "no-such-namespace", s.Namespace) {
			t.Errorf("a namespace that does not exist differs: %+v, %+v", mine, theirs)
		}
	}

	var got act.Submitted
	if answer := viewer.call("/submissions", act.Submission{Mode: "manifest", Namespace: s.Namespace, Text: s.example("apache-pi.yaml")}, &got); answer.status != http.StatusUnprocessableEntity || len(got.Created) > 0 {
		t.Errorf("a viewer submits: %d %s", answer.status, answer.text)
	}
}

// TestForeignForms checks that a form without the CSRF token changes nothing.
func TestForeignForms(t *testing.T) {
	s := serve(t, nil)
	app := s.Application("pi")
	b := s.user(s.token("owner", s.Namespace, everything...))
	form := filled(b.get(path("delete", app)).text)

	for _, headers := range [][]string{{"X-Csrf-Token", ""}, {"X-Csrf-Token", "wrong"}, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		if got := b.post(path("delete", app), form, headers...); got.status != http.StatusForbidden || s.live(app) == nil {
			t.Errorf("%v: %d %s", headers, got.status, plain(got.text))
		}
	}
}

// interceptor calls a function before each request that changes something.
type interceptor struct {
	next   http.RoundTripper
	before func(*http.Request)
}

// RoundTrip implements http.RoundTripper.
func (i interceptor) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch || r.Method == http.MethodDelete || r.Method == http.MethodPost {
		i.before(r)
	}
	return i.next.RoundTrip(r)
}

// intercepted returns a connection with the rights of an administrator.
func intercepted(t *testing.T, before func(*http.Request)) *rest.Config {
	rc := kit.Rest(t)
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return interceptor{next, before} })
	return rc
}

// TestConflicts checks that an action takes effect only on the object and the spec that the user has seen, whenever
// they change, and that the writes of the operator do not prevent it.
func TestConflicts(t *testing.T) {
	var mu sync.Mutex

	meanwhile := func() {} // runs before the next write of the console

	s := serve(t, intercepted(t, func(r *http.Request) {
		if r.Method == http.MethodPost {
			return
		}

		mu.Lock()
		defer mu.Unlock()

		meanwhile()
		meanwhile = func() {}
	}))
	b := s.user("")

	patch := func(name, text string) {
		if err := s.API.Patch(t.Context(), s.Get(name), client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Error(err)
		}
	}
	replace := func(name string) {
		s.Remove(s.Get(name))
		s.Application(name)
	}

	for name, test := range map[string]struct {
		before, during func(name string)
		says           string // empty: the action takes effect
	}{
		"unchanged":        {},
		"status-before":    {before: func(name string) { patch(name, `{"metadata":{"labels":{"a":"b"}}}`) }},
		"status-meanwhile": {during: func(name string) { patch(name, `{"metadata":{"labels":{"a":"b"}}}`) }},
		"edited-before":    {before: func(name string) { patch(name, `{"spec":{"image":"other"}}`) }, says: "Somebody has edited the spec"},
		"edited-meanwhile": {during: func(name string) { patch(name, `{"spec":{"image":"other"}}`) }, says: "Somebody has edited the spec"},
		"replaced-before":  {before: replace, says: "was deleted meanwhile, and a new one with the same name was created"},
		"replaced-while":   {during: replace, says: "was deleted meanwhile, and a new one with the same name was created"},
		"gone-before":      {before: func(name string) { s.Remove(s.Get(name)) }, says: "There is no such object"},
	} {
		for _, action := range []string{"restart", "suspend", "delete"} {
			name := name + "-" + action
			app := s.Application(name)
			form := filled(b.get(path(action, app)).text)

			if test.before != nil {
				test.before(name)
			}

			mu.Lock()
			if meanwhile = func() {}; test.during != nil {
				meanwhile = func() { test.during(name) }
			}
			mu.Unlock()

			got, after := b.post(path(action, app), form), s.live(app)
			changed := after == nil || suspended(after) || after.GetAnnotations()[lifecycle.RestartAnnotation] != ""

			if test.says == "" && (got.status != http.StatusSeeOther || !changed) {
				t.Errorf("%s: %d %s", name, got.status, plain(got.text))
			}

			if test.says != "" && (got.status < 400 || !strings.Contains(plain(got.text), test.says) || after != nil && changed) {
				t.Errorf("%s: %d %s, want %q", name, got.status, plain(got.text), test.says)
			}
		}
	}
}

// TestDoubleClick checks that a request that is sent twice, at the same time or one after the other, takes effect once.
func TestDoubleClick(t *testing.T) {
	var mu sync.Mutex

	writes := map[string]int{}

	s := serve(t, intercepted(t, func(r *http.Request) {
		if strings.Contains(r.URL.Path, "selfsubject") || r.URL.Query().Get("dryRun") != "" {
			return
		}

		mu.Lock()
		defer mu.Unlock()
		writes[r.Method]++
	}))
	b := s.user("")
	app := s.Application("pi")

	twice := func(send func() answer) (answers [3]answer) {
		var group sync.WaitGroup
		for i := range 2 {
			group.Go(func() { answers[i] = send() })
		}

		group.Wait()

		answers[2] = send()
		return answers
	}

	form := filled(b.get(path("restart", app)).text)
	for _, got := range twice(func() answer { return b.post(path("restart", app), form) }) {
		if got.status != http.StatusSeeOther {
			t.Errorf("restart: %d %s", got.status, plain(got.text))
		}
	}

	line := act.Submission{Mode: "line", Namespace: s.Namespace, Text: "spark-submit --deploy-mode cluster --conf spark.kubernetes.container.image=spark:4.1.4 --class A local:///a.jar"}

	var names []string
	for _, got := range twice(func() answer { return b.call("/submissions", line, nil, "Idempotency-Key", "k") }) {
		var out act.Submitted
		if err := json.Unmarshal([]byte(got.text), &out); err != nil || len(out.Created) != 1 {
			t.Fatalf("submit: %d %s", got.status, got.text)
		}

		names = append(names, out.Created[0].Name)
	}

	if writes[http.MethodPatch] != 1 || writes[http.MethodPost] != 1 || len(slices.Compact(names)) != 1 {
		t.Errorf("the writes are %v, and the names %v", writes, names)
	}

	// Another key, and another body with the same key, are other requests.
	other := line
	other.Text += " 1"

	for _, got := range []answer{b.call("/submissions", line, nil, "Idempotency-Key", "l"), b.call("/submissions", other, nil, "Idempotency-Key", "k"), b.call("/submissions", line, nil)} {
		if got.status != http.StatusCreated {
			t.Errorf("another request: %d %s", got.status, got.text)
		}
	}

	if writes[http.MethodPost] != 4 {
		t.Errorf("the writes are %v", writes)
	}

	// A failure is not kept: the repetition succeeds.
	wrong := act.Submission{Mode: "manifest", Namespace: s.Namespace, Text: strings.ReplaceAll(s.example("spark-pi.yaml"), "spark-pi", "late")}
	s.Application("late")

	if got := b.call("/submissions", wrong, nil, "Idempotency-Key", "m"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text, "exists already") {
		t.Errorf("the name is taken: %d %s", got.status, got.text)
	}

	s.Remove(s.Get("late"))
	s.WaitGone(&v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "late"}})

	if got := b.call("/submissions", wrong, nil, "Idempotency-Key", "m"); got.status != http.StatusCreated {
		t.Errorf("the name is free: %d %s", got.status, got.text)
	}
}

// TestAPI checks that /api/v1 refuses what it does not know, and describes the actions.
func TestAPI(t *testing.T) {
	s := serve(t, nil)
	app := s.Application("pi")
	b := s.user(s.token("owner", s.Namespace, everything...))
	api := strings.Replace(path("", app), "/a//", "/objects/", 1)

	for _, test := range []struct {
		path, kind, body string
		status           int
	}{
		{api + "/restart", "application/json", `{"uid":"` + string(app.UID) + `"}`, http.StatusOK},
		{api + "/restart", "application/json", ``, http.StatusOK},
		{api + "/restart", "application/json; charset=utf-8", `{}`, http.StatusOK},
		{api + "/restart", "text/plain", `{}`, http.StatusUnsupportedMediaType},
		{api + "/restart", "application/x-www-form-urlencoded", `{"uid":"another"}`, http.StatusUnsupportedMediaType},
		{api + "/restart", "multipart/form-data; boundary=b", "--b--\r\n", http.StatusUnsupportedMediaType},
		{api + "/restart", "", `{}`, http.StatusUnsupportedMediaType},
		{api + "/restart", "", ``, http.StatusOK},
		{api + "/restart", "application/json", `{"uids":"x"}`, http.StatusBadRequest},
		{api + "/restart", "application/json", `{"UID":"x"}`, http.StatusBadRequest},
		{api + "/restart", "application/json", `{"generation":"x"}`, http.StatusBadRequest},
		{api + "/restart", "application/json", `{`, http.StatusBadRequest},
		{api + "/restart", "application/json", `{"uid":"another"}`, http.StatusConflict},
		{api + "/restart", "application/json", `{"generation":9}`, http.StatusConflict},
		{api + "/restart", "application/json", `{"replicas":1}`, http.StatusUnprocessableEntity},
		{api + "/scale", "application/json", `{}`, http.StatusUnprocessableEntity},
		{api + "/explode", "application/json", `{}`, http.StatusNotFound},
		{strings.Replace(api, "sparkapplications", "pods", 1) + "/delete", "application/json", `{}`, http.StatusNotFound},
	} {
		if got := b.send(http.MethodPost, "/api/v1"+test.path, test.kind, strings.NewReader(test.body)); got.status != test.status {
			t.Errorf("%s %s: %d %s, want %d", test.path, test.body, got.status, got.text, test.status)
		}
	}

	text := b.get("/api/v1/openapi.json").text
	for _, want := range []string{`"/api/v1/submissions":{"post"`, `"/api/v1/objects/{kind}/{namespace}/{name}/{action}":{"post"`, `"Idempotency-Key"`, `"dryRun"`, `"replicas"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the description lacks %s", want)
		}
	}
}

// TestRevokedToken checks that an action of a user whose account is gone leads to the sign-in.
func TestRevokedToken(t *testing.T) {
	s := serve(t, nil)
	app := s.Application("pi")
	b := s.user(s.token("leaver", s.Namespace, everything...))
	form := filled(b.get(path("delete", app)).text)

	s.Remove(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "leaver"}})

	kit.Wait(t, "the token to be rejected", func(context.Context) error {
		form.Set("request", rand.Text())

		if got := b.post(path("restart", app), form); got.status != http.StatusUnauthorized {
			return fmt.Errorf("%d %s", got.status, plain(got.text))
		}
		return nil
	})
}
