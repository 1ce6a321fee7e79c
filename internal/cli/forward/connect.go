package forward

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/target"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// shell is the program that --shell starts.
const shell = "pyspark"

// connectPortName is the name of the port of a Connect server's pod to which clients connect.
const connectPortName = "spark-connect"

func connectCommand(streams terminal.Streams) *cobra.Command {
	var port int
	var withShell bool
	cmd := &cobra.Command{
		Use:   "connect NAME",
		Short: "Connect this machine to a Spark Connect server",
		Long: "Forwards a port of this machine to a Spark Connect server and prints the address for clients. The connection lasts until\n" +
			"Ctrl-C, and needs the right to create pods/portforward. With --shell, the verb starts " + shell + " on that address, and ends\n" +
			"with it.",
		Example: "  sparkctl connect spark-connect\n" +
			"  sparkctl connect spark-connect --shell",
		Args: cobra.ExactArgs(1),
	}
	connection := target.Connection(cmd.Flags())
	cmd.ValidArgsFunction = target.CompleteNames(connection, "connect")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, object, err := target.Named(cmd, connection, args)
		if err != nil {
			return err
		}
		if _, ok := object.(*v1alpha1.SparkConnect); !ok {
			return exit.Errorf(exit.Usage, "%s is not a Connect server; if a Connect server has the same name, write connect/%s", screen.Title(object), object.GetName())
		}
		if _, err := exec.LookPath(shell); withShell && err != nil {
			return exit.Usagef("--shell: %s is not installed on this machine; pip install 'pyspark[connect]' installs it", shell)
		}
		pod, err := c.MainPod(cmd.Context(), object)
		if err != nil {
			return err
		}
		outlives := cmd.Context()
		if withShell {
			outlives = context.WithoutCancel(outlives) // Ctrl-C interrupts a statement of the shell
		}
		ctx, closeTunnel := context.WithCancel(outlives)
		defer closeTunnel()
		t, err := open(ctx, c, pod, port, portNamed(pod, connect.ServerPort, connectPortName))
		if err != nil {
			return err
		}
		address := fmt.Sprintf("sc://localhost:%d", t.local)
		if withShell {
			return runShell(streams, address)
		}
		fmt.Fprintf(streams.Out, "%s\n", address)
		fmt.Fprintf(streams.Err, "%s is reachable at this address until you press Ctrl-C\n", screen.Title(object))
		return t.wait(ctx, pod)
	}
	cmd.Flags().IntVar(&port, "port", 0, "`port` of this machine; by default that of the server, or a free one")
	cmd.Flags().BoolVar(&withShell, "shell", false, "start "+shell+" on the address")
	return cmd
}

// runShell runs the shell with the address of a server until the user leaves the shell.
func runShell(streams terminal.Streams, address string) error {
	process := exec.Command(shell, "--remote", address) //nolint:noctx // like the tunnel, the shell continues after Ctrl-C
	process.Stdin, process.Stdout, process.Stderr = streams.In, streams.Out, streams.Err
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt) // the shell gets Ctrl-C too, and handles it
	defer signal.Stop(interrupts)
	err := process.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Errorf(exit.Failed, "%s ended with exit code %d", shell, ended.ExitCode())
	}
	return err
}
