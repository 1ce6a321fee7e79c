package record

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wire holds the random values of one run of spark-submit, and the names that Spark derives from the random ids.
type wire struct {
	app, prefix, service, configMap, uuid, time, date, version string
}

var (
	first = wire{
		app: "spark-6c48998273294de495e5c9d3a1722dba", prefix: "my-app-c05dd8a1fbc0dc03",
		service:   "my-app-c05dd8a1fbc0dc03-driver-svc",
		configMap: "spark-drv-ff5dd8a1fbc0dcaa-conf-map", uuid: "0b4cd1a0-7e6c-4c3c-9a57-9b60e4f4ad1c",
		time: "1795225082480",
		date: "Sat Nov 21 06:54:22 UTC 2026", version: "4.1.4",
	}
	second = wire{
		app: "spark-00112233445566778899aabbccddeeff", prefix: "my-app-123456a1fbc0ffff",
		service:   "my-app-123456a1fbc0ffff-driver-svc",
		configMap: "spark-drv-abcdefa1fbc0dcaa-conf-map", uuid: "ffffffff-7e6c-4c3c-9a57-9b60e4f4ad1c",
		time: "1795225999999",
		date: "Sun Nov 22 23:00:01 UTC 2026", version: "4.2.1",
	}
)

func (w wire) requests(t *testing.T) []Request {
	t.Helper()

	text := strings.Join([]string{
		"#Java properties built from Kubernetes config map with name: " + w.configMap, "#" + w.date,
		"spark.kubernetes.driver.pod.name=" + w.prefix + "-driver", "spark.app.id=" + w.app,
		"spark.app.submitTime=" + w.time,
		"spark.driver.host=" + w.service + ".default.svc", "",
	}, "\n")
	labels := map[string]any{"spark-app-selector": w.app, "spark-app-name": "my-app", "spark-version": w.version}
	pod := map[string]any{
		"kind": "Pod", "metadata": map[string]any{"name": w.prefix + "-driver", "labels": labels},
		"spec": map[string]any{"replicas": json.Number("12345678901234567"),
			"containers": []any{map[string]any{"env": []any{
				map[string]any{"name": "SPARK_LOCAL_DIRS", "value": "/var/data/spark-" + w.uuid}}}}},
	}
	service := map[string]any{
		"kind": "Service", "metadata": map[string]any{"name": w.service}, "spec": map[string]any{"selector": labels},
	}
	configMap := map[string]any{
		"kind": "ConfigMap", "metadata": map[string]any{"name": w.configMap},
		"data": map[string]any{"spark.properties": text},
	}

	var out []Request
	for _, r := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/api/v1/namespaces/default/pods", pod},
		{"PATCH", "/api/v1/namespaces/default/services/" + w.service, service},
		{"PATCH", "/api/v1/namespaces/default/configmaps/" + w.configMap, configMap},
		{"DELETE", "/api/v1/namespaces/default/pods/" + w.prefix + "-driver", nil},
	} {
		request := Request{Method: r.method, Path: r.path}
		if r.body != nil {
			body, err := json.Marshal(r.body)
			if err != nil {
				t.Fatal(err)
			}

			request.Body = body
		}

		out = append(out, request)
	}
	return out
}

func normalise(t *testing.T, w wire) []Request {
	t.Helper()

	out, err := Normalise(w.version, w.requests(t))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTwoRunsGiveTheSameRecording(t *testing.T) {
	recording, other := Recording{Requests: normalise(t, first)}, Recording{Requests: normalise(t, second)}
	if !recording.Same(other) {
		t.Error(cmp.Diff(recording, other))
	}
}

func TestNormaliseRemovesRandomValues(t *testing.T) {
	text, err := json.Marshal(normalise(t, first))
	if err != nil {
		t.Fatal(err)
	}

	for _, random := range []string{"6c48998273294de4", "c05dd8a1fbc0dc03", "ff5dd8a1fbc0dcaa", first.uuid, first.time,
		first.date, "4.1.4"} {
		if strings.Contains(string(text), random) {
			t.Errorf("%s remains in %s", random, text)
		}
	}

	for _, kept := range []string{"my-app-" + PrefixID + "-driver-svc.default.svc",
		"spark-drv-" + ConfigMapID + "-conf-map", AppID, "12345678901234567"} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("%s is missing in %s", kept, text)
		}
	}
}

func TestNormaliseIsIdempotent(t *testing.T) {
	once := normalise(t, first)

	twice, err := Normalise(first.version, once)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(once, twice); diff != "" {
		t.Error(diff)
	}
}

func TestIdsAreReplacedByRole(t *testing.T) {
	const id = "c05dd8a1fbc0dc03"

	tests := []struct {
		about, kind, name, label, want string
	}{
		{"a prefix", "Pod", "m-" + id + "-driver", "m", "m-" + PrefixID + "-driver"},
		{"a policy", "NetworkPolicy", "m-" + id + "-policy", "m", "m-" + PrefixID + "-policy"},
		{"a claim", "PersistentVolumeClaim", "m-" + id + "-driver-pvc-12", "m", "m-" + PrefixID + "-driver-pvc-12"},
		{"a Service of a long name", "Service", "spark-" + id + "-driver-svc", "a-very-long-name",
			"spark-" + ServiceID + "-driver-svc"},
		{"the Service of an application named spark", "Service", "spark-" + id + "-driver-svc", "spark",
			"spark-" + PrefixID + "-driver-svc"},
		{"empty name, and the id begins with a letter", "Pod", id + "-driver", "", "x000000000000001-driver"},
		{"empty name, and Spark replaced the first digit of the id", "Pod", "x05dd8a1fbc0dc03-driver", "",
			"x000000000000001-driver"},
		{"the driver's ConfigMap", "ConfigMap", "spark-drv-" + id + "-conf-map", "m",
			"spark-drv-" + ConfigMapID + "-conf-map"},
		{"a name that the user sets", "Pod", "deadbeefdeadbeef", "m", "deadbeefdeadbeef"},
		{"a name of the user that contains an id", "Pod", "a-" + id + "-drivers", "m", "a-" + id + "-drivers"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			pod := Request{Method: "POST", Path: "/pods",
				Body: json.RawMessage(`{"kind":"Pod","metadata":{"labels":{"spark-app-name":"` + tt.label + `"}}}`)}
			body := `{"kind":"` + tt.kind + `","metadata":{"name":"` + tt.name + `"},"data":{"` + tt.name + `":"see ` +
				tt.name + `."}}`

			got, err := Normalise("4.1.4",
				[]Request{pod, {Method: "PATCH", Path: "/things/" + tt.name, Body: json.RawMessage(body)}})
			if err != nil {
				t.Fatal(err)
			}

			want := strings.ReplaceAll(body, tt.name, tt.want)

			var a, b any
			if err := json.Unmarshal(got[1].Body, &a); err != nil {
				t.Fatal(err)
			}

			if err := json.Unmarshal([]byte(want), &b); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(b, a); diff != "" {
				t.Error(diff)
			}

			if got[1].Path != "/things/"+tt.want {
				t.Errorf("path is %s", got[1].Path)
			}
		})
	}
}

func TestLocalDirectoriesAreSorted(t *testing.T) {
	pod := func(dirs, first, second, own string) Request {
		return Request{Method: "POST", Path: "/pods", Body: json.RawMessage(`{"kind":"Pod","spec":{"containers":[` +
			`{"name":"sidecar"},{"name":"spark","env":[{"name":"A","value":"b,a"},{"name":"SPARK_LOCAL_DIRS","value":"` + dirs + `"}],"volumeMounts":[` +
			`{"name":"spark-local-dir-1","mountPath":"` + first +
			`"},{"name":"data","mountPath":"/0"},{"name":"spark-local-dir-2","mountPath":"` +
			second + `"},{"name":"spark-local-dir-3","mountPath":"` + own + `","readOnly":false}]}]}}`)}
	}
	shuffled := []Request{pod("/c,/a,/b", "/c", "/b", "/a"), pod("/a,/b,/c", "/b", "/c", "/a"),
		pod("/b,/c,/a", "/b", "/c", "/a")}

	want := Recording{Requests: []Request{pod("/a,/b,/c", "/b", "/c", "/a")}}
	for _, r := range shuffled {
		got, err := Normalise("4.1.4", []Request{r})
		if err != nil {
			t.Fatal(err)
		}

		sorted, err := Normalise("", want.Requests)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(string(sorted[0].Body), string(got[0].Body)); diff != "" {
			t.Error(diff)
		}
	}

	if got, err := Normalise("", []Request{pod("/a,/b,/c", "/b", "/c", "/a")}); err != nil ||
		!strings.Contains(string(got[0].Body), `"value":"b,a"`) {
		t.Errorf("another list was sorted: %s, %v", got[0].Body, err)
	}
}

func TestNormalisePropertiesSortsLines(t *testing.T) {
	tests := []struct{ about, in, want string }{
		{"sorted below the comments", "#b\n#a\nz=1\na=2\n", "#b\n#a\na=2\nz=1\n"},
		{"the date", "#x\n#Sat Nov 21 06:54:22 UTC 2026\na=1\n", "#x\n#" + Date + "\na=1\n"},
		{"a date with another zone", "#x\n#Sat Nov 21 06:54:22 GMT+01:00 2026\na=1\n", "#x\n#" + Date + "\na=1\n"},
		{"the submit time", "spark.app.submitTime=1795225082480\n", "spark.app.submitTime=" + SubmitTime + "\n"},
		{"a submit time that the user sets", "spark.app.submitTime=5\n", "spark.app.submitTime=5\n"},
		{"a submit time in another key", "spark.x.submitTime=1795225082480\n", "spark.x.submitTime=1795225082480\n"},
		{"a value that looks like a comment", "#x\n#y\n\\#c=1\nb=\\#\n", "#x\n#y\n\\#c=1\nb=\\#\n"},
		{"a last line without a line break", "b=1\na=2", "a=2\nb=1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, normaliseProperties(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNormaliseRejectsOtherBodies(t *testing.T) {
	for _, body := range []string{`[1]`, `"a"`, `{`, `nonsense`} {
		_, err := Normalise("4.1.4", []Request{{Method: "POST", Path: "/pods", Body: json.RawMessage(body)}})
		if err == nil || !strings.Contains(err.Error(), "POST /pods") {
			t.Errorf("%s: error is %v", body, err)
		}
	}
}

func FuzzNormaliseProperties(f *testing.F) {
	f.Add("#a\n#Sat Nov 21 06:54:22 UTC 2026\nb=1\na=2\n")
	f.Add("\n\n#")
	f.Fuzz(func(t *testing.T, text string) {
		once := normaliseProperties(text)
		if twice := normaliseProperties(once); twice != once && !strings.Contains(text, "#") {
			t.Errorf("%q, and again %q", once, twice)
		}

		if !strings.HasSuffix(once, "\n") {
			t.Errorf("%q has no end", once)
		}
	})
}
