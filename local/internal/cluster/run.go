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
	// startLimit is how long a start may take. An idle machine needs far less time.
	startLimit = 3 * time.Minute
	// watchPause is the time between two checks whether the cluster is still wanted.
	watchPause = 250 * time.Millisecond
	// logTicks is the number of watchPauses between two log rotations. reapTicks is the number of watchPauses between
	// two calls of Reap.
	logTicks  = 40
	reapTicks = 4
)

// runner runs one cluster in the supervisor process.
type runner struct {
	*Spec
	sup    *supervise.Supervisor
	thread *isolate.Thread
	reg    registry.Registry
}

// Run is the main function of the supervisor process. It starts the cluster in dir and keeps it running until the
// context ends, the owner ends or the cluster's directory is removed. Then it ends the cluster. If the start fails, Run
// returns the error and also writes it to the state file.
func Run(ctx context.Context, dir string) error {
	spec, err := ReadSpec(dir)
	if err != nil {
		return err
	}

	if spec == nil {
		return fmt.Errorf("no cluster in %s: start one with `sparklocal up`", dir)
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

// up starts all components.
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
		return fmt.Errorf("become the parent of orphaned containers: %w", err)
	}

	if err := r.isolateNode(); err != nil {
		return err
	}
	return r.withNode(ctx)
}

// cancelWhenUnwanted cancels the start when the owner has ended or the cluster's spec file was removed.
func (r *runner) cancelWhenUnwanted(ctx context.Context, cancel func()) {
	for ctx.Err() == nil {
		if r.unwanted() {
			cancel()
		}

		sleep(ctx, watchPause)
	}
}

// unwanted reports whether the owner has ended or the cluster's spec file was removed.
func (r *runner) unwanted() bool {
	_, err := os.Stat(specFile(r.Dir))
	return errors.Is(err, fs.ErrNotExist) || (r.Owner.PID != 0 && !r.Owner.Alive())
}

// watch blocks until the cluster must end. While it blocks, it rotates logs and reaps ended processes of containers.
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

// down ends all processes of the cluster. If the cluster's owner has ended or the cluster's spec file was removed, down
// also removes the other files of the cluster. Otherwise the data and the logs stay, until `sparklocal down` removes
// them or `up` starts the cluster again. If the start failed, the argument is the reason; down returns it together with
// its own errors.
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
	// The first call only records the dead children, and the second call reaps them.
	var reaper isolate.Reaper
	reaper.Reap()
	reaper.Reap()

	if unwanted {
		return errors.Join(cause, wipe(r.Dir))
	}
	return cause
}

// component starts a component and waits until it is ready.
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

// controlPlane starts etcd, the API server and the controllers. It returns as soon as the default namespace accepts
// pods.
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
	return concurrently(controllers...)
}

// defaultServiceAccount waits until the default namespace has its service account. Without this account, which the
// controllers create last, the namespace accepts no pods.
func (r *runner) defaultServiceAccount(ctx context.Context) error {
	admin, err := r.Admin()
	if err != nil {
		return err
	}
	defer admin.Close()
	return poll(ctx, "the controllers did not create the default service account", func() error {
		return admin.Get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
	})
}

// poll calls the function check again and again until it succeeds. If the context ends first, poll returns the last
// error of check with the given prefix.
func poll(ctx context.Context, prefix string, check func() error) error {
	for {
		err := check()
		if err == nil {
			return nil
		}

		sleep(ctx, 30*time.Millisecond)

		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", prefix, err)
		}
	}
}

// concurrently calls all functions concurrently, waits for all of them and joins their errors.
func concurrently(functions ...func() error) error {
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
