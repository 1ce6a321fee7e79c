//go:build linux

package submitter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sparkoperator/spark-operator/test/record"
)

// hostName is the host name of the machine. Spark resolves it to find its own address.
const hostName = "submitter"

// Machine is the isolated environment of spark-submit. It consists of an image's files, the case's files at record.Dir,
// and a network that contains only the recording API server. Close discards all changes to the image's files.
type Machine struct {
	// Version is the version of Spark.
	Version string

	host   bool   // true if the machine uses the host's network and starts no server
	dir    string // contains root and case
	server record.Server
	http   http.Server
	tasks  chan func() // runs on the thread inside the machine
}

// New creates a machine from the archive of the Spark image of the given version. The caller must close the machine.
// New needs root.
func New(ctx context.Context, version, archive string) (*Machine, error) {
	return newMachine(ctx, version, archive, false)
}

// OnHost creates a machine that uses the host's network and has no recording API server, so that submissions go to a
// real API server. The parameter files maps names to contents; the machine has these files at record.Dir. Use such a
// machine with Submit.
func OnHost(ctx context.Context, version, archive string, files map[string]string) (*Machine, error) {
	m, err := newMachine(ctx, version, archive, true)
	if err != nil {
		return nil, err
	}

	if err := m.prepare(record.Case{Files: files}); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func newMachine(ctx context.Context, version, archive string, host bool) (*Machine, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("only root can run spark-submit in its own file system: run this command as root")
	}

	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}

	layers, err := unpackImage(ctx, archive, filepath.Join(cache, "layers"))
	if err != nil {
		return nil, err
	}

	machines := filepath.Join(cache, "machines")
	forget(machines)

	if err := os.MkdirAll(machines, 0o755); err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp(machines, "")
	if err != nil {
		return nil, err
	}

	m := &Machine{Version: version, host: host, dir: dir, tasks: make(chan func())}

	m.http.Handler, m.http.ReadHeaderTimeout = &m.server, time.Minute
	if err := errors.Join(os.Mkdir(m.path("root"), 0o755), os.Mkdir(m.path("case"), 0o755)); err != nil {
		return nil, err
	}

	started := make(chan error)
	go m.thread(started, layers)

	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("create the machine for spark-submit: %w", err), m.Close())
	}
	return m, nil
}

// Close stops the machine. The mounts disappear when the last process in the machine ends.
func (m *Machine) Close() error {
	err := m.http.Close()
	close(m.tasks)
	return errors.Join(err, os.RemoveAll(m.path("case")), os.Remove(m.path("root")), os.Remove(m.dir))
}

func (m *Machine) path(name string) string { return filepath.Join(m.dir, name) }

// image returns the path of a file of the Spark image. The path exists only in the machine's mount namespace, so only
// code that runs inside the machine can use it.
func (m *Machine) image(name string) string { return filepath.Join(m.dir, "root", "image", name) }

// thread runs tasks inside the machine, on an OS thread that no other goroutine uses. The OS thread ends with the
// goroutine.
func (m *Machine) thread(started chan<- error, layers []string) {
	runtime.LockOSThread()

	err := m.enter(layers)
	started <- err

	if err != nil {
		for range m.tasks {
			continue // drain the channel until Close
		}
		return
	}

	for task := range m.tasks {
		task()
	}
}

// runInside runs f inside the machine, on the only OS thread that is in the machine's namespaces.
func (m *Machine) runInside(f func() error) error {
	done := make(chan error)
	m.tasks <- func() { done <- f() }
	return <-done
}

// enter moves the calling thread to new namespaces, mounts the machine's files and starts the API server.
func (m *Machine) enter(layers []string) error {
	apart := unix.CLONE_NEWNS
	if !m.host {
		apart |= unix.CLONE_NEWNET | unix.CLONE_NEWUTS
	}

	if err := unix.Unshare(apart); err != nil {
		return fmt.Errorf("namespaces: %w", err)
	}

	if err := mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	// All writes go to memory and disappear with the mount.
	root := m.path("root")
	if err := mount("tmpfs", root, "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}

	for _, name := range []string{"upper", "work", "image"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			return err
		}
	}

	lower := make([]string, 0, len(layers))
	for _, layer := range layers {
		lower = append([]string{layer}, lower...) // An overlay lists the highest layer first.
	}

	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", strings.Join(lower, ":"), root, root)
	if err := mount("overlay", m.image(""), "overlay", 0, options); err != nil {
		return err
	}

	binds := []struct{ from, to string }{{"/proc", "/proc"}, {"/dev", "/dev"}, {m.path("case"), record.Dir}}
	for _, bind := range binds {
		if err := os.MkdirAll(m.image(bind.to), 0o755); err != nil {
			return err
		}

		if err := mount(bind.from, m.image(bind.to), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
	}

	if m.host {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return m.hosts(name)
	}
	return m.network()
}

// hosts writes /etc/hosts, so that the host name resolves without a name server.
func (m *Machine) hosts(name string) error {
	return os.WriteFile(m.image("/etc/hosts"), []byte("127.0.0.1 localhost "+name+"\n"), 0o644)
}

// network sets the host name, brings the loopback interface up and starts the API server.
func (m *Machine) network() error {
	if err := unix.Sethostname([]byte(hostName)); err != nil {
		return fmt.Errorf("host name: %w", err)
	}

	if err := m.hosts(hostName); err != nil {
		return err
	}

	if err := os.WriteFile(m.image("/etc/resolv.conf"), nil, 0o644); err != nil {
		return err
	}

	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()

	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}

	loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)

	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}

	listener, err := net.Listen("tcp", record.Address)
	if err != nil {
		return err
	}

	go func() { _ = m.http.Serve(listener) }() // Close stops it.
	return nil
}

func mount(from, to, kind string, flags uintptr, options string) error {
	if err := unix.Mount(from, to, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", from, to, err)
	}
	return nil
}

// prepare replaces the files of the previous case with the files of the given case, and clears the API server.
func (m *Machine) prepare(c record.Case) error {
	old, err := os.ReadDir(m.path("case"))
	if err != nil {
		return err
	}

	for _, entry := range old {
		if err := os.RemoveAll(filepath.Join(m.path("case"), entry.Name())); err != nil {
			return err
		}
	}

	if err := c.WriteFiles(m.path("case")); err != nil {
		return err
	}

	_, _ = m.server.Take() // Discard the writes of a run that ended early.
	return nil
}

// finish creates the recording of a case. The recording contains the writes since prepare was called and, if Spark
// rejected the case, the error message.
func (m *Machine) finish(refusal string) (record.Recording, error) {
	requests, err := m.server.Take()
	if err != nil {
		return record.Recording{}, err
	}

	requests, err = record.Normalise(m.Version, requests)
	if err != nil {
		return record.Recording{}, err
	}
	return record.Recording{Versions: []string{m.Version}, Error: refusal, Requests: requests}, nil
}

// command returns a command for a program of the image. The caller runs it with start.
func (m *Machine) command(ctx context.Context, env map[string]string, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = record.Dir

	cmd.Env = []string{}
	for key, value := range env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}

	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: m.image(""), Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (m *Machine) start(cmd *exec.Cmd) error { return m.runInside(cmd.Start) }
