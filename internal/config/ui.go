package config

// UI says how drivers' web UIs are reached.
type UI struct {
	// Service gives every driver that serves a web UI a Service of its own. Default true.
	Service *bool `json:"service,omitempty"`
}

func (u *UI) applyDefaults() {
	if u.Service == nil {
		u.Service = new(true)
	}
}
