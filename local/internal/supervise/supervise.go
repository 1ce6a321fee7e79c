// Package supervise keeps a cluster's components running: it starts them, tells when they are ready, starts a dead one again after a growing
// pause, and writes down what it knows for `sparklocal status`.
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
	// steady is how long a run must last for the next death to count as the first again.
	steady = time.Minute
	// startTries is how many deaths before its first readiness make a component's start a failure.
	startTries = 3
	// probePause is the time between two health checks of a component that is not ready.
	probePause = 30 * time.Millisecond
	// killLimit is how long the kernel gets to end a killed process.
	killLimit = 10 * time.Second
)

// Component is one program to keep running.
type Component struct {
	Name string
	Path string
	// Args are its arguments, without the name it is called by.
	Args []string
	// Env is its whole environment: nothing is inherited, or a proxy setting of the user's shell would change the cluster.
	Env []string
	// Ready is its health check; nil means ready as soon as it runs.
	Ready func(ctx context.Context) error
}

// Supervisor runs components. Use New.
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

// New returns a supervisor for the cluster in dir. launch starts a prepared command (cmd.Start in the right namespaces).
func New(dir string, launch func(*exec.Cmd) error) (*Supervisor, error) {
	self, err := proc.Of(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("own process: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Supervisor{
		dir: dir, launch: launch, ctx: ctx, cancel: cancel,
		state: State{Supervisor: self, Phase: Starting},
		ready: map[string]chan struct{}{},
	}
	return s, writeState(dir, s.state)
}

// Pause is how long a component waits before its start number deaths+1: it doubles from 0.2 s to 10 s.
func Pause(deaths int) time.Duration {
	pause := firstPause
	for range deaths - 1 {
		if pause *= 2; pause >= longPause {
			return longPause
		}
	}
	return pause
}

// Start begins to keep a component running and returns at once.
func (s *Supervisor) Start(c Component) {
	s.mu.Lock()
	s.ready[c.Name] = make(chan struct{})
	s.state.Components = append(s.state.Components, ComponentState{
		Name: c.Name, Status: ComponentStarting, Since: time.Now(), Log: LogFile(s.dir, c.Name),
	})
	s.mu.Unlock()
	s.units.Go(func() { s.keep(c) })
}

// keep is the life of one component: run, note the death, pause, run again.
func (s *Supervisor) keep(c Component) {
	for deaths := 0; s.ctx.Err() == nil; {
		started := time.Now()
		how := s.runOnce(c)
		if s.ctx.Err() != nil {
			break
		}
		if time.Since(started) > steady {
			deaths = 0
		}
		deaths++
		s.update(c.Name, func(cs *ComponentState) {
			cs.Status, cs.PID, cs.LastExit = ComponentRestarting, 0, how
			cs.Restarts++
		})
		select {
		case <-s.ctx.Done():
		case <-time.After(Pause(deaths)):
		}
	}
	s.update(c.Name, func(cs *ComponentState) { cs.Status, cs.PID = ComponentStopped, 0 })
}

// runOnce starts a component, waits for its end and says how it ended.
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
		// Its data goes with it, or is safe in the page cache: there is nothing to wait for.
		_ = cmd.Process.Kill()
		select {
		case err = <-exited:
		case <-time.After(killLimit):
			err = errors.New("does not end")
		}
	}
	ended()
	probe.Wait()
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// probe asks until the component is ready or has ended.
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

// publish writes the state file. The caller holds the lock. A full disk must not end the cluster: the file is then old, and the error is in
// the supervisor's log.
func (s *Supervisor) publish() {
	if err := writeState(s.dir, s.state); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// WaitReady waits until a started component has been ready once. The error quotes the end of its log when it keeps dying or the context ends
// first.
func (s *Supervisor) WaitReady(ctx context.Context, name string) error {
	s.mu.Lock()
	ready := s.ready[name]
	s.mu.Unlock()
	if ready == nil {
		return fmt.Errorf("%s was never started", name)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return s.startError(name, "is not ready in time")
		case <-tick.C:
			if cs := s.component(name); cs.Restarts >= startTries {
				return s.startError(name, "keeps ending ("+cs.LastExit+")")
			}
		}
	}
}

func (s *Supervisor) startError(name, what string) error {
	path := LogFile(s.dir, name)
	return fmt.Errorf("%s %s; the end of %s:\n%s", name, what, path, Tail(path, 20))
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

// Step notes a finished step of the start.
func (s *Supervisor) Step(name string, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Steps = append(s.state.Steps, Step{Name: name, Seconds: time.Since(began).Seconds()})
	s.publish()
}

// SetPhase notes where the cluster is; err, when not nil, says why it failed.
func (s *Supervisor) SetPhase(phase Phase, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Phase = phase
	if err != nil {
		s.state.Error = err.Error()
	}
	s.publish()
}

// CapLogs rotates the logs that have grown too long. Call it now and then.
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

// Stop ends every component, in no order and without mercy, and waits until they are gone. Processes that a component has let loose are not
// its business.
func (s *Supervisor) Stop() {
	s.cancel()
	s.units.Wait()
}
