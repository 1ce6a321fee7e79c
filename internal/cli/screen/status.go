package screen

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// lastEvents is the largest number of Events that the verb status shows.
const lastEvents = 5

// Status returns the text that the verb status prints.
func Status(object client.Object, pods []corev1.Pod, events []corev1.Event, width int) string {
	s := cluster.Summarize(object)
	var b strings.Builder
	field := func(name, text string) {
		if text != "" {
			b.WriteString(terminal.Wrap(fmt.Sprintf("%-11s", name+":"), text, width) + "\n")
		}
	}
	field("name", s.Namespace+"/"+s.Name)
	field("kind", s.Kind.Kind+" of "+s.Kind.GroupVersion().String())
	state := s.State + " (" + string(s.Result) + ")"
	if !s.Observed {
		state += ", the operator has not handled the last change yet"
	}
	field("state", state)
	if s.Message != "" {
		field("why", strings.TrimPrefix(s.Reason+": "+s.Message, ": "))
		field("do", s.Advice)
	}
	field("created", Age(s.Created)+" ago")
	if s.Attempt > 0 {
		field("attempt", fmt.Sprint(s.Attempt))
	}
	field("detail", s.Detail)
	if e := s.Executors; e != nil {
		field("executors", fmt.Sprintf("%d running, %d pending, %d completed, %d failed", e.Running, e.Pending, e.Completed, e.Failed))
	}
	field("requested", requested(pods))
	b.WriteString(timeline(&s, width))
	b.WriteString(podTable(pods, width))
	if len(s.Conditions) > 0 {
		b.WriteString("\nconditions:\n")
		for _, condition := range s.Conditions {
			text := string(condition.Status) + ", " + condition.Reason
			if condition.Message != "" {
				text += ": " + condition.Message
			}
			b.WriteString(terminal.Wrap(fmt.Sprintf("  %-14s ", condition.Type), text, width) + "\n")
		}
	}
	if s.Log != "" {
		b.WriteString("\nlog of the container that ended:\n")
		for line := range strings.Lines(s.Log) {
			b.WriteString(terminal.Wrap("  ", strings.TrimSuffix(line, "\n"), width) + "\n")
		}
	}
	if len(events) > 0 {
		b.WriteString("\nevents:\n")
		for i := max(len(events)-lastEvents, 0); i < len(events); i++ {
			b.WriteString(EventLine(&events[i], width) + "\n")
		}
	}
	return b.String()
}

// timeline returns a text with the phases of an object and their durations.
func timeline(s *cluster.Summary, width int) string {
	if len(s.History) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nphases:\n")
	for i := range s.History {
		entry := &s.History[i]
		if entry.At == nil {
			continue
		}
		until := time.Now()
		if i+1 < len(s.History) && s.History[i+1].At != nil {
			until = s.History[i+1].At.Time
		}
		text := fmt.Sprintf("%-10s %-8s attempt %d", entry.Phase, Short(until.Sub(entry.At.Time)), entry.Attempt)
		if entry.Reason != "" {
			text += ", " + entry.Reason
		}
		at := entry.At.UTC().Format("15:04:05")
		b.WriteString(terminal.Wrap("  "+at+"  ", text, width) + "\n")
	}
	return b.String()
}

// requested returns a text with the sum of the resources that the pods request, without pods that have ended.
func requested(pods []corev1.Pod) string {
	var cpu, memory resource.Quantity
	n := 0
	for i := range pods {
		if phase := pods[i].Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
			continue
		}
		n++
		for _, container := range pods[i].Spec.Containers {
			cpu.Add(*container.Resources.Requests.Cpu())
			memory.Add(*container.Resources.Requests.Memory())
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s CPU, %s memory, by %d pods", cpu.String(), memory.String(), n)
}

// maxPods is the largest number of pods that the verb status shows.
const maxPods = 10

func podTable(pods []corev1.Pod, width int) string {
	if len(pods) == 0 {
		return ""
	}
	table := terminal.Table{Columns: []terminal.Column{
		{Header: "  POD"}, {Header: "PHASE"}, {Header: "ROLE", Drop: 2}, {Header: "RESTARTS", Drop: 3}, {Header: "NODE", Drop: 4}, {Header: "AGE", Drop: 1},
	}}
	for i := range pods[:min(len(pods), maxPods)] {
		pod := &pods[i]
		restarts := int32(0)
		for _, container := range pod.Status.ContainerStatuses {
			restarts += container.RestartCount
		}
		table.Rows = append(table.Rows, []string{"  " + pod.Name, string(pod.Status.Phase), pod.Labels["spark-role"], fmt.Sprint(restarts), pod.Spec.NodeName,
			Age(pod.CreationTimestamp.Time)})
	}
	text := "\n" + table.String(width)
	if more := len(pods) - maxPods; more > 0 {
		text += fmt.Sprintf("  and %d more\n", more)
	}
	return text
}
