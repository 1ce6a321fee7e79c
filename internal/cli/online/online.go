// Package online has the verbs of sparkctl that read objects of a cluster or change them, one file each.
package online

import (
	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Commands returns the verbs of this package.
func Commands(streams terminal.Streams) []*cobra.Command {
	r := &verbs{streams}
	return []*cobra.Command{
		r.createCommand(), r.submitCommand(), r.statusCommand(), r.diffCommand(), r.explainCommand(), r.eventsCommand(), r.waitCommand(), r.logCommand(),
		r.suspendCommand(), r.resumeCommand(), r.triggerCommand(), r.scaleCommand(), r.deleteCommand(), r.restartCommand(),
	}
}
