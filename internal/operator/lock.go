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

// stopAsked reports whether somebody asked the operator to end. Where it ends and nobody did, it has lost its lease.
func (op *Operator) stopAsked() bool {
	until := op.until.Load()
	return until != nil && (*until).Err() != nil
}

// lock is the leader election's, and knows until when the lease is this replica's. The elector tells of a lease that is lost by ending the manager: too late
// where the process was stopped, and not at all to a pass where the manager is ending already.
type lock struct {
	resourcelock.Interface
	term time.Duration // leaderElection.renewDeadline: the elector gives up then, or later
	lead lease.Lead
}

// newLock makes the lock of an operator that has a leader; else nil. It is of use once it was connected.
func newLock(cfg config.Configuration) *lock {
	if !*cfg.LeaderElection.Enabled {
		return nil
	}
	return &lock{term: cfg.LeaderElection.RenewDeadline.Duration}
}

// connect makes what the lock stands before: what the manager would make for itself. It writes a timeout and a name into its configuration, which are for it alone.
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

// Get implements resourcelock.Interface. The elector asks where a renewal failed: what another has is not this replica's, whatever the clocks say, which may have
// stood still with the machine.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.lead.End()
	}
	return record, raw, err
}

// write notes the term of a lease that was renewed, from before it was asked for: the others count from after that. One that is released is over at once.
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

// terms are the leader's; nil without a leader.
func (l *lock) terms() *lease.Lead {
	if l == nil {
		return nil
	}
	return &l.lead
}
