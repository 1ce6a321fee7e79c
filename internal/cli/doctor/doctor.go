// Package doctor contains the command sparkctl doctor. It checks what Spark needs in a cluster: the operator, the
// CustomResourceDefinitions, the rights of drivers, admission, metrics and schedulers. It changes nothing.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/target"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// doctor performs the checks of one run and collects their findings.
type doctor struct {
	report
	*cluster.Client
	// namespace is the namespace whose applications are checked; empty means all.
	namespace string
	operators []Operator
	// operatorsKnown is true if operators contains all operators of the cluster.
	operatorsKnown bool
	groups         map[string]bool // the API groups that the API server serves
	objects        []client.Object // the custom resources in the namespace
}

// Command returns the command sparkctl doctor.
func Command(streams terminal.Streams) *cobra.Command {
	var all bool
	var output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what Spark needs in the cluster, and how to mend it",
		Long: "Checks the operator and its version, its rights in its namespaces, the definitions, other operators of the same API, the\n" +
			"service accounts of drivers and their rights, admission and its certificates, metrics, and batch schedulers. It changes\n" +
			"nothing. Each finding that needs an action has a command. A check for which you lack a right is a finding, too.\n\n" +
			"Operators are found by the labels of their Deployments, and every user who creates a Deployment can set these labels.\n" +
			"Before you run a command of a finding, check that the namespace in it is that of your operator.\n\n" +
			"The exit code is 4 if there is an error.",
		Example: "  sparkctl doctor\n" +
			"  sparkctl doctor -A -o json",
		Args: cobra.NoArgs,
	}
	connect := target.Connection(cmd.Flags(), streams.Err)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if output != "" && output != "json" {
			return exit.Usagef("-o %s: the formats are: json", output)
		}
		c, err := connect()
		if err != nil {
			return err
		}
		d := &doctor{Client: c, namespace: c.Namespace}
		if all {
			d.namespace = metav1.NamespaceAll
		}
		if err := d.examine(cmd.Context()); err != nil {
			return err
		}
		return d.print(streams, output)
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "check the applications of all namespaces")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output `format`: json")
	return cmd
}

// print prints the findings. It returns an error if a finding has the level Error.
func (d *doctor) print(streams terminal.Streams, output string) error {
	if output == "json" {
		text, err := json.MarshalIndent(d.findings, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(streams.Out, string(text))
	} else {
		d.write(streams)
	}
	if n := d.count(Error); n > 0 {
		return exit.Errorf(exit.Cluster, "doctor found %d errors and %d warnings", n, d.count(Warning))
	}
	return nil
}

// examine performs all checks. It returns an error only if the cluster cannot be reached.
func (d *doctor) examine(ctx context.Context) error {
	if err := d.readGroups(ctx); err != nil {
		return err
	}
	operators, err := Operators(ctx, d.Client)
	if d.operators, d.operatorsKnown = operators, err == nil; err != nil {
		d.unchecked("operator", err)
	} else {
		d.checkOperators(ctx)
	}
	d.checkDefinitions(ctx)
	d.checkAdmission(ctx)
	objects, notes, err := d.List(ctx, cluster.Query{Namespace: d.namespace})
	if d.objects = objects; err != nil {
		d.unchecked("applications", err)
	}
	for _, note := range notes {
		d.add(Warning, "applications", "", "some custom resources could not be read: %s", note)
	}
	d.checkAccounts(ctx)
	d.checkMetrics()
	d.checkSchedulers()
	return nil
}

// readGroups reads which API groups the API server serves. This is the first request, so it returns an error if the
// cluster cannot be reached.
func (d *doctor) readGroups(ctx context.Context) error {
	text, err := d.Raw(ctx, "/apis")
	if err != nil && !apierrors.IsForbidden(err) {
		return d.Explain(err)
	}
	if err != nil {
		d.unchecked("cluster", d.Explain(err))
		return nil
	}
	var list metav1.APIGroupList
	if err := utiljson.Unmarshal(text, &list); err != nil {
		return d.Explain(err)
	}
	d.groups = map[string]bool{}
	for _, group := range list.Groups {
		d.groups[group.Name] = true
	}
	return nil
}

// unchecked adds the finding that a check was not possible, usually because the user lacks a right. The error names the
// right. The finding contains the command with which the user can check the right.
func (d *doctor) unchecked(check string, err error) {
	d.add(Warning, check, cluster.CheckRight(err), "could not be checked: %v", err)
}

// own returns the Deployment of this project's operator, or nil if there is none.
func (d *doctor) own() *Operator {
	for i := range d.operators {
		if !d.operators[i].Other {
			return &d.operators[i]
		}
	}
	return nil
}

// upgrade returns the Helm command that changes values of the operator's release.
func (d *doctor) upgrade(values string) terminal.Command { return upgrade(d.own(), values) }

func upgrade(o *Operator, values string) terminal.Command {
	release, namespace := "spark-operator", "spark-operator"
	if o != nil && o.Release != "" {
		release, namespace = o.Release, o.Namespace
	}
	return terminal.Commandf("helm upgrade --install %s charts/spark-operator -n %s --create-namespace --reset-then-reuse-values --set %s", release, namespace, values)
}
