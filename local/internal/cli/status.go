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
		Short: "Tell how a cluster and its components are",
		Long: `status tells how the cluster is: every component with its process, how often it was restarted, how its last run ended and where its log is.
It ends with status 0 when the cluster and all its components are ready, else with 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := stateDir(dir)
			if err != nil {
				return err
			}
			state, err := supervise.ReadState(dir)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("no cluster in %s", dir)
			}
			if err != nil {
				return err
			}
			return showState(cmd.OutOrStdout(), dir, output, state)
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().StringVarP(&output, "output", "o", "", `"json" for the whole state`)
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
		return fmt.Errorf("--output %q: only json is known", output)
	}
	if !alive {
		return errors.New("the cluster is not running: start it with `sparklocal up`")
	}
	if state.Phase != supervise.Ready {
		return fmt.Errorf("the cluster is %s", state.Phase)
	}
	for _, c := range state.Components {
		if c.Status != supervise.ComponentReady {
			return fmt.Errorf("%s is %s; its log is %s", c.Name, c.Status, c.Log)
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
