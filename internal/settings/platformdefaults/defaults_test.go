package platformdefaults

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
)

func parse(t *testing.T, text string) []Default {
	t.Helper()

	var entries []Default
	if err := yaml.UnmarshalStrict([]byte(text), &entries); err != nil {
		t.Fatal(err)
	}
	return entries
}

const sample = `
- name: all
  sparkConf: {spark.eventLog.compress: "true", spark.ui.port: "4050"}
  sparkDefaults: |
    # of the cluster
    spark.executor.memory   2g
    spark.ui.port           4050
  images: {"4.1": r/spark:4.1, "3.5": r/spark:3.5}
  imagePullSecrets: [registry]
  driver:
    labels: {team: platform}
    tolerations: [{key: spot, operator: Exists}]
    securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false}
    env: [{name: A, value: "1"}, {name: B, value: "1"}]
  timeouts: {runSeconds: 60}
  timeToLiveSeconds: 3600
- name: batch
  namespaceSelector: tier=batch
  eventLogDirectory: s3a://logs/batch
  historyServer: https://history.example.com
  sparkConf: {spark.ui.port: "4060"}
  images: {"4.1": r/batch:4.1}
  driver:
    tolerations: [{key: spot, operator: Exists}, {key: batch}]
    securityContext: {runAsNonRoot: false}
    env: [{name: A, value: "2"}]
- namespaceSelector: tier=never
  timeouts: {runSeconds: 1}
`

func TestEvaluation(t *testing.T) {
	set := New(parse(t, sample))
	if faults := Validate(field.NewPath("defaults"), set.entries); len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}

	all, batch := set.For(map[string]string{"tier": "web"}), set.For(map[string]string{"tier": "batch"})
	if diff := cmp.Diff(map[string]string{
		"sparkConf[spark.eventLog.compress]": "true", "sparkConf[spark.ui.port]": "4060",
		"sparkConf[spark.executor.memory]": "2g",
		"sparkConf[spark.eventLog.dir]":    "s3a://logs/batch", "sparkConf[spark.eventLog.enabled]": "true",
		"historyServer": "https://history.example.com",
		"images[4.1]":   "r/batch:4.1", "images[3.5]": "r/spark:3.5", "imagePullSecrets": `["registry"]`,
		"driver.labels[team]":                             "platform",
		"driver.tolerations":                              `[{"key":"spot","operator":"Exists"},{"key":"batch"}]`,
		"driver.securityContext.runAsNonRoot":             "false",
		"driver.securityContext.allowPrivilegeEscalation": "false", "driver.env[A]": "2", "driver.env[B]": "1",
		"timeouts.runSeconds": "60", "timeToLiveSeconds": "3600",
	}, batch.Values()); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}

	for setting, want := range map[string]string{
		"sparkConf[spark.ui.port]": "defaults[1] (batch)", "sparkConf[spark.executor.memory]": "defaults[0] (all)",
		"images[4.1]": "defaults[1] (batch)",
		"images[3.5]": "defaults[0] (all)", "driver.securityContext.runAsNonRoot": "defaults[1] (batch)",
		"driver.env[B]":                 "defaults[0] (all)",
		"sparkConf[spark.eventLog.dir]": "defaults[1] (batch)",
	} {
		if batch.Origins[setting] != want {
			t.Errorf("%s comes from %q, want %q", setting, batch.Origins[setting], want)
		}
	}

	for setting := range batch.Values() {
		if batch.Origins[setting] == "" {
			t.Errorf("%s has no origin", setting)
		}
	}

	if all.SparkConf["spark.ui.port"] != "4050" || len(all.Driver.Tolerations) != 1 ||
		*all.Driver.SecurityContext.RunAsNonRoot != true {
		t.Errorf("the settings of one namespace changed those of another: %+v", all)
	}

	if all.Version == batch.Version || all.Version == "" {
		t.Errorf("versions are %q and %q", all.Version, batch.Version)
	}

	if again := set.For(map[string]string{"tier": "web", "other": "label"}); again != all {
		t.Error("the same entries were evaluated again")
	}
}

// TestVersionFollowsContent checks that the version changes if the settings change. It must not change with the names
// or the order of entries, or with the way in which a setting is written.
func TestVersionFollowsContent(t *testing.T) {
	version := func(text string) string { return New(parse(t, text)).For(nil).Version }

	same := []string{
		`[{sparkConf: {spark.a: "1", spark.b: "2"}}]`, `[{name: x, sparkDefaults: "spark.a 1\nspark.b=2"}]`,
		`[{sparkConf: {spark.b: "2"}}, {sparkConf: {spark.a: "1"}}]`,
		`[{sparkConf: {spark.a: "1", spark.b: "3"}}, {sparkConf: {spark.b: "2"}}, {namespaceSelector: a=b, timeToLiveSeconds: 1}]`,
	}
	for _, text := range same[1:] {
		if version(text) != version(same[0]) {
			t.Errorf("%s has another version", text)
		}
	}

	if a, b := version(`[{timeToLiveSeconds: 1}]`), version(`[{timeToLiveSeconds: 1, historyServer: "https://history.example.com"}]`); a != b {
		t.Error("an address for links changes the version")
	}

	if version(`[{sparkConf: {spark.a: "1", spark.b: "3"}}]`) == version(same[0]) {
		t.Error("another value has the same version")
	}

	if New(nil).For(nil) != nil || New(parse(t, `[{namespaceSelector: a=b}]`)).For(map[string]string{"a": "c"}) != nil {
		t.Error("a namespace without entries has settings")
	}
}

// TestImageOfConfReplacesLines checks an entry that sets spark.kubernetes.container.image. It must override all images
// of earlier entries, also the images for one release line of Spark (such as 4.1).
func TestImageOfConfReplacesLines(t *testing.T) {
	s := New(parse(t, `[{images: {"4.1": a}}, {sparkConf: {spark.kubernetes.container.image: b}}]`)).For(nil)
	if image, setting := s.Image("4.1.4"); image != "b" || s.Origins[setting] != "defaults[1]" {
		t.Errorf("the image is %s from %s", image, s.Origins[setting])
	}

	if _, set := s.SparkConf[platform.ImageKey]; set {
		t.Error("the image is among the configuration")
	}
}

// TestSizes checks that long lists and long entries are refused.
func TestSizes(t *testing.T) {
	for text, want := range map[string]string{
		`[{sparkConf: {spark.a: "` + strings.Repeat("x", maxSize) + `"}}]`: "bytes",
		"[" + strings.Repeat("{},", maxEntries+1) + "]":                    "Too many",
	} {
		faults := Validate(field.NewPath("defaults"), parse(t, text))
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), want) {
			t.Errorf("%.100s:\n got %v\nwant %s", text, faults, want)
		}
	}
}

func TestRedacted(t *testing.T) {
	entries := parse(t, `[{sparkConf: {spark.hadoop.fs.s3a.secret.key: hidden1, spark.a: "1"}, sparkDefaults: "spark.password hidden2\nspark.b 2", driver: {env: [{name: TOKEN, value: hidden3}]}}]`)

	out, err := yaml.Marshal(Redacted(entries))
	if err != nil {
		t.Fatal(err)
	}

	for _, secret := range []string{"hidden1", "hidden2", "hidden3"} {
		if strings.Contains(string(out), secret) {
			t.Errorf("%s is in %s", secret, out)
		}
	}

	if entries[0].Driver.Env[0].Value != "hidden3" ||
		entries[0].SparkConf["spark.hadoop.fs.s3a.secret.key"] != "hidden1" {
		t.Error("the entries were changed")
	}
}

// TestHistoryServerOfADirectory checks that a History Server belongs to the directory of event logs with which it is
// configured: links must not lead to the server of another directory.
func TestHistoryServerOfADirectory(t *testing.T) {
	for text, want := range map[string]string{
		`[{eventLogDirectory: "s3a://a", historyServer: https://a}]`:                                                               "https://a",
		`[{eventLogDirectory: "s3a://a", historyServer: https://a}, {eventLogDirectory: "s3a://b", historyServer: https://b}]`:     "https://b",
		`[{eventLogDirectory: "s3a://a", historyServer: https://a}, {eventLogDirectory: "s3a://b"}]`:                               "",
		`[{eventLogDirectory: "s3a://a", historyServer: https://a}, {sparkConf: {spark.eventLog.dir: "s3a://b"}}]`:                 "",
		`[{eventLogDirectory: "s3a://a", historyServer: https://a}, {eventLogDirectory: "s3a://a"}]`:                               "https://a",
		`[{eventLogDirectory: "s3a://a", historyServer: https://a}, {sparkConf: {spark.eventLog.compress: "true"}}]`:               "https://a",
		`[{eventLogDirectory: "s3a://a", historyServer: https://a}, {historyServer: https://c}]`:                                   "https://c",
		`[{historyServer: https://a}, {sparkConf: {spark.eventLog.dir: "s3a://a"}}, {eventLogDirectory: "s3a://a"}]`:               "https://a",
		`[{historyServer: https://a, sparkDefaults: "spark.eventLog.dir s3a://a"}, {sparkDefaults: "spark.eventLog.dir s3a://b"}]`: "",
	} {
		got := New(parse(t, text)).For(nil)
		if _, origin := got.Origins["historyServer"]; got.HistoryServer != want || origin != (want != "") {
			t.Errorf("%s: the server %q, want %q", text, got.HistoryServer, want)
		}
	}
}
