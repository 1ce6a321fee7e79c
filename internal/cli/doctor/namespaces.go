package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Configuration reads the configuration file of one of this project's operators.
func (o *Operator) Configuration(ctx context.Context, c *kube.Client) (config.Configuration, error) {
	var stored corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, &stored); err != nil {
		return config.Default(), err
	}
	return config.ParseNewer([]byte(stored.Data["config.yaml"]))
}

// readConfiguration sets the configuration of one of this project's operators. If the file cannot be read, the
// configuration stays unknown (nil).
func (d *doctor) readConfiguration(ctx context.Context, o *Operator) {
	found, err := o.Configuration(ctx, d.Client)

	switch o.config = &found; {
	case err == nil && !isOn(found.Apache.Enabled):
		o.Groups = o.Groups[:1]
	case err == nil && !isOn(found.SparkOperator.Enabled):
		o.Groups = o.Groups[1:]
	case err != nil:
		o.config = nil
		d.unchecked("namespaces", fmt.Errorf("the ConfigMap of %s: %w", o, d.Explain(err)))
	}
}

// verdict says whether an operator serves a namespace.
type verdict int

// These are the verdicts. The zero value of verdict means that the operator does not serve the namespace.
const (
	unknown verdict = iota + 1
	served
)

// selects reports whether an operator's configuration selects a namespace.
func (d *doctor) selects(ctx context.Context, o *Operator, namespace string) verdict {
	if o.config == nil || o.config.DynamicConfig.Enabled {
		return unknown
	}

	if o.config.Namespaces.All() || slices.Contains(o.config.Namespaces.Names, namespace) {
		return served
	}

	selector, err := labels.Parse(o.config.Namespaces.Selector)
	if err != nil || selector.Empty() {
		return 0
	}

	switch found, note, err := d.NamespaceLabels(ctx, namespace); {
	case err != nil || note != "":
		return unknown
	case selector.Matches(labels.Set(found)):
		return served
	}
	return 0
}

// serves reports whether an operator serves a namespace: its configuration selects the namespace, and its account may
// list pods there. Any user may create a Deployment with the labels of an operator, but not give its account rights in
// the namespaces of others.
func (d *doctor) serves(ctx context.Context, o *Operator, namespace string) verdict {
	selected := d.selects(ctx, o, namespace)
	if selected == 0 {
		return 0
	}

	switch lost, err := missingRights(ctx, d.Client, kube.Account{Namespace: o.Namespace, Name: o.account}, namespace, listPods); {
	case err != nil:
		return unknown
	case len(lost) > 0:
		return 0
	}
	return selected
}

// checkServed checks that exactly one operator serves each namespace of the user.
func (d *doctor) checkServed(ctx context.Context) {
	for _, namespace := range d.namespaces {
		serving, doubts, stopped := d.servers(ctx, namespace)
		d.reportServed(namespace, serving, doubts, stopped)

		for i, a := range serving {
			for _, b := range serving[i+1:] {
				d.checkOverlap(a, b, namespace, doubts[a] || doubts[b])
			}
		}
	}
}

// servers returns the operators that serve a namespace, those whose service is in doubt, and an operator that would
// serve the namespace but is scaled to 0 replicas.
func (d *doctor) servers(ctx context.Context, namespace string) (serving []*Operator, doubts map[*Operator]bool, stopped *Operator) {
	doubts = map[*Operator]bool{}

	for i := range d.operators {
		o := &d.operators[i]

		switch v := d.serves(ctx, o, namespace); {
		case v == 0:
		case o.Wanted > 0:
			serving, doubts[o] = append(serving, o), v == unknown
		case !o.Other:
			stopped = o
		}
	}
	return serving, doubts, stopped
}

// reportServed adds the finding about a namespace that no operator serves, or one.
func (d *doctor) reportServed(namespace string, serving []*Operator, doubts map[*Operator]bool, stopped *Operator) {
	level := findings.Note
	if slices.ContainsFunc(d.objects, func(o client.Object) bool { return o.GetNamespace() == namespace }) {
		level = findings.Error
	}

	switch {
	case len(serving) == 0 && stopped != nil:
		d.Add(level, "namespaces", scale(stopped), "%s serves the namespace %s, but is scaled to 0 replicas, so nothing happens to custom resources in it", stopped, namespace)
	case len(serving) == 0:
		d.Add(level, "namespaces", d.extend(namespace), "no operator serves the namespace %s, so nothing happens to custom resources in it; %s", namespace, d.scopes())
	case len(serving) == 1 && doubts[serving[0]]:
		d.Add(findings.Unknown, "namespaces", listOperators, "it is unknown whether %s serves the namespace %s", serving[0], namespace)
	case len(serving) == 1:
		d.Add(findings.OK, "namespaces", "", "%s serves the namespace %s", serving[0], namespace)
	}
}

// checkOverlap reports two operators that serve the same API group in a namespace. The fix changes the younger one, or
// the older one where the younger serves nothing else, if the user examines all namespaces, or if both are in one
// namespace. Otherwise it could be the release of another team, so the command only shows the releases. The argument
// doubt is true if it is unknown whether both serve the namespace.
func (d *doctor) checkOverlap(a, b *Operator, namespace string, doubt bool) {
	if b.created.Before(&a.created) {
		a, b = b, a
	}

	changed := b
	if len(b.without(append(b.disputed, namespace))) == 0 {
		changed = a
	}

	changed.disputed = append(changed.disputed, namespace)
	level, fix, rest := findings.Warning, listOperators, changed.without(changed.disputed)

	way := "remove it from the configuration of one of them"
	switch {
	case doubt:
		level = findings.Unknown
	case a.Namespace == b.Namespace && a.Other != b.Other:
		fix = terminal.Commandf("kubectl -n %s scale deployment %s --replicas=0", b.Namespace, b.Name)
	case d.namespace == "" && len(rest) > 0:
		fix = upgrade(changed, "spark.jobNamespaces={"+strings.Join(rest, ",")+"}")
	case d.namespace != "":
		way += ". One of them may be of another team, so agree with its owners first; " + string(terminal.Hint("doctor -A")) + " has the command then"
	}

	for _, group := range a.Groups {
		split := group == apacheGroup && a.config != nil && b.config != nil && a.config.Apache.LabelSelector != b.config.Apache.LabelSelector
		if slices.Contains(b.Groups, group) && !split {
			d.Add(level, "operator", fix, "%s (%s) and %s (%s) both serve %s in the namespace %s; two operators must not serve the same namespaces: %s",
				a, a.Image, b, b.Image, group, namespace, way)
			return
		}
	}
}

// without returns the namespaces that an operator's configuration names, without some of them. It returns none if names
// alone do not select the namespaces.
func (o *Operator) without(namespaces []string) []string {
	if o.Other || o.config == nil || o.config.Namespaces.Selector != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(o.config.Namespaces.Names), func(name string) bool { return slices.Contains(namespaces, name) })
}

// listOperators is the command that lists the Deployments of all operators with their Helm releases.
const listOperators = terminal.Command("kubectl get deployments.apps -A -o wide -L " + instanceLabel + " -l '" + operatorLabels + "'")

// extend returns the command that lets the user's operator serve a namespace too. If its configuration selects the
// namespace already, the operator lacks rights there, which an upgrade creates again.
func (d *doctor) extend(namespace string) terminal.Command {
	o := d.own()
	if o == nil || o.config == nil || o.config.DynamicConfig.Enabled {
		return listOperators
	}

	if o.config.Namespaces.All() || slices.Contains(o.config.Namespaces.Names, namespace) {
		return restore(o, namespace)
	}

	if selector := o.config.Namespaces.Selector; selector != "" {
		return label("label namespace", namespace, selector)
	}
	return upgrade(o, "spark.jobNamespaces={"+strings.Join(append(o.without(nil), namespace), ",")+"}")
}

// restore returns the command that creates the rights of an operator in a namespace again, if the namespace exists.
func restore(o *Operator, namespace string) terminal.Command {
	return terminal.Commandf("kubectl get namespace %s && helm upgrade %s charts/spark-operator -n %s --reset-then-reuse-values", namespace, cmp.Or(o.Release, o.Name), o.Namespace)
}

// scopes returns a text about the namespaces that each operator serves.
func (d *doctor) scopes() string {
	var all []string
	for i := range d.operators {
		names := "unknown namespaces"
		if c := d.operators[i].config; c != nil {
			names = cmp.Or(strings.Join(c.Namespaces.Names, ", "), c.Namespaces.Selector, "all namespaces in which it has rights")
		}

		all = append(all, d.operators[i].String()+" serves "+names)
	}
	return strings.Join(all, "; ")
}

// checkNamespaces checks that the operator has its rights in each namespace that its configuration names, and in those
// of the user that it serves. The operator does not serve a namespace without them: the namespace was deleted, or its
// administrator has deleted the RoleBinding.
func (d *doctor) checkNamespaces(ctx context.Context, o *Operator) {
	if o.config == nil {
		return
	}

	places := o.config.Namespaces.Names
	for _, namespace := range d.namespaces {
		if !slices.Contains(places, namespace) && d.selects(ctx, o, namespace) == served {
			places = append([]string{namespace}, places...)
		}
	}

	if len(places) > maxAccounts {
		d.Add(findings.Note, "namespaces", "", "the rights of %s are checked in %d of %d namespaces; use -n for one namespace", o, maxAccounts, len(places))
		places = places[:maxAccounts]
	}

	lost := 0
	for _, namespace := range places {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			lost++ // in the command below, the name could be an option

			d.Add(findings.Warning, "namespaces", "", "the configuration of %s has the namespace %q, which is not a valid name", o, namespace)
			continue
		}

		missing, err := missingRights(ctx, d.Client, kube.Account{Namespace: o.Namespace, Name: o.account}, namespace, operatorRights(o.config))
		if err != nil {
			d.unchecked("namespaces", err)
			return
		}

		if len(missing) == 0 {
			continue
		}
		lost++

		effect := "lacks rights in the namespace " + namespace
		if strings.Contains(missing[0], "list") && strings.HasSuffix(missing[0], " pods") {
			effect = "does not serve the namespace " + namespace
		}

		d.Add(findings.Error, "namespaces", restore(o, namespace),
			"%s %s: it may not %s, because the namespace, the operator's Role or its RoleBinding was changed or deleted; "+
				"create it again with helm upgrade, or remove the namespace from spark.jobNamespaces", o, effect, strings.Join(missing, "; "))
	}

	if lost == 0 && len(places) > 0 {
		d.Add(findings.OK, "namespaces", "", "%s has rights in its namespaces: %s", o, strings.Join(places, ", "))
	}
}
