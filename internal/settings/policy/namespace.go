package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/pod-security-admission/api"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/settings/policy/effective"
)

// namespace has the rules of one namespace.
type namespace struct {
	sets     []*set
	snippets bool   // snippet annotations are allowed
	owner    string // of the policy
	server   api.Version
}

// For returns the rules of a namespace with the given labels, or nil if there are none. If the labels are unknown
// (nil), sets with a selector do not apply.
func (p Policy) For(namespaceLabels map[string]string) dialect.Rules {
	n := &namespace{sets: p.sets(namespaceLabels), snippets: p.AllowSnippetAnnotations, owner: p.Owner, server: p.ServerVersion}
	if len(n.sets) == 0 && n.snippets {
		return nil
	}
	return n
}

// prepared returns the compiled sets of rules.
func (p Policy) prepared() []*set {
	if len(p.compiled) != len(p.Rules) {
		p.Prepare(field.NewPath("policy"))
	}
	return p.compiled
}

// sets returns the sets of rules that apply to a namespace with the given labels.
func (p Policy) sets(namespaceLabels map[string]string) (all []*set) {
	for _, s := range p.prepared() {
		if s.selector == nil || namespaceLabels != nil && s.selector.Matches(labels.Set(namespaceLabels)) {
			all = append(all, s)
		}
	}
	return all
}

// Faults returns a fault for each rule that the custom resource breaks. It computes the parts of the custom resource
// once for all sets, since it may render every pod for them.
func (n *namespace) Faults(subject *dialect.Subject) []*dialect.FieldError {
	once := *subject
	once.Settings, once.Workers, once.Pods = sync.OnceValue(subject.Settings), sync.OnceValue(subject.Workers), sync.OnceValues(subject.Pods)

	r := refusals{server: n.server}
	for i := range subject.Services {
		r.faults = append(r.faults, n.ExposureFaults(&subject.Services[i])...)
	}

	merged := sync.OnceValue(func() effective.Configuration {
		pods, faults := once.Pods()
		if !slices.ContainsFunc(n.sets, (*set).judgesPods) {
			r.faults = append(r.faults, faults...) // otherwise the method pods adds them
		}
		return effective.Of(once.Settings(), pods)
	})
	for _, r.set = range n.sets {
		r.labels(subject.Labels)
		r.settings(merged)
		r.pods(&once)
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

// LostLabels returns a fault for each required label that an update of an object in a namespace takes away: the labels
// before the update met the rule, and those after it do not.
func (p Policy) LostLabels(namespaceLabels, before, after map[string]string) []*dialect.FieldError {
	n, _ := p.For(namespaceLabels).(*namespace)
	if n == nil {
		return nil
	}

	var r refusals
	for _, s := range n.sets {
		for _, required := range s.labels {
			value, found := before[required.key]
			if r.set = (&set{name: s.name, owner: s.owner, labels: []requirement{required}}); found && required.value.re.MatchString(value) {
				r.labels(after)
			}
		}
	}
	return r.faults
}

// refusals collects the faults of a custom resource.
type refusals struct {
	set    *set // the set whose rules are evaluated
	server api.Version
	faults []*dialect.FieldError
	// forbidden has the findings about pods that podSecurity has evaluated. Several sets may have the same level.
	forbidden map[evaluated]string
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

	r.append(&dialect.FieldError{Field: field, Message: message})
}

// append adds a fault, unless it was added before.
func (r *refusals) append(fault *dialect.FieldError) {
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
