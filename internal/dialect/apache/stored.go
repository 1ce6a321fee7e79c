package apache

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// MaxMessage is the maximum length of a state's message, in bytes. The message of the current state is also in the
// conditions, where it is not cut.
const MaxMessage = 1024

// Timestamp returns a time in the format of this API: RFC 3339 in UTC, always with microseconds.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// ParseTimestamp parses a time in the format of Timestamp or in Java's format. The result is in UTC and truncated to
// microseconds, the precision that Timestamp writes. If the text is not a time, the result is the zero time.
func ParseTimestamp(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// KeyOf returns the number in the key of a history's entry, or -1 if the key is not a number.
func KeyOf(key string) int64 {
	n, err := strconv.ParseInt(key, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// KeysOf returns the keys of a history in the order of its states. It skips keys that are not numbers, which no
// operator writes.
func KeysOf[S any](history map[string]S) []string {
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(history)), func(key string) bool { return KeyOf(key) < 0 })
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(KeyOf(a), KeyOf(b)), cmp.Compare(a, b)) // "07" and "7" are different keys of one number
	})
	return keys
}

// NextEntry returns the key and the time of a state that follows those of a history. Numbers continue across attempts,
// whose histories may be apart. The time is never before the time of the last state, even if different machines, whose
// clocks differ, wrote the two states.
func NextEntry[S any](at time.Time, last string, histories ...map[string]S) (key, timestamp string) {
	next := int64(0)
	for _, history := range histories {
		for key := range history {
			next = max(next, KeyOf(key)+1)
		}
	}

	if before := ParseTimestamp(last); before.After(at) {
		at = before
	}
	return strconv.FormatInt(next, 10), Timestamp(at)
}

// DropOldest removes the oldest states of a history that has more than the given number. It returns the keys of the
// others in order.
func DropOldest[S any](history map[string]S, most int) []string {
	keys := KeysOf(history)
	for len(keys) > most {
		delete(history, keys[0])
		keys = keys[1:]
	}
	return keys
}
