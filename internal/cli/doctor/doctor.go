// Package doctor contains the command sparkctl doctor. It checks what Spark needs in a cluster: the operator, the
// CustomResourceDefinitions, the rights of drivers, admission, metrics and schedulers. It changes nothing.
package doctor

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// doctor performs the checks of one run and collects their findings.
type doctor struct {
	findings.Report
	*kube.Client
	namespace string // whose applications are checked; empty means all
	// namespaces are the namespaces whose service is checked: that of the user, or all that have custom resources.
	namespaces []string
	operators  []Operator
	// operatorsKnown is true if operators contains all operators of the cluster.
	operatorsKnown bool
	groups         map[string]bool // the API groups that the API server serves
	objects        []client.Object // the custom resources in the namespace
	objectsKnown   bool            // objects contains all of them
}

// Command returns the command sparkctl doctor.
func Command(streams terminal.Streams) *cobra.Command {
	var all bool
	var output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what Spark needs in the cluster, and how to mend it",
		Long: "Checks the operator that serves the namespace: its version, leader and rights, other operators of the namespace, the\n" +
			"definitions and their owners, the service accounts of drivers, admission and its certificates, metrics, batch schedulers,\n" +
			"and custom resources that no operator has handled for ten seconds. It changes nothing.\n\n" +
			"Each finding that needs an action has a command. If a check is not possible, for example because you lack a right, the\n" +
			"finding has the level unknown. If there are several operators, commands change only one that serves the namespace. With -A,\n" +
			"doctor examines all operators, and its commands may change each of them.\n\n" +
			"Operators are found by the labels of their Deployments, which every user who creates a Deployment can set. So an operator\n" +
			"counts for a namespace only if its account has rights in it. Before you run a command of a finding, check all the same\n" +
			"that the namespace in it is that of your operator.\n\n" +
			"The exit code is 4 if there is an error or something unknown.",
		Example: "  sparkctl doctor\n" +
			"  sparkctl doctor -A -o json",
		Args: cobra.NoArgs,
	}
	connect := selection.Connection(cmd.Flags(), streams.Err)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if output != "" && output != "json" {
			return exit.Usagef("-o %s: the formats are: json", output)
		}

		c, err := connect()
		if err != nil {
			return err
		}

		if all {
			c.Namespace = metav1.NamespaceAll
		}

		report, err := Examine(cmd.Context(), c)
		if err != nil {
			return err
		}
		return report.Print(streams, output)
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "check the applications of all namespaces")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output `format`: json")
	return cmd
}

// Examine performs all checks for the namespace of a client, or for all. It fails only if the cluster is out of reach.
func Examine(ctx context.Context, c *kube.Client) (*findings.Report, error) {
	d := &doctor{Client: c, namespace: c.Namespace}
	if err := d.readGroups(ctx); err != nil {
		return nil, err
	}

	objects, notes, err := d.List(ctx, kube.Query{Namespace: d.namespace})
	if d.objects, d.objectsKnown = objects, err == nil && len(notes) == 0; err != nil {
		d.unchecked("applications", err)
	}

	for _, note := range notes {
		d.Add(findings.Unknown, "applications", "", "some custom resources could not be read: %s", note)
	}

	d.examineOperators(ctx)
	d.checkDefinitions(ctx)
	d.checkAdmission(ctx)
	d.checkAccounts(ctx)
	d.checkMetrics()
	d.checkSchedulers()
	d.checkQueues(ctx)
	return &d.Report, nil
}

// examineOperators performs the checks of the operators, and of the custom resources that wait for one.
func (d *doctor) examineOperators(ctx context.Context) {
	operators, err := Operators(ctx, d.Client)
	if d.operators, d.operatorsKnown = operators, err == nil; err != nil {
		d.unchecked("operator", err)
		d.checkWaiting(ctx)
		return
	}

	for i := range d.operators {
		if o := &d.operators[i]; !o.Other {
			d.readConfiguration(ctx, o)
		}
	}

	d.namespaces = []string{d.namespace}
	if d.namespace == metav1.NamespaceAll {
		d.namespaces = d.allNamespaces()
	}

	for i := range d.operators {
		o := &d.operators[i]
		alone := !slices.ContainsFunc(d.operators, func(other Operator) bool { return !other.Other && other.String() != o.String() })
		o.examined = d.namespace == metav1.NamespaceAll || o.Namespace == d.namespace || !o.Other && alone || d.serves(ctx, o, d.namespace) != 0
	}

	d.checkOperators(ctx)

	if len(d.operators) > 0 {
		d.checkServed(ctx)
	}

	d.checkWaiting(ctx)
}

// allNamespaces returns the namespaces that have custom resources, or that the configuration of an operator names.
func (d *doctor) allNamespaces() (names []string) {
	for _, object := range d.objects {
		names = append(names, object.GetNamespace())
	}

	for i := range d.operators {
		if c := d.operators[i].config; c != nil {
			names = append(names, c.Namespaces.Names...)
		}
	}

	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return len(validation.IsDNS1123Label(name)) > 0 })
}

// readGroups reads which API groups the API server serves. This is the first request, so it returns an error if the
// cluster cannot be reached.
func (d *doctor) readGroups(ctx context.Context) error {
	var list metav1.APIGroupList
	switch err := d.readInto(ctx, "/apis", &list); {
	case apierrors.IsForbidden(err):
		d.unchecked("cluster", d.Explain(err))
		return nil
	case err != nil:
		return d.Explain(err)
	}

	d.groups = map[string]bool{}
	for _, group := range list.Groups {
		d.groups[group.Name] = true
	}
	return nil
}

// readInto reads the JSON at a path of the API server into a value.
func (d *doctor) readInto(ctx context.Context, path string, into any) error {
	text, err := d.Raw(ctx, path)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(text, into)
}

// Add adds a finding whose fix reaches the same cluster.
func (d *doctor) Add(level findings.Level, check string, fix terminal.Command, format string, args ...any) {
	d.Report.Add(level, check, d.Carry(fix), format, args...)
}

// unchecked adds the finding that a check was not possible, usually because the user lacks a right. The error names the
// right. The finding contains the command with which the user can check the right.
func (d *doctor) unchecked(check string, err error) {
	d.Add(findings.Unknown, check, exit.CheckRight(err), "could not be checked: %v", err)
}

// own returns this project's operator whose release the user's fixes may change, or nil if it is not certain which one
// that is. An advice must not change the release of another team.
func (d *doctor) own() (found *Operator) {
	for i := range d.operators {
		if o := &d.operators[i]; !o.Other && o.examined {
			if found != nil {
				return nil
			}

			found = o
		}
	}
	return found
}

// upgrade returns the Helm command that changes a value of an operator's release.
func upgrade(o *Operator, value string) terminal.Command {
	return terminal.Commandf("helm upgrade %s charts/spark-operator -n %s --reset-then-reuse-values --set %s", cmp.Or(o.Release, o.Name), o.Namespace, value)
}
