package store

import (
	"strings"
	"testing"
)

// TestDropOldest checks that the files of an attempt never displace those of a later attempt.
func TestDropOldest(t *testing.T) {
	for current, want := range map[int32]int{1: 6, 2: 4, 3: 2} {
		data := map[string][]byte{}
		for number := int32(1); number <= 3; number++ {
			data[dataKey(number, DriverFile)], data[dataKey(number, IndexFile)] = make([]byte, MaxConfigMap*3/4), nil
		}

		if dropOldest(data, current); len(data) != want {
			t.Errorf("for attempt %d, %d entries are left, want %d", current, len(data), want)
		}
	}
}

// TestIndexIsBounded checks that an index is not decoded whose entries would take many times the memory of its text.
// Tenants can write the ConfigMaps that have indexes.
func TestIndexIsBounded(t *testing.T) {
	a := Attempt{Namespace: "jobs", Name: "pi", UID: "u", Number: 1}
	index := func(entries int) []byte {
		return []byte(`{"uid":"u","attempt":1,"executors":[` + strings.Repeat("{},", entries) + "{}]}")
	}

	if x, err := decode(index(999), a); err != nil || len(x.Executors) != 1000 {
		t.Errorf("an index of as many executors as the settings allow: %v", err)
	}

	if _, err := decode(index(100_000), a); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("an index of 100,000 executors: %v", err)
	}
}
