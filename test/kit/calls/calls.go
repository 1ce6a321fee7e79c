// Package calls counts for tests how often a function runs, without a counter in the product's code. It reads the
// profile of allocations: a place in the function that allocates once in each run allocates as often as the function
// runs.
package calls

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Of returns how often the function run calls a function, whose name is that of a profile, such as
// "example.org/module/package.name". The argument once must call this function exactly once. It fails the test if the
// function allocates nothing.
func Of(t testing.TB, function string, once, run func()) int64 {
	t.Helper()

	once() // fills what is computed only in the first run of a process

	known := allocations(function, once)
	seen := allocations(function, run)

	var counts []int64
	for place, n := range known {
		if n == 1 {
			counts = append(counts, seen[place])
		}
	}

	if len(counts) == 0 {
		t.Fatalf("%s has no place that allocates once in each run", function)
	}

	slices.Sort(counts)
	return counts[len(counts)/2] // single places differ, because maps and slices grow differently with another argument
}

// allocations returns how many objects each place in a function allocates while run runs. A place is the part of a
// stack above the function.
func allocations(function string, run func()) map[string]int64 {
	before := map[[len(runtime.MemProfileRecord{}.Stack0)]uintptr]int64{}
	for _, record := range profile() {
		before[record.Stack0] += record.AllocObjects
	}

	recorded(run)

	all := map[string]int64{}
	for _, record := range profile() {
		n := record.AllocObjects - before[record.Stack0]
		if n == 0 {
			continue
		}

		if place := placeIn(function, record.Stack()); place != "" {
			all[place] += n
		}
	}
	return all
}

// recorded calls run while every allocation is recorded. Only run is recorded, because records are expensive.
func recorded(run func()) {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	defer func() { runtime.MemProfileRate = rate }()

	run()
}

// profile returns the allocations until now.
func profile() []runtime.MemProfileRecord {
	for range 2 { // the profile lacks those since the last but one collection
		runtime.GC()
	}

	records := make([]runtime.MemProfileRecord, 1<<16)
	n, _ := runtime.MemProfile(records, true)
	return records[:min(n, len(records))]
}

// placeIn returns the part of a stack above a function, or "" if the stack does not contain the function.
func placeIn(function string, stack []uintptr) string {
	var place strings.Builder

	frames := runtime.CallersFrames(stack)
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		fmt.Fprintln(&place, frame.Function, frame.Line)

		if frame.Function == function {
			return place.String()
		}
	}
	return ""
}
