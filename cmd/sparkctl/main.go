// Command sparkctl creates, follows and debugs Spark applications on Kubernetes. As kubectl-spark it is a plugin of
// kubectl.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and a machine may lack the IANA database

	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/cli"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends a process that does not stop.
	context.AfterFunc(ctx, stop)

	streams := terminal.Standard()
	// Libraries log texts of the API server, too.
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(streams.Err, nil)))
	ctrllog.SetLogger(klog.Background()) // without a logger, it prints a warning after 30 s
	log.SetOutput(streams.Err)
	os.Exit(int(cli.Main(ctx, os.Args, streams)))
}
