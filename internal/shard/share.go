package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// view is the Leases as one list had them, with what was written since.
type view struct {
	slots  []Lease // by number; those that do not exist have no Version
	shards []Lease
}

func (v *view) freeSlot() *Lease {
	for i := range v.slots {
		if v.slots[i].Holder == "" {
			return &v.slots[i]
		}
	}
	return nil
}

// look lists the Leases, and notes who was seen to do something.
func (m *Member) look(ctx context.Context) (*view, error) {
	ctx, cancel := m.asks(ctx)
	defer cancel()
	list, err := m.store.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	byName := map[string]Lease{}
	for _, lease := range list {
		byName[lease.Name] = lease
	}
	v := &view{}
	for i := range m.options.Shards {
		for _, one := range []struct {
			name string
			to   *[]Lease
		}{{m.options.sessionName(i), &v.slots}, {m.options.shardName(i), &v.shards}} {
			lease := byName[one.name]
			lease.Name = one.name
			*one.to = append(*one.to, lease)
		}
	}
	m.see(v, time.Now())
	return v, nil
}

// see notes when each holder was last seen to do something. One that is only named by a shard is given its time from when it was first read of.
func (m *Member) see(v *view, now time.Time) {
	sights := map[string]sight{}
	for _, lease := range v.slots {
		if was := m.sights[lease.Holder]; was.version == lease.Version {
			sights[lease.Holder] = was
		} else {
			sights[lease.Holder] = sight{version: lease.Version, at: now, duration: lease.Duration}
		}
	}
	for _, lease := range v.shards {
		if _, known := sights[lease.Holder]; known {
			continue
		}
		was, known := m.sights[lease.Holder]
		if !known {
			was = sight{at: now, duration: lease.Duration}
		}
		sights[lease.Holder] = was
	}
	delete(sights, "")
	m.sights = sights
}

// quiet reports whether a holder does not act any more: nobody has seen it do anything for so long that it knows itself, or it was this replica in a
// term whose passes are over.
func (m *Member) quiet(holder string) bool {
	for _, t := range m.past {
		if t.holder == holder {
			return t.idle() && !t.lasts()
		}
	}
	is, known := m.sights[holder]
	return known && time.Since(is.at) >= is.duration
}

// bury ends the sessions of those that are quiet. A session that was renewed after all is not ended: the write would be over another version. From then on
// its holder cannot renew it.
func (m *Member) bury(ctx context.Context, v *view) {
	for i := range v.slots {
		is := &v.slots[i]
		if is.Holder == "" || is.Holder == m.session.Holder || !m.quiet(is.Holder) {
			continue
		}
		stored, err := m.put(ctx, Lease{Name: is.Name, Version: is.Version})
		if err != nil {
			m.tell(ctx, err, "the session of a replica that is gone cannot be ended")
			continue
		}
		m.log.Info("ended the session of a replica that does not renew it", "session", is.Name, "holder", is.Holder)
		*is = stored
	}
}

// members are those who have a session.
func (v *view) members() (members []string) {
	for _, lease := range v.slots {
		if lease.Holder != "" {
			members = append(members, lease.Holder)
		}
	}
	return members
}

// share takes what is free and to be ours, and gives up what is to be another's.
func (m *Member) share(ctx context.Context, v *view) {
	members := v.members()
	if !slices.Contains(members, m.session.Holder) {
		return // ended meanwhile; the next renewal finds out
	}
	m.reconsider(v)
	holders := make([]string, len(v.shards))
	for shard, lease := range v.shards {
		holders[shard] = lease.Holder
	}
	wanted := assign(holders, members)
	begun := time.Now()
	var gained []int
	for shard, lease := range v.shards {
		if time.Since(begun) >= m.options.RetryPeriod {
			m.wake() // the rest is for the next round, which begins at once: the session comes first
			break
		}
		free := lease.Holder == "" || !slices.Contains(members, lease.Holder) && m.quiet(lease.Holder)
		switch {
		case lease.Holder == m.session.Holder && (wanted[shard] != m.session.Holder || m.leaves(shard)):
			m.release(ctx, shard)
		case wanted[shard] == m.session.Holder && free:
			if m.take(ctx, lease, shard) {
				gained = append(gained, shard)
			}
		}
	}
	m.past = slices.DeleteFunc(m.past, func(t *term) bool {
		return !slices.Contains(members, t.holder) && !slices.Contains(holders, t.holder)
	})
	if len(gained) > 0 {
		m.log.Info("acts on more shards", "shards", gained, "of", len(v.shards), "replicas", len(members))
	}
	m.notify(gained)
}

// reconsider brings what we take to be ours to what the Leases say: one that was written although the answer was lost is ours, and one that somebody else
// has is not.
func (m *Member) reconsider(v *view) {
	var changed []int
	m.mu.Lock()
	for shard, lease := range v.shards {
		switch own := m.owned[shard]; {
		case own != nil && lease.Holder == m.session.Holder:
			own.version = lease.Version
		case own == nil && lease.Holder == m.session.Holder:
			m.own(shard, lease.Version)
			changed = append(changed, shard)
		case own != nil:
			delete(m.owned, shard)
			changed = append(changed, shard)
		}
	}
	m.mu.Unlock()
	m.notify(changed)
}

// own notes that a shard is ours from now on; m.mu is held.
func (m *Member) own(shard int, version string) {
	m.tenures++
	m.owned[shard] = &part{tenure: m.tenures, version: version}
}

// take writes our name into a shard's Lease. It is ours if nobody was first and the term goes on.
func (m *Member) take(ctx context.Context, lease Lease, shard int) bool {
	if !m.acts() {
		return false
	}
	stored, err := m.put(ctx, Lease{Name: lease.Name, Version: lease.Version, Holder: m.session.Holder})
	if err != nil {
		m.tell(ctx, err, "a shard cannot be taken")
		return false
	}
	if !m.acts() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own(shard, stored.Version)
	return true
}

// leaves reports whether a shard is on its way out: what has begun to be given up is given up, whatever is wanted since.
func (m *Member) leaves(shard int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.owned[shard]
	return own != nil && own.leaving
}

// release gives a shard up: first no pass begins any more, and when none is in flight the Lease says so.
func (m *Member) release(ctx context.Context, shard int) {
	m.mu.Lock()
	own := m.owned[shard]
	if own == nil {
		m.mu.Unlock()
		return
	}
	began := !own.leaving
	own.leaving = true
	idle, version := own.passes == 0, own.version
	m.mu.Unlock()
	if began {
		m.notify([]int{shard})
	}
	if !idle {
		return
	}
	if _, err := m.put(ctx, Lease{Name: m.options.shardName(shard), Version: version}); err != nil {
		m.tell(ctx, err, "a shard cannot be given up")
		return
	}
	m.mu.Lock()
	delete(m.owned, shard)
	m.mu.Unlock()
	m.log.Info("gave up a shard", "shard", shard)
}

// leave gives up everything, and then the session, renewing that meanwhile. What cannot be given up others take when the session is over.
func (m *Member) leave(ctx context.Context) {
	for m.acts() {
		m.mu.Lock()
		left := slices.Sorted(maps.Keys(m.owned))
		m.mu.Unlock()
		for _, shard := range left {
			m.release(ctx, shard)
		}
		if m.Owned() == 0 || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-m.kick:
		case <-time.After(m.options.RetryPeriod):
		}
		if err := m.renew(ctx); err != nil {
			m.tell(ctx, err, "the session cannot be renewed")
		}
	}
	if !m.acts() {
		return
	}
	idle := m.Owned() == 0
	m.term.stop()
	if !idle {
		return // passes are in flight still, or leases could not be written: the session is left to end by itself
	}
	ended := m.session
	ended.Holder = ""
	if _, err := m.put(ctx, ended); err != nil {
		m.tell(ctx, err, "the session cannot be ended")
	}
}
