package kube

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/podlog"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// LogOptions select the logs to write.
type LogOptions struct {
	// Executor is the id of an executor, or "all". If it is empty, the log is that of the driver, of the Connect server
	// or of the master.
	Executor string
	// Attempt is the number of an attempt; 0 means the last one.
	Attempt  int32
	Follow   bool
	Previous bool          // the container before its last restart
	Since    time.Duration // only newer lines; 0 means all
	Tail     int64         // only the last lines; negative means all
	Limit    int64         // the largest number of bytes of each log; 0 means all
	Times    bool          // each line begins with the time at which the node received it
	// Waiting, if not nil, is called with each new state of the object while Logs waits for the next log.
	Waiting func(*Summary)
	// Kept, if not nil, writes the selected logs of pods that are gone, except those whose UIDs it gets. It adds the
	// UIDs of executors about which it has written something, and reports whether there was a log.
	Kept func(ctx context.Context, o LogOptions, printed map[string]bool, out io.Writer) (bool, error)
}

// kept writes the logs of pods that are gone.
func (o LogOptions) kept(ctx context.Context, printed map[string]bool, out io.Writer) (bool, error) {
	if o.Kept == nil {
		return false, nil
	}
	return o.Kept(ctx, o, printed, out)
}

// AllExecutors is the value of LogOptions.Executor that selects the logs of all executors.
const AllExecutors = "all"

// Logs writes the logs of an object's pods. If the option Follow is set, Logs continues across restarts and attempts
// until the object has ended or the context is canceled.
func (c *Client) Logs(ctx context.Context, object client.Object, o LogOptions, out io.Writer) error {
	if o.Executor == AllExecutors {
		return c.merged(ctx, object, o, out)
	}

	var last *corev1.Pod
	for {
		pod, err := c.nextPod(ctx, object, o, last)
		if pod != nil {
			err = c.stream(ctx, pod, o, "", out)
		}

		if podlog.IsNoLog(err) {
			if found, failure := o.kept(ctx, nil, out); found || failure != nil && pod == nil {
				return failure
			}
		}

		if err != nil || pod == nil {
			return err
		}

		if last = pod; !o.Follow {
			return nil
		}

		o.Since, o.Tail = 0, -1 // the logs of later attempts are written completely
	}
}

// nextPod returns the pod of the next log. This is the newest pod, if it is newer than the pod of the previous log.
// Before the first log, there is no previous pod (nil). If no further log will follow, nextPod returns nil. If the
// option Follow is set, nextPod waits until the next pod exists and its container has started.
func (c *Client) nextPod(ctx context.Context, object client.Object, o LogOptions, last *corev1.Pod) (*corev1.Pod, error) {
	o.Waiting = changesOnly(o.Waiting)
	for {
		pods, err := c.Pods(ctx, object)
		if err != nil {
			return nil, c.ended(ctx, err)
		}

		candidates := after(logged(pods, o), last)
		if len(candidates) > 0 {
			if pod := &candidates[len(candidates)-1]; podlog.Started(pod) || !o.Follow {
				return pod, nil
			}
		}

		if over, err := c.noMore(ctx, object, o, len(candidates) > 0, last != nil); over || err != nil {
			return nil, err
		}

		if err := c.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// changesOnly returns a function that passes a summary on to the callback, if the summary's line differs from the
// previous one. If the callback is nil, the returned function does nothing.
//
// The returned function ignores summaries of a running object. The log of an attempt ends shortly before the status
// shows the end of the attempt, and until then a summary would wrongly say that the object is running.
func changesOnly(pass func(*Summary)) func(*Summary) {
	last := ""
	return func(s *Summary) {
		if text := s.String(); pass != nil && s.State != "" && s.Result != Running && text != last {
			last = text

			pass(s)
		}
	}
}

// after returns the pods in the list that are newer than the given pod. If the given pod is nil, it returns all pods in
// the list.
func after(pods []corev1.Pod, last *corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool {
		return last != nil && (p.UID == last.UID || p.CreationTimestamp.Before(&last.CreationTimestamp))
	})
}

// noMore reports whether no further log will follow. The caller says whether the pod of a further log already exists
// (waiting), and whether a log was already written (wrote). If there is no log at all, noMore returns an error.
func (c *Client) noMore(ctx context.Context, object client.Object, o LogOptions, waiting, wrote bool) (bool, error) {
	live, err := c.same(ctx, object)
	if live == nil && err == nil && wrote {
		return true, nil
	}

	if live == nil {
		return false, cmp.Or(err, deleted(object, ""))
	}

	s := Summarize(live)
	switch {
	case o.Follow && (!s.Over() || waiting):
		o.Waiting(&s)
		return false, nil
	case wrote:
		return true, nil
	}
	return false, noPod(&s, o)
}

func noPod(s *Summary, o LogOptions) error {
	what := "driver pod"
	if o.Executor != "" {
		what = "executor " + o.Executor
	}

	if o.Attempt > 0 {
		what += fmt.Sprintf(" of attempt %d", o.Attempt)
	}

	text := fmt.Sprintf("%s %s/%s has no %s", s.Kind.Kind, s.Namespace, s.Name, what)
	if s.Result == Pending || s.Result == Suspended {
		return podlog.NoLog(exit.Errorf(exit.Cluster, "%s yet (%s)", text, s.why()))
	}
	return podlog.NoLog(exit.Errorf(exit.Cluster, "%s any more, and its log was deleted with it; %s shows the result", text, s.Hint("status")))
}

// logged returns the pods whose logs the options select, the newest last.
func logged(pods []corev1.Pod, o LogOptions) (chosen []corev1.Pod) {
	for i := range pods {
		pod := &pods[i]
		role := pod.Labels[identity.RoleLabel]
		isMain := identity.IsDriver(pod) || role == identity.RoleMaster

		isExecutor := role == identity.RoleExecutor || role == identity.RoleWorker
		switch {
		case o.Attempt > 0 && identity.Attempt(pod) != o.Attempt:
		case o.Executor == "" && isMain,
			o.Executor == AllExecutors && isExecutor,
			o.Executor != "" && isExecutor && (pod.Labels[submit.ExecutorIDLabel] == o.Executor || pod.Name == o.Executor):
			chosen = append(chosen, *pod)
		}
	}

	slices.SortStableFunc(chosen, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return chosen
}

// PodLog writes the log of Spark's container in a pod. If the option Follow is set, it returns when the container has
// ended. Longer lines than 64 KiB become several lines.
func (c *Client) PodLog(ctx context.Context, pod *corev1.Pod, o LogOptions, out io.Writer) error {
	return c.stream(ctx, pod, o, "", out)
}

// stream writes the log of a pod, as PodLog does, each line with a prefix.
func (c *Client) stream(ctx context.Context, pod *corev1.Pod, o LogOptions, prefix string, out io.Writer) error {
	reader := podlog.Reader{Pods: c.core, Explain: c.ended}
	lines := podlog.Options{Previous: o.Previous, Since: o.Since, Tail: o.Tail, Limit: o.Limit, Times: o.Times}

	if o.Follow && !o.Previous {
		return reader.Follow(ctx, pod, lines, prefix, out)
	}
	return reader.Copy(ctx, pod, lines, prefix, out)
}

// lines writes the lines of several concurrent logs. It never mixes the texts of two lines.
type lines struct {
	mu       sync.Mutex
	out      io.Writer
	unopened map[string]string // why a log was not opened, by the UID of its pod
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// gone writes the kept logs of executors that were not opened, or why there is none. The kubelet removes the log of a
// pod that it evicts. The argument seen has the UIDs of all pods.
func (o LogOptions) gone(ctx context.Context, s *Summary, seen map[string]bool, out *lines) error {
	maps.DeleteFunc(seen, func(uid string, _ bool) bool { return out.unopened[uid] != "" })

	found, err := o.kept(ctx, seen, out)
	for _, uid := range slices.Sorted(maps.Keys(out.unopened)) {
		if !seen[uid] {
			fmt.Fprintln(out, out.unopened[uid])
		}
	}

	if err == nil && !found && len(seen)+len(out.unopened) == 0 {
		return noPod(s, o)
	}
	return err
}

// merged writes the logs of all executors. The prefix of each line is the name of the pod. If the option Follow is set,
// merged adds the logs of new executors until the object has ended.
func (c *Client) merged(ctx context.Context, object client.Object, o LogOptions, out io.Writer) error {
	shared, seen := &lines{out: out, unopened: map[string]string{}}, map[string]bool{}
	var running sync.WaitGroup
	defer running.Wait()

	for {
		pods, err := c.Pods(ctx, object)
		if err != nil {
			return c.ended(ctx, err)
		}

		for _, pod := range logged(pods, o) {
			if seen[string(pod.UID)] || !podlog.Started(&pod) {
				continue
			}

			seen[string(pod.UID)] = true
			running.Go(func() {
				prefix := "[" + bounds.Line(pod.Name) + "] "
				if err := c.stream(ctx, &pod, o, prefix, shared); podlog.IsNoLog(err) {
					shared.mu.Lock()
					defer shared.mu.Unlock()

					shared.unopened[string(pod.UID)] = prefix + bounds.Line(err.Error())
				} else if err != nil && ctx.Err() == nil {
					fmt.Fprintf(shared, "%slog ended: %s\n", prefix, bounds.Line(err.Error()))
				}
			})
		}

		live, err := c.same(ctx, object)
		if live == nil {
			return cmp.Or(err, deleted(object, ""))
		}

		if s := Summarize(live); !o.Follow || s.Over() {
			running.Wait()
			return o.gone(ctx, &s, seen, shared)
		}

		if err := c.pause(ctx); err != nil {
			return err
		}
	}
}
