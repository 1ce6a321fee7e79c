package cli

import (
	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/local/internal/cluster"
)

// superviseCommand returns the hidden command of the supervisor process. Only `up` starts it.
func superviseCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    cluster.SuperviseVerb,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return cluster.Run(cmd.Context(), dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "absolute path of the state directory")
	return cmd
}
