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

// SparkOperator says whether the API sparkoperator.k8s.io is served.
type SparkOperator struct {
	// Enabled serves SparkApplications of sparkoperator.k8s.io/v1beta2, and with them its schedules and its Connect servers, unless those are switched
	// off themselves. Without it none is looked at, and a driver that runs goes on. Default true.
	Enabled *bool `json:"enabled,omitempty"`
}

// Apache says whether the API spark.apache.org is served, and how.
type Apache struct {
	// Enabled serves SparkApplications of spark.apache.org, and its SparkClusters unless those are switched off themselves. It needs rights on them;
	// their definitions may be installed later. Without it none is looked at, and a driver that runs goes on. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// Clusters says whether standalone clusters are kept.
	Clusters ApacheClusters `json:"clusters,omitzero"`
	// OperatorName is the value of the label spark.operator/name of all that is made for a custom resource. Default "spark-kubernetes-operator".
	OperatorName string `json:"operatorName,omitempty"`
	// LabelSelector over the labels of custom resources, in the syntax of kubectl's --selector. One that it does not select is left alone: nothing of it
	// is written, not even its status. What is selected follows the labels at once. Default: all.
	LabelSelector string `json:"labelSelector,omitempty"`
	// TrimHistory leaves only the current attempt's states in status.stateTransitionHistory; those of the attempt before go into
	// status.previousAttemptSummary. Default true.
	TrimHistory *bool `json:"trimHistory,omitempty"`
	// MissingDriverGracePeriod is how long a driver pod that was just created may be invisible before it is looked for live. Default 10s.
	MissingDriverGracePeriod metav1.Duration `json:"missingDriverGracePeriod,omitzero"`
	// Sentinels are custom resources with the label spark.operator/sentinel=true, by which the operator is probed.
	Sentinels Sentinels `json:"sentinels,omitzero"`
	// Metrics serves the operator's metrics at a second address as well. Default: it does not.
	Metrics ApacheMetrics `json:"metrics,omitzero"`
	// Health serves /healthz and /readyz at a second address as well, with the answers that probes of that API's operator expect. Default: it does not.
	Health ApacheHealth `json:"health,omitzero"`
	// PropertiesFile is a file of that operator's properties (spark-operator.properties), which win over this file. Default: none.
	PropertiesFile string `json:"propertiesFile,omitempty"`
}

// Values of ApacheClusters.MasterClients.
const (
	MasterClientsDrivers   = "Drivers"
	MasterClientsNamespace = "Namespace"
	MasterClientsAnyone    = "Anyone"
)

// ApacheClusters says whether standalone clusters are kept (SparkCluster of spark.apache.org).
type ApacheClusters struct {
	// Enabled needs rights on sparkclusters and StatefulSets. Without it none is looked at, and what runs goes on. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// MasterStartTimeout is how long a master may take to be ready, from when all objects of its cluster are made, before the cluster has failed; and how
	// long an edited cluster may take until the next of its pods is of the edit, before that is told. Default 10m.
	MasterStartTimeout metav1.Duration `json:"masterStartTimeout,omitzero"`
	// MasterClients may send applications to a cluster's master: Drivers (pods of the namespace with the label spark-role=driver), Namespace (all of its
	// pods), or Anyone. The first two are held by a NetworkPolicy, which has an effect where the cluster's network enforces it. Default Drivers.
	MasterClients string `json:"masterClients,omitempty"`
	// Domain is what the names of Services end with in the Kubernetes cluster: workers look up each other by them. Default "cluster.local".
	Domain string `json:"domain,omitempty"`
}

// Sentinels say whether the operator probes itself. A sentinel is never launched, whatever is said here.
type Sentinels struct {
	// Enabled writes to the sentinels of the namespaces that are served, and tells by /healthz whether that reaches the operator again. It has an effect
	// only where there are sentinels. Default false.
	Enabled bool `json:"enabled,omitempty"`
	// Delay lies between two probes, and is how long a write may take to come back. Default 60s.
	Delay metav1.Duration `json:"delay,omitzero"`
	// Namespace of the sentinels that are written to. Those of other namespaces are never launched either, and nobody's health depends on them.
	// Default: that of the operator (identity.namespace), and without one every namespace that is served.
	Namespace string `json:"namespace,omitempty"`
}

// ApacheMetrics is a second address of the metrics.
type ApacheMetrics struct {
	// BindAddress as host:port. Default "0": off.
	BindAddress string `json:"bindAddress,omitempty"`
	// Path at which they are served. Default /prometheus.
	Path string `json:"path,omitempty"`
}

// ApacheHealth is a second address of the probes.
type ApacheHealth struct {
	// BindAddress as host:port. Default "0": off.
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
		errs = append(errs, field.Invalid(path.Child("enabled"), false, "with sparkOperator.enabled false as well there is nothing to do"))
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

// NotPath says what IsPath asks for.
const NotPath = "must begin with /, and have no blanks and no braces"

// IsPath reports whether something can be served at a path: blanks and braces mean more than themselves to Go's http.ServeMux, which ends the process where it
// cannot make sense of them.
func IsPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.ContainsAny(path, " \t\r\n{}")
}
