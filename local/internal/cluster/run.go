package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/isolate"
	"github.com/sparkoperator/spark-operator/local/internal/registry"
	"github.com/sparkoperator/spark-operator/local/internal/supervise"
)

const (
	// startLimit is how long a start may take: far longer than it does, for a machine that is busy.
	startLimit = 3 * time.Minute
	// watchPause is how often the supervisor looks whether anybody still wants the cluster.
	watchPause = 250 * time.Millisecond
	// logTicks and reapTicks are after how many such pauses logs are looked at for their size and dead containers are taken away.
	logTicks  = 40
	reapTicks = 4
)

// runner is the supervisor process's work on one cluster.
type runner struct {
	*Spec
	sup    *supervise.Supervisor
	thread *isolate.Thread
	reg    registry.Registry
}

// Run is the supervisor process: it starts the cluster in dir, keeps it running until the context ends, its owner ends or its directory is
// removed, and ends it. The error, if any, is also in the state file.
func Run(ctx context.Context, dir string) error {
	spec, err := ReadSpec(dir)
	if err != nil {
		return err
	}
	if spec == nil {
		return fmt.Errorf("no cluster in %s", dir)
	}
	reg, err := registry.Open()
	if err != nil {
		return err
	}
	r := &runner{Spec: spec, reg: reg}
	if r.sup, err = supervise.New(dir, func(cmd *exec.Cmd) error { return r.thread.Launch(cmd) }); err != nil {
		return err
	}
	err = r.up(ctx)
	if err == nil {
		r.sup.SetPhase(supervise.Ready, nil)
		r.watch(ctx)
		r.sup.SetPhase(supervise.Stopping, nil)
	}
	return r.down(err)
}

// up starts everything, or says what did not start.
func (r *runner) up(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	go r.cancelWhenUnwanted(ctx, cancel)
	began := time.Now()
	if err := r.issue(); err != nil {
		return err
	}
	if err := r.writeControlPlaneFiles(); err != nil {
		return err
	}
	r.sup.Step("certificates", began)
	if r.Node == nil {
		var err error
		if r.thread, err = isolate.NewThread(nil); err != nil {
			return err
		}
		return r.controlPlane(ctx)
	}
	if err := isolate.AdoptOrphans(); err != nil {
		return fmt.Errorf("adopting containers: %w", err)
	}
	if err := r.enter(); err != nil {
		return err
	}
	return r.withNode(ctx)
}

// cancelWhenUnwanted ends a start that nobody waits for any more.
func (r *runner) cancelWhenUnwanted(ctx context.Context, cancel func()) {
	for ctx.Err() == nil {
		if r.unwanted() {
			cancel()
		}
		sleep(ctx, watchPause)
	}
}

// unwanted reports that the owner has ended or that somebody has removed the directory.
func (r *runner) unwanted() bool {
	_, err := os.Stat(specFile(r.Dir))
	return errors.Is(err, fs.ErrNotExist) || (r.Owner.PID != 0 && !r.Owner.Alive())
}

// watch returns when the cluster is to end.
func (r *runner) watch(ctx context.Context) {
	var reaper isolate.Reaper
	for tick := 1; ctx.Err() == nil && !r.unwanted(); tick++ {
		if tick%logTicks == 0 {
			r.sup.CapLogs()
		}
		if tick%reapTicks == 0 && r.Node != nil {
			reaper.Reap()
		}
		sleep(ctx, watchPause)
	}
}

// down ends everything. A failed cluster keeps its directory, for its logs; one without owner keeps it too, for its data, until
// `sparklocal down` removes it or `up` starts it again.
func (r *runner) down(cause error) error {
	r.sup.Stop()
	if r.thread != nil {
		r.thread.Close()
	}
	unwanted := r.unwanted()
	if cause != nil && !unwanted {
		r.sup.SetPhase(supervise.Failed, cause)
	}
	unlock, err := r.reg.Lock()
	if err != nil {
		return errors.Join(cause, err)
	}
	defer unlock()
	entry, ok := r.reg.Get(r.ID)
	if !ok {
		return cause
	}
	if err := release(r.reg, entry); err != nil {
		return errors.Join(cause, err)
	}
	// Twice: the first look only notes who is dead.
	var reaper isolate.Reaper
	reaper.Reap()
	reaper.Reap()
	if unwanted {
		return errors.Join(cause, wipe(r.Dir))
	}
	return cause
}

// component starts one component and waits until it is ready.
func (r *runner) component(ctx context.Context, render func() (supervise.Component, error)) error {
	began := time.Now()
	c, err := render()
	if err != nil {
		return err
	}
	r.sup.Start(c)
	if err := r.sup.WaitReady(ctx, c.Name); err != nil {
		return err
	}
	r.sup.Step(c.Name, began)
	return nil
}

// controlPlane starts etcd, the API server and the controllers, and waits until a pod could be created in the default namespace.
func (r *runner) controlPlane(ctx context.Context) error {
	if err := r.component(ctx, r.etcd); err != nil {
		return err
	}
	if err := r.component(ctx, r.apiserver); err != nil {
		return err
	}
	controllers := []func() error{
		func() error { return r.component(ctx, r.controllerManager) },
		func() error { return r.defaultServiceAccount(ctx) },
	}
	if r.Scheduler || r.Node != nil {
		controllers = append(controllers, func() error { return r.component(ctx, r.scheduler) })
	}
	return together(controllers...)
}

// defaultServiceAccount waits for the account that every pod of the default namespace needs: the last thing that the controllers make.
func (r *runner) defaultServiceAccount(ctx context.Context) error {
	admin, err := r.Admin()
	if err != nil {
		return err
	}
	defer admin.Close()
	return until(ctx, "the controllers do not make the default service account", func() error {
		return admin.Get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
	})
}

// until repeats a check until it passes. When the context ends first, the error is what followed by the check's last complaint.
func until(ctx context.Context, what string, check func() error) error {
	for {
		err := check()
		if err == nil {
			return nil
		}
		sleep(ctx, 30*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

// together calls all functions at once and waits for all of them.
func together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var wg sync.WaitGroup
	for i, f := range functions {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
