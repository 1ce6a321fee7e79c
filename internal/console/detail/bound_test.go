package detail

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestMemoryIsBounded fills a memory. It drops what was not used for the longest time, also if one value alone has more
// than its size.
func TestMemoryIsBounded(t *testing.T) {
	var m memory

	at := func(i int) version { return version{user: "ann", uid: types.UID(fmt.Sprint(i))} }

	const size = maxRemembered / 4
	for i := range 4 {
		m.remember(at(i), i, size)
	}

	if value, known := recall[int](&m, at(0)); !known || value != 0 {
		t.Errorf("the first value is %d, %t", value, known)
	}

	m.remember(at(3), 3, size) // replaces itself
	m.remember(at(4), 4, size)

	for i, want := range []bool{true, false, true, true, true} {
		if _, known := recall[int](&m, at(i)); known != want {
			t.Errorf("value %d is known: %t, want %t", i, known, want)
		}
	}

	if _, known := recall[int](&m, version{user: "bob", uid: "0"}); known {
		t.Error("another user receives the value")
	}

	m.remember(at(5), 5, maxRemembered+1)

	if len(m.entries) != 0 || m.size != 0 {
		t.Errorf("%d entries with %d bytes remain after a value that is too large", len(m.entries), m.size)
	}
}
