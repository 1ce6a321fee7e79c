package doctor

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// patience is the time that an operator has to handle a change of a custom resource.
const patience = 10 * time.Second

// waits reports whether no operator has handled the last change of a pending custom resource for longer than patience.
// Objects that have ended are left out, because another operator may have written their status, and so are objects that
// are being deleted.
func waits(object client.Object) bool {
	changed := object.GetCreationTimestamp()
	for _, entry := range object.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && changed.Before(entry.Time) {
			changed = *entry.Time
		}
	}

	s := kube.Summarize(object)
	return !s.Observed && !s.Held && s.Result == kube.Pending && object.GetDeletionTimestamp() == nil && time.Since(changed.Time) > patience
}

// checkWaiting reports, once for each kind and namespace, a custom resource that no operator has handled, and why.
func (d *doctor) checkWaiting(ctx context.Context) {
	reported := map[string]bool{}
	for _, object := range d.objects {
		kind, level := kinds.Of(object), findings.Error

		key := object.GetNamespace() + "/" + kind.Name
		if reported[key] || !waits(object) {
			continue
		}

		why, fix := "it is unknown why, because you may not list the operators", terminal.Command("kubectl auth can-i list deployments.apps -A")
		if !d.operatorsKnown {
			level = findings.Unknown
		} else {
			why, fix = d.whyWaiting(ctx, object, kind)
		}

		reported[key] = true

		d.Add(level, "applications", fix, "%s %s/%s has waited for an operator for more than %s: %s", kind.Kind, object.GetNamespace(), object.GetName(), patience, why)
	}
}

// whyWaiting returns why no operator has handled a custom resource, and a fix.
func (d *doctor) whyWaiting(ctx context.Context, object client.Object, kind *kinds.Kind) (why string, fix terminal.Command) {
	serving := slices.IndexFunc(d.operators, func(o Operator) bool {
		return !o.Other && o.Wanted > 0 && d.serves(ctx, &o, object.GetNamespace()) != 0
	})

	about := "" // the operator that the cause concerns
	if serving >= 0 {
		about = d.operators[serving].String()
	}

	if f := d.causeOf(about, object.GetNamespace()); f != nil {
		return f.Text, f.Fix
	}

	if serving < 0 {
		return "no operator of this project serves it", listOperators
	}

	if o := &d.operators[serving]; o.config != nil {
		if off := switchedOff(o.config, kind); off != "" {
			return about + " does not serve the kind, because " + off + " is false", upgrade(o, off+"=true")
		}

		selector, err := labels.Parse(o.config.Apache.LabelSelector)
		if err == nil && kind.Group == apacheGroup && !selector.Matches(labels.Set(object.GetLabels())) {
			return about + " ignores objects without the labels of controller.apache.labelSelector: " + selector.String(),
				label("-n "+terminal.Quote(object.GetNamespace())+" label "+kind.FullName(), object.GetName(), selector.String())
		}
	}
	return about + " serves the namespace, but has not handled it; its log may say why", logs(&d.operators[serving])
}

// causeOf returns the finding that explains why an operator handles nothing in a namespace, or why no operator does if
// the name of the operator is empty. Findings about other operators or other namespaces explain nothing.
func (d *doctor) causeOf(operator, namespace string) *findings.Finding {
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.Level != findings.Error {
			continue
		}

		explains := false
		switch f.Check {
		case "operator":
			explains = mentions(f.Text, operator) || operator == "" && strings.HasPrefix(f.Text, "no operator")
		case "leader":
			explains = mentions(f.Text, operator)
		case "namespaces":
			explains = mentions(f.Text, "the namespace "+namespace) && (operator == "" || mentions(f.Text, operator))
		}

		if explains {
			return f
		}
	}
	return nil
}

// mentions reports whether a text has the given words, and not only as the beginning or the end of longer ones.
func mentions(text, words string) bool {
	return words != "" && regexp.MustCompile(`(^|[^\w/-])`+regexp.QuoteMeta(words)+`($|[^\w/-])`).MatchString(text)
}

// label returns the command that gives an object the labels that a selector demands. If the selector is not one pair,
// the command lists the operators instead.
func label(command, name, selector string) terminal.Command {
	if strings.Count(selector, "=") != 1 || strings.ContainsAny(selector, ",!()") {
		return listOperators
	}
	return terminal.Command("kubectl "+command+" ") + terminal.Commandf("%s %s", name, selector)
}

// logs returns the command that prints the last lines of an operator's log.
func logs(o *Operator) terminal.Command {
	return terminal.Commandf("kubectl -n %s logs deployment/%s --tail=20", o.Namespace, o.Name)
}

// Waiting returns the findings about the installation for a custom resource that no operator has handled for a while,
// or nil if it does not wait.
func Waiting(ctx context.Context, c *kube.Client, object client.Object) []findings.Finding {
	if !waits(object) {
		return nil
	}

	d := &doctor{Client: c, namespace: object.GetNamespace(), objects: []client.Object{object}}
	d.examineOperators(ctx)
	return slices.DeleteFunc(d.Findings, func(f findings.Finding) bool { return f.Check != "applications" })
}
