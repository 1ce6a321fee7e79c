// Command bench measures the operator against the API server itself, in one run on one machine: how many applications a second it
// carries from creation to the end, what it writes, and what memory and CPU it takes; beside the same writes sent directly by plain
// clients, which is the most that this API server would do.
//
// It starts a control plane of its own (no node, no scheduler), plays the kubelet for the driver pods, and ends everything it started.
// The load is bounded by -apps and -timeout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// options are the command line.
type options struct {
	schedules int           // schedules that are due at one minute; 0 for applications instead
	kill      int           // runs after which the operator is killed; 0 for never
	apps      int           // applications created at once
	clients   int           // workers that create applications, and that send the direct writes
	runtime   time.Duration // how long a simulated driver runs
	timeout   time.Duration // for the whole run
	root      string        // of the repository
	operator  string        // binary; built when empty
	local     string        // sparklocal binary; built when empty
}

func main() {
	var o options
	flag.IntVar(&o.schedules, "schedules", 0, "measure so many schedules that are due at one minute, instead of applications")
	flag.IntVar(&o.kill, "kill", 0, "with -schedules: kill the operator once so many runs are there; another goes on")
	flag.IntVar(&o.apps, "apps", 200, "applications created at once")
	flag.IntVar(&o.clients, "clients", 16, "client workers")
	flag.DurationVar(&o.runtime, "runtime", 200*time.Millisecond, "how long a simulated driver runs")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Minute, "bound on the whole run")
	flag.StringVar(&o.root, "root", "..", "the repository's root")
	flag.StringVar(&o.operator, "operator", "", "spark-operator binary (default: built)")
	flag.StringVar(&o.local, "sparklocal", os.Getenv("SPARKLOCAL"), "sparklocal binary (default: built)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run makes one measurement and prints its table.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	w, err := newWorld(ctx, o, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()

	if o.schedules > 0 {
		return w.schedulesAtOnce(ctx, out)
	}
	fmt.Fprintf(out, "%d applications at once, drivers that run %s, %d clients\n", o.apps, o.runtime, o.clients)
	op, err := w.throughOperator(ctx)
	if err != nil {
		return fmt.Errorf("through the operator: %w", err)
	}
	direct, err := w.direct(ctx, op)
	if err != nil {
		return fmt.Errorf("direct: %w", err)
	}
	report(out, o.apps, op, direct)
	return nil
}
