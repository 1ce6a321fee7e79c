package dialect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// MaxRanges bounds an IDSet as it is stored, to some 10 kB. Spark numbers executors from 1 on, so what was seen is mostly one range; a number is
// left out where the API server refused the pod.
const MaxRanges = 500

// MaxID is beyond every number there is: it keeps arithmetic with what somebody else wrote from running over.
const MaxID = 1 << 40

// An IDSet is a set of executor numbers, as ranges that neither meet nor overlap, lowest first.
type IDSet []idRange

type idRange struct{ from, to int64 } // both are in it

// ParseIDs reads what String wrote. What is no range of natural numbers is left out, and so is what does not come in order, and more than MaxRanges: it
// is not ours.
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
		if err1 != nil || err2 != nil || from < 0 || to < from || to > MaxID || len(set) > 0 && from <= set[len(set)-1].to+1 {
			continue
		}
		set = append(set, idRange{from, to})
	}
	return set
}

// String is the set as "1-40,42".
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

// find returns the first range that ends at id or behind it, and whether id is in it.
func (s IDSet) find(id int64) (at int, in bool) {
	at, _ = slices.BinarySearchFunc(s, id, func(r idRange, id int64) int { return cmp.Compare(r.to, id) })
	return at, at < len(s) && s[at].from <= id
}

// Has reports whether id is in the set.
func (s IDSet) Has(id int64) bool {
	_, in := s.find(id)
	return in
}

// Add puts id into the set and reports whether it was not there.
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

// len is how many are in the set.
func (s IDSet) len() (n int64) {
	for _, r := range s {
		n += r.to - r.from + 1
	}
	return n
}

// closed is the set with at most limit ranges: the lowest gaps are closed, since what was not seen for so long never was.
func (s IDSet) closed(limit int) IDSet {
	if over := len(s) - limit; over > 0 {
		s[over].from = s[0].from
		s = s[over:]
	}
	return s
}

// Cut is the set with at most limit ranges: the highest are left out.
func (s IDSet) Cut(limit int) IDSet { return s[:min(len(s), limit)] }
