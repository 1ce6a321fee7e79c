// Command spark-operator runs Apache Spark applications that are described by Kubernetes custom resources.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and an image may lack the IANA database

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/settings/config/peer"
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
	root.AddCommand(controllerCommand(), webhookCommand(), versionCommand())
	return root
}

func controllerCommand() *cobra.Command {
	parent := &cobra.Command{Use: "controller", Short: "The reconcilers"}
	var options startOptions
	start := &cobra.Command{
		Use:   "start",
		Short: "Reconcile custom resources until SIGTERM",
		Long: "Reconciles custom resources until SIGTERM, then finishes the passes in flight and releases its lease.\n" +
			"It serves the cluster that it runs in, or the cluster that KUBECONFIG or --kubeconfig names.\n\n" +
			"Besides --config, it accepts the flags of the kubeflow operator: those with a counterpart take precedence over\n" +
			"the file, and the log lists the others. With --apache-properties it also reads the properties of the operator\n" +
			"of spark.apache.org. They take precedence over the file, and flags over both.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return startController(cmd.Context(), &options, cmd.ErrOrStderr())
		},
	}
	options.flags.AddController(start.Flags())
	start.Flags().StringVar(&options.config, "config", "", "configuration `file`; without one, all settings have their defaults")
	start.Flags().StringVar(&options.flags.Properties, "apache-properties", "",
		"`file` of the properties of the operator of spark.apache.org; takes precedence over --config")
	start.Flags().Lookup("apache-properties").NoOptDefVal = peer.DefaultPropertiesFile
	start.Flags().StringVar(&options.kubeconfig, "kubeconfig", "", "kubeconfig `file`; takes precedence over KUBECONFIG")
	parent.AddCommand(start)
	return parent
}

// webhookCommand returns the command that starts the webhook of the kubeflow operator. A Deployment of an earlier
// installation runs it with this operator's image.
func webhookCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "webhook",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("there is no webhook program, because the controller's pods serve the webhooks; " +
				"delete the Deployment that runs this command, such as spark-operator-webhook, " +
				"or give it the other operator's image while drivers of that operator run (docs/migrate-kubeflow.md)")
		},
	}
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
