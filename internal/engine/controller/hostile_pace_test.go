package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// quietWork is the CPU time of fixedWork on a quiet machine. Beside other processes, which compete for the caches and
// for the threads of a core, fixedWork needs up to three times as much, as everything else does.
const quietWork = 60 * time.Millisecond

// fixedWork decodes and encodes a JSON document of 1 MB, which the garbage collector follows, and returns its CPU time.
func fixedWork(t *testing.T) time.Duration {
	t.Helper()

	item := `{"name":"some-name","value":"some value","list":[{"a":1,"b":"c"}]},`
	document := []byte("[" + strings.Repeat(item, 16_000) + "{}]")
	began := processCPU()

	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		t.Fatal(err)
	}

	if _, err := json.Marshal(value); err != nil {
		t.Fatal(err)
	}
	return processCPU() - began
}

// measuredPaced measures a case as measured does. It counts the CPU time in units of fixedWork, which it measures
// before and after the case, so that the bound holds on a busy machine and on a faster one.
func measuredPaced(t *testing.T, m meter, object []byte) (least cost, err error) {
	t.Helper()

	for try := range 5 {
		before := fixedWork(t)
		spent, err := measured(m, object, func(string, cost) {})
		after := fixedWork(t)

		if err != nil {
			return spent, err
		}

		spent.CPU = time.Duration(float64(spent.CPU) * 2 * float64(quietWork) / float64(before+after))
		if try == 0 || spent.CPU < least.CPU {
			least = spent
		}

		if least.CPU <= hostileCPU {
			break
		}
	}
	return least, nil
}
