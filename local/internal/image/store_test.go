package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testStore(t *testing.T) *store {
	t.Helper()

	s, err := openStore(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func writer(text string) func(context.Context, string) error {
	return func(_ context.Context, path string) error { return os.WriteFile(path, []byte(text), 0o644) }
}

func TestKeySeparatesInputs(t *testing.T) {
	keys := map[string]string{}
	for name, k := range map[string]string{
		"none": key(), "one": key("ab"), "moved boundary": key("a", "b"), "other boundary": key("", "ab"),
		"one more": key("ab", ""), "order": key("b", "a"),
	} {
		if other, taken := keys[k]; taken {
			t.Errorf("%q and %q have the same key", name, other)
		}

		keys[k] = name
	}

	if first, again := key("a", "b"), key("a", "b"); first != again {
		t.Error("equal inputs have different keys")
	}
}

func TestConcurrentCallsMakeAProductOnce(t *testing.T) {
	s := testStore(t)
	id := productID{kind: "layers", name: "x", key: key("1"), ext: ".tar"}
	var made atomic.Int32

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			path, err := s.product(t.Context(), id, func(ctx context.Context, path string) error {
				made.Add(1)
				return writer("x")(ctx, path)
			})
			if content, _ := os.ReadFile(path); err != nil || string(content) != "x" {
				t.Errorf("product: %q, %v", content, err)
			}
		})
	}

	wg.Wait()

	if n := made.Load(); n != 1 {
		t.Errorf("made %d times, want once", n)
	}

	if left, _ := filepath.Glob(filepath.Join(s.dir, "work", "*")); len(left) > 0 {
		t.Errorf("work directories stay: %v", left)
	}
}

func TestFailedProductIsNotCached(t *testing.T) {
	s := testStore(t)
	id := productID{kind: "layers", name: "x", key: key("1"), ext: ".tar"}
	broken := errors.New("broken")

	_, err := s.product(t.Context(), id, func(ctx context.Context, path string) error {
		_ = writer("half of it")(ctx, path)
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the maker's error", err)
	}

	path, err := s.product(t.Context(), id, writer("whole"))
	if content, _ := os.ReadFile(path); err != nil || string(content) != "whole" {
		t.Errorf("after a failure: %q, %v; want it made anew", content, err)
	}
}

func TestProductRemovesOlderOnes(t *testing.T) {
	s := testStore(t)
	product := func(name, input string) string {
		path, err := s.product(t.Context(), productID{"layers", name, key(input), ".tar"}, writer(input))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	// spark-4.1-java17 has the prefix spark-4.1, but is not an older version of it.
	old, other, longer := product("spark-4.1", "1"), product("base", "1"), product("spark-4.1-java17", "1")

	current := product("spark-4.1", "2")
	for path, want := range map[string]bool{old: false, other: true, longer: true, current: true} {
		if exists(path) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(path), !want, want)
		}
	}
}

func TestLockWaitEndsWithTheContext(t *testing.T) {
	s := testStore(t)

	unlock, err := s.lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()

	if _, err := s.lock(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a held lock: %v, want the context's end", err)
	}

	unlock()

	again, err := s.lock(t.Context(), "x")
	if err != nil {
		t.Fatalf("a released lock is not to be had: %v", err)
	}

	again()
}

func TestCacheDirFollowsTheEnvironment(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")

	if dir, err := CacheDir(); dir != "/cache/sparklocal/images" || err != nil {
		t.Errorf("got %q, %v", dir, err)
	}

	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "/home/me")

	if dir, err := CacheDir(); dir != "/home/me/.cache/sparklocal/images" || err != nil {
		t.Errorf("got %q, %v", dir, err)
	}

	t.Setenv("HOME", "")

	if dir, err := CacheDir(); err == nil {
		t.Errorf("got %q without HOME, want an error", dir)
	}
}

func TestProgressPrintsStartAndEnd(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out)
	p.step("bake %d", 2)()

	lines := strings.Split(out.String(), "\n")

	var words []string
	for _, l := range lines {
		if _, text, ok := strings.Cut(l, "s  "); ok {
			words = append(words, strings.Split(text, " done")[0])
		}
	}

	if diff := cmp.Diff([]string{"bake 2 ...", "bake 2:"}, words); diff != "" {
		t.Error(diff)
	}
}
