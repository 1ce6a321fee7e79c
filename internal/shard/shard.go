// Package shard lets several replicas of the operator work at the same time, each on a part of the objects, and never two on one.
//
// Objects are dealt to a fixed number of shards by a hash of their namespace and name (Of). Whose a shard is, a Lease says, which lives in the API server
// (Lease, Store). Each replica has a session, a Lease that it renews; what it holds is its own for as long as that lasts, so that the cost of renewals
// does not grow with the number of shards. Who is to have which shard follows from who is alive and who has what now (assign). One more Lease, that of the
// leader election, says that there are shards at all and how many: it keeps replicas of another configuration from acting beside these.
//
// Clocks of different machines are never compared. A session is over for others when they have not seen it change for the whole of its duration, by their
// own clock; for its owner it is over before that, since it counts from before it asked for the renewal, and a shorter time. docs/decisions/0015-sharding.md
// says why that is enough, and what it is not enough for.
package shard

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"
)

// MaxShards bounds the number of shards: each is a Lease that every replica lists again and again.
const MaxShards = 256

// Options say how a replica shares the work with others. All replicas must have the same Set and Shards; with others they wait for each other.
type Options struct {
	// Set is the name of the leader election's Lease, with which the names of all others begin.
	Set string
	// Name of this replica, such as its pod's, for people who read the Leases. It need not be unique.
	Name string
	// Shards that there are, at least 1 and at most MaxShards.
	Shards int
	// LeaseDuration is for how long others leave a session alone after they saw it renewed. It takes so long to take over from a replica that was killed.
	LeaseDuration time.Duration
	// RenewDeadline is for how long a replica acts after it began the last renewal that succeeded; shorter than LeaseDuration.
	RenewDeadline time.Duration
	// RetryPeriod lies between two renewals, and between two looks at the Leases.
	RetryPeriod time.Duration
}

// ErrOver is why a pass was ended, or a request not sent: the replica's right to act has ended meanwhile.
var ErrOver = errors.New("the right to act on this object is over: the replica's lease was not renewed in time")

// Of returns the shard of an object. The name is a part of it, since a cluster may have all its applications in one namespace. All versions of the operator
// must agree about it.
func Of(namespace, name string, shards int) int {
	return int(hash(namespace, name) % uint64(shards))
}

// hash mixes words, which may not hold a zero byte. The last step spreads what the last bytes change over all bits, which FNV alone does not.
func hash(words ...string) uint64 {
	h := fnv.New64a()
	for _, word := range words {
		_, _ = h.Write([]byte(word))
		_, _ = h.Write([]byte{0})
	}
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (o Options) shardName(shard int) string { return fmt.Sprintf("%s-shard-%d", o.Set, shard) }

func (o Options) sessionName(slot int) string { return fmt.Sprintf("%s-member-%d", o.Set, slot) }

// layout is what the leader election's Lease says while there are shards. It is nobody's name: all replicas hold it together.
func (o Options) layout() string { return fmt.Sprintf("%d shards", o.Shards) }

// LeaseNames are the names of all Leases that a replica may write, for roles that name them.
func (o Options) LeaseNames() []string {
	names := []string{o.Set}
	for i := range o.Shards {
		names = append(names, o.shardName(i), o.sessionName(i))
	}
	return names
}
