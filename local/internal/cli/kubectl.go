package cli

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/local/internal/cluster"
)

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--dir D] ...",
		Short: "Run kubectl against a cluster",
		Long: `kubectl runs the kubectl of the cluster's own Kubernetes release, with KUBECONFIG set to the cluster's kubeconfig. sparklocal reads only a --dir
that comes first and passes all other arguments to kubectl.`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, rest, err := leadingDir(args)
			if err != nil {
				return err
			}

			if dir, err = stateDir(dir); err != nil {
				return err
			}

			spec, err := cluster.ReadSpec(dir)
			if err != nil {
				return err
			}

			if spec == nil {
				return fmt.Errorf("no cluster in %s: start one with `sparklocal up`", dir)
			}

			env := append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig(dir))
			if err := syscall.Exec(spec.Kube, append([]string{"kubectl"}, rest...), env); err != nil {
				return fmt.Errorf("run kubectl from %s: %w", spec.Kube, err)
			}
			return nil
		},
	}
}

// leadingDir removes --dir D or --dir=D from the start of kubectl's arguments. It returns the directory and the other
// arguments.
func leadingDir(args []string) (dir string, rest []string, err error) {
	if len(args) == 0 {
		return "", args, nil
	}

	if value, ok := strings.CutPrefix(args[0], "--dir="); ok {
		return value, args[1:], nil
	}

	if args[0] != "--dir" {
		return "", args, nil
	}

	if len(args) == 1 {
		return "", nil, fmt.Errorf("--dir has no value: write --dir DIRECTORY")
	}
	return args[1], args[2:], nil
}
