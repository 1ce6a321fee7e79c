// Command spark-operator runs Apache Spark applications that are asked for as Kubernetes custom resources.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name zones, and an image need not have the IANA database

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/config/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "spark-operator:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "spark-operator",
		Short:         "Runs Apache Spark applications on Kubernetes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(controllerCommand(), versionCommand())
	return root
}

func controllerCommand() *cobra.Command {
	parent := &cobra.Command{Use: "controller", Short: "The reconcilers"}
	var options startOptions
	start := &cobra.Command{
		Use:   "start",
		Short: "Reconcile custom resources until SIGTERM",
		Long: "Reconciles custom resources until SIGTERM, then finishes what is in flight and gives up its lease.\n" +
			"The cluster is the one it runs in, or the one that KUBECONFIG or --kubeconfig names.\n\n" +
			"Beside --config, the flags of the kubeflow operator are taken: those that mean something here win over the file, the others\n" +
			"are told in the log. With --apache-properties the properties of the operator of spark.apache.org are read in the same way; they win over\n" +
			"the file, and flags over both.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return startController(cmd.Context(), &options, cmd.ErrOrStderr())
		},
	}
	options.flags.AddController(start.Flags())
	start.Flags().StringVar(&options.config, "config", "", "configuration `file`; without one everything is at its default")
	start.Flags().StringVar(&options.flags.Properties, "apache-properties", "", "`file` of the properties of the operator of spark.apache.org; wins over --config")
	start.Flags().Lookup("apache-properties").NoOptDefVal = peer.DefaultPropertiesFile
	start.Flags().StringVar(&options.kubeconfig, "kubeconfig", "", "kubeconfig `file`; wins over KUBECONFIG")
	parent.AddCommand(start)
	return parent
}

func versionCommand() *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := currentVersion().String()
			if short {
				text = currentVersion().version
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "only the version's number")
	return cmd
}
