// Package cli implements the commands of sparklocal. Each command has its own file.
package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// New returns the root command with all subcommands.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:   "sparklocal",
		Short: "A real Kubernetes on a bare Linux machine",
		Long: `sparklocal runs a real Kubernetes on a bare Linux machine, without Docker, a virtual machine or a registry. A cluster keeps its files in one
directory, and several clusters can run side by side. Clients connect with the cluster's kubeconfig.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(upCommand(), downCommand(), statusCommand(), kubeconfigCommand(), kubectlCommand(), loadCommand(), superviseCommand(), NewImageCommand())
	return root
}

const dirHelp = "state directory of the cluster (default $SPARKLOCAL_DIR, else ~/.local/state/sparklocal/default)"

// dirFlag adds the flag --dir to a command.
func dirFlag(cmd *cobra.Command, dir *string) { cmd.Flags().StringVar(dir, "dir", "", dirHelp) }

// stateDir returns the absolute path of the cluster's directory. The directory is the value of --dir, otherwise
// $SPARKLOCAL_DIR, otherwise the default. stateDir resolves symbolic links, because the ID of a cluster is derived from
// this path.
func stateDir(flag string) (string, error) {
	dir := flag
	if dir == "" {
		dir = os.Getenv("SPARKLOCAL_DIR")
	}

	if dir == "" {
		base := os.Getenv("XDG_STATE_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("find the default state directory: %w: choose a directory with --dir", err)
			}

			base = filepath.Join(home, ".local", "state")
		}

		dir = filepath.Join(base, "sparklocal", "default")
	}

	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("state directory: %w", err)
	}
	return resolve(dir), nil
}

// resolve resolves the symbolic links in a path. If the end of the path does not exist, it resolves the part that
// exists.
func resolve(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}

	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}
