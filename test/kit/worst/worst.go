// Package worst fills objects with long lists and maps, and measures the cost of the code that processes them. Tests
// use it to find work that grows faster than its input.
package worst

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// maxDepth limits the nesting of the fields that Fields returns, because some Kubernetes types contain themselves.
const maxDepth = 14

// Field is a list or a map inside values of a type.
type Field struct {
	// Path names the field, for example .spec.driver.env or .spec.volumes[].configMap.items.
	Path string
	way  []step
}

// step is one step of the way from a value to a list or map inside it: the index of a struct's field, or -1 for the
// content of a pointer, a list or a map.
type step struct{ field int }

// everything is the value of the environment variable COSTS that makes tests measure every field and log each cost.
const everything = "all"

// Fields returns the lists and maps that values of a type can contain. By default it leaves out lists inside lists and
// the fields of affinities. If the environment variable COSTS is "all", it returns these thousands of fields too. It
// never returns lists of bytes.
func Fields(t reflect.Type) []Field {
	var found []Field
	walk(t, "", nil, map[reflect.Type]int{}, &found)

	if len(found) == 0 {
		panic("worst: " + t.String() + " has no lists")
	}

	if os.Getenv("COSTS") != everything {
		found = slices.DeleteFunc(found, func(f Field) bool { return strings.Contains(f.Path, "[]") || strings.Contains(f.Path, "ffinity") })
	}
	return found
}

func walk(t reflect.Type, path string, way []step, open map[reflect.Type]int, found *[]Field) {
	if len(way) > maxDepth*2 || open[t] > 1 || path != "" && opaque(t) {
		return
	}

	here := func(more ...step) []step { return append(append([]step(nil), way...), more...) }
	switch t.Kind() {
	case reflect.Pointer:
		walk(t.Elem(), path, here(step{-1}), open, found)
	case reflect.Struct:
		open[t]++
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				walk(f.Type, path+nameOf(f), here(step{i}), open, found)
			}
		}
		open[t]--
	case reflect.Slice, reflect.Map:
		if t.Elem().Kind() == reflect.Uint8 {
			return
		}

		*found = append(*found, Field{Path: path, way: here()})
		walk(t.Elem(), path+"[]", here(step{-1}), open, found)
	}
}

// opaque reports whether a type has its own JSON encoding, so that users cannot set the Go fields inside it.
func opaque(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "" && f.Anonymous:
		return ""
	case name == "":
		return "." + f.Name
	}
	return "." + name
}

// Fill puts n different items into the field f of an object, which is given by a pointer. It creates missing structures
// on the path to the field. A list or map on the path gets one item.
func (f Field) Fill(object any, n int) {
	fill(reflect.ValueOf(object).Elem(), f.way, n)
}

func fill(v reflect.Value, way []step, n int) {
	if len(way) == 0 {
		many(v, n)
		return
	}

	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
			distinct(v.Elem(), 0)
		}

		fill(v.Elem(), way[1:], n)
	case reflect.Slice:
		if v.Len() == 0 {
			many(v, 1)
		}

		fill(v.Index(0), way[1:], n)
	case reflect.Map:
		if v.Len() == 0 {
			many(v, 1)
		}

		key := v.MapKeys()[0]
		inner := reflect.New(v.Type().Elem()).Elem()
		inner.Set(v.MapIndex(key))
		fill(inner, way[1:], n)
		v.SetMapIndex(key, inner)
	default:
		fill(v.Field(way[0].field), way[1:], n)
	}
}

func many(v reflect.Value, n int) {
	if v.Kind() == reflect.Map {
		v.Set(reflect.MakeMapWithSize(v.Type(), n))

		for i := range n {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			distinct(key, i)
			distinct(value, i)
			v.SetMapIndex(key, value)
		}
		return
	}

	v.Set(reflect.MakeSlice(v.Type(), n, n))

	for i := range n {
		distinct(v.Index(i), i)
	}
}

// distinct fills the strings and numbers of a value with content that is derived from the number i. Different numbers
// lead to different content.
func distinct(v reflect.Value, i int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("item-%d", i))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(i%60_000 + 1))
	case reflect.Struct:
		if opaque(v.Type()) {
			return
		}

		for at := range v.NumField() {
			f := v.Type().Field(at)
			switch {
			case !f.IsExported():
			case strings.HasSuffix(strings.ToLower(f.Name), "path") && f.Type.Kind() == reflect.String:
				v.Field(at).SetString(fmt.Sprintf("/item/%d", i))
			case f.Type == reflect.TypeFor[string](), f.Type.Kind() == reflect.Int32, f.Type.Kind() == reflect.Struct:
				distinct(v.Field(at), i)
			}
		}
	}
}

// CPU returns the processor time of a function, as the lowest of several measurements. It measures only the thread that
// runs the function. The load of other processes and the threads of the garbage collector are therefore not included.
func CPU(tries int, run func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	least := time.Duration(-1)
	for range tries {
		before := threadTime()

		run()

		if took := threadTime() - before; least < 0 || took < least {
			least = took
		}
	}
	return least
}

// threadTime returns the processor time of the current thread. It reads the thread's CPU clock, because that clock is
// exact. The times of getrusage are updated only at each tick of the scheduler.
func threadTime() time.Duration {
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &spent); err != nil {
		panic(err)
	}
	return time.Duration(spent.Nano())
}

// Allocated returns the number of bytes that the process allocates while a function runs. This includes allocations by
// other goroutines.
func Allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// These constants are the settings of Linear, which measures the cost of a small object, with few items, and of a large
// object, with factor times as many items.
const (
	few    = 80
	factor = 5
	// enough is the cost of the large object up to which any growth is accepted. Even if the cost grows quadratically,
	// ten times as many items cost only 300 ms.
	enough = 3 * time.Millisecond
	// growth is the largest accepted ratio of the two costs. The ratio of a quadratic cost is 25. The ratio is 8 if
	// half of the cost at 450 items is linear and half is quadratic.
	growth = 8
	// plain is the largest ratio that is accepted without further measurements.
	plain = 7
	// comparisons is the number of measurements of each object if the first ratio is above plain.
	comparisons = 5
)

// Linear fails a test if the cost of work grows faster than the object that the work processes. The function work
// builds an object with n items and returns a function that processes it. Linear measures only the returned function.
// If LIVES is not set, Linear skips the test.
func Linear(t testing.TB, name string, work func(n int) func()) {
	t.Helper()
	effort.Long(t)

	run := work(few * factor)
	var fewer func()

	small, large, linear := compare(func() time.Duration { return CPU(1, run) }, func(repeat int) time.Duration {
		if fewer == nil { // A cheap large object needs no comparison, so the small object is built on demand.
			fewer = work(few)
		}
		return CPU(1, func() {
			for range repeat {
				fewer()
			}
		}) / time.Duration(repeat)
	})
	if os.Getenv("COSTS") == everything {
		t.Logf("%8.1f ms %8.1f MB %s", float64(large.Microseconds())/1000, float64(Allocated(run))/1e6, name)
	}

	if !linear {
		t.Errorf("%s: %v for %d items, %v for %d", name, small, few, large, few*factor)
	}
}

// compare returns the cost of a small object with few items, and the cost of a large object with factor times as many.
// It also reports whether the growth from small to large is accepted. measureLarge measures one run on the large
// object. measureSmall returns the mean cost of repeated runs on the small object.
//
// A single measurement may include a garbage collection or cold caches. Therefore, if the ratio of the costs is above
// the constant plain, compare measures both objects several times and keeps the lowest cost of each. In these
// measurements the work runs factor times on the small object and once on the large object. Each measurement then takes
// about as long, so that interruptions affect both equally.
func compare(measureLarge func() time.Duration, measureSmall func(repeat int) time.Duration) (small, large time.Duration, linear bool) {
	large = measureLarge()
	if large <= enough {
		return 0, large, true
	}

	small = min(measureSmall(1), measureSmall(1))
	if large <= plain*small {
		return small, large, true
	}

	small = math.MaxInt64
	for range comparisons {
		large = min(large, measureLarge())
		small = min(small, measureSmall(factor))
	}
	return small, large, large <= enough || large <= growth*small
}
