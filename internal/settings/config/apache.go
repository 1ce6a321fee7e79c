package config

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SparkOperator configures the API sparkoperator.k8s.io.
type SparkOperator struct {
	// Enabled serves SparkApplications of sparkoperator.k8s.io/v1beta2, and also the schedules and Connect servers of
	// this API unless their own switches are off. If false, the operator ignores all of them, and running drivers
	// continue. Default true.
	Enabled *bool `json:"enabled,omitempty"`
}

// Apache configures the API spark.apache.org.
type Apache struct {
	// Enabled serves SparkApplications of spark.apache.org, and SparkClusters unless their own switch is off. The
	// operator needs rights on both; their definitions may be installed later. If false, the operator ignores them, and
	// running drivers continue. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// Clusters configures standalone clusters.
	Clusters ApacheClusters `json:"clusters,omitzero"`
	// OperatorName is the value of the label spark.operator/name on all objects that the operator creates for a custom
	// resource. Default "spark-kubernetes-operator".
	OperatorName string `json:"operatorName,omitempty"`
	// LabelSelector selects custom resources by their labels, in the syntax of kubectl's --selector. The operator
	// ignores all other custom resources and does not even write their status. Changed labels take effect at once.
	// Default: all.
	LabelSelector string `json:"labelSelector,omitempty"`
	// TrimHistory keeps only the states of the current attempt in status.stateTransitionHistory. The states of the
	// previous attempt move to status.previousAttemptSummary. Default true.
	TrimHistory *bool `json:"trimHistory,omitempty"`
	// MissingDriverGracePeriod is how long a new driver pod may be missing from the cache before the operator reads the
	// pod from the API server. Default 10s.
	MissingDriverGracePeriod metav1.Duration `json:"missingDriverGracePeriod,omitzero"`
	// Events configures the Events about custom resources of this API.
	Events ApacheEvents `json:"events,omitzero"`
	// Sentinels are custom resources with the label spark.operator/sentinel=true, with which the operator probes
	// itself.
	Sentinels Sentinels `json:"sentinels,omitzero"`
	// Metrics serves the operator's metrics at a second address in addition. Default: off.
	Metrics ApacheMetrics `json:"metrics,omitzero"`
	// Health serves /healthz and /readyz at a second address in addition, with the answers that probes of the operator
	// of spark.apache.org expect. Default: off.
	Health ApacheHealth `json:"health,omitzero"`
	// PropertiesFile is the path of a properties file of the operator of spark.apache.org (spark-operator.properties).
	// Its properties take precedence over this file. Default: none.
	PropertiesFile string `json:"propertiesFile,omitempty"`
}

// These are the values of ApacheClusters.MasterClients.
const (
	MasterClientsDrivers   = "Drivers"
	MasterClientsNamespace = "Namespace"
	MasterClientsAnyone    = "Anyone"
)

// ApacheClusters configures standalone clusters (SparkCluster of spark.apache.org).
type ApacheClusters struct {
	// Enabled serves SparkClusters. The operator needs rights on sparkclusters and StatefulSets. If false, the operator
	// ignores SparkClusters, and running clusters continue. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// MasterStartTimeout is how long a master may take to become ready after all objects of its cluster were created.
	// After that time, the cluster fails. It is also how long an edited cluster may take until its next pod has the new
	// spec. After that time, the operator reports the delay. Default 10m.
	MasterStartTimeout metav1.Duration `json:"masterStartTimeout,omitzero"`
	// MasterClients determines which pods may send applications to a cluster's master: Drivers (pods of the namespace
	// with the label spark-role=driver), Namespace (all pods of the namespace), or Anyone. For Drivers and Namespace,
	// the operator creates a NetworkPolicy, which has an effect only if the Kubernetes cluster's network enforces it.
	// Default Drivers.
	MasterClients string `json:"masterClients,omitempty"`
	// Domain is the DNS domain of Services in the Kubernetes cluster. Workers find each other by names in this domain.
	// Default "cluster.local".
	Domain string `json:"domain,omitempty"`
}

// ApacheEvents configures the Events about SparkApplications and SparkClusters of spark.apache.org. It has no effect on
// the API sparkoperator.k8s.io.
type ApacheEvents struct {
	// Enabled writes Events. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// ExcludedReasons are regular expressions in the syntax of RE2. No Event is written whose whole reason matches one
	// of them. Default: none.
	ExcludedReasons []string `json:"excludedReasons,omitempty"`
	// MinInterval is the shortest time between two Events about one object that have the same reason and the same
	// message. 0 writes all of them. Default 5m.
	MinInterval *metav1.Duration `json:"minInterval,omitempty"`
}

// ReasonExpression compiles an expression of ApacheEvents.ExcludedReasons. The result matches only whole reasons.
func ReasonExpression(text string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(text); err != nil { // so that the group below cannot complete the expression
		return nil, err
	}
	return regexp.Compile(`\A(?:` + text + `)\z`)
}

// Sentinels configures how the operator probes itself with sentinels: custom resources with the label
// spark.operator/sentinel=true. The operator never launches Spark for a sentinel, even if the probes are switched off.
type Sentinels struct {
	// Enabled makes the operator write to the sentinels in the served namespaces, and report by /healthz whether it
	// receives these changes. It has no effect if there are no sentinels. Default false.
	Enabled bool `json:"enabled,omitempty"`
	// Delay is the time between two probes. It is also how long the operator may take to receive its own change.
	// Default 60s.
	Delay metav1.Duration `json:"delay,omitzero"`
	// Namespace is the namespace of the sentinels that the operator writes to. Sentinels in other namespaces do not
	// affect the operator's health, and no Spark is launched for them either. Default: the namespace of the operator
	// (identity.namespace); if that is not set, every served namespace.
	Namespace string `json:"namespace,omitempty"`
	// Namespaces are several such namespaces, instead of Namespace. Default: none.
	Namespaces []string `json:"namespaces,omitempty"`
}

// ApacheMetrics configures an additional address at which the operator serves the metrics.
type ApacheMetrics struct {
	// BindAddress is the address as host:port. Default "0": off.
	BindAddress string `json:"bindAddress,omitempty"`
	// Path is the HTTP path of the metrics. Default /prometheus.
	Path string `json:"path,omitempty"`
}

// ApacheHealth configures an additional address at which the operator serves the probes.
type ApacheHealth struct {
	// BindAddress is the address as host:port. Default "0": off.
	BindAddress string `json:"bindAddress,omitempty"`
}

// Applications reports whether SparkApplications of sparkoperator.k8s.io are served.
func (c *Configuration) Applications() bool { return *c.SparkOperator.Enabled }

// Schedules reports whether ScheduledSparkApplications are served.
func (c *Configuration) Schedules() bool { return c.Applications() && *c.ScheduledApplications.Enabled }

// ConnectServers reports whether SparkConnects are served.
func (c *Configuration) ConnectServers() bool { return c.Applications() && *c.Connect.Enabled }

// ApacheApplications reports whether SparkApplications of spark.apache.org are served.
func (c *Configuration) ApacheApplications() bool { return *c.Apache.Enabled }

// SparkClusters reports whether SparkClusters of spark.apache.org are served.
func (c *Configuration) SparkClusters() bool {
	return c.ApacheApplications() && *c.Apache.Clusters.Enabled
}

// SentinelNamespaces returns the namespaces of the sentinels that the operator writes to; none means every namespace.
func (c *Configuration) SentinelNamespaces() []string {
	if names := c.Apache.Sentinels.Namespaces; len(names) > 0 {
		return names
	}

	if name := cmp.Or(c.Apache.Sentinels.Namespace, c.Identity.Namespace); name != "" {
		return []string{name}
	}
	return nil
}

func (a *Apache) applyDefaults() {
	setDefault(&a.Enabled, new(true))
	setDefault(&a.Clusters.Enabled, new(true))
	setDefault(&a.TrimHistory, new(true))
	setDefault(&a.Events.Enabled, new(true))
	setDefault(&a.Events.MinInterval, &metav1.Duration{Duration: 5 * time.Minute})
	setDefault(&a.OperatorName, "spark-kubernetes-operator")
	setDefault(&a.Clusters.MasterStartTimeout.Duration, 10*time.Minute)
	setDefault(&a.Clusters.Domain, "cluster.local")
	setDefault(&a.Clusters.MasterClients, MasterClientsDrivers)
	setDefault(&a.MissingDriverGracePeriod.Duration, 10*time.Second)
	setDefault(&a.Sentinels.Delay.Duration, time.Minute)
	setDefault(&a.Metrics.BindAddress, Off)
	setDefault(&a.Metrics.Path, "/prometheus")
	setDefault(&a.Health.BindAddress, Off)
}

func validateApache(c *Configuration) (errs field.ErrorList) {
	path, a := field.NewPath("apache"), &c.Apache
	if !c.Applications() && !c.ApacheApplications() {
		errs = append(errs, field.Invalid(path.Child("enabled"), false, "sparkOperator.enabled is false as well, so nothing would be served; set one of the two to true"))
	}

	errs = append(errs, checked(path.Child("operatorName"), a.OperatorName, validation.IsValidLabelValue)...)

	if _, err := labels.Parse(a.LabelSelector); err != nil {
		errs = append(errs, field.Invalid(path.Child("labelSelector"), a.LabelSelector, err.Error()))
	}

	errs = append(errs, checked(path.Child("clusters", "domain"), a.Clusters.Domain, validation.IsDNS1123Subdomain)...)

	errs = append(errs, oneOf(path.Child("clusters", "masterClients"), a.Clusters.MasterClients, MasterClientsDrivers, MasterClientsNamespace, MasterClientsAnyone)...)

	errs = append(errs, positive(path.Child("clusters", "masterStartTimeout"), a.Clusters.MasterStartTimeout)...)
	errs = append(errs, positive(path.Child("missingDriverGracePeriod"), a.MissingDriverGracePeriod)...)

	errs = append(errs, positive(path.Child("sentinels", "delay"), a.Sentinels.Delay)...)
	errs = append(errs, a.Events.validate(path.Child("events"))...)

	if p := a.Metrics.Path; !IsPath(p) {
		errs = append(errs, field.Invalid(path.Child("metrics", "path"), p, NotPath))
	}
	return errs
}

func (e *ApacheEvents) validate(path *field.Path) (errs field.ErrorList) {
	for i, text := range e.ExcludedReasons {
		if _, err := ReasonExpression(text); err != nil {
			errs = append(errs, field.Invalid(path.Child("excludedReasons").Index(i), text, err.Error()))
		}
	}

	if d := e.MinInterval.Duration; d < 0 {
		errs = append(errs, field.Invalid(path.Child("minInterval"), d.String(), "must not be negative"))
	}
	return errs
}

// NotPath is the message for a path that IsPath rejects.
const NotPath = "must begin with /, and have no blanks and no braces"

// IsPath reports whether metrics can be served at a path. Blanks and braces have a special meaning for Go's
// http.ServeMux, which panics if it cannot parse them.
func IsPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.ContainsAny(path, " \t\r\n{}")
}
