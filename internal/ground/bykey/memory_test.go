package bykey

import (
	"sync"
	"testing"
)

// TestMemory checks that keys are independent, that dropped keys have no value, and that concurrent updates are not
// lost.
func TestMemory(t *testing.T) {
	var m ByKey[string, int]
	m.Forget("a")

	if value, known := m.Get("a"); value != 0 || known {
		t.Errorf("an empty map returns %d, %v", value, known)
	}

	m.Update("a", func(value int, known bool) (int, bool) {
		if value != 0 || known {
			t.Errorf("a missing key has the value %d, %v", value, known)
		}
		return 7, false
	})
	m.Set("a", 1)
	m.Set("b", 2)
	m.Update("a", func(value int, known bool) (int, bool) {
		if value != 1 || !known {
			t.Errorf("after Set the value is %d, %v", value, known)
		}
		return 5, true
	})

	if a, _ := m.Get("a"); a != 5 {
		t.Errorf("after a second Set the value is %d", a)
	}

	m.Update("a", func(value int, _ bool) (int, bool) { return value, false })

	if _, known := m.Get("a"); known || len(m.keys) != 1 {
		t.Errorf("the key exists although change returned keep=false: %v", m.keys)
	}

	m.Forget("b")

	if len(m.keys) != 0 {
		t.Errorf("the key exists after Forget: %v", m.keys)
	}

	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 1000 {
				m.Update("n", func(value int, _ bool) (int, bool) { return value + 1, true })
			}
		})
	}

	workers.Wait()

	if n, _ := m.Get("n"); n != 8000 {
		t.Errorf("%d of 8000 updates were kept", n)
	}
}
