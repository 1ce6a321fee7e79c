package peer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

const header = "apiVersion: config.sparkoperator.dev/v1alpha1\nkind: Configuration\n"

// parseFlags parses the arguments of "controller start" and returns the flags.
func parseFlags(t *testing.T, args ...string) *Flags {
	t.Helper()

	f := &Flags{}
	set := pflag.NewFlagSet("controller start", pflag.ContinueOnError)
	f.AddController(set)

	if err := set.Parse(args); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return f
}

// TestFlagsAreAliases checks that each flag with a counterpart changes the configuration in the same way as the
// counterpart in the configuration file.
func TestFlagsAreAliases(t *testing.T) {
	for _, c := range []struct {
		args   string
		change func(*config.Configuration)
	}{
		{"", func(*config.Configuration) {}},
		{"--controller-threads=3", func(c *config.Configuration) { c.Controller.Workers = 3 }},
		{"--namespaces=a,b", func(c *config.Configuration) { c.Namespaces.Names = []string{"a", "b"} }},
		{"--namespaces=a --namespaces b", func(c *config.Configuration) { c.Namespaces.Names = []string{"a", "b"} }},
		{`--namespaces=""`, func(*config.Configuration) {}}, // with the quotes, as the kubeflow chart passes it
		{"--namespaces=", func(*config.Configuration) {}},
		{`--namespaces=a,""`, func(*config.Configuration) {}},
		{"--namespaces=a --namespace-selector=spark=enabled", func(c *config.Configuration) {
			c.Namespaces = config.Namespaces{Names: []string{"a"}, Selector: "spark=enabled"}
		}},
		{`--namespaces="" --namespace-selector=spark=enabled`,
			func(c *config.Configuration) { c.Namespaces.Selector = "spark=enabled" }},
		{"--cache-sync-timeout=30s",
			func(c *config.Configuration) { c.Controller.CacheSyncTimeout.Duration = 30 * time.Second }},
		{"--max-tracked-executor-per-app=5",
			func(c *config.Configuration) { c.Application.MaxTrackedExecutorPerApp = new(int32(5)) }},
		{"--default-time-to-live-seconds=60",
			func(c *config.Configuration) { c.Application.DefaultTimeToLiveSeconds = 60 }},
		{"--driver-pod-creation-grace-period=3s",
			func(c *config.Configuration) { c.Application.DriverPodCreationGracePeriod.Duration = 3 * time.Second }},
		{"--enable-ui-service=false", func(c *config.Configuration) { c.UI.Service = new(false) }},
		{`--ingress-url-format={{$appName}}.example.com/{{$appNamespace}} --ingress-class-name=nginx --ingress-annotations={"a":"b"} --ingress-tls=[{"hosts":["x.example.com"],"secretName":"s"}]`,
			func(c *config.Configuration) {
				c.UI.Ingress = config.UIIngress{Enabled: new(true),
					URLFormat: "{{$appName}}.example.com/{{$appNamespace}}", ClassName: "nginx",
					Annotations: map[string]string{"a": "b"},
					TLS:         []networkingv1.IngressTLS{{Hosts: []string{"x.example.com"}, SecretName: "s"}}}
			}},
		{"--ingress-url-format= --ingress-class-name= --ingress-annotations= --ingress-tls=",
			func(*config.Configuration) {}},
		{"--enable-batch-scheduler --default-batch-scheduler=volcano --kube-scheduler-names=a,b",
			func(c *config.Configuration) {
				c.BatchScheduler = config.BatchScheduler{Enabled: true, Default: "volcano",
					KubeSchedulerNames: []string{"a", "b"}}
			}},
		{"--enable-batch-scheduler=false --default-batch-scheduler=", func(*config.Configuration) {}},
		{"--enable-batch-scheduler=false --kube-scheduler-names=", func(*config.Configuration) {}},
		{"--leader-election", func(*config.Configuration) {}},
		{"--leader-election=false", func(c *config.Configuration) { c.LeaderElection.Enabled = new(false) }},
		{"--leader-election-lock-name=l --leader-election-lock-namespace=n",
			func(c *config.Configuration) { c.LeaderElection.LeaseName, c.LeaderElection.Namespace = "l", "n" }},
		{"--leader-election-lease-duration=1m --leader-election-renew-deadline=30s --leader-election-retry-period=5s",
			func(c *config.Configuration) {
				c.LeaderElection.LeaseDuration.Duration, c.LeaderElection.RenewDeadline.Duration,
					c.LeaderElection.RetryPeriod.Duration = time.Minute, 30*time.Second, 5*time.Second
			}},
		{"--metrics-bind-address=:9090 --enable-metrics=true",
			func(c *config.Configuration) { c.Metrics.BindAddress = ":9090" }},
		{"--enable-metrics=false --metrics-bind-address=:9090",
			func(c *config.Configuration) { c.Metrics.BindAddress = config.Off }},
		{"--metrics-prefix=a_ --metrics-labels=app_type,team", func(c *config.Configuration) {
			c.Metrics.Prefix, c.Metrics.Labels = "a_", &[]string{"app_type", "team"}
		}},
		{"--metrics-labels=", func(*config.Configuration) {}},
		{"--metrics-job-submit-latency-buckets=0.5,1 --metrics-job-start-latency-buckets=30,60.5",
			func(c *config.Configuration) {
				c.Metrics.JobSubmitLatencyBuckets, c.Metrics.JobStartLatencyBuckets = []float64{0.5, 1},
					[]float64{30, 60.5}
			}},
		{"--secure-metrics=false", func(*config.Configuration) {}},
		{"--health-probe-bind-address=:9081 --pprof-bind-address=:6060",
			func(c *config.Configuration) { c.Health.BindAddress, c.Pprof.BindAddress = ":9081", ":6060" }},
		{"--feature-gates=PartialRestart=false,DefaultTimeToLive=true", func(*config.Configuration) {}},
		{"--feature-gates=", func(*config.Configuration) {}},
		{"--zap-log-level=debug --zap-encoder=console",
			func(c *config.Configuration) { c.Logging = config.Logging{Level: "debug", Format: "text"} }},
		{"--zap-log-level=5", func(c *config.Configuration) { c.Logging.Level = "debug" }},
		{"--zap-log-level=panic --zap-encoder=json", func(c *config.Configuration) { c.Logging.Level = "error" }},
		{"--zap-devel", func(c *config.Configuration) { c.Logging = config.Logging{Level: "debug", Format: "text"} }},
		{"--zap-log-level=warn --zap-devel",
			func(c *config.Configuration) { c.Logging = config.Logging{Level: "warn", Format: "text"} }},
		{"--zap-devel=false", func(*config.Configuration) {}},
	} {
		t.Run(c.args, func(t *testing.T) {
			got, unused, err := parseFlags(t, strings.Fields(c.args)...).Load("")
			if err != nil {
				t.Fatal(err)
			}

			want := config.Default()
			c.change(&want)

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			if len(unused) > 0 {
				t.Errorf("told to have no effect: %v", unused)
			}
		})
	}
}

// TestFlagsOverTheFile checks that a flag takes precedence over the file, and that all other fields of the file are
// kept.
func TestFlagsOverTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path,
		[]byte(header+"controller: {workers: 5, shutdownTimeout: 7s}\nlogging: {level: warn}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	got, _, err := parseFlags(t, "--controller-threads=3", "--zap-encoder=console").Load(path)
	if err != nil {
		t.Fatal(err)
	}

	if got.Controller.Workers != 3 || got.Controller.ShutdownTimeout.Duration != 7*time.Second ||
		got.Logging != (config.Logging{Level: "warn", Format: "text"}) {
		t.Errorf("%+v %+v", got.Controller, got.Logging)
	}

	if _, _, err := parseFlags(t, "--controller-threads=3").Load(path + ".missing"); err == nil {
		t.Error("a missing file is no error")
	}

	if err := os.WriteFile(path, []byte("controller: {workres: 5}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, _, err := parseFlags(t, "--controller-threads=3").Load(path); err == nil ||
		!strings.Contains(err.Error(), "workres") {
		t.Errorf("an unknown field beside a flag: %v", err)
	}
}

// TestFlagsWithoutEffect checks that flags without effect are reported with their reasons.
func TestFlagsWithoutEffect(t *testing.T) {
	for _, k := range controllerFlags {
		if k.why == "" {
			continue
		}

		value := map[kind]string{number: "20", boolean: "true", period: "1m", text: "x", texts: "x,y"}[k.kind]

		got, unused, err := parseFlags(t, "--"+k.name+"="+value).Load("")
		if diff := cmp.Diff([]Unused{{Name: k.name, Why: k.why}}, unused); err != nil || diff != "" {
			t.Errorf("%s: %v, told (-want +got):\n%s", k.name, err, diff)
		}

		if diff := cmp.Diff(config.Default(), got); diff != "" {
			t.Errorf("%s changes:\n%s", k.name, diff)
		}
	}

	_, unused, err := parseFlags(t,
		"--feature-gates=PartialRestart=true,RestSubmitter=true,DefaultTimeToLive=true").Load("")
	if err != nil || len(unused) != 1 || !strings.Contains(unused[0].Why, "PartialRestart:") ||
		!strings.Contains(unused[0].Why, "RestSubmitter:") || strings.Contains(unused[0].Why, "TimeToLive") {
		t.Errorf("gates: %v, %v", unused, err)
	}
}

func TestFlagsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--enable-http2", "unknown flag"},
		{"--namespace=a", "unknown flag"},
		{"--controller-threads=many", "many"},
		{"--leader-election-retry-period=soon", "soon"},
		{"--metrics-job-start-latency-buckets=30;60", "30;60"},
		{"--ingress-tls={", "JSON"},
		{"--leader-election=perhaps", "perhaps"},
		{"--secure-metrics", "--secure-metrics=true: this flag does not enable TLS for metrics"},
		{"--feature-gates=Telepathy=true", `unknown feature gate "Telepathy"`},
		{"--feature-gates=PartialRestart=perhaps", "PartialRestart"},
		{"--feature-gates=LoadSparkDefaults=true", "sparkConf"},
		{"--zap-log-level=chatty", "--zap-log-level=chatty"},
		{"--zap-encoder=xml", "json or console"},
		{"--controller-threads=-1", "controller.workers"},
		{"--namespaces=No_Good", "namespaces.names[0]"},
		{"--namespace-selector=a==b==c", "namespaces.selector"},
		{"--default-time-to-live-seconds=-1", "application.defaultTimeToLiveSeconds"},
	} {
		f := &Flags{}
		set := pflag.NewFlagSet("controller start", pflag.ContinueOnError)
		f.AddController(set)

		err := set.Parse(strings.Fields(c.args))
		if err == nil {
			_, _, err = f.Load("")
		}

		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to name %q", c.args, err, c.want)
		}
	}
}

// TestFlagsAreThePeers checks that all flags of the kubeflow operator are accepted by name. If a flag were missing,
// this operator would not start with the manifests of the kubeflow operator.
func TestFlagsAreThePeers(t *testing.T) {
	const controller = `cache-sync-timeout controller-threads default-batch-scheduler default-time-to-live-seconds driver-pod-creation-grace-period
		enable-batch-scheduler enable-driver-pdb enable-metrics enable-ui-service feature-gates health-probe-bind-address ingress-annotations
		ingress-class-name ingress-tls ingress-url-format kube-api-burst kube-api-qps kube-scheduler-names leader-election leader-election-lease-duration
		leader-election-lock-name leader-election-lock-namespace leader-election-renew-deadline leader-election-retry-period max-tracked-executor-per-app
		metric-tls-cipher-suites metric-tls-min-version metrics-bind-address metrics-endpoint metrics-job-start-latency-buckets
		metrics-job-submit-latency-buckets metrics-labels metrics-prefix namespace-selector namespaces pprof-bind-address
		scheduled-spark-application-timestamp-precision secure-metrics submitter-initial-backoff submitter-max-retries submitter-request-timeout
		submitter-service-url submitter-startup-timeout submitter-tls-ca-file submitter-tls-cert-file submitter-tls-enabled submitter-tls-key-file
		workqueue-ratelimiter-bucket-qps workqueue-ratelimiter-bucket-size workqueue-ratelimiter-max-delay zap-devel zap-encoder zap-log-level
		zap-stacktrace-level zap-time-encoding`

	var got []string
	for _, k := range controllerFlags {
		got = append(got, k.name)
	}

	slices.Sort(got)

	if diff := cmp.Diff(strings.Fields(controller), got); diff != "" {
		t.Errorf("controller flags (-want +got):\n%s", diff)
	}
}

// TestPeersDeployment checks that the arguments that the kubeflow chart writes with its default values are accepted.
func TestPeersDeployment(t *testing.T) {
	got, unused, err := parseFlags(t,
		"--zap-log-level=info", "--zap-encoder=console", "--namespaces=default", "--controller-threads=10",
		"--enable-ui-service=true", "--enable-metrics=true", "--metrics-bind-address=:8080",
		"--metrics-endpoint=/metrics", "--metrics-prefix=",
		"--metrics-labels=app_type", "--metrics-job-submit-latency-buckets=0.5,1,2,4,8,16,32,64,128,256",
		"--metrics-job-start-latency-buckets=30,60,90,120,150,180,210,240,270,300",
		"--leader-election=true", "--leader-election-lock-name=spark-operator-controller-lock",
		"--leader-election-lock-namespace=spark-operator",
		"--leader-election-lease-duration=15s", "--leader-election-renew-deadline=10s",
		"--leader-election-retry-period=2s",
		"--workqueue-ratelimiter-bucket-qps=50", "--workqueue-ratelimiter-bucket-size=500",
		"--workqueue-ratelimiter-max-delay=6h",
		"--driver-pod-creation-grace-period=10s", "--max-tracked-executor-per-app=1000", "--kube-api-qps=20",
		"--kube-api-burst=30",
		"--scheduled-spark-application-timestamp-precision=nanos",
		"--feature-gates=PartialRestart=false,LoadSparkDefaults=false,RestSubmitter=false,DefaultTimeToLive=false",
	).Load("")
	if err != nil {
		t.Fatal(err)
	}

	if got.Controller.Workers != 10 || got.LeaderElection.LeaseName != "spark-operator-controller-lock" ||
		got.LeaderElection.Namespace != "spark-operator" ||
		!slices.Equal(got.Namespaces.Names, []string{"default"}) || got.Logging.Format != "text" ||
		len(got.Metrics.JobSubmitLatencyBuckets) != 10 {
		t.Errorf("%+v", got)
	}

	if len(unused) != 6 {
		t.Errorf("%d flags have no effect: %v", len(unused), unused)
	}
}

// TestFlagsAreDocumented checks that docs/kubeflow-settings.md lists every flag, and no other flags.
func TestFlagsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/kubeflow-settings.md")
	if err != nil {
		t.Fatal(err)
	}

	_, section, _ := strings.Cut(string(text), "\n## Flags\n")
	section, _, _ = strings.Cut(section, "\n## ")

	documented := map[string]bool{"config": true, "kubeconfig": true}
	for part := range strings.SplitSeq(section, "`--") {
		if name, _, found := strings.Cut(part, "`"); found {
			documented[name] = true
		}
	}

	for _, k := range controllerFlags {
		if !documented[k.name] {
			t.Errorf("--%s is not in docs/kubeflow-settings.md", k.name)
		}

		delete(documented, k.name)
	}

	delete(documented, "config")
	delete(documented, "kubeconfig")

	for name := range documented {
		if !strings.HasPrefix(name, "\n") && !strings.Contains(name, " ") {
			t.Errorf("--%s is documented, and there is none", name)
		}
	}

	for name := range IgnoredEnvironment {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("the variable %s is not there", name)
		}
	}
}
