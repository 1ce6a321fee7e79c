// Package config holds the operator's configuration: one typed, versioned file, its defaults and its validation.
//
// All settings are in the file. The command line flags only name the file, and environment variables only say how to
// reach the cluster. An unknown field is an error that names the field. Otherwise, the operator would use the default
// for a misspelt field, and nobody would notice.
package config

import (
	"encoding/json"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
	"github.com/sparkoperator/spark-operator/internal/settings/policy"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// APIVersion and Kind are the apiVersion and kind of the configuration file that this version of the operator reads.
const (
	APIVersion = "config.sparkoperator.dev/v1alpha1"
	Kind       = "Configuration"
)

// Configuration is the content of the file given by --config. The zero value of a field means its default; the function
// Default returns the defaults.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	// Namespaces are the namespaces whose custom resources this operator serves. Default: all.
	Namespaces Namespaces `json:"namespaces,omitzero"`
	// Identity is the operator's own service account.
	Identity Identity `json:"identity,omitzero"`
	// LeaderElection lets several replicas elect the one that acts as the leader. Default: enabled.
	LeaderElection LeaderElection `json:"leaderElection,omitzero"`
	// Metrics configures the Prometheus endpoint.
	Metrics Metrics `json:"metrics,omitzero"`
	// Tracing sends traces to a collector. Default: none.
	Tracing Tracing `json:"tracing,omitzero"`
	// Health configures the endpoints /healthz and /readyz.
	Health Health `json:"health,omitzero"`
	// Pprof configures the endpoint of Go profiles. It is off by default, because a profile can contain secrets.
	Pprof Pprof `json:"pprof,omitzero"`
	// Logging configures the log, which goes to standard error.
	Logging Logging `json:"logging,omitzero"`
	// Controller configures the number of workers and the time-outs of the reconcilers.
	Controller Controller `json:"controller,omitzero"`
	// Application holds settings and defaults of all applications.
	Application Application `json:"application,omitzero"`
	// Submission configures how driver pods are created.
	Submission Submission `json:"submission,omitzero"`
	// UI configures how drivers' web UIs are made available.
	UI UI `json:"ui,omitzero"`
	// Exposure configures whether custom resources may make themselves available outside the cluster.
	Exposure Exposure `json:"exposure,omitzero"`
	// ScheduledApplications configures schedules.
	ScheduledApplications ScheduledApplications `json:"scheduledApplications,omitzero"`
	// Connect configures Spark Connect servers.
	Connect Connect `json:"connect,omitzero"`
	// SparkOperator configures the API sparkoperator.k8s.io.
	SparkOperator SparkOperator `json:"sparkOperator,omitzero"`
	// Apache configures the API spark.apache.org.
	Apache Apache `json:"apache,omitzero"`
	// DynamicConfig lets a few settings change while the operator runs. Default: off.
	DynamicConfig DynamicConfig `json:"dynamicConfig,omitzero"`
	// Webhook configures the validating admission webhook. Default: off.
	Webhook Webhook `json:"webhook,omitzero"`
	// BatchScheduler configures the schedulers that may place an application as a whole. Default: none.
	BatchScheduler BatchScheduler `json:"batchScheduler,omitzero"`
	// Kueue configures the integration with the queue Kueue. Default: off.
	Kueue Kueue `json:"kueue,omitzero"`
	// Defaults are default settings of custom resources, by namespace. Default: none.
	Defaults []platformdefaults.Default `json:"defaults,omitempty"`
	// Usage configures what the operator finds out about the usage of pods.
	Usage Usage `json:"usage,omitzero"`
	// Prices are what an hour of requested resources costs. The last price in the list that applies to the node of a pod
	// counts. The operator needs the right to list nodes if a price depends on the labels of nodes. Default: none.
	Prices []usage.Price `json:"prices,omitempty"`
	// Policy has the rules of the platform for custom resources. Default: none, except that snippet annotations are
	// denied.
	Policy policy.Policy `json:"policy,omitzero"`
	// Logs says which logs are kept, by namespace. Default: none.
	Logs []keptlogs.Entry `json:"logs,omitempty"`
}

// These are the values of Submission.Mode, the same as those of spec.submission.mode in an application.
const (
	SubmissionAuto        = "Auto"
	SubmissionNative      = "Native"
	SubmissionSparkSubmit = "SparkSubmit"
)

// Submission configures how driver pods are created: by the operator itself, or by a separate pod that runs the
// spark-submit of the application's image.
type Submission struct {
	// Mode is the submission mode of applications that do not set spec.submission.mode. Auto: the operator creates the
	// driver pod if it can, and otherwise spark-submit does. SparkSubmit: always spark-submit. Native: always the
	// operator; this value applies to all applications, and the operator then needs no right on Secrets. Default Auto.
	Mode string `json:"mode,omitempty"`
	// Runners allows pods that run spark-submit. If false, applications that need such a pod fail, as with the mode
	// Native, and the operator keeps the rights on Secrets that other kinds need. Default true.
	Runners *bool `json:"runners,omitempty"`
	// ServiceAccount is the account of the pods that run spark-submit, in each application's namespace. With this
	// account, spark-submit creates Secrets, Services, ConfigMaps, NetworkPolicies and the driver pod. An application
	// can name another account by spark.kubernetes.authenticate.submission.serviceAccountName. Default: the driver's
	// account.
	ServiceAccount string `json:"serviceAccount,omitempty"`
}

// Effective returns the submission mode that applies: Native if there are no runners.
func (s Submission) Effective() string {
	if s.Runners != nil && !*s.Runners {
		return SubmissionNative
	}
	return s.Mode
}

// Identity is the service account of the operator's own pods.
type Identity struct {
	// Namespace and ServiceAccount name the service account of the operator's pods. The operator rejects custom
	// resources in this namespace whose pods would use the account. Default: it rejects none.
	Namespace      string `json:"namespace,omitempty"`
	ServiceAccount string `json:"serviceAccount,omitempty"`
}

// Namespaces selects the served namespaces: by name, by label, or both. If neither field is set, all namespaces are
// served.
type Namespaces struct {
	// Names are the names of the served namespaces. If Names is empty and there is no selector, all namespaces are
	// served.
	Names []string `json:"names,omitempty"`
	// Selector selects Namespace objects by their labels, in the syntax of kubectl's --selector ("spark=enabled", "team
	// in (a,b)"). Changed labels take effect at once. With a selector, the operator watches every namespace. Default:
	// none.
	Selector string `json:"selector,omitempty"`
}

// All reports whether all namespaces are served.
func (n Namespaces) All() bool { return len(n.Names) == 0 && n.Selector == "" }

// LeaderElection configures the Lease by which the replicas elect a leader. The three durations have the same defaults
// as in Kubernetes' own components.
type LeaderElection struct {
	// Enabled lets the replicas elect a leader. If false, a second replica would act as well. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// LeaseName is the name of the Lease. Default "spark-operator-controller-lock".
	LeaseName string `json:"leaseName,omitempty"`
	// Namespace is the namespace of the Lease. Default: the namespace that the operator runs in; required outside a
	// cluster.
	Namespace string `json:"namespace,omitempty"`
	// LeaseDuration is how long the other replicas wait after the last renewal of the Lease that they have observed.
	// Default 15s.
	LeaseDuration metav1.Duration `json:"leaseDuration,omitzero"`
	// RenewDeadline is how long the leader tries to renew the Lease before it gives up. It must be shorter than
	// LeaseDuration. Default 10s.
	RenewDeadline metav1.Duration `json:"renewDeadline,omitzero"`
	// RetryPeriod is the time between two tries to acquire or renew the Lease. It must be shorter than RenewDeadline.
	// Default 2s.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitzero"`
}

// Health configures the probe endpoints.
type Health struct {
	// BindAddress is the address as host:port. Default ":8081"; "0" switches the endpoints off.
	BindAddress string `json:"bindAddress,omitempty"`
}

// Pprof configures the profiling endpoint.
type Pprof struct {
	// BindAddress is the address as host:port. Without a host, the endpoint binds every address of the pod. Default
	// "0": off. 127.0.0.1:6060 is enough for kubectl port-forward.
	BindAddress string `json:"bindAddress,omitempty"`
}

// Logging configures the log.
type Logging struct {
	// Level is debug, info, warn or error. Default info.
	Level string `json:"level,omitempty"`
	// Format is json or text. Default json.
	Format string `json:"format,omitempty"`
	// Configuration logs the whole configuration once, at the start. Default false.
	Configuration bool `json:"configuration,omitempty"`
}

// Controller configures the number of workers and the queues of the reconcilers. It has no field that limits the rate
// of requests, because the API server limits that rate (API Priority and Fairness).
type Controller struct {
	// Workers is how many passes run at the same time, for each kind. A quarter of the workers is reserved for existing
	// applications, so that launches do not delay them. While another namespace waits, one namespace gets at most half
	// of the workers, rounded up. Default 16.
	Workers int `json:"workers,omitempty"`
	// CacheSyncTimeout is how long the operator waits at its start until the caches are filled. Default 2m.
	CacheSyncTimeout metav1.Duration `json:"cacheSyncTimeout,omitzero"`
	// ShutdownTimeout is how long passes in flight may take after SIGTERM. Default 20s.
	ShutdownTimeout metav1.Duration `json:"shutdownTimeout,omitzero"`
}

// Application holds defaults and limits of all applications.
type Application struct {
	// MaxTrackedExecutorPerApp limits the entries of status.executorState. Default 1000.
	MaxTrackedExecutorPerApp *int32 `json:"maxTrackedExecutorPerApp,omitempty"`
	// DefaultTimeToLiveSeconds is how long a finished application is kept if it does not set spec.timeToLiveSeconds.
	// Default 0: forever.
	DefaultTimeToLiveSeconds int64 `json:"defaultTimeToLiveSeconds,omitempty"`
	// DriverPodCreationGracePeriod is how long a new driver pod may be missing from the cache before the operator reads
	// the pod from the API server. Default 10s.
	DriverPodCreationGracePeriod metav1.Duration `json:"driverPodCreationGracePeriod,omitzero"`
	// Timeouts are the timeouts of applications that do not set spec.timeouts. Default: none.
	Timeouts Timeouts `json:"timeouts,omitzero"`
	// KubernetesMaster is the value of spark.kubernetes.driver.master, the address at which drivers reach the API
	// server. Default "k8s://https://kubernetes.default.svc".
	KubernetesMaster string `json:"kubernetesMaster,omitempty"`
	// Authenticate sets spark.authenticate and RPC encryption for applications that do not set these properties.
	// Connect servers always have both, and applications of spark.apache.org always have spark.authenticate. Default
	// false.
	Authenticate bool `json:"authenticate,omitempty"`
	// StatefulSets says that the service accounts of drivers may manage StatefulSets, which the allocator "statefulset"
	// of executors needs. Without it, such an application gets a warning. Default false.
	StatefulSets bool `json:"statefulSets,omitempty"`
}

// Timeouts limit the phases of an application, in seconds. 0 means no limit.
type Timeouts struct {
	// DriverStartSeconds is the time from the submission until the driver container runs.
	DriverStartSeconds int64 `json:"driverStartSeconds,omitempty"`
	// DriverReadySeconds is the time from the start of the driver container until the driver pod is ready.
	DriverReadySeconds int64 `json:"driverReadySeconds,omitempty"`
	// ExecutorsStartSeconds is the time from the readiness of the driver pod until the initial executors run, without
	// the time behind scheduling gates.
	ExecutorsStartSeconds int64 `json:"executorsStartSeconds,omitempty"`
	// RunSeconds is the time from the submission until the application ends.
	RunSeconds int64 `json:"runSeconds,omitempty"`
}

// String returns the configuration as one line of JSON. It leaves out passwords in addresses, and the platform's
// defaults that look like secrets.
func (c Configuration) String() string {
	c.Defaults = platformdefaults.Redacted(c.Defaults)

	c.Application.KubernetesMaster = conf.HideAddresses(c.Application.KubernetesMaster)
	if endpoint, err := url.Parse(c.Tracing.Endpoint); err == nil {
		c.Tracing.Endpoint = endpoint.Redacted()
	}

	text, err := json.Marshal(c)
	if err != nil {
		return err.Error() // unreachable: all types of the configuration can be encoded
	}
	return string(text)
}

// WatchesAll reports whether the operator watches all namespaces. It also watches all namespaces if the set of served
// namespaces can change while it runs.
func (c *Configuration) WatchesAll() bool {
	return len(c.Namespaces.Names) == 0 || c.Namespaces.Selector != "" || c.DynamicConfig.Enabled
}

// WatchesNamespaces reports whether the operator watches Namespace objects, because a setting depends on their labels.
func (c *Configuration) WatchesNamespaces() bool {
	return c.Namespaces.Selector != "" || c.SelectsByNamespace() || keptlogs.Selects(c.Logs)
}

// SelectsByNamespace reports whether the platform's defaults or rules depend on the labels of namespaces.
func (c *Configuration) SelectsByNamespace() bool {
	return platformdefaults.Selects(c.Defaults) || c.Policy.NeedsNamespaceLabels()
}

// UnshownEventLogs returns the first directory of event logs for which no entry of the defaults names a History Server.
// It returns "" if there is none, or if the configuration is unknown (nil).
func (c *Configuration) UnshownEventLogs() string {
	if c == nil {
		return ""
	}

	for i := range c.Defaults {
		if d := &c.Defaults[i]; d.EventLogDirectory != "" && d.HistoryServer == "" && d.Name != platformdefaults.HistoryEntry {
			return d.EventLogDirectory
		}
	}
	return ""
}

// Off is the bind address that switches an endpoint off.
const Off = "0"

// Default returns the configuration of an empty file.
func Default() Configuration {
	var c Configuration
	c.applyDefaults()
	return c
}

func (c *Configuration) applyDefaults() {
	setDefault(&c.APIVersion, APIVersion)
	setDefault(&c.Kind, Kind)
	setDefault(&c.LeaderElection.Enabled, new(true))
	setDefault(&c.LeaderElection.LeaseName, "spark-operator-controller-lock")
	setDefault(&c.LeaderElection.LeaseDuration.Duration, 15*time.Second)
	setDefault(&c.LeaderElection.RenewDeadline.Duration, 10*time.Second)
	setDefault(&c.LeaderElection.RetryPeriod.Duration, 2*time.Second)
	c.Metrics.applyDefaults()
	setDefault(&c.Tracing.SamplingRatio, new(1.0))
	setDefault(&c.Health.BindAddress, ":8081")
	setDefault(&c.Pprof.BindAddress, Off)
	setDefault(&c.Logging.Level, "info")
	setDefault(&c.Logging.Format, "json")
	setDefault(&c.Controller.Workers, 16)
	setDefault(&c.Controller.CacheSyncTimeout.Duration, 2*time.Minute)
	setDefault(&c.Controller.ShutdownTimeout.Duration, 20*time.Second)
	setDefault(&c.Application.MaxTrackedExecutorPerApp, new(int32(1000)))
	setDefault(&c.Application.DriverPodCreationGracePeriod.Duration, 10*time.Second)
	setDefault(&c.Submission.Mode, SubmissionAuto)
	setDefault(&c.Submission.Runners, new(true))
	c.UI.applyDefaults()
	c.ScheduledApplications.applyDefaults()
	c.Connect.applyDefaults()
	setDefault(&c.SparkOperator.Enabled, new(true))
	c.Apache.applyDefaults()
	c.Webhook.applyDefaults(c.Identity.Namespace)
	c.DynamicConfig.applyDefaults(c.Apache.OperatorName)
	keptlogs.ApplyDefaults(c.Logs)
	setDefault(&c.Application.KubernetesMaster, "k8s://https://kubernetes.default.svc")
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
