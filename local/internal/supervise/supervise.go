// Package supervise keeps a cluster's components running. It starts the components and reports when they are ready. If
// a component ends, the package restarts the component after a pause. The pause grows if the component ends repeatedly
// without a longer run in between. The package writes the state of the components to a file for `sparklocal status`.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
)

const (
	firstPause = 200 * time.Millisecond
	longPause  = 10 * time.Second
	// steadyTime is the time after which a running component counts as steady. If it ends later, the pause before its
	// restart is firstPause again.
	steadyTime = time.Minute
	// startTries is the number of attempts to start a component. If the component has ended that often without being
	// ready once, its start has failed.
	startTries = 3
	// probePause is the time between two health checks of a component that is not ready.
	probePause = 30 * time.Millisecond
	// killLimit is how long a killed process may take to end.
	killLimit = 10 * time.Second
)

// Component is a program that the supervisor keeps running.
type Component struct {
	Name string
	Path string
	// Args are the component's arguments, without argument 0.
	Args []string
	// Env is the component's whole environment. It inherits nothing, because proxy settings of the user's shell would
	// change the cluster.
	Env []string
	// Ready is the component's health check. If it is nil, the component is ready as soon as it runs.
	Ready func(ctx context.Context) error
}

// Supervisor runs components. Create it with New.
type Supervisor struct {
	dir    string
	launch func(*exec.Cmd) error

	ctx    context.Context
	cancel context.CancelFunc
	units  sync.WaitGroup

	mu    sync.Mutex
	state State
	ready map[string]chan struct{}
}

// New returns a supervisor for the cluster in dir. The supervisor starts commands with the function launch, which must
// do the same as cmd.Start but in the cluster's namespaces.
func New(dir string, launch func(*exec.Cmd) error) (*Supervisor, error) {
	self, err := proc.Of(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("identify the supervisor process: %w", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	s := &Supervisor{
		dir: dir, launch: launch, ctx: ctx, cancel: cancel,
		state: State{Supervisor: self, Phase: Starting},
		ready: map[string]chan struct{}{},
	}
	return s, writeState(dir, s.state)
}

// Backoff returns the pause before a restart. The parameter deaths is the number of times in a row that the component
// has ended soon after its start. The pause doubles from 0.2 s up to 10 s.
func Backoff(deaths int) time.Duration {
	pause := firstPause
	for range deaths - 1 {
		if pause *= 2; pause >= longPause {
			return longPause
		}
	}
	return pause
}

// Start starts a component and keeps it running. It returns at once.
func (s *Supervisor) Start(c Component) {
	s.mu.Lock()
	s.ready[c.Name] = make(chan struct{})
	s.state.Components = append(s.state.Components, ComponentState{
		Name: c.Name, Status: ComponentStarting, Since: time.Now(), Log: LogFile(s.dir, c.Name),
	})
	s.mu.Unlock()
	s.units.Go(func() { s.keepRunning(c) })
}

// keepRunning runs a component until the supervisor stops. Each time the component ends, keepRunning records how it
// ended, and pauses before the next start.
func (s *Supervisor) keepRunning(c Component) {
	for deaths := 0; s.ctx.Err() == nil; {
		started := time.Now()

		lastExit := s.runOnce(c)
		if s.ctx.Err() != nil {
			break
		}

		if time.Since(started) > steadyTime {
			deaths = 0
		}
		deaths++

		s.update(c.Name, func(cs *ComponentState) {
			cs.Status, cs.PID, cs.LastExit = ComponentRestarting, 0, lastExit
			cs.Restarts++
		})

		select {
		case <-s.ctx.Done():
		case <-time.After(Backoff(deaths)):
		}
	}

	s.update(c.Name, func(cs *ComponentState) { cs.Status, cs.PID = ComponentStopped, 0 })
}

// runOnce starts a component, waits until it ends and returns a text that describes how it ended.
func (s *Supervisor) runOnce(c Component) string {
	log, err := openLog(LogFile(s.dir, c.Name))
	if err != nil {
		return err.Error()
	}
	defer func() { _ = log.Close() }()

	cmd := exec.Command(c.Path, c.Args...)
	cmd.Args[0] = c.Name

	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.Env, s.dir, log, log
	if err := s.launch(cmd); err != nil {
		return "cannot start: " + err.Error()
	}

	s.update(c.Name, func(cs *ComponentState) { cs.Status, cs.PID = ComponentStarting, cmd.Process.Pid })

	running, ended := context.WithCancel(s.ctx)
	var probe sync.WaitGroup
	probe.Go(func() { s.probe(running, c) })

	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()

	select {
	case err = <-exited:
	case <-s.ctx.Done():
		// Killing a component loses no data, because written data is in the page cache.
		_ = cmd.Process.Kill()

		select {
		case err = <-exited:
		case <-time.After(killLimit):
			err = errors.New("still runs after SIGKILL")
		}
	}

	ended()
	probe.Wait()

	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// probe repeats the health check until the component is ready or has ended.
func (s *Supervisor) probe(ctx context.Context, c Component) {
	for ctx.Err() == nil {
		if c.Ready == nil || c.Ready(ctx) == nil {
			s.update(c.Name, func(cs *ComponentState) { cs.Status = ComponentReady })
			return
		}

		select {
		case <-ctx.Done():
		case <-time.After(probePause):
		}
	}
}

func (s *Supervisor) update(name string, change func(*ComponentState)) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for i := range s.state.Components {
		cs := &s.state.Components[i]
		if cs.Name != name {
			continue
		}

		change(cs)

		cs.Since = time.Now()
		if cs.Status == ComponentReady {
			select {
			case <-s.ready[name]:
			default:
				close(s.ready[name])
			}
		}
	}

	s.publish()
}

// publish writes the state file. The caller holds the lock. If the write fails, for example because the disk is full,
// publish only logs the error, and the cluster keeps running with an old state file.
func (s *Supervisor) publish() {
	if err := writeState(s.dir, s.state); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// WaitReady waits until a started component has been ready once. If the component keeps ending, or if the context ends
// first, the error quotes the last lines of the component's log.
func (s *Supervisor) WaitReady(ctx context.Context, name string) error {
	s.mu.Lock()
	ready := s.ready[name]
	s.mu.Unlock()

	if ready == nil {
		return fmt.Errorf("component %s was never started", name)
	}

	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()

	for {
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return s.startError(name, "did not become ready in time")
		case <-tick.C:
			if cs := s.component(name); cs.Restarts >= startTries {
				return s.startError(name, "keeps exiting ("+cs.LastExit+")")
			}
		}
	}
}

func (s *Supervisor) startError(name, problem string) error {
	path := LogFile(s.dir, name)
	return fmt.Errorf("component %s %s; the last lines of its log %s:\n%s", name, problem, path, Tail(path, 20))
}

func (s *Supervisor) component(name string) ComponentState {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, cs := range s.state.Components {
		if cs.Name == name {
			return cs
		}
	}
	return ComponentState{}
}

// Step records a finished step of the start.
func (s *Supervisor) Step(name string, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.state.Steps = append(s.state.Steps, Step{Name: name, Seconds: time.Since(began).Seconds()})
	s.publish()
}

// SetPhase sets the phase of the cluster. If err is not nil, SetPhase records it as the reason of the failure.
func (s *Supervisor) SetPhase(phase Phase, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.state.Phase = phase
	if err != nil {
		s.state.Error = err.Error()
	}

	s.publish()
}

// CapLogs rotates the logs that are too large. Call it periodically.
func (s *Supervisor) CapLogs() {
	s.mu.Lock()
	components := append([]ComponentState(nil), s.state.Components...)
	s.mu.Unlock()

	for _, cs := range components {
		if err := capLog(cs.Log, logCap); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// Stop kills all components at the same time and waits until they have ended. It does not kill processes that the
// components started.
func (s *Supervisor) Stop() {
	s.cancel()
	s.units.Wait()
}
