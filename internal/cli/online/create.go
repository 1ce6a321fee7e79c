package online

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// afterwards holds the flags that decide what a verb does after it has created an object.
type afterwards struct {
	dryRun, wait, log bool
	timeout           time.Duration
	validation        string
}

// validations maps the values of --validate, which are those of kubectl, to those of the API server.
var validations = map[string]string{
	"strict": metav1.FieldValidationStrict, "true": metav1.FieldValidationStrict, "warn": metav1.FieldValidationWarn,
	"ignore": metav1.FieldValidationIgnore, "false": metav1.FieldValidationIgnore,
}

func (r *verbs) createCommand() *cobra.Command {
	var files []string
	var validate string
	var after afterwards
	cmd := &cobra.Command{
		Use:   "create (-f FILE|DIR|- | FILE ...)",
		Short: "Create the custom resources of manifests",
		Long: "Creates the custom resources of the operator's kinds. Nothing is created if one of them is invalid; lint names the place of\n" +
			"each fault. Other kinds in the files are left out.\n\n" +
			"With --wait, the verb waits until applications have ended, and servers and clusters are ready. The exit code is 1 if one\n" +
			"fails. With --log, it prints the driver's log meanwhile. Ctrl-C ends the wait, and the application continues.",
		Example: "  sparkctl create -f app.yaml --wait\n" +
			"  sparkctl create -f app.yaml --dry-run",
	}
	connect := selection.Connection(cmd.Flags(), r.Err)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if files = append(files, args...); len(files) == 0 {
			return exit.Usagef("name the files with -f")
		}

		var known bool
		if after.validation, known = validations[validate]; !known {
			return exit.Usagef("--validate %s: write strict, warn or ignore", validate)
		}

		documents, err := manifest.Objects(files, r.Streams, after.validation)
		if err != nil {
			return err
		}

		c, err := connect()
		if err != nil {
			return err
		}

		operator, err := preview.Load("")
		if err != nil {
			return err
		}

		if err := checkDocuments(cmd, c, operator, documents); err != nil {
			return err
		}

		var created []client.Object
		for i := range documents {
			if err := r.create(cmd, c, documents[i].Object, &after); err != nil {
				return err
			}

			created = append(created, documents[i].Object)
		}
		return r.afterwards(cmd, c, &after, created...)
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&files, "filename", "f", nil, "`file` or directory to read; - is the standard input; may be repeated")
	flags.StringVar(&validate, "validate", "strict", "what an unknown field is: `strict` (or true) for an error, warn, or ignore (or false)")
	flags.Lookup("validate").NoOptDefVal = "strict"
	flags.BoolVar(&after.dryRun, "dry-run", false, "let the API server check everything, and store nothing")
	flags.BoolVar(&after.wait, "wait", false, "wait until applications ended, and servers and clusters are ready")
	flags.BoolVar(&after.log, "log", false, "print the driver's log until the application ended")
	flags.DurationVar(&after.timeout, "timeout", 0, "end --wait after this `duration` for all objects together, with the exit code 5; 0 means no limit")
	return cmd
}

// checkDocuments gives objects without a namespace that of the client, and returns the faults of all objects.
func checkDocuments(cmd *cobra.Command, c *kube.Client, operator preview.Operator, documents []manifest.Loaded) error {
	var wrong []error
	for i := range documents {
		d := &documents[i]
		switch namespace := d.Object.GetNamespace(); {
		case namespace == "":
			d.Object.SetNamespace(c.Namespace)
		case namespace != c.Namespace && cmd.Flags().Changed("namespace"):
			return exit.Usagef("%s: the manifest names the namespace %s, but -n names %s; leave one of them out", d.Place("metadata.namespace"), namespace, c.Namespace)
		}

		wrong = append(wrong, operator.Check(d))
	}

	if err := errors.Join(wrong...); err != nil {
		return exit.With(exit.Invalid, err)
	}
	return nil
}

// create creates an object in the cluster. In a dry run, the API server only checks the object.
func (r *verbs) create(cmd *cobra.Command, c *kube.Client, object client.Object, after *afterwards) error {
	if err := change.Create(cmd.Context(), c, object, after.validation, after.dryRun); err != nil {
		return err
	}

	done := "created"
	if after.dryRun {
		done = "valid; nothing was created (dry run)"
	}

	fmt.Fprintf(r.Out, "%s %s\n", kube.Title(object), done)
	return nil
}

// afterwards does what the user's flags request after the creation of objects: it prints the log of each object, and
// waits until it is ready or has ended. The time limit is one for all objects.
func (r *verbs) afterwards(cmd *cobra.Command, c *kube.Client, after *afterwards, objects ...client.Object) error {
	if after.dryRun || !after.wait && !after.log {
		return nil
	}

	ctx, cancel := kube.Within(cmd.Context(), after.timeout)
	defer cancel()

	for _, object := range objects {
		goal := kube.GoalAfterwards(object)
		if after.log && goal == kube.GoalEnded {
			waiting := func(s *kube.Summary) { fmt.Fprintln(r.Out, terminal.Wrap("", s.String(), r.Width)) }

			err := c.Logs(ctx, object, kube.LogOptions{Follow: true, Tail: -1, Waiting: waiting}, r.Out)
			switch {
			case err != nil && ctx.Err() != nil:
				return selection.Ended(ctx, err, object, goal, after.timeout)
			case err != nil:
				fmt.Fprintln(r.Err, terminal.Wrap("note: ", err.Error(), r.Width))
			}
		}

		if err := selection.WaitFor(ctx, r.Streams, c, object, goal, after.timeout); err != nil {
			return err
		}
	}
	return nil
}
