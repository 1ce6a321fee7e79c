package online

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/stage"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

func (r *verbs) deleteCommand() *cobra.Command {
	var selector string
	var yes, wait bool
	cmd := &cobra.Command{
		Use:   "delete NAME|KIND/NAME ...",
		Short: "Delete objects, and everything that belongs to them",
		Long: "Deletes objects by name or by label. Their pods and the other objects that belong to them are deleted too, and the files\n" +
			"that the verb submit has put into an object store for them alone. On a terminal, the verb asks for a confirmation first, unless\n" +
			"--yes is set.",
		Example: "  sparkctl delete spark-pi --wait\n" +
			"  sparkctl delete -l team=data --yes",
	}
	connect := connection(cmd.Flags())
	cmd.ValidArgsFunction = completeNames(connect)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := connect()
		if err != nil {
			return err
		}
		objects, err := chosen(cmd, c, args, selector)
		if err != nil {
			return err
		}
		if err := r.confirm("delete", objects, yes); err != nil {
			return err
		}
		for _, object := range objects {
			options := &client.DeleteOptions{Preconditions: preconditions(object)}
			if err := c.Delete(cmd.Context(), object, options); err != nil && !apierrors.IsNotFound(err) {
				return c.Explain(err)
			}
			fmt.Fprintf(r.Out, "%s deleted\n", screen.Title(object))
			if err := stage.Unstage(cmd.Context(), c.WithWatch, object); err != nil {
				fmt.Fprintln(r.Err, terminal.Wrap("warning: ", err.Error(), r.Width))
			}
		}
		for _, object := range objects {
			if !wait {
				break
			}
			if err := c.Wait(cmd.Context(), object, cluster.GoalDeleted, nil); err != nil {
				return err
			}
			if err := c.WaitPodsGone(cmd.Context(), object); err != nil {
				return err
			}
		}
		return nil
	}
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "`labels` of the objects, instead of names")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for a confirmation")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the objects and their pods are gone")
	return cmd
}

// chosen returns the objects that the names or the label selector select. Exactly one of the two must be given.
func chosen(cmd *cobra.Command, c *cluster.Client, names []string, selector string) (objects []client.Object, err error) {
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
	objects, _, err = c.List(cmd.Context(), cluster.Query{Namespace: c.Namespace, Selector: parsed})
	if err == nil && len(objects) == 0 {
		return nil, exit.Errorf(exit.Cluster, "no objects with the labels %s in namespace %s", selector, c.Namespace)
	}
	return objects, err
}

func preconditions(object client.Object) *metav1.Preconditions {
	uid := object.GetUID()
	return &metav1.Preconditions{UID: &uid}
}

// confirm requests a confirmation from the user before objects are changed, if the program runs in a terminal. It
// returns an error if the user declines.
func (r *verbs) confirm(what string, objects []client.Object, yes bool) error {
	if yes || !r.Interactive {
		return nil
	}
	for _, object := range objects {
		fmt.Fprintln(r.Err, "  "+screen.Title(object))
	}
	fmt.Fprintf(r.Err, "%s %d objects? [y/N] ", what, len(objects))
	answer, _ := bufio.NewReader(r.In).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return exit.With(exit.Usage, errors.New("nothing was changed"))
	}
	return nil
}
