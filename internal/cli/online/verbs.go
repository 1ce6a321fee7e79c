package online

import (
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// verbs holds what all verbs of this package use: the program's standard streams.
type verbs struct{ terminal.Streams }

// Short names for functions of package selection.
var (
	connection  = selection.Connection
	named       = selection.Named
	chosen      = selection.Chosen
	invalidFlag = selection.InvalidFlag
)

// completeNames returns a completion function that offers the names of the objects in the cluster.
func completeNames(connect selection.Connect) cobra.CompletionFunc {
	return selection.CompleteNames(connect)
}

// confirm requests a confirmation from the user before the verb changes objects. It calls selection.Confirm with the
// verb's streams.
func (r *verbs) confirm(ctx context.Context, what string, objects []client.Object, yes bool) error {
	return selection.Confirm(ctx, r.Streams, what, objects, yes)
}
