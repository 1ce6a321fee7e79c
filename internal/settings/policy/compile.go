package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// set is a compiled set of rules. A nil list of allowed patterns means that the rule is not set, so every value is
// allowed.
type set struct {
	name, owner string
	selector    labels.Selector // nil: all namespaces
	podSecurity string

	images, serviceAccounts, nodeSelectors, tolerations, priorityClasses *patterns
	runtimeClasses, schedulers                                           *patterns
	hosts, classes, annotations, packages, repositories                  *patterns
	denied                                                               patterns
	required, labels                                                     []requirement
	limits                                                               Limits
	sums                                                                 []sum // of limits
}

// requirement is a key whose value must match a pattern.
type requirement struct {
	key   string
	value pattern
}

// Prepare validates the policy and compiles its patterns. path is the path of the policy in the configuration file. The
// caller must call Prepare before For, and must not use a policy with errors.
func (p *Policy) Prepare(path *field.Path) (errs field.ErrorList) {
	p.compiled = nil
	for i := range p.Rules {
		c := compiler{path: path.Child("rules").Index(i)}

		p.compiled = append(p.compiled, c.set(p, &p.Rules[i]))
		if name := p.Rules[i].Name; slices.ContainsFunc(p.Rules[:i], func(other Rules) bool { return other.Name == name }) && name != "" {
			c.errs = append(c.errs, field.Duplicate(c.path.Child("name"), name))
		}

		errs = append(errs, c.errs...)
	}

	if len(errs) == 0 {
		errs = p.contradictions(path)
	}
	return errs
}

// Parse parses the section policy of a configuration file, and prepares it.
func Parse(text string) (p Policy, err error) {
	_, asJSON, err := podtemplate.ReadYAML([]byte(text))
	if err != nil {
		return Policy{}, fmt.Errorf("policy: %w", err)
	}

	if strict, err := kjson.UnmarshalStrict(asJSON, &p); err != nil || len(strict) > 0 {
		return Policy{}, fmt.Errorf("policy: %w", errors.Join(append(strict, err)...))
	}
	return p, p.Prepare(field.NewPath("policy")).ToAggregate()
}

// contradictions returns a fault for each key of the Spark configuration that one set requires and a set for the same
// namespaces denies. Together these sets would allow no custom resource.
func (p *Policy) contradictions(path *field.Path) (errs field.ErrorList) {
	for i := range p.Rules {
		for _, key := range slices.Sorted(maps.Keys(p.Rules[i].SparkConf.Required)) {
			for j, other := range p.compiled {
				a, b := p.Rules[i].Selector, p.Rules[j].Selector
				if (a == b || a == "" || b == "") && other.denied.matches(key) {
					errs = append(errs, field.Invalid(path.Child("rules").Index(i).Child("sparkConf", "required").Key(key), key,
						fmt.Sprintf("rules[%d].sparkConf.denied denies this required key, so no application could run; change sparkConf.required or sparkConf.denied", j)))
				}
			}
		}
	}
	return errs
}

// compiler compiles a set of rules and collects the faults.
type compiler struct {
	path *field.Path
	errs field.ErrorList
}

// set compiles a set of rules.
func (c *compiler) set(p *Policy, r *Rules) *set {
	if r.Name == "" {
		c.errs = append(c.errs, field.Required(c.path.Child("name"), "set a name, which refusals show to users"))
	}

	s := &set{name: r.Name, owner: cmp.Or(r.Owner, p.Owner), limits: r.Limits, sums: r.Limits.sums(), podSecurity: r.PodSecurity}
	if r.Selector != "" {
		selector, err := labels.Parse(r.Selector)
		if err != nil {
			c.errs = append(c.errs, field.Invalid(c.path.Child("selector"), r.Selector, err.Error()))
		}

		s.selector = selector
	}

	if security := []string{"", podSecurityOff, podSecurityBaseline, podSecurityRestricted}; !slices.Contains(security, r.PodSecurity) {
		c.errs = append(c.errs, field.NotSupported(c.path.Child("podSecurity"), r.PodSecurity, security[1:]))
	}

	s.images = c.needed("images", r.Images)
	s.serviceAccounts = c.needed("serviceAccounts", r.ServiceAccounts)
	s.nodeSelectors, s.tolerations = c.allowed("nodeSelectors", r.NodeSelectors), c.allowed("tolerations", r.Tolerations)
	s.priorityClasses, s.runtimeClasses = c.allowed("priorityClasses", r.PriorityClasses), c.allowed("runtimeClasses", r.RuntimeClasses)
	s.schedulers = c.allowed("schedulers", r.Schedulers)
	s.packages, s.repositories = c.allowed("packages", r.Packages), c.allowed("repositories", r.Repositories)
	s.hosts, s.classes = c.allowed("ingress.hosts", r.Ingress.Hosts), c.allowed("ingress.classes", r.Ingress.Classes)
	s.annotations = c.allowed("ingress.annotations", r.Ingress.Annotations)
	s.denied = c.patterns(c.path.Child("sparkConf", "denied"), r.SparkConf.Denied, anyCharacter)
	s.required = c.requirements(c.path.Child("sparkConf", "required"), r.SparkConf.Required)
	s.labels = c.requirements(c.path.Child("labels", "required"), r.Labels.Required)
	c.labelKeys(r.Labels.Required)
	c.limits(&r.Limits)
	c.snippets(p, r)
	c.level(s, r.Level)
	return s
}

// level adds the rules of a level (Rules.Level) to a set. Rules that the set configures itself take precedence.
func (c *compiler) level(s *set, level string) {
	preset := func(rule **patterns) {
		if *rule == nil {
			*rule = &patterns{}
		}
	}
	switch level {
	case "", levelOpen:
	case levelRestricted:
		preset(&s.tolerations)
		preset(&s.priorityClasses)
		preset(&s.annotations)
		preset(&s.repositories)
		fallthrough
	case levelBaseline:
		if s.podSecurity == "" {
			s.podSecurity = level
		}

		if s.annotations == nil {
			s.annotations = &harmlessAnnotations
		}
	default:
		c.errs = append(c.errs, field.NotSupported(c.path.Child("level"), level, []string{levelOpen, levelBaseline, levelRestricted}))
	}
}

// needed compiles a list of allowed patterns for a value that every pod has. An empty list is a fault, because no pod
// would be allowed.
func (c *compiler) needed(name string, allowed *Allowed) *patterns {
	if allowed != nil && len(allowed.Allowed) == 0 {
		c.errs = append(c.errs, field.Invalid(c.path.Child(name, "allowed"), []string{}, fmt.Sprintf("is empty: no pod could be created; list patterns, or leave %s out to allow all", name)))
	}
	return c.allowed(name, allowed)
}

// allowed compiles a list of allowed patterns. It returns nil if there is no list.
func (c *compiler) allowed(name string, allowed *Allowed) *patterns {
	if allowed == nil {
		return nil
	}

	path := c.path
	for part := range strings.SplitSeq(name, ".") {
		path = path.Child(part)
	}

	wildcard := cmp.Or(map[string]string{"images": inImageSegment, "repositories": inURLSegment}[name], anyCharacter)
	return new(c.patterns(path.Child("allowed"), allowed.Allowed, wildcard))
}

func (c *compiler) patterns(path *field.Path, texts []string, wildcard string) patterns {
	var all patterns
	for i, text := range texts {
		compiled, err := compilePattern(text, wildcard)
		if err != nil {
			c.errs = append(c.errs, field.Invalid(path.Index(i), text, err.Error()))
			continue
		}

		all = append(all, compiled)
	}
	return all
}

func (c *compiler) requirements(path *field.Path, required map[string]string) (all []requirement) {
	for _, key := range slices.Sorted(maps.Keys(required)) {
		value, err := compilePattern(required[key], anyCharacter)
		if err != nil {
			c.errs = append(c.errs, field.Invalid(path.Key(key), required[key], err.Error()))
			continue
		}

		all = append(all, requirement{key, value})
	}
	return all
}

// labelKeys rejects required labels that no object can have.
func (c *compiler) labelKeys(required map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(required)) {
		for _, problem := range validation.IsQualifiedName(key) {
			c.errs = append(c.errs, field.Invalid(c.path.Child("labels", "required").Key(key), key, problem))
		}
	}
}

// limits rejects limits that no application could meet.
func (c *compiler) limits(l *Limits) {
	path := c.path.Child("limits")
	for _, limit := range []struct {
		name   string
		amount *resource.Quantity
	}{{"cores", l.Cores}, {"memory", l.Memory}} {
		if limit.amount != nil && limit.amount.Sign() <= 0 {
			c.errs = append(c.errs, field.Invalid(path.Child(limit.name), limit.amount.String(), "must be more than 0"))
		}
	}

	for _, name := range slices.Sorted(maps.Keys(l.Hard)) {
		if !isCounted(string(name)) {
			c.errs = append(c.errs, field.Invalid(path.Child("hard").Key(string(name)), string(name), "is not an amount of pods; write a name such as limits.memory or requests.nvidia.com/gpu, or use a ResourceQuota"))
		}

		if amount := l.Hard[name]; amount.Sign() < 0 {
			c.errs = append(c.errs, field.Invalid(path.Child("hard").Key(string(name)), amount.String(), "must not be negative"))
		}
	}

	if l.Executors != nil && *l.Executors < 0 {
		c.errs = append(c.errs, field.Invalid(path.Child("executors"), *l.Executors, "must not be negative"))
	}
}

// snippets rejects patterns that allow a snippet annotation (see rawAnnotations), if the policy denies all snippet
// annotations.
func (c *compiler) snippets(p *Policy, r *Rules) {
	if p.AllowSnippetAnnotations || r.Ingress.Annotations == nil {
		return
	}

	for i, text := range r.Ingress.Annotations.Allowed {
		if rawAnnotations.matches(text) && !strings.ContainsAny(text, "*?") {
			c.errs = append(c.errs, field.Invalid(c.path.Child("ingress", "annotations", "allowed").Index(i), text,
				"is a snippet annotation, which the policy denies; set policy.allowSnippetAnnotations: true, or remove the pattern"))
		}
	}
}
