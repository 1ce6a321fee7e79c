// Package registry lists the clusters of this user on this machine. It prevents two clusters from using the same port
// or address. It also records the resources of each cluster, so that they can be released if the cluster's supervisor
// is killed. The entries are valid until a reboot, which also ends the clusters.
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

// Entry describes a cluster and the resources that it uses on the machine.
type Entry struct {
	// ID is short and derived from Dir. The names of interfaces, cgroups and sockets contain it.
	ID string `json:"id"`
	// Dir is the absolute path of the cluster's state directory.
	Dir string `json:"dir"`
	// Boot identifies the boot of the machine to which the entry belongs (proc.BootID).
	Boot string `json:"boot"`
	// Supervisor is the process that runs the cluster.
	Supervisor proc.ID `json:"supervisor"`
	// Owner is a process. When it ends, the cluster ends too. The zero value means that the cluster has no owner.
	Owner proc.ID `json:"owner"`
	// Ports are the ports on 127.0.0.1 that a cluster without nodes uses.
	Ports []int `json:"ports,omitempty"`
	// Node holds the additional resources of a cluster with a node; nil without a node.
	Node *Node `json:"node,omitempty"`
}

// Node describes the resources of a cluster with a node.
type Node struct {
	// Index is the number of the cluster's /30 network in the pool.
	Index int `json:"index"`
	// HostLink is the host's end of the veth pair.
	HostLink string `json:"hostLink"`
	// Cgroup is the name of the cluster's cgroup, which is directly under the root of every hierarchy.
	Cgroup string `json:"cgroup"`
	// Run is the directory of the cluster's sockets. It is short because a socket path has at most 107 bytes.
	Run string `json:"run"`
	// NetNS and MntNS are the inode numbers of the cluster's namespaces; 0 before they exist.
	NetNS uint64 `json:"netns,omitempty"`
	MntNS uint64 `json:"mntns,omitempty"`
}

// Dead reports whether the cluster's supervisor has ended.
func (e Entry) Dead() bool { return !e.Supervisor.Alive() }

// Orphan reports whether the cluster had an owner and the owner has ended.
func (e Entry) Orphan() bool { return e.Owner.PID != 0 && !e.Owner.Alive() }

// ID returns the short name of the cluster in dir.
func ID(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}

// Registry is a directory with a JSON file for each entry.
type Registry struct{ dir string }

// Open returns this user's registry and creates its directory. For root the directory is /run/sparklocal. For other
// users it is sparklocal in $XDG_RUNTIME_DIR, or sparklocal-UID in the temporary directory if the variable is not set.
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

// At returns the registry in a directory. If the directory is missing, At creates it with access for this user only. If
// the directory belongs to another user, At returns an error, because that user could make sparklocal kill processes of
// this user.
func At(dir string) (Registry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Registry{}, fmt.Errorf("open the registry of running clusters: %w", err)
	}

	info, err := os.Lstat(dir)
	if err != nil {
		return Registry{}, fmt.Errorf("open the registry of running clusters: %w", err)
	}

	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid() {
		return Registry{}, fmt.Errorf("%s is not a directory, or does not belong to the user %d: remove it", dir, os.Geteuid())
	}
	return Registry{dir: dir}, nil
}

// RunDir returns the directory that contains a cluster's sockets.
func (r Registry) RunDir(id string) string { return filepath.Join(r.dir, id) }

// Lock locks the registry against other sparklocal processes until the caller calls the returned function unlock.
func (r Registry) Lock() (unlock func(), err error) { return LockFile(filepath.Join(r.dir, "lock")) }

// LockFile waits until it has an exclusive lock on a file, and creates the file if it is missing. The kernel releases
// the lock when the process ends. The process that has the lock may remove the file. A process that waited for the lock
// on the removed file then locks the new file of that name, which it creates if necessary.
func LockFile(path string) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open lock file: %w", err)
		}

		if err := flock(f); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}

		locked, errLocked := f.Stat()

		current, errCurrent := os.Stat(path)
		if errLocked == nil && errCurrent == nil && os.SameFile(locked, current) {
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

// LockCluster prevents other sparklocal processes from starting or ending the cluster with the given ID, until the
// caller calls the returned function unlock. If the caller has removed the cluster, it calls forget instead, which also
// removes the lock file.
func (r Registry) LockCluster(id string) (unlock, forget func(), err error) {
	path := filepath.Join(r.dir, id+".lock")
	if unlock, err = LockFile(path); err != nil {
		return nil, nil, err
	}
	return unlock, func() { _ = os.Remove(path); unlock() }, nil
}

// TidyLocks removes the lock files of clusters that have no entry, except files that a process has locked. The caller
// holds the registry's lock.
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

// Put writes an entry and replaces an existing one with the same ID.
func (r Registry) Put(e Entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write the cluster's entry: %w", err)
	}

	path := r.path(e.ID)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return fmt.Errorf("write the cluster's entry: %w", err)
	}

	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write the cluster's entry: %w", err)
	}
	return nil
}

// Get returns the entry with the given ID, and whether there is such an entry. An entry from an earlier boot of the
// machine does not count.
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

// List returns the entries of the machine's current boot. It removes entries of earlier boots and unreadable entries.
func (r Registry) List() ([]Entry, error) {
	names, err := filepath.Glob(r.path("*"))
	if err != nil {
		return nil, fmt.Errorf("list the running clusters: %w", err)
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
		return fmt.Errorf("remove the sockets of cluster %s: %w", id, err)
	}

	if err := os.Remove(r.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the cluster's entry: %w", err)
	}
	return nil
}

// MakeDirs creates each of the directories that does not exist on the host, and records which directories it created.
// The caller holds the lock.
func (r Registry) MakeDirs(dirs ...string) error {
	made := r.madeDirs()
	for _, dir := range dirs {
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}

		if err != nil {
			return fmt.Errorf("create a mount point: %w", err)
		}

		made = append(made, dir)
	}

	if err := os.WriteFile(r.madeFile(), []byte(strings.Join(made, "\n")), 0o600); err != nil {
		return fmt.Errorf("write the list of mount points: %w", err)
	}
	return nil
}

// RemoveDirs removes the directories that MakeDirs created, except directories that are not empty. It removes nothing
// if another cluster than the one with the given ID has a node, because that node mounts file systems at these
// directories. The node's mounts are in a mount namespace of its own, so the kernel would not refuse to remove the
// directories. The caller holds the lock.
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
			return fmt.Errorf("remove a mount point: %w", err)
		}
	}

	if err := os.Remove(r.madeFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the list of mount points: %w", err)
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
