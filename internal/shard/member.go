package shard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
)

// Member is one replica among those that share the work. Run makes it one; the other methods may be called at any time, from anywhere. All methods of a nil
// Member say that everything is this replica's, which is so where the work is not shared.
type Member struct {
	options Options
	store   Store
	log     logr.Logger
	kick    chan struct{} // a shard that is to be given up has no pass in flight any more

	mu      sync.Mutex // guards what follows
	term    *term      // nil before the first
	owned   map[int]*part
	tenures uint64
	changed []func(shards []int)

	// What follows is Run's alone.
	session Lease // ours, as it was written last
	past    []*term
	layout  layout
	sights  map[string]sight // of holders
	told    string           // what was logged last of what fails
}

// part is a shard that is ours.
type part struct {
	tenure  uint64
	version string // of its Lease
	leaving bool   // no pass begins any more
	passes  int    // in flight
}

// sight is when a holder was last seen to do something, by this replica's clock, and for how long it is left alone after that.
type sight struct {
	version  string
	at       time.Time
	duration time.Duration
}

// NewMember makes a member, which owns nothing before Run.
func NewMember(options Options, store Store, log logr.Logger) *Member {
	return &Member{
		options: options, store: store, log: log, kick: make(chan struct{}, 1),
		owned: map[int]*part{}, sights: map[string]sight{},
	}
}

// OnChange has a function called with the shards that came or went, each time after it is so. It may be called from several goroutines, and must not wait
// for long: what it keeps waiting is the renewal.
func (m *Member) OnChange(changed func(shards []int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = append(m.changed, changed)
}

// Shard is the shard of an object.
func (m *Member) Shard(key types.NamespacedName) int {
	return Of(key.Namespace, key.Name, m.options.Shards)
}

// Begin asks for the right to make a pass over an object. Where that is given, the pass must keep to the context, which ends with the right, and call done
// when it has sent its last request. The tenure tells apart the times for which this replica has had the object's shard: what it remembers from an earlier
// one, others may have changed.
func (m *Member) Begin(ctx context.Context, key types.NamespacedName) (_ context.Context, tenure uint64, done func(), given bool) {
	if m == nil {
		return ctx, 0, func() {}, true
	}
	m.mu.Lock()
	term, own := m.term, m.owned[m.Shard(key)]
	m.mu.Unlock()
	if term == nil || own == nil || !term.lasts() { // which takes the lock where it does not
		return ctx, 0, func() {}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owned[m.Shard(key)] != own || own.leaving {
		return ctx, 0, func() {}, false
	}
	own.passes++
	term.add(1)
	ctx, cancel := term.under(ctx)
	return ctx, own.tenure, sync.OnceFunc(func() {
		cancel()
		term.add(-1)
		m.ended(own)
	}), true
}

// ended notes that a pass is over.
func (m *Member) ended(own *part) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own.passes--
	if own.leaving && own.passes == 0 {
		m.wake()
	}
}

func (m *Member) wake() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// Owns reports whether an object is this replica's now. It is no right to act: that is Begin's to give.
func (m *Member) Owns(key types.NamespacedName) bool {
	if m == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.owned[m.Shard(key)]
	return own != nil && !own.leaving
}

// Owned is the number of shards that are this replica's now.
func (m *Member) Owned() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.owned)
}

// Run takes part until ctx ends, and then gives everything up: at once what has no pass in flight, and what has not within the grace. Nothing that goes
// wrong ends it before.
func (m *Member) Run(ctx context.Context, grace time.Duration) {
	for ctx.Err() == nil {
		m.round(ctx)
		select {
		case <-ctx.Done():
		case <-m.kick:
		case <-time.After(m.options.RetryPeriod):
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	m.leave(ctx)
}

// round is one look at the Leases and what follows from it. Its order matters: the session is renewed before anything else may take time, and nothing is
// taken that the renewal does not cover.
func (m *Member) round(ctx context.Context) {
	if err := m.renew(ctx); err != nil {
		m.tell(ctx, err, "the session cannot be renewed")
		return
	}
	view, err := m.look(ctx)
	if err != nil {
		m.tell(ctx, err, "the leases cannot be listed")
		return
	}
	if err := m.join(ctx, view); err != nil {
		m.tell(ctx, err, "no session can be begun")
		return
	}
	if !m.acts() {
		return
	}
	m.told = ""
	m.bury(ctx, view)
	m.share(ctx, view)
}

// tell logs what failed, once for as long as it fails the same way: a replica that waits for others does so every RetryPeriod. Another that was first is
// no failure.
func (m *Member) tell(ctx context.Context, err error, what string) {
	if ctx.Err() != nil || errors.Is(err, ErrChanged) {
		return
	}
	if now := what + ": " + err.Error(); now != m.told {
		m.told = now
		m.log.Info(what+"; trying again", "error", err.Error())
	}
}

// acts reports whether there is a term that goes on.
func (m *Member) acts() bool {
	m.mu.Lock()
	t := m.term
	m.mu.Unlock()
	return t != nil && t.lasts()
}

// asks bounds one request: an answer that comes later is of no use.
func (m *Member) asks(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, m.options.RenewDeadline/3)
}

func (m *Member) put(ctx context.Context, lease Lease) (Lease, error) {
	ctx, cancel := m.asks(ctx)
	defer cancel()
	lease.Duration = m.options.LeaseDuration
	stored, err := m.store.Put(ctx, lease)
	if err != nil {
		return Lease{}, fmt.Errorf("write lease %s: %w", lease.Name, err)
	}
	return stored, nil
}

// renew makes the term longer, where there is one, by a write to the session and by what is known of the layout. A session that somebody else wrote to is
// over: that is how others end one that they take to be dead.
func (m *Member) renew(ctx context.Context) error {
	if !m.acts() {
		return nil
	}
	begun := time.Now()
	stored, err := m.put(ctx, m.session)
	switch {
	case errors.Is(err, ErrChanged):
		m.log.Info("the session was ended by another replica, which took this one for dead; beginning anew")
		m.term.stop()
		return nil
	case err != nil:
		return err // the term has time left, or ends by itself
	}
	m.session = stored
	err = m.uphold(ctx)
	m.extend(begun)
	return err
}

// extend makes the term last as long as both the session, which was renewed by a write that was begun at a time, and the layout allow.
func (m *Member) extend(begun time.Time) {
	base := begun
	if m.layout.since.Before(base) {
		base = m.layout.since
	}
	m.term.until(base.Add(m.options.RenewDeadline))
}

// join begins a session and with it a term, where there is none: in the first slot that nobody has, once there is the layout.
func (m *Member) join(ctx context.Context, view *view) error {
	if m.acts() {
		return nil
	}
	if err := m.uphold(ctx); err != nil || !m.layout.ours {
		return err
	}
	slot := view.freeSlot()
	if slot == nil {
		return errors.New("there are as many replicas as shards; waiting for one to end")
	}
	holder := m.options.Name + "_" + rand.Text()
	begun := time.Now()
	stored, err := m.put(ctx, Lease{Name: slot.Name, Version: slot.Version, Holder: holder})
	if err != nil {
		return err
	}
	*slot = stored
	m.session = stored
	t := newTerm(holder, m.lapsed)
	m.mu.Lock()
	if m.term != nil {
		m.past = append(m.past, m.term)
	}
	m.term = t
	clear(m.owned) // what was noted when the term before was over already is not this one's
	m.mu.Unlock()
	m.extend(begun)
	m.sights[holder] = sight{version: stored.Version, at: time.Now(), duration: stored.Duration}
	m.log.Info("takes part", "session", stored.Name, "holder", holder)
	return nil
}

// lapsed drops all shards of a term that is over.
func (m *Member) lapsed(t *term) {
	m.mu.Lock()
	if m.term != t {
		m.mu.Unlock()
		return
	}
	var lost []int
	for shard := range m.owned {
		lost = append(lost, shard)
	}
	clear(m.owned)
	m.mu.Unlock()
	if len(lost) == 0 {
		return
	}
	slices.Sort(lost)
	m.log.Info("this replica acts on no shard any more, and its passes are ended: its session was not renewed in time", "shards", lost)
	m.notify(lost)
}

func (m *Member) notify(shards []int) {
	m.mu.Lock()
	changed := slices.Clone(m.changed)
	m.mu.Unlock()
	if len(shards) == 0 {
		return
	}
	for _, tell := range changed {
		tell(shards)
	}
}
