package cli

import (
	"github.com/spf13/cobra"
)

func (r *root) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion (bash|zsh|fish|powershell)",
		Short: "Print a script that completes commands in a shell",
		Long: "Prints a script for a shell. The shell then completes verbs, flags, their values, namespaces, the names of live objects\n" +
			"as NAME or KIND/NAME, and options and properties of spark-submit.\n" +
			"For the current bash: source <(sparkctl completion bash)\n\n" +
			"kubectl completes the words of its plugin if a copy of the binary, or a link to it, has the name kubectl_complete-spark:\n" +
			"ln -s kubectl-spark /usr/local/bin/kubectl_complete-spark",
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
