package shard

import (
	"cmp"
	"slices"
	"strconv"
)

// assign says which member each shard is to have, by who lives and who holds what now ("" or one that does not live: nobody). Every two parts differ by one
// shard at most, and no shard changes its holder that need not for that: each keeps what it holds up to its part, and the rest is dealt by rendezvous
// hashing among those who have room. Without members nobody has any.
//
// It is a function of what all replicas see alike. Where they do not for a moment, two may want the same shard; the Lease decides.
func assign(holders, members []string) []string {
	wanted := make([]string, len(holders))
	parts := partsOf(holders, members)
	for _, member := range members {
		for _, shard := range heldBy(holders, member)[:min(parts[member], len(heldBy(holders, member)))] {
			wanted[shard] = member
			parts[member]--
		}
	}
	for shard := range wanted {
		if wanted[shard] != "" {
			continue
		}
		best := ""
		for _, member := range members {
			if parts[member] > 0 && (best == "" || before(member, best, shard)) {
				best = member
			}
		}
		wanted[shard] = best
		parts[best]--
	}
	return wanted
}

// partsOf is how many shards each is to have. Where it does not come out even, those have one more who hold most already.
func partsOf(holders, members []string) map[string]int {
	order := slices.Clone(members)
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(heldBy(holders, b)), len(heldBy(holders, a))), cmp.Compare(hash(a), hash(b)), cmp.Compare(a, b))
	})
	parts := map[string]int{}
	for i, member := range order {
		parts[member] = len(holders) / len(members)
		if i < len(holders)%len(members) {
			parts[member]++
		}
	}
	return parts
}

// heldBy are the shards of a member, those first that it is to keep.
func heldBy(holders []string, member string) (held []int) {
	for shard, holder := range holders {
		if holder == member {
			held = append(held, shard)
		}
	}
	slices.SortFunc(held, func(a, b int) int {
		return cmp.Or(cmp.Compare(score(member, b), score(member, a)), cmp.Compare(a, b))
	})
	return held
}

func score(member string, shard int) uint64 { return hash(member, strconv.Itoa(shard)) }

// before reports whether rendezvous hashing prefers one member to another.
func before(a, b string, shard int) bool {
	return cmp.Or(cmp.Compare(score(b, shard), score(a, shard)), cmp.Compare(a, b)) < 0
}
