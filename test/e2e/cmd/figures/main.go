// Command figures measures the project's performance targets and prints each measurement with its bound. It measures
// startup times, the size and memory of the operator, how fast the operator creates driver pods and updates statuses,
// and the sparkctl verbs that need no cluster. It starts and stops its own clusters.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

func main() {
	root := flag.String("root", "../..", "root directory of the repository")
	n := flag.Int("n", 20, "number of applications whose latency is measured")
	demo := flag.Bool("demo", true, "also measure the demo")
	verbose := flag.Bool("v", false, "show the output of the tools")

	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, *root, *n, *demo, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, n int, demo, verbose bool) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}

	toolOutput := io.Discard
	if verbose {
		toolOutput = os.Stderr
	}

	if err := offlineVerbs(ctx, root); err != nil {
		return err
	}

	if err := withOperator(ctx, root, n, toolOutput); err != nil {
		return err
	}

	if !demo {
		return nil
	}
	return timeDemo(ctx, root, toolOutput)
}

// withOperator takes the measurements that need a cluster with the operator but without other load: the operator's
// memory and image size, and its delays.
func withOperator(ctx context.Context, root string, n int, toolOutput io.Writer) (err error) {
	c, err := cluster.Start(ctx, cluster.Options{Root: root, Out: toolOutput})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()

	resident, err := operatorResident(ctx, c)
	if err != nil {
		return err
	}

	show("operator resident, idle", megabytes(resident), "64 MB")

	size, err := compressedSize(c.OperatorImage)
	if err != nil {
		return err
	}

	show("operator image, compressed", megabytes(size), "40 MB")

	waits, err := measureSpeed(ctx, c, n)
	if err != nil {
		return err
	}

	show(fmt.Sprintf("delay from creation to driver pod, median of %d", n), milliseconds(median(waits.driver)), "100 ms")
	show(fmt.Sprintf("delay from driver pod change to status, median of %d", len(waits.status)), milliseconds(median(waits.status)), "1 s")
	show("delay from driver pod change to status, maximum", milliseconds(slices.Max(waits.status)), "1 s")
	return controlPlaneReady(ctx, c)
}

// controlPlaneReady measures the start of a control plane without a node, while the idle cluster keeps running. This is
// a warm start, because the programs have already been started once for the idle cluster.
func controlPlaneReady(ctx context.Context, c *cluster.Cluster) error {
	dir := filepath.Join(c.Dir, "control-plane")
	began := time.Now()

	if err := c.Local(ctx, "up", "--control-plane-only", "--dir", dir, "--owner-pid", strconv.Itoa(os.Getpid())); err != nil {
		return err
	}

	show("control plane alone, ready", seconds(time.Since(began)), "10 s")
	return c.Local(ctx, "down", "--dir", dir)
}

// timeDemo measures how long tools/demo.sh takes. The demo starts a cluster of its own.
func timeDemo(ctx context.Context, root string, toolOutput io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "spark-demo-")
	if err != nil {
		return err
	}

	env := append(os.Environ(), "SPARKLOCAL_DIR="+dir)
	defer func() {
		down := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(root, "bin/sparklocal"), "down")
		down.Env = env
		err = errors.Join(err, down.Run(), os.RemoveAll(dir))
	}()

	demo := exec.CommandContext(ctx, filepath.Join(root, "tools/demo.sh"))
	demo.Env, demo.Stdout, demo.Stderr = env, toolOutput, toolOutput
	began := time.Now()

	if err := demo.Run(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}

	show("demo, warm", seconds(time.Since(began)), "90 s")
	return nil
}

func show(name, got, limit string) { fmt.Printf("%-60s %12s   at most %s\n", name, got, limit) }

func milliseconds(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
