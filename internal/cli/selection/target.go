// Package selection contains what the verbs of sparkctl share to choose their objects: the flags for the connection to
// a cluster, the completion of names, the search by name or label, and the confirmation before a change.
package selection

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Connect is a function that returns a client for the cluster that a verb's flags choose. It sends no request.
type Connect func() (*kube.Client, error)

// Connection adds kubectl's connection flags to a verb, and returns a function that connects to the cluster. The API
// server's warnings are printed to the given output.
func Connection(flags *pflag.FlagSet, warnings io.Writer) Connect {
	var connection kube.Flags
	connection.AddTo(flags)
	return func() (*kube.Client, error) { return connection.Connect(warnings) }
}

// completionTimeout bounds the time for which a shell waits for names to complete.
const completionTimeout = 2 * time.Second

// CompleteNames returns a completion function that offers the names of the objects in the cluster. If names of kinds
// are given, it offers only the names of objects of these kinds.
func CompleteNames(connect Connect, kindNames ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()

		c, err := connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}

		query := kube.Query{Namespace: c.Namespace}
		for _, name := range kindNames {
			if kind, err := kinds.Named(name); err == nil {
				query.Kinds = append(query.Kinds, kind)
			}
		}

		objects, _, err := c.List(ctx, query)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}

		var names []string
		for _, object := range objects {
			name := object.GetName()
			if strings.Contains(prefix, "/") {
				name = kinds.Of(object).Name + "/" + name
			}

			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// Namespaces returns the names of the namespaces of a cluster for a completion; none if they cannot be read.
func Namespaces(ctx context.Context, flags *kube.Flags) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()

	c, err := flags.Connect(io.Discard)
	if err != nil {
		return nil
	}

	names, _ = c.Namespaces(ctx)
	return names
}

// One makes a command a verb about one object, which its only argument names. It adds the connection flags, and
// completes names of objects of the given kinds, or of all kinds.
func One(cmd *cobra.Command, warnings io.Writer, run func(*cobra.Command, *kube.Client, client.Object) error, kindNames ...string) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	return open(cmd, warnings, kindNames, func(cmd *cobra.Command, c *kube.Client, args []string) error {
		object, err := c.Find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return run(cmd, c, object)
	})
}

// Several makes a command a verb about the objects that its arguments name, or that the flag -l selects. Otherwise it
// does what One does.
func Several(cmd *cobra.Command, warnings io.Writer, run func(*cobra.Command, *kube.Client, []client.Object) error, kindNames ...string) *cobra.Command {
	selector := cmd.Flags().StringP("selector", "l", "", "`labels` of the objects, instead of names")
	return open(cmd, warnings, kindNames, func(cmd *cobra.Command, c *kube.Client, args []string) error {
		objects, err := chosen(cmd, c, args, *selector)
		if err != nil {
			return err
		}
		return run(cmd, c, objects)
	})
}

// open makes a command a verb with a client, and completes the names of objects.
func open(cmd *cobra.Command, warnings io.Writer, kindNames []string, run func(*cobra.Command, *kube.Client, []string) error) *cobra.Command {
	connect := Connection(cmd.Flags(), warnings)
	cmd.ValidArgsFunction = CompleteNames(connect, kindNames...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := connect()
		if err != nil {
			return err
		}
		return run(cmd, c, args)
	}
	return cmd
}

// chosen returns the objects that the names or the label selector select. Exactly one of the two must be given.
func chosen(cmd *cobra.Command, c *kube.Client, names []string, selector string) (objects []client.Object, err error) {
	if (len(names) == 0) == (selector == "") {
		return nil, exit.Usagef("name the objects, or choose them with -l")
	}

	if selector == "" {
		for _, name := range names {
			object, err := c.Find(cmd.Context(), name)
			if err != nil {
				return nil, err
			}

			objects = append(objects, object)
		}
		return objects, nil
	}

	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, exit.Usagef("-l: %v", err)
	}

	objects, _, err = c.List(cmd.Context(), kube.Query{Namespace: c.Namespace, Selector: parsed})
	if err == nil && len(objects) == 0 {
		return nil, exit.Errorf(exit.Cluster, "no object in namespace %s has the labels %s; %s lists the objects of all namespaces", c.Namespace, selector, terminal.Hint("list -A"))
	}
	return objects, err
}

// Confirm requests a confirmation from the user before objects are changed. It returns an error if the user declines.
// If yes is true, or the program does not run in a terminal, it requests nothing. If the context is canceled, Confirm
// returns at once, although the read of the answer does not end.
func Confirm(ctx context.Context, streams terminal.Streams, what string, objects []client.Object, yes bool) error {
	if yes || !streams.Interactive {
		return nil
	}

	for _, object := range objects {
		fmt.Fprintln(streams.Err, "  "+kube.Title(object))
	}

	number := "this object"
	if len(objects) > 1 {
		number = "these " + bounds.Count(len(objects), "object")
	}

	fmt.Fprintf(streams.Err, "%s %s? [y/N] ", what, number)

	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(streams.In).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(answer))
	}()

	select {
	case <-ctx.Done():
		return exit.Detached("interrupted: nothing was changed")
	case answer := <-answers:
		if answer != "y" && answer != "yes" {
			return exit.With(exit.Usage, errors.New("nothing was changed"))
		}
	}
	return nil
}

// InvalidFlag returns the error for an invalid value of a flag, with the allowed values.
func InvalidFlag(name, value string, allowed []string) error {
	return exit.Errorf(exit.Usage, "--%s %q is not supported; use one of: %s", name, value, strings.Join(allowed, ", "))
}

// WaitFor waits until an object reaches the goal or the time limit is over, and prints each new state.
func WaitFor(ctx context.Context, streams terminal.Streams, c *kube.Client, object client.Object, goal string, limit time.Duration) error {
	err := c.Wait(ctx, object, goal, func(s *kube.Summary) {
		PrintState(streams, s)

		if s.Result == kube.Suspended && goal != kube.GoalDeleted {
			fmt.Fprintln(streams.Err, terminal.Wrap("note: ", fmt.Sprintf("it is suspended and will not run before somebody resumes it: %s", s.Hint("resume")), streams.Width))
		}
	})
	return Ended(ctx, err, object, goal, limit)
}

// Ended returns the error of a verb that waited for an object or followed its log. If the context ended the wait, the
// error names the time limit, or how to come back after an interruption.
func Ended(ctx context.Context, err error, object client.Object, goal string, limit time.Duration) error {
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return timedOut(object, goal, limit)
	}
	return Detached(err, object, goal)
}

// PrintState prints the state of an object, and what to do if it has a reason.
func PrintState(streams terminal.Streams, s *kube.Summary) {
	fmt.Fprintln(streams.Out, terminal.Wrap("", s.String(), streams.Width))

	if s.Advice != "" {
		fmt.Fprintln(streams.Out, terminal.Wrap("do: ", s.Advice, streams.Width))
	}
}

// timedOut returns the error of a verb whose time limit ended before an object reached a state.
func timedOut(object client.Object, goal string, limit time.Duration) error {
	return exit.Errorf(exit.TimedOut, "%s did not reach the state %s within %s", kube.Title(object), goal, limit)
}

// Detached returns the error of a verb that waits for an object or follows its log. If the user interrupted the verb,
// the error says that the object continues, and how to come back. The argument goal is the state to wait for.
func Detached(err error, object client.Object, goal string) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return exit.Detached("interrupted: detached from %s, which continues\nto come back: %s --for=%s, or %s -f",
		kube.Title(object), kube.Hint("wait", object), goal, kube.Hint("log", object))
}
