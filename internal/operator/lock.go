package operator

import (
	"context"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/lease"
)

// stopAsked reports whether a shutdown was requested. If the operator stops without a request, it has lost its lease.
func (op *Operator) stopAsked() bool {
	until := op.until.Load()
	return until != nil && (*until).Err() != nil
}

// lock is the lock of the leader election. It also records until when the lease is this replica's. The elector reports
// a lost lease only by stopping the manager. That is too late if the process was suspended, and never reaches a pass if
// the manager is stopping already.
type lock struct {
	resourcelock.Interface
	term time.Duration // leaderElection.renewDeadline: the elector gives up then, or later
	lead lease.Leadership
}

// newLock returns the lock of an operator with leader election, and nil otherwise. It can be used after connect.
func newLock(cfg config.Configuration) *lock {
	if !*cfg.LeaderElection.Enabled {
		return nil
	}
	return &lock{term: cfg.LeaderElection.RenewDeadline.Duration}
}

// connect creates the underlying lock as the manager would do it. It uses a copy of rc, since the lock writes a timeout
// and a name into its configuration.
func (l *lock) connect(rc *rest.Config, events recorder.Provider, election config.LeaderElection) (err error) {
	if l == nil {
		return nil
	}
	l.Interface, err = leaderelection.NewResourceLock(rest.CopyConfig(rc), events, leaderelection.Options{
		LeaderElection: true, LeaderElectionNamespace: election.Namespace, LeaderElectionID: election.LeaseName, RenewDeadline: l.term,
	})
	return err
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Update(ctx, record) })
}

// Get implements resourcelock.Interface. The elector calls it after a failed renewal. A lease that another replica
// holds is not this replica's, whatever the clocks say, which may have stood still with the machine.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.lead.End()
	}
	return record, raw, err
}

// write records the term of a renewed lease. The term counts from before the request, since the other replicas count
// from after it. A released lease ends its term at once.
func (l *lock) write(record resourcelock.LeaderElectionRecord, send func() error) error {
	if record.HolderIdentity != l.Identity() {
		l.lead.End()
		return send()
	}
	begun := time.Now()
	err := send()
	if err == nil {
		l.lead.Extend(begun.Add(l.term))
	}
	return err
}

// terms returns the terms of the leader; nil without leader election.
func (l *lock) terms() *lease.Leadership {
	if l == nil {
		return nil
	}
	return &l.lead
}
