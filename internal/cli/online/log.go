package online

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/kept"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

func (r *verbs) logCommand() *cobra.Command {
	o, raw, place := kube.LogOptions{Tail: -1}, false, ""
	cmd := &cobra.Command{
		Use:     "log NAME|KIND/NAME",
		Aliases: []string{"logs"},
		Short:   "Print the log of a driver, a server or executors",
		Long: "Prints the log of the driver of an application, of a Connect server or of a cluster's master. With --executor, it is the log\n" +
			"of one executor or worker, or of all, each line with the name of its pod.\n\n" +
			"With --follow, the verb continues across restarts and attempts until the application is over. Ctrl-C ends it, and the\n" +
			"application continues. While there is no log yet, the states go to the standard error.\n\n" +
			"If a pod is gone, the verb prints the log that the operator has kept (docs/logs.md). It needs the right to get configmaps, or\n" +
			"your own credentials for the object store. Of a kept log, --previous is that of the attempt before.\n\n" +
			"Control characters are shown as escapes, such as \\x1b, because a program could misuse the terminal on which its log is read.\n" +
			"With --raw, the colours of a log are shown on a terminal.",
		Example: "  sparkctl log spark-pi -f\n" +
			"  sparkctl log spark-pi --executor all --since 10m\n" +
			"  sparkctl log spark-pi --attempt 1 --tail 100",
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.Executor, "executor", "e", "", "`id` of an executor, name of its pod, or all")
	flags.Int32Var(&o.Attempt, "attempt", 0, "`number` of an attempt; default: the last")
	flags.BoolVarP(&o.Follow, "follow", "f", false, "continue with new lines, also of later attempts")
	flags.BoolVarP(&o.Previous, "previous", "p", false, "the log of the container before its last restart")
	flags.DurationVar(&o.Since, "since", 0, "only lines that are newer than this `duration`")
	flags.BoolVar(&raw, "raw", false, "show the colours of the log, if the output goes to a terminal")
	flags.StringVar(&place, "store", "", "`URL` of the store of kept logs; default: $"+kept.StoreVariable+", or the one in the status")
	flags.Int64Var(&o.Tail, "tail", -1, "only the last `lines`; -1 means all")
	return selection.One(cmd, r.Err, func(cmd *cobra.Command, c *kube.Client, object client.Object) error {
		out := r.Out
		if raw && r.Width > 0 {
			out = terminal.Coloured(out)
		}

		reader := &kept.Reader{Client: c, Object: object, Store: cmp.Or(place, os.Getenv(kept.StoreVariable)), Err: r.Err, Width: r.Width}
		o.Kept = reader.Print

		if !o.Follow {
			return c.Logs(cmd.Context(), object, o, out)
		}

		o.Waiting = func(s *kube.Summary) { fmt.Fprintln(r.Err, terminal.Wrap("", s.String(), r.Width)) }
		return selection.Detached(c.Logs(cmd.Context(), object, o, out), object, kube.GoalAfterwards(object))
	})
}
