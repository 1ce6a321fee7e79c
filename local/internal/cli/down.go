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
		Short: "End a cluster and remove everything of it",
		Long: `down ends the cluster and removes all that it is made of: processes, mounts, network interfaces, packet rules, cgroups, and its files in the
state directory, data and logs among them. What killed runs have left of other clusters goes too.`,
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
