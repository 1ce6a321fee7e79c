package screen

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/startup"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// Report is what the verb status shows about an object. Programs read it as JSON or YAML; docs/terminal.md describes
// its fields.
type Report struct {
	metav1.TypeMeta
	kube.Summary
	DurationSeconds int64          `json:"durationSeconds"` // of the current or last attempt
	TotalSeconds    int64          `json:"totalSeconds"`    // from the creation to the last end, or until now
	SparkStart      *startup.Times `json:"sparkStart,omitempty"`
	Requested       *Requested     `json:"requested,omitempty"`
	Pods            []Pod          `json:"pods,omitempty"`
	Events          []corev1.Event `json:"events,omitempty"`
	Explanation     []Line         `json:"explanation,omitempty"` // of the verb explain
}

// Requested is the sum of the resources that the pods of an object request, without pods that have ended.
type Requested struct {
	CPU    resource.Quantity `json:"cpu"`
	Memory resource.Quantity `json:"memory"`
	Pods   int               `json:"pods"`
}

// Pod is a pod of an object.
type Pod struct {
	Name     string      `json:"name"`
	Phase    string      `json:"phase"`
	Role     string      `json:"role,omitempty"`
	Restarts int32       `json:"restarts"`
	Node     string      `json:"node,omitempty"`
	Created  metav1.Time `json:"created"`
}

// NewReport returns what the verb status shows about an object at the given time.
func NewReport(now time.Time, object client.Object, pods []corev1.Pod, events []corev1.Event) Report {
	r := Report{Summary: kube.Summarize(object), Requested: requested(pods), Events: events}
	r.APIVersion, r.TypeMeta.Kind = r.Summary.Kind.ToAPIVersionAndKind()
	r.DurationSeconds = int64(r.Duration(now).Seconds())

	r.TotalSeconds = int64(now.Sub(r.Created).Seconds())
	if r.Over() && !r.Ended.IsZero() {
		r.TotalSeconds = int64(r.Ended.Sub(r.Created).Seconds())
	}

	for _, at := range []*time.Time{&r.Created, &r.Started, &r.Ended, &r.Next} {
		*at = at.UTC()
	}

	r.Conditions = slices.Clone(r.Conditions)
	slices.SortStableFunc(r.Conditions, func(a, b metav1.Condition) int {
		return cmp.Or(rank(a.Type)-rank(b.Type), cmp.Compare(a.Type, b.Type))
	})

	for i := range pods {
		pod := &pods[i]

		shown := Pod{Name: pod.Name, Phase: string(pod.Status.Phase), Role: pod.Labels[identity.RoleLabel], Node: pod.Spec.NodeName, Created: pod.CreationTimestamp}
		for _, container := range pod.Status.ContainerStatuses {
			shown.Restarts += container.RestartCount
		}

		r.Pods = append(r.Pods, shown)
	}
	return r
}

// conditionOrder is the order in which the conditions of all kinds are shown. Conditions that only some kinds have
// follow by name.
var conditionOrder = []string{
	dialect.ConditionReady, dialect.ConditionDegraded, dialect.ConditionFailed, dialect.ConditionStalled, dialect.ConditionSucceeded, dialect.ConditionSuspended,
	dialect.ConditionRunning, dialect.ConditionSubmitted, dialect.ConditionReconciling, dialect.ConditionProgressing, dialect.ConditionExposed,
}

func rank(condition string) int {
	if i := slices.Index(conditionOrder, condition); i >= 0 {
		return i
	}
	return len(conditionOrder)
}

func requested(pods []corev1.Pod) *Requested {
	var r Requested
	for i := range pods {
		if phase := pods[i].Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
			continue
		}

		r.Pods++
		for _, container := range pods[i].Spec.Containers {
			r.CPU.Add(*container.Resources.Requests.Cpu())
			r.Memory.Add(*container.Resources.Requests.Memory())
		}
	}

	if r.Pods == 0 {
		return nil
	}
	return &r
}

// Encode returns a value in the format json or yaml.
func Encode(value any, format string) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "    ")
	switch {
	case err != nil:
		return nil, err
	case format == "json":
		return append(text, '\n'), nil
	case format == "yaml":
		return terminal.YAML(text)
	}
	return nil, exit.Usagef("-o %s: the formats are: json, yaml", format)
}
