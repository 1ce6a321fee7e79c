// Package config holds the operator's configuration: one typed, versioned file, its defaults and its validation.
//
// The file is the only way in: command line flags say which file, the environment says which cluster, and everything else is here. A
// field that is not known is an error that names it, so that a typo never silently means the default.
package config

import (
	"encoding/json"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// The identity of the file that this version of the operator reads.
const (
	APIVersion = "config.sparkoperator.dev/v1alpha1"
	Kind       = "Configuration"
)

// Configuration is the content of the file given by --config. The zero value of every field means its default; Default returns them.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	// Namespaces whose custom resources this operator acts on. Default: all.
	Namespaces Namespaces `json:"namespaces,omitzero"`
	// Identity is the operator's own service account.
	Identity Identity `json:"identity,omitzero"`
	// LeaderElection lets several replicas wait for one that acts. Default: enabled.
	LeaderElection LeaderElection `json:"leaderElection,omitzero"`
	// Metrics is where Prometheus metrics are served, and how.
	Metrics Metrics `json:"metrics,omitzero"`
	// Tracing sends traces to a collector. Default: none.
	Tracing Tracing `json:"tracing,omitzero"`
	// Health is where /healthz and /readyz are served.
	Health Health `json:"health,omitzero"`
	// Pprof is where Go profiles are served; off by default, since a profile can hold secrets.
	Pprof Pprof `json:"pprof,omitzero"`
	// Logging chooses what is written to standard error and how.
	Logging Logging `json:"logging,omitzero"`
	// Controller sizes the reconcilers.
	Controller Controller `json:"controller,omitzero"`
	// Application holds what every application gets unless it asks for something else.
	Application Application `json:"application,omitzero"`
	// Submission says who makes driver pods.
	Submission Submission `json:"submission,omitzero"`
	// UI says how drivers' web UIs are reached.
	UI UI `json:"ui,omitzero"`
	// Exposure says whether custom resources may choose what is reached from outside the cluster.
	Exposure Exposure `json:"exposure,omitzero"`
	// ScheduledApplications says whether schedules are run.
	ScheduledApplications ScheduledApplications `json:"scheduledApplications,omitzero"`
	// Connect says whether Spark Connect servers are kept.
	Connect Connect `json:"connect,omitzero"`
	// SparkOperator says whether the API sparkoperator.k8s.io is served.
	SparkOperator SparkOperator `json:"sparkOperator,omitzero"`
	// Apache says whether the API spark.apache.org is served, and how.
	Apache Apache `json:"apache,omitzero"`
	// DynamicConfig lets a few settings change while the operator runs. Default: none does.
	DynamicConfig DynamicConfig `json:"dynamicConfig,omitzero"`
	// BatchScheduler says which schedulers may place an application as a whole. Default: none.
	BatchScheduler BatchScheduler `json:"batchScheduler,omitzero"`
}

// The modes of Submission, the same as those of an application (spec.submission.mode).
const (
	SubmissionAuto        = "Auto"
	SubmissionNative      = "Native"
	SubmissionSparkSubmit = "SparkSubmit"
)

// Submission says who makes the driver pods: the operator itself, or the spark-submit of an application's image in a pod of its own.
type Submission struct {
	// Mode of applications that choose none. Auto: the operator where it can, else spark-submit. SparkSubmit: spark-submit. Native: the
	// operator or not at all, which then holds for all applications, and the operator needs no right on Secrets. Default Auto.
	Mode string `json:"mode,omitempty"`
	// ServiceAccount of the pods that run spark-submit, in each application's namespace. It makes Secrets, Services, ConfigMaps, NetworkPolicies and the
	// driver pod; an application names another by spark.kubernetes.authenticate.submission.serviceAccountName. Default: that of the driver.
	ServiceAccount string `json:"serviceAccount,omitempty"`
}

// Identity is who the operator is.
type Identity struct {
	// Namespace and ServiceAccount of the operator's pods. No pod of a custom resource in that namespace may have the account. Default: none is refused.
	Namespace      string `json:"namespace,omitempty"`
	ServiceAccount string `json:"serviceAccount,omitempty"`
}

// Namespaces selects the namespaces that are served: those that are named, and those whose labels are selected. With neither field all of them are.
type Namespaces struct {
	// Names of the namespaces. Without a selector, empty means all.
	Names []string `json:"names,omitempty"`
	// Selector over the labels of Namespace objects, in the syntax of kubectl's --selector ("spark=enabled", "team in (a,b)"). What is selected
	// follows the labels at once; the operator then watches every namespace. Default: none.
	Selector string `json:"selector,omitempty"`
}

// All reports whether all namespaces are served, whatever their names and labels.
func (n Namespaces) All() bool { return len(n.Names) == 0 && n.Selector == "" }

// LeaderElection configures the Lease by which one of several replicas acts. The three durations are Kubernetes' usual ones.
type LeaderElection struct {
	// Enabled defaults to true. Without it a second replica would act as well.
	Enabled *bool `json:"enabled,omitempty"`
	// LeaseName defaults to "spark-operator-controller-lock".
	LeaseName string `json:"leaseName,omitempty"`
	// Namespace of the Lease. Default: the namespace that the operator runs in; required outside a cluster.
	Namespace string `json:"namespace,omitempty"`
	// LeaseDuration is how long the others wait after the last renewal that they saw. Default 15s.
	LeaseDuration metav1.Duration `json:"leaseDuration,omitzero"`
	// RenewDeadline is how long the leader tries to renew before it gives up. Default 10s; shorter than LeaseDuration.
	RenewDeadline metav1.Duration `json:"renewDeadline,omitzero"`
	// RetryPeriod lies between two tries. Default 2s; shorter than RenewDeadline.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitzero"`
}

// Health configures the probe endpoints.
type Health struct {
	// BindAddress as host:port. Default ":8081"; "0" switches the endpoints off.
	BindAddress string `json:"bindAddress,omitempty"`
}

// Pprof configures the profiling endpoint.
type Pprof struct {
	// BindAddress as host:port. Without a host that is every address of the pod. Default "0": off; 127.0.0.1:6060 is enough for kubectl port-forward.
	BindAddress string `json:"bindAddress,omitempty"`
}

// Logging configures the log.
type Logging struct {
	// Level is debug, info, warn or error. Default info.
	Level string `json:"level,omitempty"`
	// Format is json or text. Default json.
	Format string `json:"format,omitempty"`
	// Configuration writes the whole configuration once, at the start. Default false.
	Configuration bool `json:"configuration,omitempty"`
}

// Controller sizes the reconcilers. There is no limit on requests a second: the API server's priority and fairness decides.
type Controller struct {
	// Workers that reconcile at the same time, for each kind. A quarter of them is not for what is new, so that what goes
	// on is not kept waiting by launches. While another namespace waits, one namespace gets no more than half of them,
	// rounded up. Default 16.
	Workers int `json:"workers,omitempty"`
	// CacheSyncTimeout is how long the start waits for the first lists. Default 2m.
	CacheSyncTimeout metav1.Duration `json:"cacheSyncTimeout,omitzero"`
	// ShutdownTimeout is how long work in flight may take after SIGTERM. Default 20s.
	ShutdownTimeout metav1.Duration `json:"shutdownTimeout,omitzero"`
}

// Application holds defaults and bounds for every application.
type Application struct {
	// MaxTrackedExecutorPerApp bounds the entries of status.executorState. Default 1000.
	MaxTrackedExecutorPerApp *int32 `json:"maxTrackedExecutorPerApp,omitempty"`
	// DefaultTimeToLiveSeconds is how long a finished application is kept that does not say so itself. Default 0: for ever.
	DefaultTimeToLiveSeconds int64 `json:"defaultTimeToLiveSeconds,omitempty"`
	// DriverPodCreationGracePeriod is how long a driver pod that was just created may be invisible before it is looked for
	// live. Default 10s.
	DriverPodCreationGracePeriod metav1.Duration `json:"driverPodCreationGracePeriod,omitzero"`
	// Timeouts for applications that set none. Default: none.
	Timeouts Timeouts `json:"timeouts,omitzero"`
	// KubernetesMaster is spark.kubernetes.driver.master's value: the API server as the drivers reach it. Default
	// "k8s://https://kubernetes.default.svc".
	KubernetesMaster string `json:"kubernetesMaster,omitempty"`
	// Authenticate sets spark.authenticate and RPC encryption for applications that do not say otherwise. Connect servers have both in any case, and
	// applications of spark.apache.org have the first. Default false.
	Authenticate bool `json:"authenticate,omitempty"`
}

// Timeouts bound the phases of an application, in seconds; 0 means no bound.
type Timeouts struct {
	// DriverStartSeconds from the submission until the driver container runs.
	DriverStartSeconds int64 `json:"driverStartSeconds,omitempty"`
	// DriverReadySeconds until the driver pod is Ready.
	DriverReadySeconds int64 `json:"driverReadySeconds,omitempty"`
	// ExecutorsStartSeconds until the initial executors run.
	ExecutorsStartSeconds int64 `json:"executorsStartSeconds,omitempty"`
	// RunSeconds from the submission until the end.
	RunSeconds int64 `json:"runSeconds,omitempty"`
}

// String is the configuration as one line of JSON, without a password in an address.
func (c Configuration) String() string {
	c.Application.KubernetesMaster = conf.HideAddresses(c.Application.KubernetesMaster)
	if endpoint, err := url.Parse(c.Tracing.Endpoint); err == nil {
		c.Tracing.Endpoint = endpoint.Redacted()
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err.Error() // none of its types fails
	}
	return string(text)
}

// WatchesAll reports whether all namespaces are watched, whichever of them are served: the ones that are may change.
func (c *Configuration) WatchesAll() bool {
	return len(c.Namespaces.Names) == 0 || c.Namespaces.Selector != "" || c.DynamicConfig.Enabled
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
	if c.LeaderElection.Enabled == nil {
		c.LeaderElection.Enabled = new(true)
	}
	setDefault(&c.LeaderElection.LeaseName, "spark-operator-controller-lock")
	setDefault(&c.LeaderElection.LeaseDuration.Duration, 15*time.Second)
	setDefault(&c.LeaderElection.RenewDeadline.Duration, 10*time.Second)
	setDefault(&c.LeaderElection.RetryPeriod.Duration, 2*time.Second)
	c.Metrics.applyDefaults()
	c.Tracing.applyDefaults()
	setDefault(&c.Health.BindAddress, ":8081")
	setDefault(&c.Pprof.BindAddress, Off)
	setDefault(&c.Logging.Level, "info")
	setDefault(&c.Logging.Format, "json")
	setDefault(&c.Controller.Workers, 16)
	setDefault(&c.Controller.CacheSyncTimeout.Duration, 2*time.Minute)
	setDefault(&c.Controller.ShutdownTimeout.Duration, 20*time.Second)
	if c.Application.MaxTrackedExecutorPerApp == nil {
		c.Application.MaxTrackedExecutorPerApp = new(int32(1000))
	}
	setDefault(&c.Application.DriverPodCreationGracePeriod.Duration, 10*time.Second)
	setDefault(&c.Submission.Mode, SubmissionAuto)
	c.UI.applyDefaults()
	c.ScheduledApplications.applyDefaults()
	c.Connect.applyDefaults()
	c.SparkOperator.applyDefaults()
	c.Apache.applyDefaults()
	c.DynamicConfig.applyDefaults(c.Apache.OperatorName)
	setDefault(&c.Application.KubernetesMaster, "k8s://https://kubernetes.default.svc")
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
