package platform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// full returns settings that have a default for every field of Pod.
func full() *Settings {
	pod := Pod{
		Labels: map[string]string{"team": "platform"}, Annotations: map[string]string{"note": "default"},
		NodeSelector:       map[string]string{"pool": "spark"},
		Tolerations:        []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
		PriorityClassName:  "batch",
		SecurityContext:    &corev1.SecurityContext{RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false)},
		PodSecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(185))},
		Env:                []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "http://proxy"}, {Name: "REGION", Value: "eu"}},
	}
	return &Settings{Version: "v1", Driver: pod, Executor: pod, PullSecrets: []string{"registry"}}
}

func TestFill(t *testing.T) {
	for name, c := range map[string]struct {
		template, want string
		container      Container
		taken          Taken
		settings       *Settings
		used           string // names without "driver."
	}{
		"no template": {
			want: `{"metadata":{"annotations":{"note":"default"},"labels":{"team":"platform"}},"spec":{"containers":[{"env":[{"name":"HTTP_PROXY","value":"http://proxy"},{"name":"REGION","value":"eu"}],
				"name":"spark","securityContext":{"allowPrivilegeEscalation":false,"runAsNonRoot":true}}],"imagePullSecrets":[{"name":"registry"}],"nodeSelector":{"pool":"spark"},"priorityClassName":"batch",
				"securityContext":{"fsGroup":185},"tolerations":[{"key":"spot","operator":"Exists"}]}}`,
			used: "labels[team] annotations[note] nodeSelector[pool] tolerations priorityClassName podSecurityContext.fsGroup imagePullSecrets securityContext.allowPrivilegeEscalation securityContext.runAsNonRoot env[HTTP_PROXY] env[REGION]",
		},
		"the application sets every field itself": {
			template: `{"metadata":{"annotations":{"note":"mine"},"labels":{"team":"mine"}},"spec":{"containers":[{"name":"spark","env":[{"name":"HTTP_PROXY"},{"name":"REGION","value":""}],
				"securityContext":{"allowPrivilegeEscalation":true,"runAsNonRoot":false}}],"imagePullSecrets":[{"name":"mine"}],"nodeSelector":{"pool":"mine"},"priorityClassName":"mine",
				"securityContext":{"fsGroup":1},"tolerations":[{"key":"spot","operator":"Exists"}]}}`,
		},
		"lists are extended": {
			template: `{"spec":{"tolerations":[{"key":"gpu"}]}}`,
			settings: &Settings{Driver: Pod{Tolerations: full().Driver.Tolerations}},
			want:     `{"spec":{"tolerations":[{"key":"gpu"},{"key":"spot","operator":"Exists"}]}}`,
			used:     "tolerations",
		},
		"the first container without the name": {
			template: `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`,
			settings: &Settings{Driver: Pod{Env: full().Driver.Env[1:]}},
			want:     `{"spec":{"containers":[{"name":"a","env":[{"name":"REGION","value":"eu"}]},{"name":"b"}]}}`,
			used:     "env[REGION]",
		},
		"the container with the name": {
			template: `{"spec":{"containers":[{"name":"a"},{"name":"spark"}]}}`,
			settings: &Settings{Driver: Pod{Env: full().Driver.Env[1:]}},
			want:     `{"spec":{"containers":[{"name":"a"},{"name":"spark","env":[{"name":"REGION","value":"eu"}]}]}}`,
			used:     "env[REGION]",
		},
		"a sidecar is not taken for the Spark container": {
			template: `{"spec":{"containers":[{"name":"a"}]}}`, settings: &Settings{},
			container: Container{Name: "spark", Alone: true, Image: "i", ImageSetting: "images[4.1]"},
			want:      `{"spec":{"containers":[{"image":"i","name":"spark"},{"name":"a"}]}}`, used: "images[4.1]",
		},
		"a container without a name is the Spark container": {
			template: `{"spec":{"containers":[{"name":"a"},{"resources":{}}]}}`, settings: &Settings{},
			container: Container{Name: "spark", Alone: true, Image: "i", ImageSetting: "images[4.1]"},
			want:      `{"spec":{"containers":[{"name":"a"},{"resources":{},"image":"i"}]}}`, used: "images[4.1]",
		},
		"root does not become non-root": {
			template: `{"spec":{"containers":[{"name":"spark","securityContext":{"runAsUser":0,"privileged":true}}]}}`,
			settings: &Settings{Driver: Pod{SecurityContext: full().Driver.SecurityContext}},
		},
		"numbers keep their digits": {
			template: `{"spec":{"activeDeadlineSeconds":9007199254740993}}`,
			settings: &Settings{Driver: Pod{PriorityClassName: "batch"}},
			want:     `{"spec":{"activeDeadlineSeconds":9007199254740993,"priorityClassName":"batch"}}`,
			used:     "priorityClassName",
		},
		"fields that the application sets elsewhere": {
			settings: &Settings{PullSecrets: []string{"a"},
				Driver: Pod{PriorityClassName: "a", Env: full().Driver.Env,
					SecurityContext:    full().Driver.SecurityContext,
					PodSecurityContext: full().Driver.PodSecurityContext}},
			taken: Taken{Env: func(name string) bool { return name == "REGION" || name == "HTTP_PROXY" },
				PullSecrets: true, Priority: true, Security: true, PodSecurity: true},
		},
		"null is an empty template": {
			template: " null\n", settings: &Settings{Driver: Pod{PriorityClassName: "batch"}},
			want: `{"spec":{"priorityClassName":"batch"}}`, used: "priorityClassName",
		},
		"null without defaults": {template: `null`, settings: &Settings{}},
		"no JSON":               {template: `{`},
	} {
		t.Run(name, func(t *testing.T) {
			settings := c.settings
			if settings == nil {
				settings = full()
			}

			if c.container.Name == "" {
				c.container.Name = "spark"
			}

			got, used := settings.Fill([]byte(c.template), Driver, c.container, c.taken)
			if c.want == "" && string(got) != c.template {
				t.Errorf("the template becomes %s", got)
			}

			if diff := cmp.Diff(treeOf([]byte(c.want)), treeOf(got)); c.want != "" && diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}

			if names := strings.ReplaceAll(strings.Join(used, " "), "driver.", ""); names != c.used {
				t.Errorf("used are %s\nwant %s", names, c.used)
			}

			again, more := settings.Fill(got, Driver, c.container, c.taken)
			if string(again) != string(got) || len(more) > 0 {
				t.Errorf("a second time changes it to %s, with %v", again, more)
			}
		})
	}
}

func TestFillFields(t *testing.T) {
	own := &corev1.SecurityContext{RunAsUser: new(int64(0)), ReadOnlyRootFilesystem: new(false)}

	got, used := FillFields("driver.securityContext", own,
		&corev1.SecurityContext{RunAsNonRoot: new(true), ReadOnlyRootFilesystem: new(true), RunAsGroup: new(int64(7))})
	if diff := cmp.Diff(&corev1.SecurityContext{RunAsUser: new(int64(0)), ReadOnlyRootFilesystem: new(false),
		RunAsGroup: new(int64(7))}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if diff := cmp.Diff([]string{"driver.securityContext.runAsGroup"}, used); diff != "" {
		t.Error(diff)
	}

	if got, _ := FillFields("x", nil, own); got != nil {
		t.Errorf("a missing struct became %v", got)
	}
}

func TestImage(t *testing.T) {
	s := &Settings{Images: map[string]string{"4.1": "a", "": "b"}}
	for version, want := range map[string]string{"4.1.4": "a", "v4.1.0": "a", "4.1": "a", "4.10.0": "b", "3.5.7": "b",
		"": "b"} {
		if got, _ := s.Image(version); got != want {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}

	if got, _ := (&Settings{Images: map[string]string{"4.1": "a:{{SPARK_VERSION}}"}}).Image("4.1.2"); got != "a:4.1.2" {
		t.Errorf("the image is %s", got)
	}

	if got, _ := (&Settings{Images: map[string]string{"4.1": "a"}}).Image("4.0.0"); got != "" {
		t.Errorf("another line has the image %s", got)
	}

	var none *Settings
	if got, _ := none.Image("4.1.4"); got != "" {
		t.Errorf("no settings have the image %s", got)
	}
}

func TestConf(t *testing.T) {
	s := &Settings{SparkConf: map[string]string{"a": "default", "b": "default", "c": "default"}}
	own := map[string]string{"a": "own"}

	got := s.Conf(own, func(key string) bool { return key == "c" })
	if diff := cmp.Diff(map[string]string{"a": "own", "b": "default"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if len(own) != 1 || len(s.SparkConf) != 3 {
		t.Errorf("the arguments were changed: %v, %v", own, s.SparkConf)
	}
}

// TestRemember checks that a status stores only the settings that the operator still needs after a launch.
func TestRemember(t *testing.T) {
	s := full()
	s.SparkConf = map[string]string{"spark.ui.port": "4050", "spark.eventLog.dir": "s3a://x",
		"spark.dynamicAllocation.enabled": "true"}
	s.Timeouts.RunSeconds = new(int64(7))

	stored := s.Remember()
	if want := `{"sparkConf":{"spark.dynamicAllocation.enabled":"true","spark.ui.port":"4050"},"timeouts":{"runSeconds":7}}`; stored.Settings != want || stored.Version != "v1" {
		t.Errorf("stored is %+v", stored)
	}

	if got := Recall(stored); got.SparkConf["spark.ui.port"] != "4050" || *got.Timeouts.RunSeconds != 7 ||
		!got.IsVersion(stored) {
		t.Errorf("recalled is %+v", got)
	}

	if got := full().Remember(); got.Settings != "" {
		t.Errorf("pod settings are stored: %+v", got)
	}

	all := Recall(s.RememberAll())
	if diff := cmp.Diff(s, all); diff != "" {
		t.Errorf("a cluster's settings (-want +got):\n%s", diff)
	}

	var none *Settings
	if none.Remember() != nil || none.RememberAll() != nil || Recall(nil) != nil || !none.IsVersion(nil) ||
		none.IsVersion(stored) {
		t.Error("no settings are stored as some")
	}

	stored.Settings = "{"
	if broken := Recall(stored); broken == nil || len(broken.SparkConf) > 0 || broken.Version != "v1" {
		t.Errorf("a broken record is %+v", broken)
	}
}

func TestWithoutSecrets(t *testing.T) {
	s := &Settings{SparkConf: map[string]string{"spark.hadoop.fs.s3a.secret.key": "x", "spark.eventLog.dir": "y"}}
	if diff := cmp.Diff(map[string]string{"spark.eventLog.dir": "y"}, s.WithoutSecrets().SparkConf); diff != "" {
		t.Error(diff)
	}

	if len(s.SparkConf) != 2 {
		t.Error("the settings were changed")
	}
}

// TestOriginsAreBounded checks that the annotation with the origins has a maximum size, and that it contains the number
// of origins that are left out.
func TestOriginsAreBounded(t *testing.T) {
	s := &Settings{Version: "v", SparkConf: map[string]string{}, Origins: map[string]string{}}
	for i := range 2000 {
		s.SparkConf[fmt.Sprintf("spark.key%04d", i)] = "x"
		s.Origins[ConfSetting(fmt.Sprintf("spark.key%04d", i))] = "defaults[0] (all)"
	}

	used := s.Used(nil, func(key string) (string, bool) { return "x", true },
		func(key string) bool { return key == "spark.key0000" })
	if len(used) != 1999 {
		t.Errorf("%d are used", len(used))
	}

	object := &metav1.ObjectMeta{}
	s.Annotate(object, used)
	text := object.Annotations[OriginsAnnotation]

	origins := Origins(object.Annotations)
	if len(text) > maxOrigins+100 || !strings.HasSuffix(origins[restOfOrigins], " more") {
		t.Errorf("%d bytes, with the rest %q", len(text), origins[restOfOrigins])
	}

	if object.Annotations[VersionAnnotation] != "v" || origins["sparkConf[spark.key0001]"] != "defaults[0] (all)" {
		t.Errorf("annotations: %.200v", object.Annotations)
	}
}
