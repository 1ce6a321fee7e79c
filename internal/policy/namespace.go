package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/dialect"
)

// namespace has the rules of one namespace.
type namespace struct {
	sets     []*set
	snippets bool   // snippet annotations are allowed
	owner    string // of the policy
}

// For returns the rules of a namespace with the given labels, or nil if there are none. If the labels are unknown
// (nil), sets with a selector do not apply.
func (p Policy) For(namespaceLabels map[string]string) dialect.Rules {
	if len(p.compiled) != len(p.Rules) {
		p.Prepare(field.NewPath("policy"))
	}
	n := &namespace{snippets: p.AllowSnippetAnnotations, owner: p.Owner}
	for _, s := range p.compiled {
		if s.selector == nil || namespaceLabels != nil && s.selector.Matches(labels.Set(namespaceLabels)) {
			n.sets = append(n.sets, s)
		}
	}
	if len(n.sets) == 0 && n.snippets {
		return nil
	}
	return n
}

// Faults returns a fault for each rule that the custom resource breaks.
func (n *namespace) Faults(subject *dialect.Subject) []*dialect.FieldError {
	var r refusals
	for _, s := range n.sets {
		r.set = s
		r.labels(subject)
		r.settings(subject)
		r.pods(subject)
	}
	return r.faults
}

// ExposureFaults returns a fault for each rule that an Ingress or route breaks.
func (n *namespace) ExposureFaults(asked *dialect.Exposing) []*dialect.FieldError {
	var r refusals
	if !n.snippets {
		r.set = &set{owner: n.owner}
		r.snippetAnnotations(asked)
	}
	for _, s := range n.sets {
		r.set = s
		r.exposure(asked)
	}
	return r.faults
}

// refusals collects the faults of a custom resource.
type refusals struct {
	set    *set // the set whose rules are evaluated
	faults []*dialect.FieldError
}

// maxFaults limits the faults of one custom resource, and maxValue the length of a user's value in a message.
const (
	maxFaults = 50
	maxValue  = 200
)

// add adds a fault of the custom resource, unless it was added before. The parameter value describes the refused value,
// the parameter rule is the path of the broken rule within its set, and the parameter remedy is the advice for the
// user.
func (r *refusals) add(field, value, rule, remedy string) {
	message := fmt.Sprintf("%s is not allowed by the rule %s of the policy %s%s; %s", value, rule, r.set.name, ownedBy(r.set.owner), remedy)
	if r.set.name == "" {
		message = fmt.Sprintf("%s is not allowed by the operator's setting %s%s; %s", value, rule, ownedBy(r.set.owner), remedy)
	}
	fault := &dialect.FieldError{Field: field, Message: message}
	same := func(other *dialect.FieldError) bool { return *other == *fault }
	if len(r.faults) < maxFaults && !slices.ContainsFunc(r.faults, same) {
		r.faults = append(r.faults, fault)
	}
}

// ownedBy returns the part of a message that names the owner of a set of rules. It is empty if the set has no owner.
func ownedBy(owner string) string {
	if owner == "" {
		return ""
	}
	return " (owner: " + owner + ")"
}

// oneOf returns the advice about a refused value: a list of the allowed patterns. If no pattern is allowed, it returns
// the text in the second parameter.
func oneOf(allowed patterns, otherwise string) string {
	if len(allowed) == 0 {
		return otherwise
	}
	return "allowed are: " + allowed.String()
}

// shown returns a user's value in quotation marks. It cuts a value that is longer than maxValue.
func shown(value string) string {
	if len(value) > maxValue {
		value = strings.ToValidUTF8(value[:maxValue], "") + "..."
	}
	return fmt.Sprintf("%q", value)
}
