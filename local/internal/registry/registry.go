// Package registry knows every cluster of this user on this machine, so that two of them never share a port or an address and so that what a
// killed run left behind is found. It lives where a reboot empties it, since a reboot also ends what it lists.
package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
)

// Entry is one cluster: what it holds of the machine.
type Entry struct {
	// ID is short and made from Dir: it is part of interface, cgroup and socket names.
	ID string `json:"id"`
	// Dir is the cluster's state directory, absolute.
	Dir string `json:"dir"`
	// Boot is the machine's run that the entry belongs to (proc.BootID).
	Boot string `json:"boot"`
	// Supervisor is the process that runs the cluster.
	Supervisor proc.ID `json:"supervisor"`
	// Owner is the process whose end ends the cluster; zero when it has none.
	Owner proc.ID `json:"owner"`
	// Ports are the ports on 127.0.0.1 of a cluster without nodes.
	Ports []int `json:"ports,omitempty"`
	// Node is what a cluster with a node holds besides; nil without.
	Node *Node `json:"node,omitempty"`
}

// Node is what a cluster with a node holds of the machine.
type Node struct {
	// Index is the number of its /30 in the pool.
	Index int `json:"index"`
	// HostLink is the host's end of the veth pair.
	HostLink string `json:"hostLink"`
	// Cgroup is the name of its cgroup, directly under the root of every hierarchy.
	Cgroup string `json:"cgroup"`
	// Run is the directory of its sockets, short because a socket's path has at most 107 bytes.
	Run string `json:"run"`
	// NetNS and MntNS are the inode numbers of its namespaces; 0 before they are made.
	NetNS uint64 `json:"netns,omitempty"`
	MntNS uint64 `json:"mntns,omitempty"`
}

// Dead reports that nothing keeps the cluster up any more: its supervisor is gone.
func (e Entry) Dead() bool { return !e.Supervisor.Alive() }

// Orphan reports that the cluster had an owner which is gone: nobody will ever ask for it again.
func (e Entry) Orphan() bool { return e.Owner.PID != 0 && !e.Owner.Alive() }

// ID is the short name of the cluster that lives in dir.
func ID(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}

// Registry is a directory of entries, one JSON file each.
type Registry struct{ dir string }

// Open returns the registry of this user and makes its directory: /run/sparklocal for root, else sparklocal in $XDG_RUNTIME_DIR, else in the
// temporary directory.
func Open() (Registry, error) {
	dir := "/run/sparklocal"
	if os.Geteuid() != 0 {
		dir = filepath.Join(os.TempDir(), "sparklocal-"+strconv.Itoa(os.Getuid()))
		if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
			dir = filepath.Join(run, "sparklocal")
		}
	}
	return At(dir)
}

// At returns the registry in a directory, which is made when missing, for this user alone. One that belongs to another user is refused: it
// could make us end processes of ours.
func At(dir string) (Registry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Registry{}, fmt.Errorf("directory of running clusters: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return Registry{}, fmt.Errorf("directory of running clusters: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid() {
		return Registry{}, fmt.Errorf("%s must be a directory of the user %d: remove it", dir, os.Geteuid())
	}
	return Registry{dir: dir}, nil
}

// RunDir is where a cluster's sockets go.
func (r Registry) RunDir(id string) string { return filepath.Join(r.dir, id) }

// Lock keeps every other sparklocal from changing the registry until the returned function is called.
func (r Registry) Lock() (unlock func(), err error) { return LockFile(filepath.Join(r.dir, "lock")) }

// LockFile takes an exclusive lock on a file, made when missing, and waits for it. The kernel gives it back when the process ends. The holder may
// remove the file: whoever waits then takes the lock of the next one.
func LockFile(path string) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		if err := flock(f); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		ours, errOurs := f.Stat()
		now, errNow := os.Stat(path)
		if errOurs == nil && errNow == nil && os.SameFile(ours, now) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close()
	}
}

func flock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// LockCluster keeps every other sparklocal from starting or ending the cluster of an ID until unlock is called. forget is unlock for a cluster
// that is no more: it removes the lock's file too.
func (r Registry) LockCluster(id string) (unlock, forget func(), err error) {
	path := filepath.Join(r.dir, id+".lock")
	if unlock, err = LockFile(path); err != nil {
		return nil, nil, err
	}
	return unlock, func() { _ = os.Remove(path); unlock() }, nil
}

// TidyLocks removes the lock files of clusters that are not on the list and that nobody holds or waits for. The caller holds the lock.
func (r Registry) TidyLocks() error {
	files, err := filepath.Glob(filepath.Join(r.dir, "*.lock"))
	if err != nil {
		return fmt.Errorf("locks: %w", err)
	}
	for _, path := range files {
		if _, ok := r.Get(strings.TrimSuffix(filepath.Base(path), ".lock")); ok {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(path)
		}
		_ = f.Close()
	}
	return nil
}

// Put writes an entry, replacing the one with its ID.
func (r Registry) Put(e Entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("cluster entry: %w", err)
	}
	path := r.path(e.ID)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return fmt.Errorf("cluster entry: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("cluster entry: %w", err)
	}
	return nil
}

// Get returns the entry of an ID, and whether there is one of the machine's present run.
func (r Registry) Get(id string) (Entry, bool) {
	b, err := os.ReadFile(r.path(id))
	if err != nil {
		return Entry{}, false
	}
	var e Entry
	if json.Unmarshal(b, &e) != nil || e.Boot != proc.BootID() {
		return Entry{}, false
	}
	return e, true
}

// List returns every entry of the machine's present run. Entries of an earlier one, and unreadable ones, are removed.
func (r Registry) List() ([]Entry, error) {
	names, err := filepath.Glob(r.path("*"))
	if err != nil {
		return nil, fmt.Errorf("running clusters: %w", err)
	}
	var entries []Entry
	for _, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".json")
		if e, ok := r.Get(id); ok {
			entries = append(entries, e)
		} else if err := r.Delete(id); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Delete removes an entry and the directory of its sockets.
func (r Registry) Delete(id string) error {
	if err := os.RemoveAll(r.RunDir(id)); err != nil {
		return fmt.Errorf("sockets of cluster %s: %w", id, err)
	}
	if err := os.Remove(r.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cluster entry: %w", err)
	}
	return nil
}

// MakeDirs makes the directories of the host that are missing, and remembers that they are ours. The caller holds the lock.
func (r Registry) MakeDirs(dirs ...string) error {
	made := r.madeDirs()
	for _, dir := range dirs {
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("mount point: %w", err)
		}
		made = append(made, dir)
	}
	if err := os.WriteFile(r.madeFile(), []byte(strings.Join(made, "\n")), 0o600); err != nil {
		return fmt.Errorf("list of mount points: %w", err)
	}
	return nil
}

// RemoveDirs removes what MakeDirs has made, unless a cluster with a node other than the one called id is left: mounts of it lie over them, and the
// kernel would let us remove them all the same. What somebody else has put something into stays. The caller holds the lock.
func (r Registry) RemoveDirs(id string) error {
	entries, err := r.List()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Node != nil && e.ID != id }) {
		return nil
	}
	for _, dir := range r.madeDirs() {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return fmt.Errorf("mount point: %w", err)
		}
	}
	if err := os.Remove(r.madeFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list of mount points: %w", err)
	}
	return nil
}

func (r Registry) madeFile() string { return filepath.Join(r.dir, "made-dirs") }

func (r Registry) madeDirs() []string {
	b, err := os.ReadFile(r.madeFile())
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

func (r Registry) path(id string) string { return filepath.Join(r.dir, id+".json") }
