package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Values of Connect.NetworkPolicy.
const (
	PolicyAnywhere  = "Anywhere"
	PolicyNamespace = "Namespace"
	PolicyNone      = "None"
)

// Connect says whether Spark Connect servers are kept (SparkConnect of sparkoperator.k8s.io/v1alpha1).
type Connect struct {
	// Enabled needs rights on sparkconnects; their definition may be installed later. Without it none is looked at, and a server that runs goes on.
	// Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// NetworkPolicy says from where clients reach a server: Anywhere, or Namespace (pods of its namespace alone). Either way its ports for executors are
	// closed to everybody else. None makes no NetworkPolicy. It has an effect where the cluster's network enforces it. Default Anywhere.
	NetworkPolicy string `json:"networkPolicy,omitempty"`
}

func (c *Connect) applyDefaults() {
	if c.Enabled == nil {
		c.Enabled = new(true)
	}
	setDefault(&c.NetworkPolicy, PolicyAnywhere)
}

func validateConnect(c *Configuration) (errs field.ErrorList) {
	if known := []string{PolicyAnywhere, PolicyNamespace, PolicyNone}; !slices.Contains(known, c.Connect.NetworkPolicy) {
		errs = append(errs, field.NotSupported(field.NewPath("connect", "networkPolicy"), c.Connect.NetworkPolicy, known))
	}
	return errs
}
