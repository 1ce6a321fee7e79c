// Package offline has the verbs of sparkctl that need no cluster, one file each.
package offline

import (
	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// verbs holds what all verbs of this package use: the program's standard streams and its version.
type verbs struct {
	terminal.Streams
	version string
}

// Commands returns the verbs that need no cluster. The argument version is the version of the program.
func Commands(streams terminal.Streams, version string) []*cobra.Command {
	r := &verbs{streams, version}
	return []*cobra.Command{r.convertCommand(), r.lintCommand(), r.renderCommand()}
}
