package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/local/internal/supervise"
)

func statusCommand() *cobra.Command {
	var dir, output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of a cluster and its components",
		Long: `status shows the state of the cluster: each component with its process ID, its number of restarts, the end of its last run and the path of its
log. The exit status is 0 if the cluster and all its components are ready, and 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := stateDir(dir)
			if err != nil {
				return err
			}

			state, err := supervise.ReadState(dir)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("no cluster in %s: start one with `sparklocal up`", dir)
			}

			if err != nil {
				return err
			}
			return showState(cmd.OutOrStdout(), dir, output, state)
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().StringVarP(&output, "output", "o", "", `output format: "json" prints the whole state`)
	return cmd
}

func showState(out io.Writer, dir, output string, state supervise.State) error {
	alive := state.Supervisor.Alive()
	switch output {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")

		if err := encoder.Encode(state); err != nil {
			return err
		}
	case "":
		if err := printState(out, dir, state, alive); err != nil {
			return err
		}
	default:
		return fmt.Errorf("--output %q is not supported: use json, or omit the flag for a table", output)
	}

	if !alive {
		return errors.New("the cluster is not running: start it with `sparklocal up`")
	}

	if state.Phase != supervise.Ready {
		return fmt.Errorf("the cluster is not ready: its phase is %s; wait, or run `sparklocal down` and then `sparklocal up`", state.Phase)
	}

	for _, c := range state.Components {
		if c.Status != supervise.ComponentReady {
			return fmt.Errorf("component %s is %s: see its log %s", c.Name, c.Status, c.Log)
		}
	}
	return nil
}

func printState(out io.Writer, dir string, state supervise.State, alive bool) error {
	_, _ = fmt.Fprintf(out, "cluster in %s: %s\n", dir, state.Phase)
	if state.Error != "" {
		_, _ = fmt.Fprintln(out, state.Error)
	}

	if !alive {
		return nil
	}

	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)

	_, _ = fmt.Fprintln(table, "COMPONENT\tSTATUS\tPID\tSINCE\tRESTARTS\tLAST EXIT\tLOG")
	for _, c := range state.Components {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%v\t%d\t%s\t%s\n", c.Name, c.Status, c.PID, time.Since(c.Since).Round(time.Second), c.Restarts, c.LastExit, c.Log)
	}
	return table.Flush()
}
