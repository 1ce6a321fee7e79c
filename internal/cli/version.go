package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
)

// Version is set at link time with -X. If it is empty, the version that Go recorded in the binary is used.
var Version string

// Revision is set at link time with -X. If it is empty, the revision that Go recorded in the binary is used.
var Revision string

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
	var short, onlyClient bool
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and of the operator",
		Long: "Prints the version of this program, and the versions of the Spark operators in the cluster. Without a cluster, or with\n" +
			"--client or --short, it prints only the version of this program.",
		Example: "  sparkctl version\n" +
			"  sparkctl version --client -o json",
		Args: cobra.NoArgs,
	}
	connect := selection.Connection(cmd.Flags(), r.Err)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b := currentBuild()

		if output != "" && output != "json" {
			return exit.Usagef("-o %s: the formats are: json", output)
		}

		if short && output == "" {
			fmt.Fprintln(r.Out, b.Version)
			return nil
		}

		if output == "" {
			fmt.Fprintf(r.Out, "sparkctl %s (revision %s, %s, %s)\n", b.Version, b.Revision, b.Go, b.Platform)
		}

		var operators []doctor.Operator
		if c, err := connect(); !onlyClient && err == nil {
			if operators, err = doctor.Operators(cmd.Context(), c); err != nil {
				return err
			}
		}
		return r.printVersions(b, operators, output)
	}
	cmd.Flags().BoolVar(&short, "short", false, "print only the version number of this program")
	cmd.Flags().BoolVar(&onlyClient, "client", false, "print only the version of this program, and send no request")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output `format`: json")
	return cmd
}

// printVersions prints one line for each operator. If the output is json, it prints one JSON object instead, which also
// contains the build of this program.
func (r *root) printVersions(b build, operators []doctor.Operator, output string) error {
	if output == "json" {
		text, err := json.Marshal(struct {
			build
			Operators []doctor.Operator `json:"operators,omitempty"`
		}{b, operators})
		if err != nil {
			return err
		}

		fmt.Fprintln(r.Out, string(text))
		return nil
	}

	for i := range operators {
		o := &operators[i]
		fmt.Fprintln(r.Out, bounds.Line(fmt.Sprintf("operator %s %s (image %s, %d of %d replicas ready)", o, o.Version, o.Image, o.Ready, o.Wanted)))
	}
	return nil
}
