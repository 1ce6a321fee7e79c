package operator

import (
	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// stopAsked reports whether a shutdown was requested. If the operator stops although no shutdown was requested, it has
// lost its lease.
func (op *Operator) stopAsked() bool {
	until := op.until.Load()
	return until != nil && (*until).Err() != nil
}

// lock is the lock of the leader election.
type lock struct{ fence.Lock }

// newLock returns the lock of an operator, or nil if leader election is off. The lock can be used only after a call of
// connect.
func newLock(cfg config.Configuration) *lock {
	if !*cfg.LeaderElection.Enabled {
		return nil
	}
	return &lock{fence.Lock{Term: cfg.LeaderElection.RenewDeadline.Duration}}
}

// connect creates the underlying lock as the manager would create it. The creation changes the configuration that it
// gets (a timeout and a name), so connect passes a copy of rc.
func (l *lock) connect(rc *rest.Config, events recorder.Provider, election config.LeaderElection) (err error) {
	if l == nil {
		return nil
	}

	l.Interface, err = leaderelection.NewResourceLock(rest.CopyConfig(rc), events, leaderelection.Options{
		LeaderElection: true, LeaderElectionNamespace: election.Namespace, LeaderElectionID: election.LeaseName, RenewDeadline: l.Term,
	})
	return err
}

// managerLog returns the manager's log. Without leader election, it is the argument.
func (l *lock) managerLog(log logr.Logger) logr.Logger {
	if l == nil {
		return log
	}
	return l.ManagerLog(log)
}

// terms returns the terms in which this replica leads, or nil if leader election is off.
func (l *lock) terms() *fence.Leadership {
	if l == nil {
		return nil
	}
	return &l.Lead
}
