package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const header = "apiVersion: config.sparkoperator.dev/v1alpha1\nkind: Configuration\n"

func TestParseFillsInDefaults(t *testing.T) {
	got, err := Parse([]byte(header))
	if err != nil {
		t.Fatal(err)
	}

	want := Configuration{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
		LeaderElection: LeaderElection{
			Enabled: new(true), LeaseName: "spark-operator-controller-lock",
			LeaseDuration: metav1.Duration{Duration: 15 * time.Second},
			RenewDeadline: metav1.Duration{Duration: 10 * time.Second},
			RetryPeriod:   metav1.Duration{Duration: 2 * time.Second},
		},
		Metrics: Metrics{BindAddress: "127.0.0.1:8080", Labels: &[]string{"app_type"}},
		Tracing: Tracing{SamplingRatio: new(1.0)},
		Health:  Health{BindAddress: ":8081"},
		Pprof:   Pprof{BindAddress: "0"},
		Logging: Logging{Level: "info", Format: "json"},
		Controller: Controller{
			Workers:          16,
			CacheSyncTimeout: metav1.Duration{Duration: 2 * time.Minute},
			ShutdownTimeout:  metav1.Duration{Duration: 20 * time.Second},
		},
		Application: Application{
			MaxTrackedExecutorPerApp:     new(int32(1000)),
			DriverPodCreationGracePeriod: metav1.Duration{Duration: 10 * time.Second},
			KubernetesMaster:             "k8s://https://kubernetes.default.svc",
		},
		Submission: Submission{Mode: "Auto", Runners: new(true)},
		UI: UI{Service: new(true), Ingress: UIIngress{Enabled: new(false)},
			Route: UIRoute{Enabled: new(false)}},
		Connect:               Connect{Enabled: new(true), NetworkPolicy: "Anywhere"},
		ScheduledApplications: ScheduledApplications{Enabled: new(true), TimestampPrecision: "nanos"},
		SparkOperator:         SparkOperator{Enabled: new(true)},
		Webhook: Webhook{BindAddress: "0",
			SelfSigned:    SelfSigned{Lifetime: metav1.Duration{Duration: 90 * 24 * time.Hour}},
			ShutdownDelay: metav1.Duration{Duration: 5 * time.Second}},
		Apache: Apache{
			Enabled: new(true), OperatorName: "spark-kubernetes-operator", TrimHistory: new(true),
			Clusters: ApacheClusters{Enabled: new(true),
				MasterStartTimeout: metav1.Duration{Duration: 10 * time.Minute}, Domain: "cluster.local",
				MasterClients: "Drivers"},
			MissingDriverGracePeriod: metav1.Duration{Duration: 10 * time.Second},
			Events:                   ApacheEvents{Enabled: new(true), MinInterval: &metav1.Duration{Duration: 5 * time.Minute}},
			Sentinels:                Sentinels{Delay: metav1.Duration{Duration: time.Minute}},
			Metrics:                  ApacheMetrics{BindAddress: "0", Path: "/prometheus"},
			Health:                   ApacheHealth{BindAddress: "0"},
		},
		DynamicConfig: DynamicConfig{
			Source:         "ConfigMap",
			Selector:       "app.kubernetes.io/name=spark-kubernetes-operator,app.kubernetes.io/component=operator-dynamic-config-overrides",
			File:           "/opt/spark-operator/dynamic-conf/spark-operator-dynamic.properties",
			ReloadInterval: metav1.Duration{Duration: time.Minute},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestParseKeepsGivenValues(t *testing.T) {
	got, err := Parse([]byte(header + `
namespaces: {names: [team-a, team-b], selector: "spark=enabled,team notin (c)"}
leaderElection: {enabled: false, namespace: ops, leaseName: mine, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 1s}
metrics: {bindAddress: "127.0.0.1:9000", prefix: team-a_, labels: [], jobSubmitLatencyBuckets: [0.5, 1], jobStartLatencyBuckets: [30, 60]}
tracing: {endpoint: "http://collector:4318", insecure: true, samplingRatio: 0}
health: {bindAddress: "0"}
pprof: {bindAddress: "127.0.0.1:6060"}
logging: {level: debug, format: text}
controller: {workers: 3, cacheSyncTimeout: 5s, shutdownTimeout: 1s}
application:
  maxTrackedExecutorPerApp: 0
  defaultTimeToLiveSeconds: 60
  driverPodCreationGracePeriod: 3s
  timeouts: {driverStartSeconds: 1, driverReadySeconds: 2, executorsStartSeconds: 3, runSeconds: 4}
  kubernetesMaster: k8s://https://10.0.0.1:6443
submission: {mode: SparkSubmit}
`))
	if err != nil {
		t.Fatal(err)
	}

	for _, check := range []struct {
		name      string
		got, want any
	}{
		{"namespaces.names", got.Namespaces.Names, []string{"team-a", "team-b"}},
		{"namespaces.selector", got.Namespaces.Selector, "spark=enabled,team notin (c)"},
		{"leaderElection.enabled", *got.LeaderElection.Enabled, false},
		{"leaderElection.namespace", got.LeaderElection.Namespace, "ops"},
		{"leaderElection.leaseName", got.LeaderElection.LeaseName, "mine"},
		{"leaderElection.leaseDuration", got.LeaderElection.LeaseDuration.Duration, 30 * time.Second},
		{"metrics", got.Metrics, Metrics{BindAddress: "127.0.0.1:9000", Prefix: "team-a_", Labels: &[]string{},
			JobSubmitLatencyBuckets: []float64{0.5, 1}, JobStartLatencyBuckets: []float64{30, 60}}},
		{"tracing", got.Tracing, Tracing{Endpoint: "http://collector:4318", Insecure: true, SamplingRatio: new(0.0)}},
		{"health.bindAddress", got.Health.BindAddress, Off},
		{"pprof.bindAddress", got.Pprof.BindAddress, "127.0.0.1:6060"},
		{"logging", got.Logging, Logging{Level: "debug", Format: "text"}},
		{"controller.workers", got.Controller.Workers, 3},
		{"maxTrackedExecutorPerApp", *got.Application.MaxTrackedExecutorPerApp, int32(0)},
		{"timeouts", got.Application.Timeouts, Timeouts{1, 2, 3, 4}},
		{"submission.mode", got.Submission.Mode, "SparkSubmit"},
		{"kubernetesMaster", got.Application.KubernetesMaster, "k8s://https://10.0.0.1:6443"},
	} {
		if diff := cmp.Diff(check.want, check.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", check.name, diff)
		}
	}
}

func TestParseNamesTheInvalidField(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"another kind", "kind: Other\n", "kind: Unsupported value"},
		{"another version", "apiVersion: config.sparkoperator.dev/v9\n", "apiVersion: Unsupported value"},
		{"unknown field", "workres: 3\n", `unknown field "workres"`},
		{"unknown nested field", "controller: {worker: 3}\n", `unknown field "controller.worker"`},
		{"repeated field", "logging: {level: info}\nlogging: {level: warn}\n", "logging"},
		{"wrong type", "controller: {workers: many}\n", "workers"},
		{"bad duration", "leaderElection: {leaseDuration: soon}\n", "soon"},
		{"not YAML", "{", "not a Configuration"},
		{"invalid selector of namespaces", "namespaces: {selector: 'a==b==c'}\n", "namespaces.selector: Invalid value"},
		{"selector of another type", "namespaces: {selector: {matchLabels: {a: b}}}\n", "selector"},
		{"invalid label value in a selector", "namespaces: {selector: 'a=b c'}\n",
			"namespaces.selector: Invalid value"},
		{"blank selector", "namespaces: {selector: ' '}\n", "namespaces.selector: Invalid value"},
		{"bad namespace", "namespaces: {names: [a, No_Good]}\n", "namespaces.names[1]"},
		{"empty namespace", "namespaces: {names: ['']}\n", "namespaces.names[0]"},
		{"neither API", "sparkOperator: {enabled: false}\napache: {enabled: false}\n", "apache.enabled: Invalid value"},
		{"expression that is invalid", "apache: {events: {excludedReasons: [a, '*']}}\n",
			"apache.events.excludedReasons[1]: Invalid value"},
		{"expression that only the group around it completes", "apache: {events: {excludedReasons: ['a)|(b']}}\n",
			"apache.events.excludedReasons[0]: Invalid value"},
		{"negative interval of events", "apache: {events: {minInterval: -1s}}\n",
			"apache.events.minInterval: Invalid value"},
		{"operator's name that is no label value", "apache: {operatorName: 'a b'}\n",
			"apache.operatorName: Invalid value"},
		{"invalid selector of custom resources", "apache: {labelSelector: 'a==b==c'}\n",
			"apache.labelSelector: Invalid value"},
		{"negative grace period of a driver", "apache: {missingDriverGracePeriod: -1s}\n",
			"apache.missingDriverGracePeriod: Invalid value"},
		{"negative delay between probes", "apache: {sentinels: {delay: -1s}}\n",
			"apache.sentinels.delay: Invalid value"},
		{"path with a brace and a blank", "apache: {metrics: {path: '/a {b'}}\n", "apache.metrics.path: Invalid value"},
		{"path without a leading slash", "apache: {metrics: {path: prometheus}}\n",
			"apache.metrics.path: Invalid value"},
		{"health address with a port in use", "apache: {health: {bindAddress: ':8081'}}\n",
			"apache.health.bindAddress: Invalid value"},
		{"unknown source of dynamic settings", "dynamicConfig: {source: Secret}\n",
			"dynamicConfig.source: Unsupported value"},
		{"invalid namespace of dynamic settings", "dynamicConfig: {namespace: A_B}\n",
			"dynamicConfig.namespace: Invalid value"},
		{"invalid selector of dynamic settings", "dynamicConfig: {selector: 'a==b==c'}\n",
			"dynamicConfig.selector: Invalid value"},
		{"dynamic settings from every ConfigMap", "dynamicConfig: {selector: ' '}\n",
			"dynamicConfig.selector: Invalid value"},
		{"negative reload interval", "dynamicConfig: {reloadInterval: -1s}\n",
			"dynamicConfig.reloadInterval: Invalid value"},
		{"executor webhook without a webhook", "webhook: {executors: {webhook: true}}\n",
			"webhook.executors.webhook: Forbidden"},
		{"a webhook without a certificate", "webhook: {bindAddress: ':9443'}\n", "webhook.certDir: Required value"},
		{"a webhook with two certificates", "webhook: {bindAddress: ':9443', certDir: /c, selfSigned: {secret: s}}\n",
			"webhook.certDir: Forbidden"},
		{"negative shutdown delay of the webhook", "webhook: {bindAddress: ':9443', certDir: /c, shutdownDelay: -1s}\n",
			"webhook.shutdownDelay: Invalid value"},
		{"quotas without a webhook", "webhook: {resourceQuotaEnforcement: {enabled: true}}\n",
			"webhook.resourceQuotaEnforcement.enabled: Forbidden"},
		{"webhook address with a port in use", "webhook: {bindAddress: ':8081', certDir: /c}\n",
			"webhook.bindAddress: Invalid value"},
		{"certificate without a Service",
			"webhook: {bindAddress: ':9443', selfSigned: {secret: s, configuration: c, namespace: ops}}\n",
			"webhook.selfSigned.service: Required value"},
		{"certificate without a namespace",
			"webhook: {bindAddress: ':9443', selfSigned: {secret: s, configuration: c, service: v}}\n",
			"webhook.selfSigned.namespace: Required value"},
		{"certificate without a webhook configuration",
			"webhook: {bindAddress: ':9443', selfSigned: {secret: s, service: v, namespace: ops}}\n",
			"webhook.selfSigned.configuration: Required value"},
		{"lifetime of a certificate below a minute",
			"webhook: {bindAddress: ':9443', selfSigned: {secret: s, configuration: c, service: v, namespace: ops, lifetime: 30s}}\n", "webhook.selfSigned.lifetime: Invalid value"},
		{"repeated namespace", "namespaces: {names: [a, a]}\n", "namespaces.names[1]: Duplicate value"},
		{"bad lease name", "leaderElection: {leaseName: A_B}\n", "leaderElection.leaseName"},
		{"bad lease namespace", "leaderElection: {namespace: A_B}\n", "leaderElection.namespace"},
		{"renew deadline longer than the lease", "leaderElection: {renewDeadline: 15s}\n",
			"leaderElection.renewDeadline"},
		{"retry period too long for the deadline", "leaderElection: {retryPeriod: 9s}\n", "leaderElection.retryPeriod"},
		{"negative lease", "leaderElection: {leaseDuration: -1s}\n", "leaderElection.leaseDuration"},
		{"removed field", "sharding: {enabled: false}\n", `unknown field "sharding": it was removed`},
		{"advice for a removed field", "sharding: {enabled: true}\n", "one operator for each group of namespaces"},
		{"no port", "metrics: {bindAddress: localhost}\n", "metrics.bindAddress"},
		{"port too large", "health: {bindAddress: ':99999'}\n", "health.bindAddress"},
		{"pprof address with a port in use", "pprof: {bindAddress: ':8080'}\n", "pprof.bindAddress"},
		{"prefix", "metrics: {prefix: 9a}\n", "metrics.prefix"},
		{"label", "metrics: {labels: [a, 'b c']}\n", "metrics.labels[1]"},
		{"reserved label", "metrics: {labels: [le]}\n", "metrics.labels[0]"},
		{"private label", "metrics: {labels: [_-x]}\n", "metrics.labels[0]"},
		{"two labels with one name in Prometheus", "metrics: {labels: [app.x/a, app-x_a]}\n",
			"metrics.labels[1]: Duplicate value"},
		{"many labels", "metrics: {labels: [a, b, c, d, e, f, g, h, i, j, k]}\n", "metrics.labels: Too many"},
		{"bucket with the bound 0", "metrics: {jobSubmitLatencyBuckets: [0, 1]}\n",
			"metrics.jobSubmitLatencyBuckets[0]"},
		{"bucket with the bound +Inf", "metrics: {jobStartLatencyBuckets: [1, .inf]}\n", "+Inf"},
		{"buckets out of order", "metrics: {jobStartLatencyBuckets: [2, 2]}\n", "metrics.jobStartLatencyBuckets[1]"},
		{"endpoint without a scheme", "tracing: {endpoint: 'collector:4318'}\n", "tracing.endpoint"},
		{"owner label", "metrics: {ownerLabel: 'a b'}\n", "metrics.ownerLabel"},
		{"negative price", "prices: [{cpuHour: 0.1}, {memoryGiBHour: -1}]\n", "prices[1].memoryGiBHour"},
		{"price that is no number", "prices: [{gpuHour: much}]\n", "prices.gpuHour"},
		{"infinite price", "prices: [{gpuHour: .inf}]\n", ""},
		{"price that is not a number", "prices: [{gpuHour: .nan}]\n", ""},
		{"price without bounds", "prices: [{gpuHour: 1e300}]\n", "prices[0].gpuHour"},
		{"invalid label of nodes", "prices: [{nodeSelector: {'a b': c}}]\n", "prices[0].nodeSelector"},
		{"endpoint without TLS", "tracing: {endpoint: 'http://collector:4318'}\n", "tracing.insecure"},
		{"collector with a password", "tracing: {endpoint: 'https://a:hunter2@collector'}\n",
			"tracing.endpoint: Forbidden"},
		{"collector that is no URL", "tracing: {endpoint: 'https://a:b c'}\n", "tracing.endpoint"},
		{"ratio", "tracing: {samplingRatio: 1.5}\n", "tracing.samplingRatio"},
		{"level", "logging: {level: chatty}\n", "logging.level"},
		{"format", "logging: {format: xml}\n", "logging.format"},
		{"negative workers", "controller: {workers: -1}\n", "controller.workers"},
		{"too many workers", "controller: {workers: 100000}\n", "controller.workers"},
		{"negative sync", "controller: {cacheSyncTimeout: -1s}\n", "controller.cacheSyncTimeout"},
		{"negative shutdown", "controller: {shutdownTimeout: -1s}\n", "controller.shutdownTimeout"},
		{"negative executors", "application: {maxTrackedExecutorPerApp: -1}\n", "application.maxTrackedExecutorPerApp"},
		{"negative TTL", "application: {defaultTimeToLiveSeconds: -1}\n", "application.defaultTimeToLiveSeconds"},
		{"timeout that overflows", "application: {timeouts: {runSeconds: 9223372036854775807}}\n",
			"application.timeouts.runSeconds"},
		{"negative grace", "application: {driverPodCreationGracePeriod: -1s}\n",
			"application.driverPodCreationGracePeriod"},
		{"submission", "submission: {mode: Manual}\n", "submission.mode: Unsupported value"},
		{"master", "application: {kubernetesMaster: 'https://x'}\n", "application.kubernetesMaster"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.file))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want it to name %q", err, test.want)
			}
		})
	}
}

func TestValidateReportsEveryField(t *testing.T) {
	_, err := Parse([]byte("controller: {workers: -1}\nlogging: {level: chatty}\n"))
	for _, want := range []string{"controller.workers", "logging.level"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(header+"controller: {workers: 5}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	c, err := Load(path)
	if err != nil || c.Controller.Workers != 5 {
		t.Errorf("Load = %d workers, %v; want 5", c.Controller.Workers, err)
	}

	if _, err := Load(path + ".missing"); err == nil || !strings.Contains(err.Error(), path+".missing") {
		t.Errorf("error of a missing file does not name it: %v", err)
	}

	if c, err := Load(""); err != nil || cmp.Diff(Default(), c) != "" {
		t.Errorf("no file is not the defaults: %v", err)
	}
}

// FuzzParse checks that for any input Parse returns either an error or a valid, complete configuration, and that this
// configuration does not change when it is written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(header))
	f.Add([]byte(header + "namespaces: {names: [a]}\ncontroller: {workers: 2}\n"))
	f.Add([]byte("leaderElection: {leaseDuration: 1h, renewDeadline: 5m, retryPeriod: 10s}"))
	f.Add([]byte(`{"application":{"timeouts":{"runSeconds":5}}}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}

		if err := c.Validate(); err != nil {
			t.Fatalf("accepted, but not valid: %v", err)
		}

		written, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}

		again, err := Parse(written)
		if err != nil {
			t.Fatalf("cannot read back: %v\n%s", err, written)
		}

		if diff := cmp.Diff(c, again); diff != "" {
			t.Errorf("changed by writing and reading:\n%s", diff)
		}
	})
}

// TestStringHidesAddresses checks that the logged configuration contains no password of an address.
func TestStringHidesAddresses(t *testing.T) {
	c := Default()

	c.Application.KubernetesMaster = "k8s://https://user:word@api:6443"
	if text := c.String(); strings.Contains(text, "word") || !strings.Contains(text, "k8s://https://api:6443") {
		t.Error(text)
	}
}

// TestIdentity checks that Parse names the invalid field. The cases are a service account without its namespace, an
// endpoint without authentication although metrics.authentication is set, and two endpoints with the same port.
func TestIdentity(t *testing.T) {
	for text, field := range map[string]string{
		"identity: {serviceAccount: operator}":                                               "identity.namespace",
		"identity: {namespace: A, serviceAccount: operator}":                                 "identity.namespace",
		"identity: {namespace: a, serviceAccount: Operator}":                                 "identity.serviceAccount",
		"submission: {mode: SparkSubmit, runners: false}":                                    "submission.runners",
		"submission: {serviceAccount: 'a b'}":                                                "submission.serviceAccount",
		"{metrics: {authentication: true}, apache: {metrics: {bindAddress: ':19090'}}}":      "apache.metrics.bindAddress",
		"{metrics: {bindAddress: ':9000'}, pprof: {bindAddress: '127.0.0.1:9000'}}":          "pprof.bindAddress",
		"{metrics: {bindAddress: '127.0.0.1:9000'}, pprof: {bindAddress: '127.0.0.1:9000'}}": "pprof.bindAddress",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v, want %s named", text, err, field)
		}
	}

	if _, err := Parse([]byte("{identity: {namespace: a, serviceAccount: operator}, metrics: {bindAddress: '10.0.0.1:9000'}, pprof: {bindAddress: '127.0.0.1:9000'}}")); err != nil {
		t.Error(err)
	}
}
