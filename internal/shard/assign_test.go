package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOf(t *testing.T) {
	// Another version of the operator must come to the same: these change never.
	for _, test := range []struct {
		namespace, name string
		shards, want    int
	}{
		{"default", "spark-pi", 24, 23}, {"default", "spark-pi-1", 24, 19}, {"a", "bc", 24, 23}, {"ab", "c", 24, 8}, {"default", "spark-pi", 1, 0},
	} {
		if got := Of(test.namespace, test.name, test.shards); got != test.want {
			t.Errorf("%s/%s of %d: %d, want %d", test.namespace, test.name, test.shards, got, test.want)
		}
	}
}

// TestOfSpreads: names as people and schedules give them fill all shards alike.
func TestOfSpreads(t *testing.T) {
	const shards, each = 24, 1000
	for _, form := range []string{"spark-pi-%d", "etl-17637%05d", "run-%d-driver"} {
		count := make([]int, shards)
		for i := range shards * each {
			count[Of("jobs", fmt.Sprintf(form, i), shards)]++
		}
		if low, high := slices.Min(count), slices.Max(count); low < each*85/100 || high > each*115/100 {
			t.Errorf("%s: between %d and %d a shard, want about %d", form, low, high, each)
		}
	}
}

func TestAssign(t *testing.T) {
	for _, test := range []struct {
		name             string
		holders, members []string
		want             map[string]int // how many each is to have
		moved            int            // shards that one who lives holds and is to give up
	}{
		{"nobody lives", []string{"a", "", "b"}, nil, map[string]int{"": 3}, 0},
		{"one has all", []string{"", "", ""}, []string{"a"}, map[string]int{"a": 3}, 0},
		{"even", make([]string, 6), []string{"a", "b", "c"}, map[string]int{"a": 2, "b": 2, "c": 2}, 0},
		{"the second comes", []string{"a", "a", "a", "a"}, []string{"a", "b"}, map[string]int{"a": 2, "b": 2}, 2},
		{"the third comes", []string{"a", "a", "a", "b", "b", "b"}, []string{"a", "b", "c"}, map[string]int{"a": 2, "b": 2, "c": 2}, 2},
		{"one dies", []string{"a", "a", "b", "b", "c", "c"}, []string{"a", "b"}, map[string]int{"a": 3, "b": 3}, 0},
		{"who has one more keeps it", []string{"a", "b", "b"}, []string{"a", "b"}, map[string]int{"a": 1, "b": 2}, 0},
		{"more replicas than shards", []string{"c", ""}, []string{"a", "b", "c"}, nil, 0},
	} {
		wanted := assign(test.holders, test.members)
		count, moved := map[string]int{}, 0
		for shard, member := range wanted {
			count[member]++
			if slices.Contains(test.members, test.holders[shard]) && test.holders[shard] != member {
				moved++
			}
		}
		if test.want != nil {
			if diff := cmp.Diff(test.want, count); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
		if moved != test.moved {
			t.Errorf("%s: %d moved, want %d", test.name, moved, test.moved)
		}
	}
}

// TestAssignProperties: over random histories every part is as large as the others but for one shard, nobody gives up a shard but to come down to its part,
// what was wanted once is wanted still when it is so, and the order of the members does not matter.
func TestAssignProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 4))
	for range 3000 {
		holders := make([]string, 1+random.IntN(40))
		members := []string{}
		for i := range 1 + random.IntN(8) {
			members = append(members, fmt.Sprintf("replica-%d-%d", i, random.IntN(1000)))
		}
		for shard := range holders {
			switch pick := random.IntN(len(members) + 2); {
			case pick < len(members):
				holders[shard] = members[pick]
			case pick == len(members):
				holders[shard] = "one that is dead"
			}
		}
		wanted := assign(holders, members)
		low := len(holders) / len(members)
		for _, member := range members {
			part, had, kept := 0, 0, 0
			for shard := range wanted {
				if wanted[shard] == member {
					part++
				}
				if holders[shard] == member {
					had++
					if wanted[shard] == member {
						kept++
					}
				}
			}
			if part < low || part > low+1 {
				t.Fatalf("%v of %v: %s is to have %d of %d", holders, members, member, part, len(holders))
			}
			if kept != min(had, part) {
				t.Fatalf("%v of %v: %s had %d, is to have %d and keeps %d", holders, members, member, had, part, kept)
			}
		}
		if again := assign(wanted, members); !slices.Equal(again, wanted) {
			t.Fatalf("%v does not stay: %v", wanted, again)
		}
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		if again := assign(holders, members); !slices.Equal(again, wanted) {
			t.Fatalf("the order of %v matters: %v and %v", members, wanted, again)
		}
	}
}
