package cluster

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// counts holds the numbers of ready pods by role.
type counts struct{ masters, workers int32 }

// ready reports whether a pod takes part in the cluster: it is Ready, runs, and is not being deleted.
func ready(m *lifecycle.Member) bool {
	return m.Ready && m.Phase == lifecycle.DriverRunning && !m.Deleting
}

func (s *step) count() (c counts) {
	for i := range s.seen.Members {
		switch m := &s.seen.Members[i]; {
		case !ready(m):
		case m.Role == lifecycle.Master:
			c.masters++
		case m.Role == lifecycle.Worker:
			c.workers++
		}
	}
	return c
}

// gated reports whether scheduling gates of a queue block the master. If they no longer do, the time limit for the
// master's start counts from the time at which the master was assigned to a node.
func (s *step) gated() bool {
	begun := s.now
	for i := range s.seen.Members {
		m := &s.seen.Members[i]
		switch {
		case m.Role != lifecycle.Master:
		case m.Gated:
			return true
		case !m.ScheduledAt.IsZero() && m.ScheduledAt.Before(begun):
			begun = m.ScheduledAt
		}
	}

	if s.m.Cause.Reason == lifecycle.ReasonSchedulingGated && begun.After(s.m.Begun) {
		s.m.Begun = begun
	}
	return false
}

// outdatedPod reports whether a pod was created from another spec than the current spec of its role.
func (s *step) outdatedPod(m *lifecycle.Member) bool {
	return !s.m.Adopted && s.want.Invalid == nil && s.want.Hold == nil && m.Generation != s.want.Made[m.Role]
}

// outdated reports whether a cluster whose rollout was complete has pods that were created from another spec than the
// current one. This happens without an edit if another version of the operator renders other StatefulSets.
func (s *step) outdated() bool {
	if s.m.Rolling() || !s.objects.Stand {
		return false
	}

	for i := range s.seen.Members {
		if m := &s.seen.Members[i]; !m.Deleting && s.outdatedPod(m) {
			return true
		}
	}
	return false
}

// current reports whether the pods of the cluster are complete and up to date. All must have been created from the
// current spec, a master and enough workers must be ready, and the number of workers must be right.
func (s *step) current(c counts) bool {
	workers := int32(0)
	for i := range s.seen.Members {
		m := &s.seen.Members[i]
		if m.Deleting || s.outdatedPod(m) {
			return false
		}

		if m.Role == lifecycle.Worker {
			workers++
		}
	}
	return c.masters > 0 && c.workers >= s.want.Workers && (s.want.Scales || workers == s.want.Workers)
}

// shortage describes what a cluster lacks. The zero value means that it lacks nothing.
type shortage struct {
	cause     lifecycle.Cause
	pod       string
	explained bool // whether a pod gives the reason
}

// part returns the object for which the operator reports the shortage. If a pod explains the shortage, these are the
// pods of the cluster. Otherwise it is the whole cluster.
func (l shortage) part() lifecycle.Part {
	if l.pod != "" {
		return lifecycle.Members
	}
	return lifecycle.Application
}

// shortage returns what the cluster lacks according to its pods. If it lacks a master and workers, the result is about
// the master, because workers are useless without a master.
func (s *step) shortage(c counts) shortage {
	switch {
	case c.masters == 0:
		return s.withPodReason(lifecycle.Master, lifecycle.Cause{Reason: ReasonMasterNotReady, Message: "the master is not ready"})
	case c.workers < s.want.Workers:
		return s.withPodReason(lifecycle.Worker, lifecycle.Cause{Reason: ReasonWorkersNotReady,
			Message: fmt.Sprintf("%d of %d workers are ready", c.workers, s.want.Workers)})
	}
	return shortage{}
}

// withPodReason returns a shortage with the wait reason of a pod that has the given role. If no such pod has a wait
// reason, the shortage has the given cause. If there is no such pod at all, the message names that fact, because
// something prevents the StatefulSet from creating pods.
func (s *step) withPodReason(role lifecycle.Role, cause lifecycle.Cause) shortage {
	there := false
	for i := range s.seen.Members {
		m := &s.seen.Members[i]
		if m.Role != role {
			continue
		}

		there = true

		if left := lifecycle.GateGrace(m.Why, m.CreatedAt, s.now); left > 0 {
			s.requeueAfter(left)
			continue
		}

		if !ready(m) && m.Why.Reason != "" {
			return shortage{pod: m.Name, explained: true, cause: lifecycle.Cause{Reason: m.Why.Reason, Message: cause.Message + ": pod " + m.Name + ": " + m.Why.Message}}
		}
	}

	if !there {
		cause.Message += fmt.Sprintf("; the StatefulSet of the %s has no pod yet; if it stays without a pod, its events show why", role)
	}
	return shortage{cause: cause}
}
