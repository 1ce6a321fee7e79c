package fence

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock is the lock of the leader election. It also records until when this replica holds the lease, so that passes can
// end in time. The elector alone is not enough, because its only reaction to a lost lease is to stop the manager. That
// happens too late if the process was suspended, and does not end the passes if the manager is already stopping.
type Lock struct {
	resourcelock.Interface
	Term time.Duration // leaderElection.renewDeadline; the elector does not give up before this time
	Lead Leadership
	// read is the holder according to the last read or write of the lease that succeeded. Only the elector's goroutine
	// uses it.
	read string
	// BeforeRelease is called before this replica gives its lease up, while its term still lasts; nil if there is
	// nothing to do.
	BeforeRelease func()
	released      atomic.Bool // this replica has given its lease up
}

// errNotHolder is the error of a release of a lease that another replica holds.
var errNotHolder = errors.New("another replica holds the lease, so it is not released")

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(Unfenced(ctx), record) })
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Update(Unfenced(ctx), record) })
}

// Get implements resourcelock.Interface. The elector calls Get after a failed renewal. If another replica holds the
// lease, Get ends this replica's term at once and does not wait for the computed end of the term, because this
// machine's clock may have stopped for a time.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(Unfenced(ctx))
	if err == nil {
		if l.read = record.HolderIdentity; l.read != l.Identity() {
			l.Lead.End()
		}
	}
	return record, raw, err
}

// write calls the function send to write the lease. If this write renews the lease, it extends the term of this
// replica. The extension is measured from before the request. The other replicas measure from the time when they see
// the renewal, which is later, so this replica's term ends first. If the write releases the lease, the term ends before
// the request.
//
// The elector releases the lease when it gives up. It reads the lease first, but then compares the holder that it
// observed before. After a long stop of the process, the read shows the next leader, and the release would take the
// lease from it. Therefore write refuses a release unless the last read showed this replica as the holder. If another
// replica writes the lease after that read, the API server refuses the release, because it has the version of the read.
func (l *Lock) write(record resourcelock.LeaderElectionRecord, send func() error) error {
	if record.HolderIdentity != l.Identity() {
		if l.read != l.Identity() {
			l.Lead.End()
			return errNotHolder
		}

		if l.BeforeRelease != nil {
			l.BeforeRelease()
		}

		l.released.Store(true)

		l.Lead.End()
		return send()
	}

	begun := time.Now()

	err := send()
	if err == nil {
		l.read = record.HolderIdentity
		l.Lead.Extend(begun.Add(l.Term))
	}
	return err
}

// RecordEvent implements resourcelock.Interface. The elector reports the end of its leadership after the term, when no
// Event may leave any more; the log and the lease itself show it.
func (l *Lock) RecordEvent(text string) {
	if l.Lead.Leads() {
		l.Interface.RecordEvent(text)
	}
}
