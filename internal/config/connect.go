package config

// Connect says whether Spark Connect servers are kept (SparkConnect of sparkoperator.k8s.io/v1alpha1).
type Connect struct {
	// Enabled needs rights on sparkconnects; their definition may be installed later. Without it none is looked at, and a server that runs goes on.
	// Default true.
	Enabled *bool `json:"enabled,omitempty"`
}

func (c *Connect) applyDefaults() {
	if c.Enabled == nil {
		c.Enabled = new(true)
	}
}
