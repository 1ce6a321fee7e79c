// Command sparklocal runs its own Kubernetes on a bare Linux machine, for spark-operator's demo, tests and benchmarks.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sparkoperator/spark-operator/local/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := cli.New().ExecuteContext(ctx)

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "sparklocal:", err)
		os.Exit(1)
	}
}
