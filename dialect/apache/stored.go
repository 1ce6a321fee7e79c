package apache

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// MaxMessage bounds a state's message, in bytes. Conditions have the whole of the last.
const MaxMessage = 1024

// Timestamp is a time as this API has it: RFC 3339 in UTC, always with fractions, in microseconds.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// ParseTimestamp reads a time of this API, also as Java writes it, as precisely as a status can hold it; zero where it is none.
func ParseTimestamp(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// KeyOf is the number of an entry of a history; -1 for a key that is none.
func KeyOf(key string) int64 {
	n, err := strconv.ParseInt(key, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// KeysOf are the keys of a history in the order of its states. What is no number was written by nobody who keeps a history, and is left alone.
func KeysOf[S any](history map[string]S) []string {
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(history)), func(key string) bool { return KeyOf(key) < 0 })
	slices.SortFunc(keys, func(a, b string) int { return int(min(max(KeyOf(a)-KeyOf(b), -1), 1)) })
	return keys
}

// CutMark ends a text that was longer.
const CutMark = "..."

// Cut is a text of at most limit bytes, and what tells that it was longer.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + CutMark
}

// BytesOf returns what was written for a field that is kept raw; nil if nothing was.
func BytesOf(raw *runtime.RawExtension) []byte {
	if raw == nil {
		return nil
	}
	return raw.Raw
}
