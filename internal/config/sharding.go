package config

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxShards bounds Sharding.Shards as internal/shard does: each is a Lease that every replica lists.
const maxShards = 256

// Sharding lets several replicas work at the same time, each on a part of the custom resources (docs/decisions/0015-sharding.md). The Leases are in the
// leader election's namespace, and their names begin with the leader election's name. All replicas must be told the same number of shards; those with
// another number, and those that elect a leader, wait until none of these is left.
type Sharding struct {
	// Enabled takes the place of the leader election, which is not held then. Needs rights on more Leases. Default false.
	Enabled bool `json:"enabled,omitempty"`
	// Shards into which the custom resources are dealt, by a hash of namespace and name; a replica has whole ones. Default 24, at most 256. More of them
	// than replicas by far make the parts even; more replicas than shards stand by.
	Shards int `json:"shards,omitempty"`
	// LeaseDuration is how long the others wait after the last renewal that they saw, before they take over. Default 10s.
	LeaseDuration metav1.Duration `json:"leaseDuration,omitzero"`
	// RenewDeadline is how long a replica acts after it began the last renewal that succeeded. Default 6s; shorter than LeaseDuration by at least a tenth of that.
	RenewDeadline metav1.Duration `json:"renewDeadline,omitzero"`
	// RetryPeriod lies between two renewals. Default 1s; at most a quarter of RenewDeadline.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitzero"`
}

func (s *Sharding) applyDefaults() {
	setDefault(&s.Shards, 24)
	setDefault(&s.LeaseDuration.Duration, 10*time.Second)
	setDefault(&s.RenewDeadline.Duration, 6*time.Second)
	setDefault(&s.RetryPeriod.Duration, time.Second)
}

func validateSharding(c *Configuration) (errs field.ErrorList) {
	path, s := field.NewPath("sharding"), &c.Sharding
	if s.Shards < 1 || s.Shards > maxShards {
		errs = append(errs, field.Invalid(path.Child("shards"), s.Shards, fmt.Sprintf("must be between 1 and %d", maxShards)))
	}
	errs = append(errs, positive(path.Child("leaseDuration"), s.LeaseDuration)...)
	errs = append(errs, positive(path.Child("renewDeadline"), s.RenewDeadline)...)
	errs = append(errs, positive(path.Child("retryPeriod"), s.RetryPeriod)...)
	// Clocks run at almost the same rate, and a write that was sent in time takes a while to be carried out.
	if s.RenewDeadline.Duration > s.LeaseDuration.Duration-s.LeaseDuration.Duration/10 {
		errs = append(errs, field.Invalid(path.Child("renewDeadline"), s.RenewDeadline.Duration.String(),
			"must be shorter than leaseDuration by at least a tenth of that, or a replica could act after another took over"))
	}
	if 4*s.RetryPeriod.Duration > s.RenewDeadline.Duration {
		errs = append(errs, field.Invalid(path.Child("retryPeriod"), s.RetryPeriod.Duration.String(), "must be at most a quarter of renewDeadline"))
	}
	if s.LeaseDuration.Duration%time.Second != 0 {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), s.LeaseDuration.Duration.String(), "must be whole seconds, as a Lease has them"))
	}
	if s.Enabled && len(c.LeaderElection.LeaseName) > validation.LabelValueMaxLength {
		errs = append(errs, field.TooLong(field.NewPath("leaderElection", "leaseName"), c.LeaderElection.LeaseName, validation.LabelValueMaxLength))
	}
	return errs
}
