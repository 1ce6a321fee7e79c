package platform

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// TestAnnotate checks the two annotations, and that the annotations that others may share are not changed.
func TestAnnotate(t *testing.T) {
	s := &Settings{Version: "v1", Origins: map[string]string{"driver.labels[team]": "defaults[1] (a)"}}
	for name, c := range map[string]struct {
		settings *Settings
		before   map[string]string
		used     []string
		want     map[string]string
	}{
		"an attempt with defaults": {
			s, nil, []string{"timeouts.runSeconds", "driver.labels[team]"},
			map[string]string{"sparkoperator.dev/defaults": "v1",
				"sparkoperator.dev/defaults-origins": `{"driver.labels[team]":"defaults[1] (a)","timeouts.runSeconds":"defaults"}`},
		},
		"other annotations": {s, map[string]string{"a": "b"}, nil,
			map[string]string{"a": "b", "sparkoperator.dev/defaults": "v1"}},
		"an attempt that uses no default": {s, nil, nil, map[string]string{"sparkoperator.dev/defaults": "v1"}},
		"no defaults":                     {nil, map[string]string{"a": "b"}, nil, map[string]string{"a": "b"}},
	} {
		shared := map[string]string{}
		maps.Copy(shared, c.before)
		object := &metav1.ObjectMeta{Annotations: shared}
		c.settings.Annotate(object, c.used)

		if diff := cmp.Diff(c.want, object.Annotations); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		if len(shared) != len(c.before) {
			t.Errorf("%s: the shared annotations are %v", name, shared)
		}
	}
}

// TestOriginsNameEachSettingOnce checks that a setting that two pods of an attempt use is counted once, and that the
// number of settings without room is right.
func TestOriginsNameEachSettingOnce(t *testing.T) {
	object := &metav1.ObjectMeta{}
	(&Settings{}).Annotate(object, []string{"imagePullSecrets", "driver.tolerations", "imagePullSecrets"})

	if diff := cmp.Diff(map[string]string{"driver.tolerations": "defaults", "imagePullSecrets": "defaults"},
		Origins(object.Annotations)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	var used []string
	for i := range 3000 {
		used = append(used, fmt.Sprintf("driver.env[VARIABLE_%04d]", i), fmt.Sprintf("driver.env[VARIABLE_%04d]", i))
	}

	(&Settings{}).Annotate(object, used)

	origins := Origins(object.Annotations)
	if want := fmt.Sprintf("%d more", 3000-(len(origins)-1)); origins["..."] != want || len(origins) < 300 {
		t.Errorf("%d origins and %q, want %q", len(origins)-1, origins["..."], want)
	}
}

// TestOriginsAreBoundedAsJSON checks settings whose names are longer in JSON than as text.
func TestOriginsAreBoundedAsJSON(t *testing.T) {
	for name, part := range map[string]string{"letters": "abcdefgh", "quotes": `""""""""`, "markup": "<<<<&&>>",
		"controls": "\x01\x02\x03\x04", "others": "ääääääää"} {
		var used []string
		for i := range 2000 {
			used = append(used, fmt.Sprintf("sparkConf[spark.%s.%04d]", part, i))
		}

		object := &metav1.ObjectMeta{}
		(&Settings{}).Annotate(object, used)

		text := object.Annotations[OriginsAnnotation]
		if !json.Valid([]byte(text)) || len(text) > 16<<10 || len(text) < 15<<10 {
			t.Errorf("%s: the annotation has %d bytes", name, len(text))
		}
	}
}

// TestOriginsOfForeignAnnotations checks that an annotation that somebody edited is no fault.
func TestOriginsOfForeignAnnotations(t *testing.T) {
	for text, want := range map[string]map[string]string{`{"a":"b"}`: {"a": "b"}, `{}`: {}, `null`: nil, ``: nil,
		`{`: nil, `[]`: nil, `{"a":1}`: nil} {
		if diff := cmp.Diff(want, Origins(map[string]string{OriginsAnnotation: text})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}

	if got := Origins(nil); got != nil {
		t.Errorf("without annotations: %v", got)
	}
}

// TestUsedDefaultsOfTheConfiguration checks that a key is used only if its default is the value, and the user does not
// set it. A user may set the same value.
func TestUsedDefaultsOfTheConfiguration(t *testing.T) {
	s := &Settings{SparkConf: map[string]string{"spark.d": "1", "spark.a": "1", "spark.b": "1", "spark.c": "1"}}
	value := map[string]string{"spark.a": "1", "spark.b": "2", "spark.c": "1", "spark.e": "1"}
	filled := make([]string, 1, 9)
	filled[0] = "driver.tolerations"

	got := s.Used(filled, func(key string) (string, bool) { text, ok := value[key]; return text, ok },
		func(key string) bool { return key == "spark.c" })
	if diff := cmp.Diff([]string{"driver.tolerations", "sparkConf[spark.a]"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if filled[:2][1] != "" {
		t.Error("the list of filled settings was written to")
	}

	var none *Settings
	if got := none.Used(filled, nil, nil); got != nil {
		t.Errorf("without settings: %v", got)
	}
}

// TestValues checks the names and texts of all settings, and that no value that looks like a secret is shown.
func TestValues(t *testing.T) {
	s := full()
	s.Executor = Pod{Env: []corev1.EnvVar{
		{Name: "DB_PASSWORD", Value: "hunter2"},
		{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"}}},
	}}
	s.SparkConf = map[string]string{"spark.a": "1", "spark.ssl.keyPassword": "hunter2"}
	s.Images = map[string]string{"": "spark:4", "4.1": "spark:4.1"}
	s.Timeouts = Timeouts{DriverStartSeconds: new(int64(1)), DriverReadySeconds: new(int64(2)),
		ExecutorsStartSeconds: new(int64(3)), RunSeconds: new(int64(0))}
	s.TimeToLiveSeconds = new(int64(5))

	want := map[string]string{
		"sparkConf[spark.a]": "1", "sparkConf[spark.ssl.keyPassword]": conf.Redacted,
		"sparkConf[spark.kubernetes.container.image]": "spark:4", "images[4.1]": "spark:4.1",
		"imagePullSecrets": `["registry"]`, "driver.labels[team]": "platform", "driver.annotations[note]": "default",
		"driver.nodeSelector[pool]": "spark",
		"driver.tolerations":        `[{"key":"spot","operator":"Exists"}]`, "driver.priorityClassName": "batch",
		"driver.securityContext.runAsNonRoot":             "true",
		"driver.securityContext.allowPrivilegeEscalation": "false", "driver.podSecurityContext.fsGroup": "185",
		"driver.env[HTTP_PROXY]": "http://proxy", "driver.env[REGION]": "eu",
		"executor.env[DB_PASSWORD]": conf.Redacted, "executor.env[TOKEN]": `{"secretKeyRef":{"name":"s","key":"k"}}`,
		"timeouts.driverStartSeconds": "1", "timeouts.driverReadySeconds": "2", "timeouts.executorsStartSeconds": "3",
		"timeouts.runSeconds": "0", "timeToLiveSeconds": "5",
	}
	if diff := cmp.Diff(want, s.Values()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	var none *Settings
	if got := none.Values(); got == nil || len(got) > 0 {
		t.Errorf("no settings have the values %v", got)
	}
}

// TestUsedLimits checks that a limit counts as used only if the application could set it and does not.
func TestUsedLimits(t *testing.T) {
	s := &Settings{TimeToLiveSeconds: new(int64(1)),
		Timeouts: Timeouts{RunSeconds: new(int64(0)), DriverStartSeconds: new(int64(2)),
			DriverReadySeconds: new(int64(3))}}

	own := map[string]*int64{
		"timeouts.driverStartSeconds": nil, "timeouts.driverReadySeconds": new(int64(0)),
		"timeouts.executorsStartSeconds": nil, "timeouts.runSeconds": nil,
	}
	if diff := cmp.Diff("timeouts.driverStartSeconds timeouts.runSeconds",
		strings.Join(s.UsedLimits(own), " ")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if got := (&Settings{}).UsedLimits(own); got != nil {
		t.Errorf("without limits: %v", got)
	}
}
