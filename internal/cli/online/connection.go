package online

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
)

// connection adds kubectl's connection flags to a verb, and returns a function that connects to the cluster.
func connection(flags *pflag.FlagSet) func() (*cluster.Client, error) {
	config := genericclioptions.NewConfigFlags(true)
	config.AddFlags(flags)
	return func() (*cluster.Client, error) { return cluster.Connect(config) }
}

// completionTimeout bounds the time for which a shell waits for names to complete.
const completionTimeout = 2 * time.Second

// completeNames returns a completion function that offers the names of the objects in the cluster.
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

// named returns the object that the only argument of a verb names, and the client that found it.
func named(cmd *cobra.Command, connect func() (*cluster.Client, error), args []string) (*cluster.Client, client.Object, error) {
	c, err := connect()
	if err != nil {
		return nil, nil, err
	}
	object, err := c.Find(cmd.Context(), args[0])
	return c, object, err
}

// invalidFlag returns the error for an invalid value of a flag, with the allowed values.
func invalidFlag(name, value string, allowed []string) error {
	return exit.Errorf(exit.Usage, "--%s %q is not supported; use one of: %s", name, value, strings.Join(allowed, ", "))
}
