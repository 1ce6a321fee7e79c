package online

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
)

// connection adds the flags of kubectl about the connection to a verb, and returns a function that connects.
func connection(flags *pflag.FlagSet) func() (*cluster.Client, error) {
	config := genericclioptions.NewConfigFlags(true)
	config.AddFlags(flags)
	return func() (*cluster.Client, error) { return cluster.Connect(config) }
}

// completionTimeout bounds the time that a shell waits for names.
const completionTimeout = 2 * time.Second

// completeNames completes the names of live objects.
func completeNames(connect func() (*cluster.Client, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		c, err := connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		objects, _, err := c.List(ctx, cluster.Query{Namespace: c.Namespace})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, object := range objects {
			if name := object.GetName(); strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// named returns the object that the only argument of a verb names.
func named(cmd *cobra.Command, connect func() (*cluster.Client, error), args []string) (*cluster.Client, client.Object, error) {
	c, err := connect()
	if err != nil {
		return nil, nil, err
	}
	object, err := c.Find(cmd.Context(), args[0])
	return c, object, err
}

// title returns the kind and the name of an object for messages.
func title(object client.Object) string {
	return fmt.Sprintf("%s %s/%s", object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName())
}

// age returns a duration as kubectl shows it.
func age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return short(time.Since(since))
}

// short returns a duration in at most two units.
func short(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 10*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// invalidFlag returns an error about the value of a flag.
func invalidFlag(name, value string, allowed []string) error {
	return exit.Errorf(exit.Usage, "--%s %s: the values are: %s", name, value, strings.Join(allowed, ", "))
}
