package config

import (
	"slices"
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

func (s *SparkOperator) applyDefaults() {
	if s.Enabled == nil {
		s.Enabled = new(true)
	}
}

func (a *Apache) applyDefaults() {
	for _, on := range []**bool{&a.Enabled, &a.Clusters.Enabled, &a.TrimHistory} {
		if *on == nil {
			*on = new(true)
		}
	}

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

	for _, problem := range validation.IsValidLabelValue(a.OperatorName) {
		errs = append(errs, field.Invalid(path.Child("operatorName"), a.OperatorName, problem))
	}

	if _, err := labels.Parse(a.LabelSelector); err != nil {
		errs = append(errs, field.Invalid(path.Child("labelSelector"), a.LabelSelector, err.Error()))
	}

	for _, problem := range validation.IsDNS1123Subdomain(a.Clusters.Domain) {
		errs = append(errs, field.Invalid(path.Child("clusters", "domain"), a.Clusters.Domain, problem))
	}

	if clients := []string{MasterClientsDrivers, MasterClientsNamespace, MasterClientsAnyone}; !slices.Contains(clients, a.Clusters.MasterClients) {
		errs = append(errs, field.NotSupported(path.Child("clusters", "masterClients"), a.Clusters.MasterClients, clients))
	}

	errs = append(errs, positive(path.Child("clusters", "masterStartTimeout"), a.Clusters.MasterStartTimeout)...)
	errs = append(errs, positive(path.Child("missingDriverGracePeriod"), a.MissingDriverGracePeriod)...)

	errs = append(errs, positive(path.Child("sentinels", "delay"), a.Sentinels.Delay)...)
	if p := a.Metrics.Path; !IsPath(p) {
		errs = append(errs, field.Invalid(path.Child("metrics", "path"), p, NotPath))
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
