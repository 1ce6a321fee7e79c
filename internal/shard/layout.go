package shard

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// layout is what is known of the leader election's Lease. While it says that there are so many shards, and is renewed by any of those who agree, no leader
// is elected and no replica of another number of shards acts. Nobody gives it up: it ends when nobody has renewed it for its duration.
type layout struct {
	ours   bool
	seen   Lease     // as it was last
	looked time.Time // when the look, or the write, began that found it so last
	// since is a time at which, or after which, it was renewed: others will leave it alone for its duration from then on.
	since time.Time
	at    time.Time // when it was first seen to be so
	keeps bool      // this replica was the last to renew it, and is likely the one to do it next
}

// uphold sees to it that the layout is ours and renewed. Replicas take turns only when the one that does it goes: the others see that it is done, by a read.
func (m *Member) uphold(ctx context.Context) error {
	if m.layout.keeps && m.layout.ours {
		if err := m.affirm(ctx); !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return m.readLayout(ctx)
}

// affirm takes or renews it, over the version that was seen last.
func (m *Member) affirm(ctx context.Context) error {
	begun := time.Now()
	stored, err := m.put(ctx, Lease{Name: m.options.Set, Version: m.layout.seen.Version, Holder: m.options.layout()})
	if err != nil {
		m.layout.keeps = false
		return err
	}
	m.layout = layout{ours: true, seen: stored, looked: begun, since: begun, at: time.Now(), keeps: true}
	return nil
}

func (m *Member) readLayout(ctx context.Context) error {
	begun := time.Now()
	limited, cancel := m.asks(ctx)
	defer cancel()
	is, err := m.store.Get(limited, m.options.Set)
	if err != nil {
		return fmt.Errorf("read lease %s: %w", m.options.Set, err)
	}
	was := m.layout
	m.layout.looked = begun
	if is.Version != was.seen.Version {
		m.layout.seen, m.layout.at = is, time.Now()
		// It was renewed after the look before this one began, which still found it as it was.
		m.layout.ours = was.ours && is.Holder == m.options.layout()
		if m.layout.ours && time.Since(was.looked) < m.options.RenewDeadline/2 {
			m.layout.since = was.looked
			return nil
		}
	}
	free := is.Holder == "" || is.Holder == m.options.layout() || time.Since(m.layout.at) >= is.Duration
	if !free {
		if is.Holder != was.seen.Holder {
			m.log.Info("waiting: another replica leads alone, or has another number of shards", "lease", is.Name, "holder", is.Holder)
		}
		return nil
	}
	return m.affirm(ctx)
}
