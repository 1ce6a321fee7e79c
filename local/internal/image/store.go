package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// formatVersion is part of every key. Raise it when a code change makes layers or archives differ for equal inputs.
const formatVersion = "1"

// CacheDir returns the default cache directory for images: sparklocal/images in $XDG_CACHE_HOME or in $HOME/.cache. If
// neither variable is set, CacheDir returns an error.
func CacheDir() (string, error) {
	dir := os.Getenv("XDG_CACHE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the directory of the image cache: %w: set XDG_CACHE_HOME or HOME", err)
		}

		dir = filepath.Join(home, ".cache")
	}
	return filepath.Join(dir, "sparklocal", "images"), nil
}

// store caches products (layers and archives) by a key of their inputs.
type store struct {
	dir string
	log *progress
}

// openStore creates the directory of the store and returns the store. If dir is empty, it uses CacheDir().
func openStore(dir string, log io.Writer) (*store, error) {
	if dir == "" {
		var err error
		if dir, err = CacheDir(); err != nil {
			return nil, err
		}
	}

	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cache directory: %w", err)
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cache directory: %w", err)
	}
	return &store{dir: dir, log: newProgress(log)}, nil
}

// key returns a hash of the inputs of a product. It hashes each input with its length, so that ("ab","c") and
// ("a","bc") differ.
func key(inputs ...string) string {
	sum := sha256.New()
	for _, in := range append([]string{formatVersion}, inputs...) {
		fmt.Fprintf(sum, "%d:%s,", len(in), in)
	}
	return hex.EncodeToString(sum.Sum(nil))[:24]
}

// product returns the path dir/kind/name-key+ext of a product. If the product does not exist, product calls the given
// function, which writes the product to a temporary path. A rename then moves the finished product to the returned
// path. A partial product therefore never has that path.
//
// If two processes need the same product, the second process waits until the first has built it. After a build, the
// older products of the same kind and name are removed, because no later call requests them. If the context ends while
// a process waits for another, the result is the error of the context.
func (s *store) product(ctx context.Context, id productID, maker func(ctx context.Context, path string) error) (string, error) {
	path := s.path(id)
	if exists(path) {
		return path, nil
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("cache directory: %w", err)
	}

	unlock, err := s.lock(ctx, id.kind+"-"+id.name)
	if err != nil {
		return "", err
	}
	defer unlock()

	if exists(path) {
		return path, nil
	}

	work, err := s.workDir()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)

	unfinished := filepath.Join(work, "product"+id.ext)
	if err := maker(ctx, unfinished); err != nil {
		return "", err
	}

	if err := os.Rename(unfinished, path); err != nil {
		return "", fmt.Errorf("move the product to %s: %w", path, err)
	}

	s.removeOlder(path, id)
	return path, nil
}

// productID identifies a product. The field kind is its directory, and the field ext its file name extension with the
// dot. All versions of the product have the same name. The field key is the hash of the product's inputs.
type productID struct{ kind, name, key, ext string }

func (s *store) path(id productID) string {
	return filepath.Join(s.dir, id.kind, id.name+"-"+id.key+id.ext)
}

func (s *store) removeOlder(keep string, id productID) {
	others, _ := filepath.Glob(filepath.Join(s.dir, id.kind, id.name+"-"+strings.Repeat("[0-9a-f]", len(id.key))+id.ext))
	for _, other := range others {
		if other != keep {
			_ = os.Remove(other) // A remaining file only wastes space.
		}
	}
}

// workDir creates an empty directory on the cache's file system, because finished files are renamed into the cache, and
// a rename must not cross file systems. /tmp is often another file system, in memory.
func (s *store) workDir() (string, error) {
	parent := filepath.Join(s.dir, "work")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("work directory: %w", err)
	}

	abandoned, _ := filepath.Glob(filepath.Join(parent, "make-*"))
	for _, dir := range abandoned {
		// No build takes a day, so the process that created the directory was killed.
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir) // A remaining directory only wastes space.
		}
	}

	dir, err := os.MkdirTemp(parent, "make-")
	if err != nil {
		return "", fmt.Errorf("work directory: %w", err)
	}
	return dir, nil
}

// lock acquires a lock, identified by a name, against other processes. It returns the function that releases the lock.
// The kernel releases the lock when this process ends. If lock must wait, it logs a line.
func (s *store) lock(ctx context.Context, name string) (unlock func(), err error) {
	dir := filepath.Join(s.dir, "locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lock directory: %w", err)
	}

	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}

	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()

	for logged := false; ; logged = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}

		if !errors.Is(err, unix.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}

		if !logged {
			s.log.printf("%s: waiting for another process that builds it", name)
		}

		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("wait for another process that builds %s: %w", name, ctx.Err())
		case <-tick.C:
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
