package replay

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sparkoperator/spark-operator/bench/audit"
)

const (
	appUID    = "11111111-1111-1111-1111-111111111111"
	driverUID = "22222222-2222-2222-2222-222222222222"
	againUID  = "33333333-3333-3333-3333-333333333333"
	nobodyUID = "44444444-4444-4444-4444-444444444444"
	newUID    = "55555555-5555-5555-5555-555555555555"
	operator  = "spark-operator/v0.1"
)

// line is a successful request in the log, received at a second.
func line(second int, agent, verb, uri, group, resource, name, body string) string {
	resource, sub, _ := strings.Cut(resource, "/")
	stage := "ResponseComplete"
	if verb == "watch" {
		stage = "ResponseStarted"
	}
	if body != "" {
		body = `,"requestObject":` + body
	}
	at := time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC).Format("2006-01-02T15:04:05.000000Z")
	return fmt.Sprintf(`{"stage":%q,"verb":%q,"requestURI":%q,"userAgent":%q,"objectRef":{"apiGroup":%q,"resource":%q,"subresource":%q,"namespace":"a","name":%q},`+
		`"responseStatus":{"code":200},"requestReceivedTimestamp":%q,"stageTimestamp":%q%s}`, stage, verb, uri, agent, group, resource, sub, name, at, at, body) + "\n"
}

func owned(kind, name, ownerKind, owner, uid string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":"v1","metadata":{"name":%q,"labels":{"spark-app-selector":"spark-1"},"ownerReferences":[{"kind":%q,"name":%q,"uid":%q}]}}`,
		kind, name, ownerKind, owner, uid)
}

// What a life writes, in the order in which it was answered; the application's creation was answered last.
var life = []string{
	line(2, operator, "create", "/api/v1/namespaces/a/pods", "", "pods", "x-driver", owned("Pod", "x-driver", "SparkApplication", "x", appUID)),
	line(1, audit.LoadAgent, "create", "/apis/sparkoperator.k8s.io/v1beta2/namespaces/a/sparkapplications", "sparkoperator.k8s.io", "sparkapplications", "x", `{"kind":"SparkApplication"}`),
	line(3, audit.NodeAgent, "patch", "/api/v1/namespaces/a/pods/x-driver/status", "", "pods/status", "x-driver", `{"metadata":{"uid":"`+driverUID+`"}}`),
	line(4, audit.NodeAgent, "create", "/api/v1/namespaces/a/pods", "", "pods", "x-exec-1", owned("Pod", "x-exec-1", "Pod", "x-driver", driverUID)),
	line(5, operator, "create", "/api/v1/namespaces/a/events", "", "events", "x.1", `{"kind":"Event","involvedObject":{"kind":"Pod","name":"x-exec-1","uid":"`+nobodyUID+`"}}`),
	line(6, audit.NodeAgent, "deletecollection", "/api/v1/namespaces/a/pods?labelSelector=spark-app-selector%3Dspark-1%2Cspark-role%3Dexecutor", "", "pods", "", ""),
	line(7, operator, "patch", "/apis/sparkoperator.k8s.io/v1beta2/namespaces/a/sparkapplications/x/status", "sparkoperator.k8s.io", "sparkapplications/status", "x",
		`{"status":{"uid":"`+appUID+`"}}`),
}

func TestRead(t *testing.T) {
	log := strings.Join(life, "") +
		line(8, operator, "update", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", "coordination.k8s.io", "leases", "l", `{"kind":"Lease"}`) +
		line(8, "kube-scheduler/v1", "create", "/api/v1/namespaces/a/pods/x-driver/binding", "", "pods/binding", "x-driver", "") +
		strings.Replace(line(8, operator, "delete", "/api/v1/namespaces/a/pods/x-driver", "", "pods", "x-driver", ""), `"code":200`, `"code":404`, 1)
	plan, err := Read(strings.NewReader(log), audit.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Applications) != 1 || plan.Stale != 0 {
		t.Fatalf("%d applications, %d stale owners", len(plan.Applications), plan.Stale)
	}
	if diff := cmp.Diff(map[string]int{"update leases": 1}, plan.Left); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, w := range plan.Applications[0].Writes {
		got = append(got, fmt.Sprintf("%s %s %s teaches %d uses %v", w.Verb, w.Object.Resource, w.Object.Name, w.teaches, w.uses))
	}
	want := []string{
		"create sparkapplications x teaches 1 uses []",
		"create pods x-driver teaches 2 uses [0]",
		"patch pods x-driver teaches 0 uses []", // its condition is taken out
		"create pods x-exec-1 teaches 3 uses [1]",
		"create events x.1 teaches 0 uses [2]",
		"deletecollection pods  teaches 0 uses []",
		"patch sparkapplications x teaches 0 uses [0]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A driver pod that is made again has the name of the first, and another UID.
func TestReadTellsPodsOfOneNameApart(t *testing.T) {
	log := strings.Join(life[:4], "") +
		line(8, operator, "delete", "/api/v1/namespaces/a/pods/x-driver", "", "pods", "x-driver", "") +
		line(9, operator, "create", "/api/v1/namespaces/a/pods", "", "pods", "x-driver", owned("Pod", "x-driver", "SparkApplication", "x", appUID)) +
		line(10, audit.NodeAgent, "create", "/api/v1/namespaces/a/pods", "", "pods", "x-exec-1", owned("Pod", "x-exec-1", "Pod", "x-driver", againUID)) +
		line(11, audit.NodeAgent, "create", "/api/v1/namespaces/a/pods", "", "pods", "x-exec-2", owned("Pod", "x-exec-2", "Pod", "x-driver", againUID)) +
		line(12, audit.NodeAgent, "create", "/api/v1/namespaces/a/pods", "", "pods", "y", `{"kind":"Pod","metadata":{"ownerReferences":[{"kind":"ReplicaSet","name":"y","uid":"`+nobodyUID+`"}]}}`)
	plan, err := Read(strings.NewReader(log), audit.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	a := plan.Applications[0]
	if diff := cmp.Diff([]string{appUID, driverUID, againUID}, a.uids); diff != "" || plan.Stale != 0 {
		t.Error(diff, plan.Stale)
	}
	// Whose owner is not of the application is not of it either.
	if n := len(a.Writes); n != 8 || plan.Left["create pods"] != 1 {
		t.Errorf("%d writes, left out %v", n, plan.Left)
	}
	if a.Writes[5].teaches != 3 || a.Writes[6].uses[0] != 2 {
		t.Errorf("the second pod teaches %d, its executor uses %v", a.Writes[5].teaches, a.Writes[6].uses)
	}
}

func TestReadCountsOwnersThatNobodyMade(t *testing.T) {
	log := strings.Join(life, "") + line(9, operator, "create", "/api/v1/namespaces/a/configmaps", "", "configmaps", "c", owned("ConfigMap", "c", "Pod", "x-gone", newUID))
	plan, err := Read(strings.NewReader(log), audit.Scope{})
	if err != nil || plan.Stale != 1 {
		t.Errorf("%d stale owners, %v", plan.Stale, err)
	}
}

// An operator that gives up a creation may find it made when it tries again, so that none was answered with success.
func TestReadTakesACreationThatWasGivenUp(t *testing.T) {
	given := func(name string) string {
		return strings.Replace(line(8, operator, "create", "/api/v1/namespaces/a/services", "", "services", name, owned("Service", name, "SparkApplication", "x", appUID)),
			`"code":200`, `"code":504`, 1)
	}
	again := line(9, operator, "create", "/api/v1/namespaces/a/services", "", "services", "made", owned("Service", "made", "SparkApplication", "x", appUID))
	plan, err := Read(strings.NewReader(strings.Join(life, "")+given("found")+given("found")+given("made")+again), audit.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range plan.Applications[0].Writes[len(life):] {
		got = append(got, w.Object.Name)
	}
	if diff := cmp.Diff([]string{"found", "made"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWatchesAreOpenedOnce(t *testing.T) {
	pods := "/api/v1/pods?allowWatchBookmarks=true&labelSelector=a&resourceVersion=%d&timeoutSeconds=%d&watch=true"
	log := line(1, operator, "watch", fmt.Sprintf(pods, 1, 400), "", "pods", "", "") +
		line(2, operator, "watch", fmt.Sprintf(pods, 77, 500), "", "pods", "", "") +
		line(3, audit.NodeAgent, "watch", fmt.Sprintf(pods, 77, 500), "", "pods", "", "") +
		line(4, "kube-scheduler/v1", "watch", fmt.Sprintf(pods, 77, 500), "", "pods", "", "") +
		line(9, operator, "watch", "/api/v1/services?watch=true", "", "services", "", "")
	plan, err := Read(strings.NewReader(log), audit.Scope{From: time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC), To: time.Date(2026, 1, 1, 0, 0, 6, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	uri := "/api/v1/pods?allowWatchBookmarks=true&labelSelector=a&watch=true"
	want := []Watch{{audit.Operator, uri, audit.Object{Resource: "pods", Namespace: "a"}}, {audit.Node, uri, audit.Object{Resource: "pods", Namespace: "a"}}}
	if diff := cmp.Diff(want, plan.Watches); diff != "" {
		t.Error(diff)
	}
}

func TestWatchForms(t *testing.T) {
	for want, w := range map[string]Watch{
		"application/json": {Actor: audit.Operator, Object: audit.Object{Group: "sparkoperator.k8s.io", Resource: "sparkapplications"}},
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1": {Actor: audit.Operator, Object: audit.Object{Resource: "services"}},
		"application/vnd.kubernetes.protobuf;stream=watch":                                {Actor: audit.Operator, Object: audit.Object{Resource: "pods"}},
	} {
		if got := w.accept(); got != want {
			t.Errorf("%s: %s", w.Object.Resource, got)
		}
	}
}

func TestMoved(t *testing.T) {
	for _, tt := range []struct{ uri, from, want string }{
		{"/api/v1/namespaces/a/pods", "a", "/api/v1/namespaces/b/pods"},
		{"/api/v1/namespaces/a/pods/namespaces", "a", "/api/v1/namespaces/b/pods/namespaces"},
		{"/api/v1/namespaces/a/pods?timeout=10s&resourceVersion=7&labelSelector=x%3Dy", "a", "/api/v1/namespaces/b/pods?labelSelector=x%3Dy"},
		{"/api/v1/namespaces/ab/pods", "ab", "/api/v1/namespaces/b/pods"},
		{"/api/v1/namespaces/ab/pods", "a", "/api/v1/namespaces/ab/pods"},
		{"/api/v1/namespaces/a", "a", "/api/v1/namespaces/b"},
		{"/api/v1/pods?watch=true", "", "/api/v1/pods?watch=true"},
	} {
		got, err := moved(tt.uri, tt.from, "b")
		if err != nil || got != tt.want {
			t.Errorf("%s: %s, %v", tt.uri, got, err)
		}
	}
}

func TestPrepare(t *testing.T) {
	for name, tt := range map[string]struct {
		write                     Write
		method, contentType, body string
	}{
		"custom resource": {
			Write{Verb: "create", Body: []byte(`{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication","metadata":{"name":"x","namespace":"a","uid":"u","resourceVersion":"1"},"spec":{"n":3}}`)},
			"POST", "application/json", `{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication","metadata":{"name":"x","namespace":"b"},"spec":{"n":3}}`,
		},
		"status of the operator": {
			Write{Verb: "patch", Actor: audit.Operator, Object: audit.Object{Group: "sparkoperator.k8s.io"}, Body: []byte(`{"metadata":{"resourceVersion":"1"},"status":{"x":1}}`)},
			"PATCH", "application/merge-patch+json", `{"status":{"x":1}}`,
		},
		"the operator's of a built-in kind": {
			Write{Verb: "patch", Actor: audit.Operator, Body: []byte(`{"metadata":{"resourceVersion":"1","finalizers":null}}`)},
			"PATCH", "application/merge-patch+json", `{"metadata":{"finalizers":null}}`,
		},
		"status of a node": {
			Write{Verb: "patch", Actor: audit.Node, Body: []byte(`{"metadata":{"uid":"u"},"status":{"phase":"Running"}}`)},
			"PATCH", "application/strategic-merge-patch+json", `{"status":{"phase":"Running"}}`,
		},
		"the load's patch of a custom resource": {
			Write{Verb: "patch", Actor: audit.Load, Object: audit.Object{Group: "sparkoperator.k8s.io"}, Body: []byte(`{"spec":{"suspend":true}}`)},
			"PATCH", "application/merge-patch+json", `{"spec":{"suspend":true}}`,
		},
		"applied": {
			Write{
				Verb: "patch", Actor: audit.Operator, URI: "/api/v1/namespaces/a/services/s?fieldManager=op&force=true", Object: audit.Object{Namespace: "a"},
				Body: []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"a"}}`), about: about{Kind: "Service"},
			},
			"PATCH", "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"b"}}`,
		},
		"JSON patch": {
			Write{Verb: "patch", Body: []byte(`[{"op":"test","path":"/metadata/uid","value":"u"},{"op":"replace","path":"/metadata/resourceVersion","value":"1"},{"op":"remove","path":"/x"}]`)},
			"PATCH", "application/json-patch+json", `[{"op":"remove","path":"/x"}]`,
		},
		"deletion": {
			Write{Verb: "delete", Body: []byte(`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u"}}`)},
			"DELETE", "application/json", `{"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions"}`,
		},
		"deletion without options": {Write{Verb: "deletecollection"}, "DELETE", "application/json", ""},
	} {
		r, err := tt.write.prepare("b")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff([]string{tt.method, tt.contentType, tt.body}, []string{r.method, r.contentType, string(r.body)}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for name, w := range map[string]Write{"verb": {Verb: "connect"}, "body": {Verb: "create", Body: []byte(`{`)}, "patch": {Verb: "patch", Body: []byte(`"x"`)}} {
		if _, err := w.prepare("b"); err == nil {
			t.Errorf("a bad %s is prepared", name)
		}
	}
}

// Built-in kinds are sent in protobuf, in which an owner's UID is replaced by bytes.
func TestPrepareBuiltIn(t *testing.T) {
	for _, verb := range []string{"create", "update"} {
		w := Write{Verb: verb, Body: []byte(owned("ConfigMap", "c", "SparkApplication", "x", appUID))}
		r, err := w.prepare("b")
		if err != nil {
			t.Fatal(err)
		}
		body := []byte(strings.ReplaceAll(string(r.body), appUID, newUID))
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{
				Name: "c", Namespace: "b", Labels: map[string]string{"spark-app-selector": "spark-1"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "SparkApplication", Name: "x", UID: newUID}},
			},
		}
		if diff := cmp.Diff(want, o); diff != "" || r.contentType != runtime.ContentTypeProtobuf {
			t.Error(r.contentType, diff)
		}
	}
	event, err := json.Marshal(corev1.Event{
		TypeMeta: metav1.TypeMeta{Kind: "Event", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "a"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "a", Name: "p", ResourceVersion: "7"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&Write{Verb: "create", Body: event}).prepare("b")
	if err != nil {
		t.Fatal(err)
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(r.body, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := o.(*corev1.Event).InvolvedObject; got.Namespace != "b" || got.ResourceVersion != "" {
		t.Errorf("the event is about %+v", got)
	}
}
