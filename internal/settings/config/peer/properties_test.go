package peer

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// withProperties loads a configuration file with properties and flags merged over it.
func withProperties(t *testing.T, file, properties string, flags ...string) (config.Configuration, []Unused, error) {
	t.Helper()

	folder := t.TempDir()
	for name, text := range map[string]string{"file.yaml": header + file, "spark-operator.properties": properties} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	f := Flags{Properties: filepath.Join(folder, "spark-operator.properties")}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.AddController(set)

	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return f.Load(filepath.Join(folder, "file.yaml"))
}

// changed returns the fields of a configuration that differ from the defaults, by their paths in the file.
func changed(t *testing.T, c config.Configuration) map[string]string {
	t.Helper()

	flat := func(c config.Configuration) map[string]string {
		file, err := asOverlay(&c)
		if err != nil {
			t.Fatal(err)
		}

		out := map[string]string{}
		var walk func(string, any)
		walk = func(path string, value any) {
			if below, isMap := value.(map[string]any); isMap {
				for key, v := range below {
					walk(path+"."+key, v)
				}
				return
			}

			text, _ := json.Marshal(value)
			out[strings.TrimPrefix(path, ".")] = strings.Trim(string(text), `"`)
		}
		walk("", map[string]any(file))
		return out
	}
	out, defaults := flat(c), flat(config.Default())
	maps.DeleteFunc(out, func(path, value string) bool { return defaults[path] == value })
	return out
}

// TestEveryProperty checks that each property either changes exactly the fields that belong to it, or changes no field
// and is reported with the reason.
func TestEveryProperty(t *testing.T) {
	const s = "spark.kubernetes.operator."
	takes := []struct {
		key, value string
		want       map[string]string
	}{
		{"spark.logConf", "true", map[string]string{"logging.configuration": "true"}},
		{s + "name", "mine", map[string]string{"apache.operatorName": "mine",
			"dynamicConfig.selector": "app.kubernetes.io/name=mine,app.kubernetes.io/component=operator-dynamic-config-overrides"}},
		{s + "namespace", "ops", map[string]string{"leaderElection.namespace": "ops",
			"dynamicConfig.namespace": "ops"}},
		{s + "watchedNamespaces", "a, b,a", map[string]string{"namespaces.names": `["a","b"]`}},
		{s + "reconciler.labelSelector", "team=a,!old", map[string]string{"apache.labelSelector": "team=a,!old"}},
		{s + "informer.cacheSyncTimeoutSeconds", "30", map[string]string{"controller.cacheSyncTimeout": "30s"}},
		{s + "reconciler.terminationTimeoutSeconds", "30", map[string]string{"controller.shutdownTimeout": "30s"}},
		{s + "reconciler.parallelism", "50", map[string]string{"controller.workers": "50"}},
		{s + "reconciler.missingDriverGracePeriodSeconds", "61",
			map[string]string{"apache.missingDriverGracePeriod": "1m1s"}},
		{s + "reconciler.trimStateTransitionHistoryEnabled", "false", map[string]string{"apache.trimHistory": "false"}},
		{s + "events.enabled", " FALSE ", map[string]string{"apache.events.enabled": "false"}},
		{s + "events.excludedReasons", "Kueue.*, ,Driver(Ready|Started)", map[string]string{
			"apache.events.excludedReasons": `["Kueue.*","Driver(Ready|Started)"]`}},
		{s + "events.minIntervalSeconds", "0", map[string]string{"apache.events.minInterval": "0s"}},
		{s + "events.minIntervalSeconds", "60", map[string]string{"apache.events.minInterval": "1m0s"}},
		{s + "kueue.enabled", "TRUE", map[string]string{"kueue.enabled": "true"}},
		{s + "dynamicConfig.enabled", "true", map[string]string{"dynamicConfig.enabled": "true"}},
		{s + "dynamicConfig.source", "file", map[string]string{"dynamicConfig.source": "File"}},
		{s + "dynamicConfig.selector", "a=b", map[string]string{"dynamicConfig.selector": "a=b"}},
		{s + "dynamicConfig.filePath", "/conf/some.properties",
			map[string]string{"dynamicConfig.file": "/conf/some.properties"}},
		{s + "dynamicConfig.reloadIntervalSeconds", "5", map[string]string{"dynamicConfig.reloadInterval": "5s"}},
		{s + "metrics.path", "/other", map[string]string{"apache.metrics.path": "/other"}},
		{s + "metrics.port", "19090", map[string]string{"apache.metrics.bindAddress": ":19090"}},
		{s + "health.probePort", "19091", map[string]string{"apache.health.bindAddress": ":19091"}},
		{s + "health.sentinelResourceReconciliationDelaySeconds", "30",
			map[string]string{"apache.sentinels.enabled": "true", "apache.sentinels.delay": "30s"}},
		{s + "leaderElection.enabled", "false", map[string]string{"leaderElection.enabled": "false"}},
		{s + "leaderElection.leaseName", "other", map[string]string{"leaderElection.leaseName": "other"}},
		// A property for one duration of the lease also sets the other two, to the defaults of the operator of
		// spark.apache.org.
		{s + "leaderElection.leaseDurationSeconds", "200", map[string]string{
			"leaderElection.leaseDuration": "3m20s", "leaderElection.renewDeadline": "2m0s",
			"leaderElection.retryPeriod": "5s"}},
		{s + "leaderElection.renewDeadlineSeconds", "100", map[string]string{
			"leaderElection.leaseDuration": "3m0s", "leaderElection.renewDeadline": "1m40s",
			"leaderElection.retryPeriod": "5s"}},
		{s + "leaderElection.retryPeriodSeconds", "7", map[string]string{
			"leaderElection.leaseDuration": "3m0s", "leaderElection.renewDeadline": "2m0s",
			"leaderElection.retryPeriod": "7s"}},
	}

	walked := map[string]bool{}
	for _, test := range takes {
		walked[test.key] = true

		values := test.key + " = " + test.value + "\n"
		if test.key != watchedNamespaces {
			values += watchedNamespaces + "=*\n"
		}

		c, unused, err := withProperties(t, "", values)
		if err != nil || len(unused) > 0 {
			t.Errorf("%s: %v, %v", test.key, unused, err)
			continue
		}

		if diff := cmp.Diff(test.want, changed(t, c)); diff != "" {
			t.Errorf("%s=%s (-want +got):\n%s", test.key, test.value, diff)
		}
	}

	for _, p := range properties {
		if (p.why == "") == (p.lay == nil) {
			t.Errorf("%s must either be laid or say why not", p.key)
		}

		if p.why == "" {
			if !walked[p.key] {
				t.Errorf("%s has an effect that nobody looks at", p.key)
			}
			continue
		}

		walked[p.key] = true

		c, unused, err := withProperties(t, "", p.key+"=1\n"+watchedNamespaces+"=*\n")
		if err != nil {
			t.Errorf("%s: %v", p.key, err)
		}

		if diff := cmp.Diff([]Unused{{p.key, p.why, true}}, unused); diff != "" {
			t.Errorf("%s (-want +told):\n%s", p.key, diff)
		}

		if got := changed(t, c); len(got) > 0 {
			t.Errorf("%s changes %v", p.key, got)
		}
	}

	if len(walked) != 57 || len(properties) != 57 {
		t.Errorf("%d properties walked, %d there; that operator has 57", len(walked), len(properties))
	}
}

// TestDynamicProperties checks which properties are dynamic: the operator of spark.apache.org accepts a change of them
// while it runs.
func TestDynamicProperties(t *testing.T) {
	var got []string
	for _, p := range properties {
		if p.dynamic {
			got = append(got, strings.TrimPrefix(p.key, peerPrefix))
		}
	}

	slices.Sort(got)

	want := []string{"events.enabled", "events.excludedReasons", "events.minIntervalSeconds",
		"health.sentinelResourceReconciliationDelaySeconds", "reconciler.foregroundRequestTimeoutSeconds",
		"reconciler.intervalSeconds",
		"reconciler.missingDriverGracePeriodSeconds", "reconciler.missingDriverRequeueIntervalSeconds",
		"reconciler.suspendHoldRequeueIntervalSeconds", "reconciler.trimStateTransitionHistoryEnabled",
		"watchedNamespaces"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestValuesOfProperties checks that a blank value is ignored, and that an invalid value is ignored and reported. There
// is one exception: the operator does not start with an invalid value if it would serve more namespaces without it.
func TestValuesOfProperties(t *testing.T) {
	const s = "spark.kubernetes.operator."
	for _, test := range []struct{ name, properties, wants, err string }{
		{"blank", s + "reconciler.parallelism=\n" + s + "name =  \n" + s + "periodicGC.intervalSeconds=\n", "", ""},
		{"number of workers is no number", s + "reconciler.parallelism=many\n", s + "reconciler.parallelism", ""},
		{"unlimited number of workers", s + "reconciler.parallelism=0\n", s + "reconciler.parallelism", ""},
		{"too many workers", s + "reconciler.parallelism=5000\n", s + "reconciler.parallelism", ""},
		{"switch is no boolean", s + "leaderElection.enabled=yes\n", s + "leaderElection.enabled", ""},
		{"switch is a number", s + "events.enabled=1\n", s + "events.enabled", ""},
		{"switch of Kueue is no boolean", s + "kueue.enabled=on\n", s + "kueue.enabled", ""},
		{"interval is no number", s + "events.minIntervalSeconds=5m\n", s + "events.minIntervalSeconds", ""},
		{"negative interval", s + "events.minIntervalSeconds=-1\n", s + "events.minIntervalSeconds", ""},
		{"unlimited retries", s + "reconciler.retry.maxIntervalSeconds=-1\n",
			s + "reconciler.retry.maxIntervalSeconds", ""},
		{"timeout of 0 seconds", s + "informer.cacheSyncTimeoutSeconds=0\n",
			s + "informer.cacheSyncTimeoutSeconds", ""},
		{"timeout that overflows", s + "reconciler.terminationTimeoutSeconds=9223372036854775807\n",
			s + "reconciler.terminationTimeoutSeconds", ""},
		{"port above 65535", s + "metrics.port=70000\n", s + "metrics.port", ""},
		{"path with a brace and a blank", s + "metrics.path=/{a b\n", s + "metrics.path", ""},
		{"path without a leading slash", s + "metrics.path=prometheus\n", s + "metrics.path", ""},
		{"name is no label value", s + "name=a b\n", s + "name", ""},
		{"invalid namespace of the operator", s + "namespace=A B\n", s + "namespace", ""},
		{"invalid name of the Lease", s + "leaderElection.leaseName=A B\n", s + "leaderElection.leaseName", ""},
		{"invalid selector of ConfigMaps", s + "dynamicConfig.selector=a==b==c\n", s + "dynamicConfig.selector", ""},
		{"negative delay", s + "health.sentinelResourceReconciliationDelaySeconds=-1\n",
			s + "health.sentinelResourceReconciliationDelaySeconds", ""},
		{"invalid duration of the lease does not change the other durations",
			s + "leaderElection.retryPeriodSeconds=x\n", s + "leaderElection.retryPeriodSeconds", ""},
		{"unknown property", "spark.kubernetes.operator.nonsense=1\n", "spark.kubernetes.operator.nonsense", ""},
		{"metrics sink", "spark.metrics.conf.operator.sink.csv.class=some.Sink\n",
			"spark.metrics.conf.operator.sink.csv.class", ""},
		{"invalid name of a served namespace", s + "watchedNamespaces=a,B_C\n", "", "watchedNamespaces"},
		{"served namespaces without a name", s + "watchedNamespaces=,\n", "", "watchedNamespaces"},
		{"invalid label selector", s + "reconciler.labelSelector=a==b==c\n", "", "reconciler.labelSelector"},
		{"invalid properties file", "a=\\uZZZZ\n", "", "spark-operator.properties"},
	} {
		values := test.properties
		if !strings.Contains(values, watchedNamespaces) {
			values += watchedNamespaces + "=*\n"
		}

		c, unused, err := withProperties(t, "", values)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v, want it to name %s", test.name, err, test.err)
			}
			continue
		}

		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}

		var reported []string
		for _, entry := range unused {
			reported = append(reported, entry.Name)
		}

		if strings.Join(reported, ",") != test.wants {
			t.Errorf("%s: told %v, want %q", test.name, unused, test.wants)
		}

		if got := changed(t, c); len(got) > 0 {
			t.Errorf("%s changes %v", test.name, got)
		}
	}

	if c, _, err := withProperties(t, "",
		s+"dynamicConfig.source=mystery\n"+s+"dynamicConfig.reloadIntervalSeconds=-5\n"+watchedNamespaces+
			"=*\n"); err != nil ||
		c.DynamicConfig.Source != config.SourceConfigMap || c.DynamicConfig.ReloadInterval.Duration != time.Minute {
		t.Errorf("what that operator takes for its default is %+v, %v", c.DynamicConfig, err)
	}
}

// TestInvalidExpressionsExcludeThemselves checks that an expression that is invalid, or valid only in Java, excludes
// the reason that is equal to it, and that it is reported once. Valid expressions beside it count.
func TestInvalidExpressionsExcludeThemselves(t *testing.T) {
	const key = "spark.kubernetes.operator.events.excludedReasons"

	c, unused, err := withProperties(t, "", key+" = *,Failed|Submitted,(?!x).*,a)|(b,failed\n"+watchedNamespaces+"=*\n")
	if err != nil || len(unused) != 1 || unused[0].Name != key {
		t.Fatal(unused, err)
	}

	for _, text := range []string{`"*"`, `"(?!x).*"`, `"a)|(b"`} {
		if !strings.Contains(unused[0].Why, text) {
			t.Errorf("%q does not name %s", unused[0].Why, text)
		}
	}

	if strings.Contains(unused[0].Why, "ignored") || strings.Contains(unused[0].Why, "Submitted") {
		t.Errorf("reported: %s", unused[0].Why)
	}

	var excluded []string
	for _, reason := range []string{"*", "Failed", "Submitted", "failed", "FailedX", "a", "(?!x).*", "a)|(b", "Suspended"} {
		if slices.ContainsFunc(c.Apache.Events.ExcludedReasons, func(text string) bool {
			expression, err := config.ReasonExpression(text)
			return err != nil || expression.MatchString(reason)
		}) {
			excluded = append(excluded, reason)
		}
	}

	if diff := cmp.Diff([]string{"*", "Failed", "Submitted", "failed", "(?!x).*", "a)|(b"}, excluded); diff != "" {
		t.Errorf("excluded reasons (-want +got):\n%s", diff)
	}
}

// TestPrecedenceOfProperties checks that properties take precedence over the configuration file, and flags over
// properties. It also checks which properties file is read if both a flag and the configuration file name one: the flag
// takes precedence.
func TestPrecedenceOfProperties(t *testing.T) {
	const values = "spark.kubernetes.operator.reconciler.parallelism=50\nspark.kubernetes.operator.informer.cacheSyncTimeoutSeconds=7\n" + watchedNamespaces + "=a\n"

	c, _, err := withProperties(t,
		"controller: {workers: 3, cacheSyncTimeout: 4s, shutdownTimeout: 5s}\nnamespaces: {names: [b], selector: x=y}\n"+
			"apache: {propertiesFile: /does/not/exist}\n", values, "--controller-threads=9")
	if err != nil {
		t.Fatal(err)
	}

	if c.Controller.Workers != 9 || c.Controller.CacheSyncTimeout.Duration != 7*time.Second ||
		c.Controller.ShutdownTimeout.Duration != 5*time.Second {
		t.Errorf("%+v", c.Controller)
	}

	if diff := cmp.Diff(config.Namespaces{Names: []string{"a"}, Selector: "x=y"}, c.Namespaces); diff != "" {
		t.Errorf("a list is served beside what the labels choose (-want +got):\n%s", diff)
	}

	all, _, err := withProperties(t, "namespaces: {names: [b], selector: x=y}\n", watchedNamespaces+"=a,*\n")
	if err != nil || len(all.Namespaces.Names) > 0 || all.Namespaces.Selector != "" {
		t.Errorf("* is %+v, %v; want all", all.Namespaces, err)
	}

	file := filepath.Join(t.TempDir(), "spark-operator.properties")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}

	named := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(named, []byte(header+"apache: {propertiesFile: "+file+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	if c, _, err := (&Flags{}).Load(named); err != nil || c.Controller.Workers != 50 {
		t.Errorf("by the file's field: %d workers, %v", c.Controller.Workers, err)
	}

	if _, _, err := (&Flags{Properties: "/does/not/exist"}).Load(named); err == nil ||
		!strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestNamespacesLeftOut checks that a properties file is reported if it does not set the served namespaces. The two
// operators have different defaults for them.
func TestNamespacesLeftOut(t *testing.T) {
	c, unused, err := withProperties(t, "", "spark.kubernetes.operator.name=mine\n")
	if err != nil || len(c.Namespaces.Names) > 0 {
		t.Fatalf("%v, %v", c.Namespaces, err)
	}

	if len(unused) != 1 || unused[0].Name != watchedNamespaces {
		t.Errorf("told %v", unused)
	}
}

// TestOverride checks that only dynamic properties have an effect while the operator runs, and that all other settings
// are kept.
func TestOverride(t *testing.T) {
	const s = "spark.kubernetes.operator."

	start, err := config.Parse([]byte(header + `
namespaces: {names: [a]}
controller: {workers: 3}
apache: {trimHistory: false, operatorName: mine}
metrics: {labels: [], jobSubmitLatencyBuckets: [0.5, 1]}
application: {timeouts: {runSeconds: 4}}
`))
	if err != nil {
		t.Fatal(err)
	}

	same, unused, err := Override(&start, nil)
	if err != nil || len(unused) > 0 {
		t.Fatal(unused, err)
	}

	if diff := cmp.Diff(start, same); diff != "" {
		t.Errorf("nothing changes (-want +got):\n%s", diff)
	}

	next, unused, err := Override(&start, map[string]string{
		watchedNamespaces: "b,c", s + "reconciler.trimStateTransitionHistoryEnabled": "true",
		s + "reconciler.missingDriverGracePeriodSeconds": "",
		s + "reconciler.parallelism":                     "9", s + "nonsense": "1",
		s + "reconciler.intervalSeconds":                        "60",
		s + "health.sentinelResourceReconciliationDelaySeconds": "x",
	})
	if err != nil {
		t.Fatal(err)
	}

	want := start

	want.Namespaces.Names, want.Apache.TrimHistory = []string{"b", "c"}, new(true)
	if diff := cmp.Diff(want, next); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	var reported []string
	for _, entry := range unused {
		reported = append(reported, strings.TrimPrefix(entry.Name, s))
	}

	if diff := cmp.Diff([]string{"nonsense", "reconciler.parallelism", "reconciler.intervalSeconds",
		"health.sentinelResourceReconciliationDelaySeconds"}, reported); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}

	for _, bad := range []string{",", "a,B!"} {
		if _, _, err := Override(&start, map[string]string{watchedNamespaces: bad}); err == nil ||
			!strings.Contains(err.Error(), watchedNamespaces) {
			t.Errorf("%q: %v", bad, err)
		}
	}

	all, _, err := Override(&start, map[string]string{watchedNamespaces: "*"})
	if err != nil || len(all.Namespaces.Names) > 0 {
		t.Errorf("*: %v, %v", all.Namespaces, err)
	}
}

// FuzzProperties checks that any properties file is either rejected or lets the operator start. It also checks that the
// dynamic properties in the file never produce a configuration that the operator would reject in a configuration file.
func FuzzProperties(f *testing.F) {
	for _, p := range properties {
		f.Add(p.key + "=1\n")
	}

	f.Add(watchedNamespaces + " : a,,*\nspark.kubernetes.operator.metrics.path=/\n\\u0041=b\\\n  c")
	f.Add("spark.kubernetes.operator.leaderElection.leaseDurationSeconds=1\nspark.kubernetes.operator.metrics.port=8080")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := readProperties(text)
		if err != nil {
			return
		}

		laid := overlay{}
		if _, err := layProperties(laid, values); err == nil {
			_, _ = laid.parse() // incompatible settings are rejected by the names of their fields
		}

		start := config.Default()

		next, _, err := Override(&start, values)
		if err != nil {
			return
		}

		if err := next.Validate(); err != nil {
			t.Errorf("%q: %v", text, err)
		}

		if again, _, err := Override(&start, values); err != nil || again.String() != next.String() {
			t.Errorf("%q: once %s, then %s, %v", text, next, again, err)
		}
	})
}

// TestConfigurationIsShown checks that the logged configuration contains no secrets.
func TestConfigurationIsShown(t *testing.T) {
	c := config.Default()

	c.Tracing.Endpoint = "https://user:secret@collector:4318"
	if text := c.String(); strings.Contains(text, "secret") || !strings.Contains(text, "collector:4318") ||
		!strings.Contains(text, `"workers":16`) {
		t.Error(text)
	}
}

// TestPageOfTheProperties checks that docs/migrate-apache.md has a row for every property. The row must contain
// "no effect" if property.why gives a reason for the property. No other row may contain these words.
func TestPageOfTheProperties(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/migrate-apache.md")
	if err != nil {
		t.Fatal(err)
	}

	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(spark\\.[a-zA-Z.]+)`[^|]*\\|(.*)\\|$").FindAllStringSubmatch(string(text), -1) {
		rows[row[1]] = row[2]
	}

	for _, p := range properties {
		row, found := rows[p.key]
		if !found {
			t.Errorf("the page has no row for %s", p.key)
			continue
		}

		if ineffective := strings.Contains(row, "no effect"); ineffective != (p.why != "") {
			t.Errorf("%s: the page says %q, the table %q", p.key, row, p.why)
		}

		delete(rows, p.key)
	}

	if len(rows) > 0 {
		t.Errorf("the page has rows for what is no property: %v", slices.Sorted(maps.Keys(rows)))
	}
}
