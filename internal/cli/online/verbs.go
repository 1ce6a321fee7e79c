package online

import (
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/target"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// verbs holds what all verbs of this package use: the program's standard streams.
type verbs struct{ terminal.Streams }

// Short names for functions of package target.
var (
	connection  = target.Connection
	named       = target.Named
	chosen      = target.Chosen
	invalidFlag = target.InvalidFlag
)

// completeNames returns a completion function that offers the names of the objects in the cluster.
func completeNames(connect target.Connect) cobra.CompletionFunc { return target.CompleteNames(connect) }

// confirm requests a confirmation from the user before the verb changes objects. It calls target.Confirm with the
// verb's streams.
func (r *verbs) confirm(ctx context.Context, what string, objects []client.Object, yes bool) error {
	return target.Confirm(ctx, r.Streams, what, objects, yes)
}
