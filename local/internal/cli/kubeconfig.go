package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/local/internal/cluster"
)

func kubeconfigCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of a cluster's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := stateDir(dir)
			if err != nil {
				return err
			}

			path := cluster.Kubeconfig(dir)
			if _, err := os.Stat(path); err != nil {
				return fmt.Errorf("no cluster in %s: start one with `sparklocal up`", dir)
			}

			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}
