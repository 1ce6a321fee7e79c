// Package policy checks custom resources against the rules of the platform's administrators (docs/policy.md). Which
// rules apply depends on the labels of the namespace. The type Policy corresponds to the section policy of the
// configuration file, and Policy.For returns the rules of one namespace. The package is pure: its functions read
// nothing but their arguments.
package policy

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/pod-security-admission/api"
)

// Policy configures the rules that apply to custom resources in addition to the operator's own validation. The zero
// value allows everything except snippet annotations.
type Policy struct {
	// Owner says who owns the rules, such as a team and how to reach it. Refusals name it. Default: none.
	Owner string `json:"owner,omitempty"`
	// AllowSnippetAnnotations allows annotations of Ingresses and routes that contain configuration of the proxy, such
	// as nginx.ingress.kubernetes.io/configuration-snippet. With such an annotation, its author can read the
	// credentials of the ingress controller. Default false.
	AllowSnippetAnnotations bool `json:"allowSnippetAnnotations,omitempty"`
	// Rules are sets of rules. Every set whose selector matches applies. Default: none.
	Rules []Rules `json:"rules,omitempty"`
	// ServerVersion is the version of the API server, which decides what podSecurity allows. It is no setting. If it is
	// unknown (the zero value), pods must meet the standards of both the oldest supported version and the latest one.
	ServerVersion api.Version `json:"-"`

	compiled []*set // of Rules, in their order; written by Prepare
}

// These are the values of Rules.Level.
const (
	levelOpen       = "open"
	levelBaseline   = "baseline"
	levelRestricted = "restricted"
)

// These are the values of Rules.PodSecurity.
const (
	podSecurityOff        = "off"
	podSecurityBaseline   = "baseline"
	podSecurityRestricted = "restricted"
)

// Rules is a set of rules for the namespaces that a selector matches. A rule that is not set allows everything, unless
// the level sets it.
type Rules struct {
	// Name names the set in refusals.
	Name string `json:"name"`
	// Owner says who owns the set. Default: the policy's owner.
	Owner string `json:"owner,omitempty"`
	// Selector selects namespaces by their labels, in the syntax of kubectl's --selector. Default: all namespaces.
	Selector string `json:"selector,omitempty"`
	// Level presets rules: open (none), baseline or restricted. A rule that is set here takes precedence. Default open.
	Level string `json:"level,omitempty"`
	// PodSecurity is off, baseline or restricted: the level of the Pod Security Standards that all pods must meet.
	// Default: the value of Level (open means off).
	PodSecurity string `json:"podSecurity,omitempty"`
	// Images of all containers and image volumes.
	Images *Allowed `json:"images,omitempty"`
	// ServiceAccounts of all pods.
	ServiceAccounts *Allowed `json:"serviceAccounts,omitempty"`
	// SparkConf are rules for keys of the Spark configuration.
	SparkConf SparkConf `json:"sparkConf,omitzero"`
	// Limits limit what one custom resource may use.
	Limits Limits `json:"limits,omitzero"`
	// NodeSelectors are node selectors and node affinities as key=value.
	NodeSelectors *Allowed `json:"nodeSelectors,omitempty"`
	// Tolerations as key=value:effect, or key:effect for the operator Exists.
	Tolerations *Allowed `json:"tolerations,omitempty"`
	// PriorityClasses of pods and pod groups.
	PriorityClasses *Allowed `json:"priorityClasses,omitempty"`
	// RuntimeClasses and Schedulers of pods. The default runtime class and the default scheduler are always allowed.
	RuntimeClasses *Allowed `json:"runtimeClasses,omitempty"`
	Schedulers     *Allowed `json:"schedulers,omitempty"`
	// Ingress are rules for Ingresses and routes.
	Ingress Ingress `json:"ingress,omitzero"`
	// Labels are rules for the labels of custom resources.
	Labels Labels `json:"labels,omitzero"`
	// Packages are Maven coordinates, as group:artifact:version.
	Packages *Allowed `json:"packages,omitempty"`
	// Repositories are addresses of Maven repositories in addition to those that Spark uses by itself.
	Repositories *Allowed `json:"repositories,omitempty"`
}

// Allowed lists the patterns of allowed values. An empty list allows no value. In a pattern, ** stands for any
// characters, * for any characters, and ? for one. In patterns of images and repositories, * and ? do not stand for a
// slash. A pattern that begins with "regexp:" is a regular expression for the whole value.
type Allowed struct {
	Allowed []string `json:"allowed"`
}

// SparkConf has rules for keys of the Spark configuration.
type SparkConf struct {
	// Denied are patterns of keys that must not be set, in sparkConf or by a typed field.
	Denied []string `json:"denied,omitempty"`
	// Required maps keys to a pattern that their value must match. "*" accepts any value.
	Required map[string]string `json:"required,omitempty"`
}

// Limits limit what one custom resource may use. Cores and Memory limit the sum of the requests of its pods, as a
// ResourceQuota counts them. The sum includes the largest number of executors that the custom resource may have.
type Limits struct {
	Cores  *resource.Quantity `json:"cores,omitempty"`
	Memory *resource.Quantity `json:"memory,omitempty"`
	// Hard limits further sums, with names as in spec.hard of a ResourceQuota: requests.nvidia.com/gpu, limits.cpu,
	// limits.memory, requests.ephemeral-storage. With a name that begins with limits., each container must have that
	// limit.
	Hard corev1.ResourceList `json:"hard,omitempty"`
	// Executors is the number of executors, or of workers of a cluster.
	Executors *int64 `json:"executors,omitempty"`
}

// Ingress has rules for the Ingresses and routes that custom resources request. Values of the operator's own
// configuration are always allowed.
type Ingress struct {
	// Hosts are host names.
	Hosts *Allowed `json:"hosts,omitempty"`
	// Classes are the names of Ingress classes. The default class is always allowed.
	Classes *Allowed `json:"classes,omitempty"`
	// Annotations are keys of annotations. The level baseline allows those of harmlessAnnotations.
	Annotations *Allowed `json:"annotations,omitempty"`
}

// Labels has rules for the labels of custom resources.
type Labels struct {
	// Required maps labels to a pattern that their value must match. "*" accepts any value.
	Required map[string]string `json:"required,omitempty"`
}

// Equal reports whether two policies have the same settings.
func (p Policy) Equal(other Policy) bool {
	a, errA := json.Marshal(p)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && string(a) == string(b)
}

// NeedsNamespaceLabels reports whether the rules depend on the labels of namespaces.
func (p Policy) NeedsNamespaceLabels() bool {
	for i := range p.Rules {
		if p.Rules[i].Selector != "" {
			return true
		}
	}
	return false
}

// SegmentPatterns returns the patterns of images and repositories that matched more values in earlier versions. There *
// also stood for slashes.
func (p Policy) SegmentPatterns() (texts []string) {
	for _, rules := range p.Rules {
		for _, list := range []*Allowed{rules.Images, rules.Repositories} {
			if list == nil {
				continue
			}

			for _, text := range list.Allowed {
				if !strings.HasPrefix(text, regexpPrefix) && strings.ContainsAny(strings.ReplaceAll(text, "**", ""), "*?") {
					texts = append(texts, text)
				}
			}
		}
	}
	return texts
}
