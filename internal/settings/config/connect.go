package config

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// These are the values of Connect.NetworkPolicy.
const (
	PolicyAnywhere  = "Anywhere"
	PolicyNamespace = "Namespace"
	PolicyNone      = "None"
)

// Connect configures Spark Connect servers (SparkConnect of sparkoperator.k8s.io/v1alpha1).
type Connect struct {
	// Enabled serves SparkConnects. The operator needs rights on sparkconnects; their definition may be installed
	// later. If false, the operator ignores SparkConnects, and running servers continue. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// NetworkPolicy determines from where clients may reach a server: Anywhere, or Namespace (only from pods of the
	// server's namespace). In both cases only executors may reach the server's ports for executors. None creates no
	// NetworkPolicy. A policy has an effect only if the cluster's network enforces it. Default Anywhere.
	NetworkPolicy string `json:"networkPolicy,omitempty"`
}

func (c *Connect) applyDefaults() {
	setDefault(&c.Enabled, new(true))
	setDefault(&c.NetworkPolicy, PolicyAnywhere)
}

func validateConnect(c *Configuration) field.ErrorList {
	return oneOf(field.NewPath("connect", "networkPolicy"), c.Connect.NetworkPolicy, PolicyAnywhere, PolicyNamespace, PolicyNone)
}
