package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/build"
	"github.com/sparkoperator/spark-operator/local/internal/preflight"
	"github.com/sparkoperator/spark-operator/local/internal/proc"
	"github.com/sparkoperator/spark-operator/local/internal/registry"
	"github.com/sparkoperator/spark-operator/local/internal/supervise"
)

// Options are the user's choices for a cluster.
type Options struct {
	// Dir is the absolute path of the state directory.
	Dir string
	// ControlPlaneOnly omits the node and everything that needs root.
	ControlPlaneOnly bool
	// Oldest runs the oldest supported Kubernetes release instead of the newest. It needs ControlPlaneOnly.
	Oldest bool
	// Scheduler adds a kube-scheduler to a control plane without a node.
	Scheduler bool
	// Audit enables audit.log in Dir.
	Audit bool
	// AuditBodies enables audit.log and adds the bodies of users' writes to it.
	AuditBodies bool
	// CPUs is the number of allocatable CPUs of the node. It may be higher than the number of the machine's CPUs. If it
	// is 0, a new cluster has the CPUs of the machine, and a cluster that starts again keeps its number.
	CPUs int
	// OwnerPID is the ID of a process. When that process ends, the cluster ends too. If it is 0, the cluster has no
	// owner.
	OwnerPID int
}

// Reporter shows the progress of Up.
type Reporter struct {
	// Line shows a permanent line.
	Line func(text string)
	// Step shows a finished step.
	Step func(name string, took time.Duration)
	// Building shows a running build.
	Building build.Progress
}

// Up starts the cluster that the options describe, and returns when the cluster is ready. If the cluster already runs
// with the same options, Up leaves it unchanged.
func Up(ctx context.Context, o Options, report Reporter) error {
	reg, err := registry.Open()
	if err != nil {
		return err
	}

	unlock, _, err := reg.LockCluster(registry.ID(o.Dir))
	if err != nil {
		return err
	}
	defer unlock()

	old, err := ReadSpec(o.Dir)
	if err != nil {
		return err
	}

	if e, ok := reg.Get(registry.ID(o.Dir)); ok && old != nil && !e.Dead() && !endsAfterFailure(ctx, o.Dir, e) {
		if err := old.checkOptions(o); err != nil {
			return err
		}

		report.Line("the cluster already runs")
		report.Step = func(string, time.Duration) {}
		return await(ctx, o.Dir, e.Supervisor, report)
	}

	spec, err := newSpec(o)
	if err != nil {
		return err
	}

	if err := prepare(ctx, o, spec, report); err != nil {
		return err
	}

	if err := sweep(reg, report.Line); err != nil {
		return err
	}

	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fmt.Errorf("create the state directory: %w", err)
	}

	if err := startOver(spec, old, report); err != nil {
		return err
	}

	supervisor, err := begin(reg, spec, old)
	if err != nil {
		return err
	}
	return await(ctx, o.Dir, supervisor, report)
}

// endsAfterFailure waits for the end of a supervisor whose cluster did not start, for at most 10 s, and reports whether
// the supervisor has ended. Such a supervisor records the failure and ends some moments later. If the start did not
// fail, endsAfterFailure does not wait, and the result is false.
func endsAfterFailure(ctx context.Context, dir string, e registry.Entry) bool {
	state, err := supervise.ReadState(dir)
	if err != nil || state.Phase != supervise.Failed {
		return false
	}

	for end := time.Now().Add(10 * time.Second); !e.Dead() && ctx.Err() == nil && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	return e.Dead()
}

func newSpec(o Options) (*Spec, error) {
	// The API server writes 1000 as 1k.
	if o.CPUs < 0 || o.CPUs > 999 || o.CPUs > 0 && o.ControlPlaneOnly {
		return nil, errors.New("--cpus is the number of the node's CPUs: set a number from 1 to 999, and not with --control-plane-only")
	}

	if o.Oldest && !o.ControlPlaneOnly {
		return nil, errors.New("--oldest has no kubelet: set --control-plane-only too")
	}

	spec := &Spec{
		ID: registry.ID(o.Dir), Dir: o.Dir, Boot: proc.BootID(), Oldest: o.Oldest, Audit: o.Audit || o.AuditBodies, AuditBodies: o.AuditBodies,
		Scheduler: o.Scheduler || !o.ControlPlaneOnly,
	}
	if !o.ControlPlaneOnly {
		if err := checkVisible(o.Dir); err != nil {
			return nil, err
		}
	}

	if o.OwnerPID == 0 {
		return spec, nil
	}

	var err error
	if spec.Owner, err = proc.Of(o.OwnerPID); err != nil {
		return nil, fmt.Errorf("find the process of --owner-pid: %w", err)
	}
	return spec, nil
}

// checkOptions returns an error if the options do not match the running cluster.
func (s *Spec) checkOptions(o Options) error {
	if o.ControlPlaneOnly != (s.Node == nil) || o.Oldest != s.Oldest || (o.Scheduler && !s.Scheduler) || (o.Audit && !s.Audit) || (o.AuditBodies && !s.AuditBodies) ||
		(o.CPUs != 0 && s.Node != nil && o.CPUs != s.Node.CPUs) {
		return fmt.Errorf("the cluster in %s already runs with other options: stop it first with `sparklocal down`", o.Dir)
	}

	if o.OwnerPID != 0 && o.OwnerPID != s.Owner.PID {
		return fmt.Errorf("the cluster in %s already runs with another owner or without one: stop it first with `sparklocal down`", o.Dir)
	}
	return nil
}

// prepare checks that the machine can run the cluster, and builds or installs the programs that the cluster needs.
func prepare(ctx context.Context, o Options, spec *Spec, report Reporter) error {
	source, err := build.SourceDir()
	if err != nil {
		return err
	}

	cache, err := build.CacheDir()
	if err != nil {
		return err
	}

	began := time.Now()

	programs := []build.Program{build.Kube}
	if o.Oldest {
		programs[0] = build.Oldest
	}

	if !o.ControlPlaneOnly {
		programs = append(programs, build.CoreDNS)
	}

	need := preflight.Need{Node: !o.ControlPlaneOnly, Dir: o.Dir, Cache: cache}
	for _, p := range programs {
		_, exists, err := build.Cached(ctx, source, cache, p)
		if err != nil {
			return err
		}

		need.Build = need.Build || !exists
	}

	if err := preflight.Check(need); err != nil {
		return err
	}

	report.Step("machine checked", time.Since(began))
	began = time.Now()
	paths := make([]string, len(programs))

	work := []func() error{func() error {
		for i, p := range programs {
			var err error
			if paths[i], err = build.Ensure(ctx, source, cache, p, report.Building); err != nil {
				return err
			}
		}

		report.Step("programs", time.Since(began))
		return nil
	}}
	if !o.ControlPlaneOnly {
		work = append(work, func() error { return prepareNode(ctx, spec, o.CPUs, report) })
	}

	if err := concurrently(work...); err != nil {
		return err
	}

	spec.Kube = paths[0]
	if !o.ControlPlaneOnly {
		spec.CoreDNS = paths[1]
	}
	return nil
}

// startOver removes the files of the previous cluster in the directory, unless the new cluster can use the old data.
// This is possible under five conditions: the previous start succeeded, both clusters have a node or neither has one,
// both have the same release of Kubernetes, no other number of CPUs is wanted, and the machine has not rebooted in
// between. A reboot makes the data invalid,
// because etcd does not flush its files to disk.
func startOver(spec, old *Spec, report Reporter) error {
	state, err := supervise.ReadState(spec.Dir)
	if old == nil || err != nil {
		return wipeKeeping(spec.Dir)
	}

	switch {
	case old.Boot != spec.Boot:
		report.Line("the machine has rebooted since the last start: the cluster starts empty")
	case (old.Node == nil) != (spec.Node == nil):
		report.Line("--control-plane-only differs from the last start: the cluster starts empty")
	case old.Oldest != spec.Oldest:
		report.Line("--oldest differs from the last start: the cluster starts empty")
	case spec.Node != nil && spec.Node.CPUs != 0 && spec.Node.CPUs != old.Node.CPUs:
		report.Line("--cpus differs from the last start: the cluster starts empty")
	case state.Phase == supervise.Failed || state.Phase == supervise.Starting:
		report.Line("the last start failed: the cluster starts empty")
	default:
		if spec.Node != nil {
			spec.Node.CPUs = old.Node.CPUs
		}

		report.Line("the cluster starts again with its data")
		return os.Remove(supervise.StateFile(spec.Dir))
	}
	return wipeKeeping(spec.Dir)
}

// wipeKeeping removes a cluster's files and keeps the directory.
func wipeKeeping(dir string) error {
	if err := wipe(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

// begin reserves addresses for the cluster, writes its spec and starts its supervisor.
func begin(reg registry.Registry, spec, old *Spec) (proc.ID, error) {
	unlock, err := reg.Lock()
	if err != nil {
		return proc.ID{}, err
	}
	defer unlock()

	entries, err := reg.List()
	if err != nil {
		return proc.ID{}, err
	}

	entry := registry.Entry{ID: spec.ID, Dir: spec.Dir, Boot: spec.Boot, Owner: spec.Owner}
	if spec.Node == nil {
		if entry.Ports, err = choosePorts(entries, old); err != nil {
			return proc.ID{}, err
		}

		spec.Ports = portsFrom(entry.Ports)
	} else {
		if err := chooseLink(reg, entries, spec); err != nil {
			return proc.ID{}, err
		}

		spec.Ports = nodePorts
		entry.Node = &spec.Node.Node
	}

	if err := spec.write(); err != nil {
		return proc.ID{}, err
	}
	// Register the cluster before its supervisor starts. If this process is killed now, a sweep finds the entry.
	if entry.Supervisor, err = proc.Of(os.Getpid()); err != nil {
		return proc.ID{}, err
	}

	if err := reg.Put(entry); err != nil {
		return proc.ID{}, err
	}

	if entry.Supervisor, err = spawn(spec.Dir); err != nil {
		return proc.ID{}, errors.Join(err, reg.Delete(spec.ID))
	}
	return entry.Supervisor, reg.Put(entry)
}

// portsLimit is the maximum time that choosePorts waits until the ports of the cluster's last start are free. The
// processes of the cluster release the ports when they end.
const portsLimit = 3 * time.Second

// choosePorts returns the ports that the cluster had at its last start if they are free, so that copies of its
// kubeconfig stay valid. Otherwise it returns other free ports.
func choosePorts(entries []registry.Entry, old *Spec) ([]int, error) {
	if old == nil || old.Node != nil {
		return registry.FreePorts(entries, portCount, rand.IntN(10000), registry.PortFree)
	}

	p := old.Ports
	had := []int{p.API, p.Etcd, p.EtcdPeer, p.Controllers, p.Scheduler}

	held := func(port int) bool {
		return slices.ContainsFunc(entries, func(e registry.Entry) bool { return slices.Contains(e.Ports, port) })
	}
	for end := time.Now().Add(portsLimit); !slices.ContainsFunc(had, held) && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !slices.ContainsFunc(had, func(port int) bool { return !registry.PortFree(port) }) {
			return had, nil
		}
	}
	return registry.FreePorts(entries, portCount, rand.IntN(10000), registry.PortFree)
}

// chooseLink reserves a /30 network for a cluster with a node, and sets the names of its resources.
func chooseLink(reg registry.Registry, entries []registry.Entry, spec *Spec) error {
	inUse, err := registry.HostNetworks()
	if err != nil {
		return err
	}

	index, err := registry.FreeLink(entries, inUse)
	if err != nil {
		return err
	}

	spec.Node.Index = index
	// An interface's name has at most 15 bytes.
	spec.Node.HostLink = "spark" + spec.ID
	spec.Node.Cgroup = "sparklocal-" + spec.ID
	spec.Node.Run = reg.RunDir(spec.ID)
	return nil
}

// spawn starts the supervisor as a process that continues after this process and its terminal have ended.
func spawn(dir string) (proc.ID, error) {
	exe, err := os.Executable()
	if err != nil {
		return proc.ID{}, fmt.Errorf("path of this binary: %w", err)
	}

	logPath := supervise.LogFile(dir, "supervisor")
	if err := os.MkdirAll(filepath.Dir(logPath), 0o755); err != nil {
		return proc.ID{}, fmt.Errorf("create the log directory: %w", err)
	}

	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return proc.ID{}, fmt.Errorf("open the supervisor's log: %w", err)
	}
	defer func() { _ = log.Close() }()

	cmd := exec.Command(exe, SuperviseVerb, "--dir", dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log

	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return proc.ID{}, fmt.Errorf("start the supervisor: %w", err)
	}

	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		return proc.ID{}, fmt.Errorf("the supervisor ended at its start: %w; the last lines of its log:\n%s", err, supervise.Tail(logPath, 10))
	}
	// Reap the supervisor if it ends while this process runs. Otherwise this process would keep its zombie.
	go func() { _ = cmd.Wait() }()
	return id, nil
}

// SuperviseVerb is the name of the hidden command of sparklocal that runs the supervisor.
const SuperviseVerb = "internal-supervise"

// await reports the steps of the start, and returns when the cluster is ready or its start has failed. If the context
// ends first, await ends the cluster, so that no partly started cluster remains.
func await(ctx context.Context, dir string, supervisor proc.ID, report Reporter) error {
	shown := 0
	for {
		state, err := supervise.ReadState(dir)

		current := err == nil && state.Supervisor == supervisor
		if current {
			for ; shown < len(state.Steps); shown++ {
				report.Step(state.Steps[shown].Name, time.Duration(state.Steps[shown].Seconds*float64(time.Second)))
			}
		}

		switch {
		case current && state.Phase == supervise.Ready:
			return nil
		case current && state.Phase == supervise.Failed:
			return fmt.Errorf("the cluster did not start: %s\nthe logs of all components are in %s", state.Error, filepath.Join(dir, "logs"))
		case !supervisor.Alive():
			return fmt.Errorf("the supervisor ended before the cluster was ready; the last lines of its log:\n%s", supervise.Tail(supervise.LogFile(dir, "supervisor"), 20))
		}

		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), supervisor.Signal(syscall.SIGTERM))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
