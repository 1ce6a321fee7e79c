package forward

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// shell is the program that --shell starts if it is installed. The package pyspark-client, which needs no JVM, does not
// contain it. Without the program, --shell starts a Python with a session.
const shell = "pyspark"

// sessionCode is the Python code that opens a session with the server at an address. If that fails, Python ends. It
// would otherwise wait for statements without a session.
const sessionCode = `import os, sys
try:
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.remote(%q).getOrCreate()
    print("Spark", spark.version, "is available as spark")
except BaseException as error:
    print("no session:", error, file=sys.stderr, flush=True)
    os._exit(1)
`

// connectPortName is the name of the port of a Connect server's pod to which clients connect.
const connectPortName = "spark-connect"

func connectCommand(streams terminal.Streams) *cobra.Command {
	var port int
	var withShell bool
	cmd := &cobra.Command{
		Use:   "connect NAME",
		Short: "Connect this machine to a Spark Connect server",
		Long: "Forwards a port of this machine to a Spark Connect server and prints the address for clients. The connection lasts until\n" +
			"Ctrl-C, and needs the right to create pods/portforward. With --shell, the verb starts " + shell + " on that address, or a\n" +
			"Python with a session named spark if only the package pyspark-client is installed, and ends with it.",
		Example: "  sparkctl connect spark-connect\n" +
			"  sparkctl connect spark-connect --shell",
	}
	cmd.Flags().IntVar(&port, "port", 0, "`port` of this machine; by default that of the server, or a free one")
	cmd.Flags().BoolVar(&withShell, "shell", false, "start "+shell+" or a Python with a session on the address")
	return selection.One(cmd, streams.Err, func(cmd *cobra.Command, c *kube.Client, object client.Object) error {
		if _, ok := object.(*v1alpha1.SparkConnect); !ok {
			return exit.Errorf(exit.Usage, "%s is not a Connect server; if a Connect server has the same name, write connect/%s", kube.Title(object), object.GetName())
		}

		var program []string

		var err error
		if withShell {
			if program, err = findShell(cmd.Context()); err != nil {
				return err
			}
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

		t, err := open(ctx, c, pod, port, kube.PortNamed(pod, connect.ServerPort, connectPortName))
		if err != nil {
			return err
		}

		address := fmt.Sprintf("sc://localhost:%d", t.local)
		if withShell {
			return runShell(streams, program, address)
		}

		fmt.Fprintf(streams.Out, "%s\n", address)
		fmt.Fprintf(streams.Err, "%s is reachable at this address until you press Ctrl-C\n", kube.Title(object))
		return t.wait(ctx, pod)
	}, "connect")
}

// pythons are the names of the Python interpreter.
var pythons = []string{"python3", "python"}

// findShell returns the command line of a shell, except for its last argument: of pyspark, or of a Python that can
// import the client of Spark Connect.
func findShell(ctx context.Context) ([]string, error) {
	if _, err := exec.LookPath(shell); err == nil {
		return []string{shell, "--remote"}, nil
	}

	for _, python := range pythons {
		err := exec.CommandContext(ctx, python, "-c", "import pyspark.sql.connect.session").Run()
		if err == nil {
			return []string{python, "-i", "-c"}, nil
		}

		if ctx.Err() != nil {
			return nil, context.Canceled
		}
	}
	return nil, exit.Usagef("--shell: this machine has neither %s nor a Python with a working client of Spark Connect; install "+
		"pyspark-client or 'pyspark[connect]' with pip, in the version of the server", shell)
}

// runShell runs a shell that findShell returned on the address of a server, until the user leaves it.
func runShell(streams terminal.Streams, program []string, address string) error {
	argument := address
	if program[0] != shell {
		argument = fmt.Sprintf(sessionCode, address)
	}

	process := exec.Command(program[0], append(program[1:], argument)...) //nolint:noctx // it continues after Ctrl-C
	process.Stdin, process.Stdout, process.Stderr = streams.In, terminal.Direct(streams.Out), terminal.Direct(streams.Err)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt) // the shell gets Ctrl-C too, and handles it
	defer signal.Stop(interrupts)

	err := process.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Errorf(exit.Failed, "%s ended with exit code %d", program[0], ended.ExitCode())
	}
	return err
}
