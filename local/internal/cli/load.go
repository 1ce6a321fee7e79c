package cli

import (
	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/local/internal/cluster"
)

func loadCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "load IMAGE.tar...",
		Short: "Load container images into a cluster",
		Long: `load imports the images of tars (in the format of docker save or OCI) into the cluster's container runtime, under the names in the tars. Pods use
them without a pull unless their pull policy is Always.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, tars []string) error {
			dir, err := stateDir(dir)
			if err != nil {
				return err
			}

			out := newProgress(cmd.ErrOrStderr())
			return cluster.Load(cmd.Context(), dir, tars, out.step)
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}
