package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/local/internal/cluster"
)

func downCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and remove all its resources",
		Long: `down stops the cluster and removes all its resources: processes, mounts, network interfaces, packet rules, cgroups, and its files in the state
directory, including data and logs. It also removes the leftover resources of other clusters whose supervisor was killed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := stateDir(dir)
			if err != nil {
				return err
			}
			return cluster.Down(dir, func(text string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), text) })
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}
