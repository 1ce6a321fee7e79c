package view_test

import (
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/test/kit/pages"
)

var now = time.Date(2026, 11, 29, 12, 30, 0, 0, time.UTC)

// hostile is a text that ends an attribute, an element and a script, if it is not escaped.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(1)>` + "`${x}`javascript:alert(1)//"

// address is a hostile address.
const address = "javascript:alert(1)"

// fill sets every text in a value to the hostile one, every address to the hostile address, and gives slices, maps and
// pointers an element.
func fill(v reflect.Value, depth int) {
	if depth > 8 {
		return
	}

	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(now.Add(-time.Hour)))
			return
		}

		for i := range v.NumField() {
			if field := v.Type().Field(i); slices.Contains([]string{"URL", "Path", "Post", "Stream"}, field.Name) && field.Type.Kind() == reflect.String {
				v.Field(i).SetString(address)
			} else if field.IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))

		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.SetMapIndex(key, value)
	}
}

// filled returns a value of a type whose texts are all hostile.
func filled[T any]() (value T) {
	fill(reflect.ValueOf(&value).Elem(), 0)
	return value
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()

	var b strings.Builder
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEveryTextIsEscaped renders each page with data whose texts are all hostile. The page has no element, attribute or
// address that comes from a text.
func TestEveryTextIsEscaped(t *testing.T) {
	p, w := filled[model.Page](), filled[table.Window]()
	object := filled[model.Object]()

	// A submission and the tabs show different parts.
	manifest, line := filled[model.Submit](), filled[model.Submit]()
	manifest.Mode, line.Mode = "manifest", "line"
	doctor := model.Doctor{Findings: filled[model.Doctor]().Findings}

	for i := range doctor.Findings {
		doctor.Findings[i].Level = model.Levels[0]
	}

	explained := object
	explained.Explanation = slices.Clone(object.Explanation)
	explained.Explanation[0], explained.Explanation[1] = screen.Line{Label: "next", Text: hostile}, screen.Line{Label: "pod", Text: hostile}

	application := filled[model.Application]()
	application.Object = explained

	listed := filled[model.Stages]()
	listed.Missing, listed.Chosen.Missing = "", ""

	for name, c := range map[string]templ.Component{
		"listed stages": view.Stages(p, object, listed), "all": view.All(p, w), "application": view.Application(p, application), "logs": view.Logs(p, object, filled[model.Logs]()), "log lines": view.LogLines(hostile + "\n" + hostile),
		"stages": view.Stages(p, object, filled[model.Stages]()), "manifest": view.ManifestPage(p, object, filled[model.Spec]()), "usage": view.UsagePage(p, object, new(filled[model.Usage]())),
		"schedule": view.Schedule(p, filled[model.Schedule]()), "connect": view.Connect(p, filled[model.Connect]()), "cluster": view.Cluster(p, filled[model.Cluster]()),
		"namespaces": view.Namespaces(p, filled[model.Namespaces]()), "doctor": view.Doctor(p, doctor), "doctor problem": view.Doctor(p, model.Doctor{Problem: hostile}), "submit": view.Submit(p, filled[model.Submit]()),
		"submit a manifest": view.Submit(p, manifest), "submit a line": view.Submit(p, line), "dialog": view.Dialog(p, filled[model.Dialog]()), "sign-in": view.SignIn(p, filled[model.SignIn]()),
		"sign-in with a token": view.SignIn(p, model.SignIn{Return: hostile, Problem: hostile}), "problem": view.ProblemPage(p, filled[model.Problem]()),
	} {
		t.Run(name, func(t *testing.T) {
			text := render(t, c)
			if n := strings.Count(text, "alert(1)"); n == 0 {
				t.Error("the page shows no text of the data")
			}

			elements(t, text, harmless)
		})
	}
}

// elements calls a function for each element of a page.
func elements(t *testing.T, text string, visit func(t *testing.T, token html.Token)) {
	t.Helper()

	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				t.Error(z.Err())
			}
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			visit(t, z.Token())
		}
	}
}

// addresses are the attributes whose values a browser opens. htmx only fetches those of its own attributes.
var addresses = []string{"href", "src", "action", "formaction", "srcdoc", "xlink:href"}

var ours = regexp.MustCompile(`^(/|\?|#|data:,$|$)`)

// harmless checks that an element runs no script: the pages have no image, no inline script or style, and no address of
// another scheme.
func harmless(t *testing.T, token html.Token) {
	t.Helper()

	if token.Data == "img" || token.Data == "iframe" || token.Data == "style" || token.Data == "object" || token.Data == "base" {
		t.Errorf("the page has the element %s", token)
	}

	own := false
	for _, a := range token.Attr {
		own = own || a.Key == "src" && strings.HasPrefix(a.Val, "/assets/")

		switch {
		case strings.HasPrefix(a.Key, "on"), a.Key == "style", strings.HasPrefix(a.Key, "hx-on"), strings.HasPrefix(a.Key, "hx-vals"):
			t.Errorf("the page has the attribute %s in %s", a.Key, token)
		case slices.Contains(addresses, a.Key) && !ours.MatchString(a.Val) && a.Val != string(templ.FailedSanitizationURL):
			t.Errorf("the page has the address %s=%q", a.Key, a.Val)
		case !regexp.MustCompile(`^[a-zA-Z][-:a-zA-Z]*$`).MatchString(a.Key):
			t.Errorf("the page has the attribute %q", a.Key)
		}
	}

	if token.Data == "script" && !own {
		t.Errorf("the page has the script %s", token)
	}
}

// TestSamplesAreLabelled checks what a parser can see of each sample page: each control has a name, ids occur once, and
// nothing needs an inline script or style.
func TestSamplesAreLabelled(t *testing.T) {
	for _, page := range pages.All(now) {
		t.Run(page.Name, func(t *testing.T) {
			text := render(t, page.Body)
			ids, labelled := map[string]int{}, map[string]bool{}

			elements(t, text, func(t *testing.T, token html.Token) {
				if !strings.Contains(text, "history.example.org") || token.Data != "a" { // the only page of others
					harmless(t, token)
				}

				for _, a := range token.Attr {
					switch {
					case a.Key == "id":
						ids[a.Val]++
					case token.Data == "label" && a.Key == "for":
						labelled[a.Val] = true
					}
				}
			})

			for id, n := range ids {
				if n > 1 {
					t.Errorf("the id %q occurs %d times", id, n)
				}
			}

			for id := range labelled {
				if ids[id] == 0 {
					t.Errorf("a label is for %q, which does not exist", id)
				}
			}
		})
	}
}

// TestCauseIsTheExplanation checks that the page of an object has all lines of sparkctl explain, in their order, with
// the reason as a heading and commands to copy.
func TestCauseIsTheExplanation(t *testing.T) {
	o := model.Object{Row: table.Row{Reason: "ImagePull"}, Explanation: []screen.Line{
		{Label: "state", Text: "pi is SUBMITTED (pending)"}, {Label: "why", Text: "ImagePull: no such image"}, {Label: "do", Text: "correct the image"},
		{Label: "pod", Text: "pi-driver: ErrImagePull"}, {Label: "cause", Text: "no operator runs"}, {Label: "do", Text: "kubectl get pods", Command: true}, {Label: "next", Text: "it waits"},
	}}
	text := render(t, view.Application(model.Page{Now: now}, model.Application{Object: o}))

	want := []string{
		"<b>ImagePull</b> no such image", "<b>What to do</b> correct the image", "<b>Pod</b> pi-driver: ErrImagePull", "<b>Cause</b> no operator runs", "<code>kubectl get pods</code>", "data-copy", "<b>Next</b> it waits",
	}
	for rest := text; len(want) > 0; want = want[1:] {
		_, after, found := strings.Cut(rest, want[0])
		if !found {
			t.Fatalf("the page lacks %q, or has it too early: %s", want[0], text)
		}

		rest = after
	}

	if strings.Contains(text, "pi is SUBMITTED") {
		t.Error("the page repeats the state")
	}
}

// TestOrderOfColumns checks that the header of each column says in which order its values are.
func TestOrderOfColumns(t *testing.T) {
	order := func(q table.Query, column string) string {
		w := table.Window{Query: q, Rows: []table.Row{{Name: "pi"}}}
		page := render(t, view.All(model.Page{Now: now}, w))

		match := regexp.MustCompile(`aria-sort="([a-z]+)">\s*<a id="sort-` + column + `"`).FindStringSubmatch(page)
		if match == nil {
			t.Fatalf("the page has no header %s: %s", column, page)
		}
		return match[1]
	}

	for _, column := range table.Sorts {
		once := table.Query{Sort: "other"}.SortedBy(column)
		want := []string{"descending", "ascending"}

		if slices.Contains([]string{"name", "namespace", "kind", "owner", "age"}, column) { // from A, or from the youngest
			slices.Reverse(want)
		}

		if got := []string{order(once, column), order(once.SortedBy(column), column)}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", column, got, want)
		}
	}

	if got := []string{order(table.Query{}, "age"), order(table.Query{}, "name")}; !slices.Equal(got, []string{"ascending", "none"}) {
		t.Errorf("at first, the orders by age and name are %v", got)
	}
}

// TestNavigationWithoutName checks that a user has the links to all pages also if the API server could not say the
// user's name, and that nobody has them before the sign-in.
func TestNavigationWithoutName(t *testing.T) {
	if text := render(t, view.Layout(model.Page{CSRF: "token"})); !strings.Contains(text, `href="/namespaces"`) {
		t.Errorf("the page has no navigation: %s", text)
	}

	if text := render(t, view.Layout(model.Page{})); strings.Contains(text, `href="/namespaces"`) {
		t.Errorf("the page of the sign-in has a navigation: %s", text)
	}
}

// TestPodsLeadToTheirLogs checks that the pods of an object, and its executors that failed, lead to their logs, unless
// a pod has none or is gone.
func TestPodsLeadToTheirLogs(t *testing.T) {
	a := model.Application{Object: model.Object{
		Row:  table.Row{Kind: "sparkapplications.sparkoperator.k8s.io", Namespace: "etl", Name: "pi"},
		Pods: []model.Pod{{Name: "pi-driver", Role: "driver"}, {Name: "pi-other"}},
	}}
	a.Executors.Failures = []model.Pod{{Name: "pi-exec-1", Role: "executor", Executor: "1"}, {Name: "pi-exec-2", Executor: "2"}}

	text := render(t, view.Application(model.Page{Now: now}, a))
	for name, linked := range map[string]bool{"pi-driver": true, "pi-other": false, "pi-exec-1": true, "pi-exec-2": false} {
		path := `href="/o/sparkapplications.sparkoperator.k8s.io/etl/pi/logs?follow=true&amp;pod=` + name + `"`
		if strings.Contains(text, path) != linked {
			t.Errorf("%s: the link to its log exists: %v, want %v", name, !linked, linked)
		}
	}
}

// TestVendoredScripts checks that the scripts of others are those that tools/assets.sh fetches.
func TestVendoredScripts(t *testing.T) {
	for file, want := range map[string]string{
		"htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717", // htmx.org 2.0.11
		"sse.min.js":  "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136", // htmx-ext-sse 2.2.4
	} {
		text, err := os.ReadFile("assets/vendor/" + file)
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); err != nil || got != want {
			t.Errorf("%s has the checksum %s, want %s: %v", file, got, want, err)
		}
	}
}

// TestAssets checks that each file that a page loads is served, compressed and plain, and kept by browsers.
func TestAssets(t *testing.T) {
	server := httptest.NewServer(view.Assets())
	defer server.Close()

	total := 0
	for _, path := range regexp.MustCompile(`/assets/[^"]+`).FindAllString(render(t, view.Layout(model.Page{})), -1) {
		get := func(encoding string) (*http.Response, []byte) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}

			request.Header.Set("Accept-Encoding", encoding)

			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()

			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return response, body
		}

		_, plain := get("identity")        //nolint:bodyclose // get has read it
		response, small := get("gzip, br") //nolint:bodyclose // get has read it
		total += len(small)

		r, err := gzip.NewReader(strings.NewReader(string(small)))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}

		unpacked, err := io.ReadAll(r)
		if err != nil || string(unpacked) != string(plain) || len(plain) < 100 {
			t.Errorf("%s: %d bytes, unpacked %d: %v", path, len(plain), len(unpacked), err)
		}

		if cache := response.Header.Get("Cache-Control"); !strings.Contains(cache, "immutable") || response.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %v", path, response.Header)
		}
	}

	t.Logf("all assets have %d bytes compressed", total)

	if total > 100_000 {
		t.Errorf("the assets have %d bytes compressed, want at most 100000", total)
	}

	if response, err := http.Get(server.URL + "/assets/console.000000000000.css"); err != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("an old path: %v, %v", response, err)
	} else {
		response.Body.Close()
	}
}
