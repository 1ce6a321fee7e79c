package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cause"
)

// Explanation returns the lines that the verb explain prints, each with its heading.
func Explanation(now time.Time, zone Zone, object client.Object, pods []corev1.Pod, events []corev1.Event, plan lifecycle.Plan) (lines []Line) {
	s := kube.Summarize(object)

	lines = append(lines, Line{Label: "state", Text: fmt.Sprintf("%s is %s (%s)", kube.Title(object), s.State, s.Result)})
	switch {
	case !s.Observed && !s.Held:
		lines = append(lines, Line{Label: "why", Text: "the operator has not handled the last change yet; if that lasts, check that it runs: kubectl get pods -A -l app.kubernetes.io/name=spark-operator"})
	case s.Message != "":
		lines = append(lines, Line{Label: "why", Text: strings.TrimPrefix(s.Reason+": "+s.Message, ": ")})
		if s.Advice != "" {
			lines = append(lines, Line{Label: "do", Text: s.Advice})
		}
	}

	lines = append(lines, podLines(pods, events, s.Advice)...)
	return append(lines, Line{Label: "next", Text: whatNext(now, zone, &s, plan)})
}

// podLines returns a line for each cause that keeps pods from running, and its way out. An application may have
// hundreds of executors with the same cause. The advice that is given already is left out.
func podLines(pods []corev1.Pod, events []corev1.Event, given string) (lines []Line) {
	var all []string

	names := map[string][]string{}
	for i := range pods {
		for _, found := range causes(&pods[i], events) {
			if names[found] == nil {
				all = append(all, found)
			}

			names[found] = append(names[found], pods[i].Name)
		}
	}

	advice := []string{given}
	for _, found := range all {
		text := names[found][0]
		if n := len(names[found]) - 1; n > 0 {
			text += " and " + bounds.Count(n, "other")
		}

		lines = append(lines, Line{Label: "pod", Text: text + ": " + found})

		reason, message, _ := strings.Cut(found, ":")
		if way := cause.Advice(reason, message); way != "" && !slices.Contains(advice, way) {
			lines, advice = append(lines, Line{Label: "do", Text: way}), append(advice, way)
		}
	}
	return lines
}

// Line is a line of an explanation. Label is the line's heading, such as why or do.
type Line struct {
	Label   string `json:"label"`
	Text    string `json:"text"`
	Command bool   `json:"command,omitempty"` // the text is a command to copy
}

// causes returns the causes that keep a pod from running, as the pod's status reports them. If the status of a pending
// pod has none, causes returns the last warning Event about the pod.
func causes(pod *corev1.Pod, events []corev1.Event) (found []string) {
	if pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}

	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			found = append(found, condition.Reason+": "+condition.Message)
		}
	}

	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		found = append(found, containerCauses(&status)...)
	}

	if len(found) > 0 || pod.Status.Phase != corev1.PodPending {
		return found
	}

	for _, event := range slices.Backward(events) {
		if event.InvolvedObject.UID == pod.UID && event.Type == corev1.EventTypeWarning {
			return []string{event.Reason + ": " + event.Message}
		}
	}
	return nil
}

func containerCauses(status *corev1.ContainerStatus) (found []string) {
	if w := status.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" {
		found = append(found, strings.TrimSuffix(w.Reason+": "+w.Message, ": "))
	}

	if t := status.State.Terminated; t != nil && t.ExitCode != 0 {
		found = append(found, strings.TrimSuffix(fmt.Sprintf("container %s ended with exit code %d (%s)", status.Name, t.ExitCode, t.Reason), " ()"))
	}
	return found
}

// verbWords maps each verb of the operator's actions to the words that explain prints.
var verbWords = map[lifecycle.Verb]string{lifecycle.Create: "creates", lifecycle.Delete: "deletes", lifecycle.Confirm: "reads"}

// partWords maps each part that an action can concern to the words that explain prints.
var partWords = map[lifecycle.Part]string{
	lifecycle.Submission: "the driver pod and its objects", lifecycle.Attempt: "the objects of the attempt", lifecycle.Executors: "the executors",
	lifecycle.DriverPod: "the driver pod", lifecycle.DriverObjects: "the deleted objects of the driver", lifecycle.DriverBudget: "the driver's PodDisruptionBudget",
	lifecycle.Application: "the custom resource", lifecycle.ScheduledRun: "the run",
}

// actionText returns a text about an action of the operator.
func actionText(action lifecycle.Action) string {
	act := verbWords[action.Verb] + " " + partWords[action.Part]
	switch {
	case action.Verb == lifecycle.Confirm && action.Part == lifecycle.Executors:
		act = "checks why executors are missing"
	case action.Verb == lifecycle.Confirm:
		act += " from the API server"
	}

	if action.Name != "" {
		act += " " + action.Name
	}

	if action.Attempt > 0 && action.Verb == lifecycle.Create {
		act += fmt.Sprintf(" for attempt %d", action.Attempt)
	}
	return act
}

// whatNext returns a text about what the operator does next, and when.
func whatNext(now time.Time, zone Zone, s *kube.Summary, plan lifecycle.Plan) string {
	var acts []string
	for _, action := range plan.Actions {
		if act := actionText(action); !slices.Contains(acts, act) {
			acts = append(acts, act)
		}
	}

	limit := plan.Limit
	switch {
	case s.Queued(): // the plan knows nothing of the queue
		return "the operator creates the pods when the queue admits them"
	case len(acts) > 0:
		return "the operator " + strings.Join(acts, ", then ")
	case nextStart(s) != "" && s.Next.After(now):
		return fmt.Sprintf("%s at %s, in %s", nextStart(s), zone.Time(s.Next), Short(s.Next.Sub(now)))
	case s.Over():
		return afterEnd(now, zone, s, plan)
	case s.Result == kube.Suspended:
		return "nothing until it is resumed: " + string(s.Hint("resume"))
	case limit.Reason != "":
		return fmt.Sprintf("the operator waits for a change of the pods; at %s, in %s, it ends the attempt with %s", zone.Time(limit.At), Short(limit.At.Sub(now)), limit.Reason)
	case plan.RequeueAfter > 0:
		return fmt.Sprintf("the operator waits for a change of the pods, for at most %s", Short(plan.RequeueAfter))
	}
	return "the operator waits for a change of the pods or of the spec"
}

// afterEnd returns a text about what the operator does after the end of an application.
func afterEnd(now time.Time, zone Zone, s *kube.Summary, plan lifecycle.Plan) string {
	switch limit := plan.Limit; {
	case !limit.At.IsZero() && limit.Reason == "":
		return fmt.Sprintf("it has ended; the operator deletes %s at %s, in %s", partWords[limit.Part], zone.Time(limit.At), Short(limit.At.Sub(now)))
	case plan.RequeueAfter == 0:
		return "nothing: it has ended; to run it again, edit its spec or use " + string(s.Hint("restart"))
	}
	return fmt.Sprintf("it has ended; the operator handles it again in %s", Short(plan.RequeueAfter))
}

// nextStart returns what starts at the next time of the status, or "" if nothing does.
func nextStart(s *kube.Summary) string {
	switch {
	case s.Kind.Name == "schedule" && s.Result != kube.Suspended:
		return "the next run starts"
	case s.Kind.Name != "schedule" && s.Result == kube.Pending:
		return fmt.Sprintf("the operator starts attempt %d", s.Attempt+1)
	}
	return ""
}
