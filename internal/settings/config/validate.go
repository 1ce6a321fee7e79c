package config

import (
	"fmt"
	"net"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
)

// Validate returns an error that lists all invalid fields by their paths. The caller must have set the defaults.
func (c *Configuration) Validate() error {
	rules := []func(*Configuration) field.ErrorList{
		validateVersion,
		validateIdentity,
		validateNamespaces,
		validateLeaderElection,
		validateAddresses,
		validateLogging,
		validateController,
		validateApplication,
		validateSubmission,
		validateConnect,
		validateIngress,
		validateRoute,
		validateBatchScheduler,
		validateScheduledApplications,
		validateApache,
		validateDynamicConfig,
		validateWebhook,
		validateMetrics,
		validateTracing,
		func(c *Configuration) field.ErrorList { return validatePrices(c.Prices) },
		func(c *Configuration) field.ErrorList {
			return platformdefaults.Validate(field.NewPath("defaults"), c.Defaults)
		},
		func(c *Configuration) field.ErrorList { return keptlogs.Validate(field.NewPath("logs"), c.Logs) },
	}

	var errs field.ErrorList
	for _, rule := range rules {
		errs = append(errs, rule(c)...)
	}

	errs = append(errs, c.Policy.Prepare(field.NewPath("policy"))...)
	return errs.ToAggregate()
}

func validateVersion(c *Configuration) (errs field.ErrorList) {
	errs = append(errs, oneOf(field.NewPath("apiVersion"), c.APIVersion, APIVersion)...)
	return append(errs, oneOf(field.NewPath("kind"), c.Kind, Kind)...)
}

func validateNamespaces(c *Configuration) (errs field.ErrorList) {
	path := field.NewPath("namespaces")
	switch selector, err := labels.Parse(c.Namespaces.Selector); {
	case err != nil:
		errs = append(errs, field.Invalid(path.Child("selector"), c.Namespaces.Selector, err.Error()))
	case selector.Empty() && c.Namespaces.Selector != "":
		errs = append(errs, field.Invalid(path.Child("selector"), c.Namespaces.Selector, "selects every namespace; leave it empty to serve only the namespaces in names, or every namespace if names is empty, too"))
	}

	for i, name := range c.Namespaces.Names {
		errs = append(errs, checked(path.Child("names").Index(i), name, validation.IsDNS1123Label)...)

		if slices.Contains(c.Namespaces.Names[:i], name) {
			errs = append(errs, field.Duplicate(path.Child("names").Index(i), name))
		}
	}
	return errs
}

func validateLeaderElection(c *Configuration) (errs field.ErrorList) {
	path, l := field.NewPath("leaderElection"), &c.LeaderElection
	errs = append(errs, checked(path.Child("leaseName"), l.LeaseName, validation.IsDNS1123Subdomain)...)

	errs = append(errs, optional(path.Child("namespace"), l.Namespace, validation.IsDNS1123Label)...)

	errs = append(errs, positive(path.Child("leaseDuration"), l.LeaseDuration)...)
	errs = append(errs, positive(path.Child("renewDeadline"), l.RenewDeadline)...)

	errs = append(errs, positive(path.Child("retryPeriod"), l.RetryPeriod)...)
	if l.RenewDeadline.Duration >= l.LeaseDuration.Duration {
		errs = append(errs, field.Invalid(path.Child("renewDeadline"), l.RenewDeadline.Duration.String(),
			"must be shorter than leaseDuration, or a leader could act after another replica took over"))
	}
	// client-go multiplies the period by a random factor of up to 1.2, and rejects a period that could exceed the
	// deadline.
	if float64(l.RetryPeriod.Duration)*1.2 >= float64(l.RenewDeadline.Duration) {
		errs = append(errs, field.Invalid(path.Child("retryPeriod"), l.RetryPeriod.Duration.String(),
			"must be shorter than renewDeadline / 1.2, because the period is jittered by up to 20 %"))
	}
	return errs
}

func validateAddresses(c *Configuration) (errs field.ErrorList) {
	type taken struct{ name, host string }

	used := map[string][]taken{} // by port
	for _, endpoint := range []struct{ name, address string }{
		{"metrics", c.Metrics.BindAddress}, {"health", c.Health.BindAddress}, {"pprof", c.Pprof.BindAddress},
		{"apache.metrics", c.Apache.Metrics.BindAddress}, {"apache.health", c.Apache.Health.BindAddress},
		{"webhook", c.Webhook.BindAddress},
	} {
		path := field.NewPath(endpoint.name).Child("bindAddress")
		if endpoint.address == Off {
			continue
		}

		if endpoint.name == "apache.metrics" && c.Metrics.Authentication {
			errs = append(errs, field.Forbidden(path, "these metrics are served without authentication, but metrics.authentication is true; set this address to 0 or metrics.authentication to false"))
		}

		host, port, err := net.SplitHostPort(endpoint.address)
		if err != nil {
			errs = append(errs, field.Invalid(path, endpoint.address, `must be host:port, :port, or "0" for off`))
			continue
		}

		if _, err := net.LookupPort("tcp", port); err != nil || port == "" {
			errs = append(errs, field.Invalid(path, endpoint.address, "must end in a port between 0 and 65535"))
			continue
		}

		if i := slices.IndexFunc(used[port], func(other taken) bool { return other.host == host || allHosts(other.host) || allHosts(host) }); i >= 0 && port != "0" {
			errs = append(errs, field.Invalid(path, endpoint.address, "its port is in use by "+used[port][i].name+".bindAddress; choose another port"))
		}

		used[port] = append(used[port], taken{endpoint.name, host})
	}
	return errs
}

// allHosts reports whether a bind address with this host accepts connections at every address of the pod.
func allHosts(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }

func validateLogging(c *Configuration) (errs field.ErrorList) {
	path := field.NewPath("logging")
	errs = append(errs, oneOf(path.Child("level"), c.Logging.Level, "debug", "info", "warn", "error")...)
	return append(errs, oneOf(path.Child("format"), c.Logging.Format, "json", "text")...)
}

// MaxWorkers limits the concurrent passes, because each pass uses a connection to the API server.
const MaxWorkers = 1024

func validateController(c *Configuration) (errs field.ErrorList) {
	path := field.NewPath("controller")
	if c.Controller.Workers < 1 || c.Controller.Workers > MaxWorkers {
		errs = append(errs, field.Invalid(path.Child("workers"), c.Controller.Workers, fmt.Sprintf("must be between 1 and %d", MaxWorkers)))
	}

	errs = append(errs, positive(path.Child("cacheSyncTimeout"), c.Controller.CacheSyncTimeout)...)
	return append(errs, positive(path.Child("shutdownTimeout"), c.Controller.ShutdownTimeout)...)
}

func validateApplication(c *Configuration) (errs field.ErrorList) {
	path, a := field.NewPath("application"), &c.Application
	errs = append(errs, notNegative(path.Child("maxTrackedExecutorPerApp"), int64(*a.MaxTrackedExecutorPerApp))...)
	errs = append(errs, notNegative(path.Child("defaultTimeToLiveSeconds"), a.DefaultTimeToLiveSeconds)...)
	errs = append(errs, positive(path.Child("driverPodCreationGracePeriod"), a.DriverPodCreationGracePeriod)...)
	timeouts := path.Child("timeouts")
	errs = append(errs, notNegative(timeouts.Child("driverStartSeconds"), a.Timeouts.DriverStartSeconds)...)
	errs = append(errs, notNegative(timeouts.Child("driverReadySeconds"), a.Timeouts.DriverReadySeconds)...)
	errs = append(errs, notNegative(timeouts.Child("executorsStartSeconds"), a.Timeouts.ExecutorsStartSeconds)...)

	errs = append(errs, notNegative(timeouts.Child("runSeconds"), a.Timeouts.RunSeconds)...)
	if !strings.HasPrefix(a.KubernetesMaster, "k8s://") {
		errs = append(errs, field.Invalid(path.Child("kubernetesMaster"), a.KubernetesMaster, `must begin with "k8s://"`))
	}
	return errs
}

func validateSubmission(c *Configuration) (errs field.ErrorList) {
	errs = append(errs, oneOf(field.NewPath("submission", "mode"), c.Submission.Mode, SubmissionAuto, SubmissionNative, SubmissionSparkSubmit)...)
	if c.Submission.Mode == SubmissionSparkSubmit && c.Submission.Effective() != SubmissionSparkSubmit {
		errs = append(errs, field.Invalid(field.NewPath("submission", "runners"), false, "submission.mode SparkSubmit needs runners; set it to true, or choose another mode"))
	}
	return append(errs, optional(field.NewPath("submission", "serviceAccount"), c.Submission.ServiceAccount, validation.IsDNS1123Subdomain)...)
}

// validateIdentity checks the names of the operator's namespace and service account. It rejects a service account
// without a namespace, because the account's name identifies the account only within a namespace.
func validateIdentity(c *Configuration) (errs field.ErrorList) {
	path, i := field.NewPath("identity"), &c.Identity

	errs = append(errs, optional(path.Child("serviceAccount"), i.ServiceAccount, validation.IsDNS1123Subdomain)...)
	errs = append(errs, optional(path.Child("namespace"), i.Namespace, validation.IsDNS1123Label)...)

	if i.ServiceAccount != "" && i.Namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), "set it to the namespace of identity.serviceAccount"))
	}
	return errs
}

// checked returns the problems that a check finds in a value.
func checked(path *field.Path, value string, check func(string) []string) (errs field.ErrorList) {
	for _, problem := range check(value) {
		errs = append(errs, field.Invalid(path, value, problem))
	}
	return errs
}

// optional does what checked does, unless the value is empty.
func optional(path *field.Path, value string, check func(string) []string) field.ErrorList {
	if value == "" {
		return nil
	}
	return checked(path, value, check)
}

func oneOf(path *field.Path, value string, accepted ...string) field.ErrorList {
	if slices.Contains(accepted, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, accepted)}
}

func positive(path *field.Path, d metav1.Duration) field.ErrorList {
	if d.Duration > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be more than 0")}
}

// MaxSeconds is the largest accepted number of seconds. It keeps seconds * time.Second within an int64 of nanoseconds.
const MaxSeconds = 100 * 365 * 24 * 3600

func notNegative(path *field.Path, value int64) field.ErrorList {
	if value < 0 {
		return field.ErrorList{field.Invalid(path, value, "must not be negative")}
	}

	if value > MaxSeconds {
		return field.ErrorList{field.Invalid(path, value, "must be at most 100 years")}
	}
	return nil
}
