package executors

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// MaxRanges is the maximum number of ranges in a stored IDSet, which limits its text to about 10 kB. Usually the
// executors of an application form one range, because Spark numbers them from 1. The numbers have a gap if the API
// server rejected an executor's pod.
const MaxRanges = 500

// maxID is larger than every executor number. ParseIDs ignores numbers above it: another client may have written them
// into the status, and arithmetic on them could overflow.
const maxID = 1 << 40

// An IDSet is a set of executor numbers. It consists of ranges in ascending order, with a gap between any two of them.
type IDSet []idRange

type idRange struct{ from, to int64 } // both inclusive

// ParseIDs parses a text that String returned. It ignores parts that String never returns: text that is not a range of
// numbers, ranges out of order, numbers above maxID, and ranges after the first MaxRanges.
func ParseIDs(text string) IDSet {
	var set IDSet
	for part := range strings.SplitSeq(text, ",") {
		if len(set) == MaxRanges {
			break
		}

		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}

		from, err1 := strconv.ParseInt(first, 10, 64)

		to, err2 := strconv.ParseInt(last, 10, 64)
		if err1 != nil || err2 != nil || from < 0 || to < from || to > maxID || len(set) > 0 && from <= set[len(set)-1].to+1 {
			continue
		}

		set = append(set, idRange{from, to})
	}
	return set
}

// String returns the set as text in the form "1-40,42".
func (s IDSet) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = strconv.FormatInt(r.from, 10)
		if r.to > r.from {
			parts[i] += "-" + strconv.FormatInt(r.to, 10)
		}
	}
	return strings.Join(parts, ",")
}

// find returns the index of the first range whose end is at least id, and reports whether this range contains id. If no
// range ends at id or above, the index is the number of ranges.
func (s IDSet) find(id int64) (at int, in bool) {
	at, _ = slices.BinarySearchFunc(s, id, func(r idRange, id int64) int { return cmp.Compare(r.to, id) })
	return at, at < len(s) && s[at].from <= id
}

// Has reports whether id is in the set.
func (s IDSet) Has(id int64) bool {
	_, in := s.find(id)
	return in
}

// Add adds id to the set. It returns false if the set already contains id.
func (s *IDSet) Add(id int64) bool {
	at, in := s.find(id)
	if in {
		return false
	}

	set := *s

	joins, leads := at > 0 && set[at-1].to == id-1, at < len(set) && set[at].from == id+1
	switch {
	case joins && leads:
		set[at-1].to = set[at].to
		set = slices.Delete(set, at, at+1)
	case joins:
		set[at-1].to = id
	case leads:
		set[at].from = id
	default:
		set = slices.Insert(set, at, idRange{id, id})
	}

	*s = set
	return true
}

// Len returns the number of elements.
func (s IDSet) Len() (n int64) {
	for _, r := range s {
		n += r.to - r.from + 1
	}
	return n
}

// Max returns the largest element of a set that is not empty.
func (s IDSet) Max() int64 { return s[len(s)-1].to }

// Closed returns the set with at most limit ranges. If there are more, it merges the lowest ranges into one, which then
// contains the numbers in the gaps too. This is harmless: an executor with such a low number would have been observed
// long ago if it existed.
func (s IDSet) Closed(limit int) IDSet {
	if over := len(s) - limit; over > 0 {
		s[over].from = s[0].from
		s = s[over:]
	}
	return s
}

// Cut returns the set with at most limit ranges. It drops the ranges with the highest numbers.
func (s IDSet) Cut(limit int) IDSet { return s[:min(len(s), limit)] }
