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
		Long: `load brings the images of tars (docker save's form, or OCI's) into the cluster's container runtime, under the names in the tars. Pods find them
there without a pull as long as their pull policy is not Always.`,
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
