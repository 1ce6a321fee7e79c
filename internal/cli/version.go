package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
)

// Version and Revision are set at link time with -X. Without them, the values that Go recorded in the binary are used.
var Version, Revision string

// build describes the binary that is running.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func currentBuild() build {
	b := build{Version: Version, Revision: Revision, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && b.Revision == "" {
			b.Revision = setting.Value
		}
	}
	b.Version, b.Revision = cmp.Or(b.Version, info.Main.Version, "(devel)"), cmp.Or(b.Revision, "unknown")
	return b
}

func (r *root) versionCommand() *cobra.Command {
	var short bool
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := currentBuild()
			switch {
			case output == "json":
				text, err := json.Marshal(b)
				if err != nil {
					return err
				}
				fmt.Fprintln(r.Out, string(text))
			case output != "":
				return exit.Usagef("-o %s: the formats are: json", output)
			case short:
				fmt.Fprintln(r.Out, b.Version)
			default:
				fmt.Fprintf(r.Out, "sparkctl %s (revision %s, %s, %s)\n", b.Version, b.Revision, b.Go, b.Platform)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "print only the number")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output `format`: json")
	return cmd
}
