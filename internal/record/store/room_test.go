package store

import "testing"

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
