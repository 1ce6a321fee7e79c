package online

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

func (r *verbs) logCommand() *cobra.Command {
	o, raw := kube.LogOptions{Tail: -1}, false
	cmd := &cobra.Command{
		Use:     "log NAME|KIND/NAME",
		Aliases: []string{"logs"},
		Short:   "Print the log of a driver, a server or executors",
		Long: "Prints the log of the driver of an application, of a Connect server or of a cluster's master. With --executor, it is the log\n" +
			"of one executor or worker, or of all, each line with the name of its pod.\n\n" +
			"With --follow, the verb continues across restarts and attempts until the application is over. Ctrl-C ends it, and the\n" +
			"application continues. While there is no log yet, the states go to the standard error. A log lasts as long as its pod.\n\n" +
			"Control characters are shown as escapes, such as \\x1b, because a program could misuse the terminal on which its log is read.\n" +
			"With --raw, the colours of a log are shown on a terminal.",
		Example: "  sparkctl log spark-pi -f\n" +
			"  sparkctl log spark-pi --executor all --since 10m\n" +
			"  sparkctl log spark-pi --attempt 1 --tail 100",
		Args: cobra.ExactArgs(1),
	}
	connect := connection(cmd.Flags(), r.Err)
	cmd.ValidArgsFunction = completeNames(connect)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, object, err := named(cmd, connect, args)
		if err != nil {
			return err
		}

		out := r.Out
		if raw && r.Width > 0 {
			out = terminal.Coloured(out)
		}

		if !o.Follow {
			return c.Logs(cmd.Context(), object, o, out)
		}

		o.Waiting = func(s *kube.Summary) { fmt.Fprintln(r.Err, terminal.Wrap("", s.String(), r.Width)) }
		return selection.Detached(c.Logs(cmd.Context(), object, o, out), object, kube.GoalAfterwards(object))
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.Executor, "executor", "e", "", "`id` of an executor, name of its pod, or all")
	flags.Int32Var(&o.Attempt, "attempt", 0, "`number` of an attempt; default: the last")
	flags.BoolVarP(&o.Follow, "follow", "f", false, "continue with new lines, also of later attempts")
	flags.BoolVarP(&o.Previous, "previous", "p", false, "the log of the container before its last restart")
	flags.DurationVar(&o.Since, "since", 0, "only lines that are newer than this `duration`")
	flags.BoolVar(&raw, "raw", false, "show the colours of the log, if the output goes to a terminal")
	flags.Int64Var(&o.Tail, "tail", -1, "only the last `lines`; -1 means all")
	return cmd
}
