package platform

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
)

// TestImageAndItsSetting checks the image and the name of its setting for every way of writing a version.
func TestImageAndItsSetting(t *testing.T) {
	const general = "sparkConf[spark.kubernetes.container.image]"

	images := map[string]string{"4.1": "r/line:{{SPARK_VERSION}}", "3.5": "",
		"": "r/all:{{SPARK_VERSION}}-{{SPARK_VERSION}}"}
	for name, c := range map[string]struct {
		images               map[string]string
		version              string
		wantImage, wantNamed string
	}{
		"a version of the line":         {images, "4.1.4", "r/line:4.1.4", "images[4.1]"},
		"a line":                        {images, "4.1", "r/line:4.1", "images[4.1]"},
		"a preview":                     {images, "4.1.0-preview2", "r/line:4.1.0-preview2", "images[4.1]"},
		"another line":                  {images, "4.10.0", "r/all:4.10.0-4.10.0", general},
		"a line with an empty image":    {images, "3.5.7", "r/all:3.5.7-3.5.7", general},
		"no version":                    {images, "", "r/all:-", general},
		"no version, and no such image": {map[string]string{"4.1": "x"}, "", "", ""},
		"no images":                     {nil, "4.1.4", "", ""},
		"a version that is too long": {map[string]string{"": "r/all:{{SPARK_VERSION}}"}, strings.Repeat("4", 5000),
			"r/all:{{SPARK_VERSION}}", general},
	} {
		image, named := (&Settings{Images: c.images}).Image(c.version)
		if image != c.wantImage || named != c.wantNamed {
			t.Errorf("%s: %q of %q, want %q of %q", name, image, named, c.wantImage, c.wantNamed)
		}
	}
}

// TestConfOfNoDefaults checks that the configuration of an application without defaults is its own, and that a default
// never replaces an empty value, which users set to switch a default off.
func TestConfOfNoDefaults(t *testing.T) {
	own := map[string]string{"spark.a": ""}

	var none *Settings
	for name, s := range map[string]*Settings{"no settings": none, "settings without configuration": {Version: "v"}} {
		if got := s.Conf(own, nil); !maps.Equal(got, own) {
			t.Errorf("%s: %v", name, got)
		}

		if got := s.Conf(nil, nil); got != nil {
			t.Errorf("%s: without a configuration: %v", name, got)
		}
	}

	s := &Settings{SparkConf: map[string]string{"spark.a": "1", "spark.b": "2"}}
	if diff := cmp.Diff(map[string]string{"spark.a": "", "spark.b": "2"}, s.Conf(own, nil)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if diff := cmp.Diff(s.SparkConf, s.Conf(nil, nil)); diff != "" {
		t.Errorf("without an own configuration (-want +got):\n%s", diff)
	}

	if got := s.Conf(nil, nil); len(got) > 0 {
		got["spark.a"] = "changed by the caller"

		if s.SparkConf["spark.a"] != "1" {
			t.Error("the caller shares memory with the defaults")
		}
	}
}

func TestWith(t *testing.T) {
	own := map[string]string{"a": "1", "b": "2"}
	if diff := cmp.Diff(map[string]string{"a": "3", "b": "2"}, With(own, "a", "3")); diff != "" || own["a"] != "1" {
		t.Errorf("the argument is %v (-want +got):\n%s", own, diff)
	}

	if diff := cmp.Diff(map[string]string{"a": "3"}, With(nil, "a", "3")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRememberedKeys checks which keys the status of an attempt keeps. Every key that a later decision reads must be
// kept. A key that is kept without need costs room in each status.
func TestRememberedKeys(t *testing.T) {
	kept := []string{
		"spark.executor.instances", "spark.dynamicAllocation.enabled", "spark.dynamicAllocation.maxExecutors",
		"spark.ui.port", "spark.ui.enabled",
		"spark.connect.grpc.binding.port", "spark.driver.port", "spark.driver.blockManager.port",
		"spark.blockManager.port",
	}
	dropped := []string{"spark.executor.memory", "spark.driver.memory", "spark.eventLog.dir",
		"spark.connect.grpc.interceptor.classes", "spark.uiRoot", "spark.hadoop.fs.s3a.secret.key"}

	s, want := &Settings{Version: "v", SparkConf: map[string]string{}}, map[string]string{}
	for _, key := range kept {
		s.SparkConf[key], want[key] = "1", "1"
	}

	for _, key := range dropped {
		s.SparkConf[key] = "1"
	}

	if diff := cmp.Diff(want, Recall(s.Remember()).SparkConf); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSettingsAreRecalledAsTheyWere checks that a cluster keeps every setting, and that an attempt keeps its timeouts.
func TestSettingsAreRecalledAsTheyWere(t *testing.T) {
	s := full()
	s.SparkConf, s.Images = map[string]string{"spark.a": `"<&>`}, map[string]string{"": "a", "4.1": "b"}
	s.Timeouts = Timeouts{DriverStartSeconds: new(int64(0)), RunSeconds: new(int64(7))}
	s.TimeToLiveSeconds = new(int64(0))

	s.Origins = map[string]string{"imagePullSecrets": "defaults[0]"}
	if diff := cmp.Diff(s, Recall(s.RememberAll())); diff != "" {
		t.Errorf("a cluster (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(&Settings{Version: "v1", Timeouts: s.Timeouts}, Recall(s.Remember())); diff != "" {
		t.Errorf("an attempt (-want +got):\n%s", diff)
	}

	if got := (&Settings{Version: "v2"}).RememberAll(); *got != (statusv1.OperatorDefaults{Version: "v2"}) {
		t.Errorf("settings without content are stored as %+v", got)
	}
}

// TestForeignStatusIsNoSettings checks texts that somebody wrote into the status. No part of an invalid text is used.
func TestForeignStatusIsNoSettings(t *testing.T) {
	for text, want := range map[string]*Settings{
		``:                        {Version: "v"},
		`null`:                    {Version: "v"},
		`{`:                       {Version: "v"},
		`[]`:                      {Version: "v"},
		`{"sparkConf":{"a":"1"}}`: {Version: "v", SparkConf: map[string]string{"a": "1"}},
		`{"sparkConf":{"a":"1"},"imagePullSecrets":5}`: {Version: "v"},
		`{"version":"x","Version":"x"}`:                {Version: "v"},
	} {
		if diff := cmp.Diff(want, Recall(&statusv1.OperatorDefaults{Version: "v", Settings: text})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestPathsOfFilesAreNoSecrets checks which variables that look secret stay defaults of a cluster, because they contain
// the path of a file. A value that begins with a slash may be a secret key, so the name must say that it is a file.
func TestPathsOfFilesAreNoSecrets(t *testing.T) {
	for v, stays := range map[corev1.EnvVar]bool{
		{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: "/var/run/secrets/token"}: true,
		{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: "hunter2"}:                false,
		{Name: "PASSWORD_FILE", Value: ""}:                                     false,
		{Name: "AWS_SECRET_ACCESS_KEY", Value: "/wJalrXUtnFEMI"}:               false,
		{Name: "TOKEN_FILES", Value: "/var/run/secrets/token"}:                 false,
	} {
		s := &Settings{Driver: Pod{Env: []corev1.EnvVar{v}}, Executor: Pod{Env: []corev1.EnvVar{v}}}

		plain := s.WithoutSecrets()
		if got := len(plain.Driver.Env) + len(plain.Executor.Env); got != map[bool]int{true: 2}[stays] {
			t.Errorf("%s=%s is left %d times", v.Name, v.Value, got)
		}
	}
}

func TestIsVersion(t *testing.T) {
	var none *Settings

	v1, stored := &Settings{Version: "v1"}, &statusv1.OperatorDefaults{Version: "v1"}
	for name, c := range map[string]struct {
		settings *Settings
		stored   *statusv1.OperatorDefaults
		want     bool
	}{
		"the same": {v1, stored, true}, "another": {&Settings{Version: "v2"}, stored, false},
		"none stored": {v1, nil, false}, "none now": {none, stored, false}, "none at all": {none, nil, true},
	} {
		if got := c.settings.IsVersion(c.stored); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestStatusOfAClusterContainsNoSecret checks that no value that looks like a secret is stored, neither a configuration
// key nor an environment variable. A reference to a Secret is no secret.
func TestStatusOfAClusterContainsNoSecret(t *testing.T) {
	reference := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"}}
	env := []corev1.EnvVar{{Name: "DB_PASSWORD", Value: "hunter2"}, {Name: "REGION", Value: "eu"},
		{Name: "API_TOKEN", ValueFrom: reference}, {Name: "OPTIONS", Value: "--password=hunter2"}}
	s := &Settings{
		Version: "v1", SparkConf: map[string]string{"spark.ssl.keyPassword": "hunter2", "spark.a": "1",
			"spark.b": "password=hunter2"},
		Driver: Pod{Env: env}, Executor: Pod{Env: env, PriorityClassName: "low"},
		PullSecrets: []string{"registry-secret"},
	}
	plain := s.WithoutSecrets()
	wantEnv := []corev1.EnvVar{{Name: "REGION", Value: "eu"}, {Name: "API_TOKEN", ValueFrom: reference}}

	want := &Settings{
		Version: "v1", SparkConf: map[string]string{"spark.a": "1"}, Driver: Pod{Env: wantEnv},
		Executor: Pod{Env: wantEnv, PriorityClassName: "low"}, PullSecrets: []string{"registry-secret"},
	}
	if diff := cmp.Diff(want, plain); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if stored := plain.RememberAll().Settings; strings.Contains(stored, "hunter2") {
		t.Errorf("the status contains %s", stored)
	}

	if len(s.SparkConf) != 3 || s.Driver.Env[0].Name != "DB_PASSWORD" || len(s.Driver.Env) != 4 ||
		len(s.Executor.Env) != 4 {
		t.Errorf("the settings were changed: %+v", s)
	}

	var none *Settings
	if none.WithoutSecrets() != nil {
		t.Error("no settings become some")
	}
}
