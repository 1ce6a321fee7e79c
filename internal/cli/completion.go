package cli

import (
	"github.com/spf13/cobra"
)

func (r *root) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion (bash|zsh|fish|powershell)",
		Short: "Print a script that completes commands in a shell",
		Long: "Prints a script for a shell. The shell then completes verbs, flags and the names of live objects.\n" +
			"For the current bash: source <(sparkctl completion bash)",
		Example:   "  sparkctl completion bash > /etc/bash_completion.d/sparkctl",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			top := cmd.Root()
			switch args[0] {
			case "bash":
				return top.GenBashCompletionV2(r.Out, true)
			case "zsh":
				return top.GenZshCompletion(r.Out)
			case "fish":
				return top.GenFishCompletion(r.Out, true)
			}
			return top.GenPowerShellCompletionWithDesc(r.Out)
		},
	}
}
