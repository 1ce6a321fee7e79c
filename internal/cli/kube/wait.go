package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// These are the goals of Wait.
const (
	goalRunning   = "running"
	GoalReady     = "ready"
	GoalSucceeded = "succeeded"
	GoalEnded     = "ended"
	GoalDeleted   = "deleted"
)

// Goals lists all goals.
var Goals = []string{goalRunning, GoalReady, GoalSucceeded, GoalEnded, GoalDeleted}

// GoalAfterwards returns the goal for which a verb waits after it has created or restarted an object: the end of an
// application, or a ready server or cluster.
func GoalAfterwards(object client.Object) string {
	switch object.(type) {
	case *v1beta2.SparkApplication, *sparkv1.SparkApplication:
		return GoalEnded
	}
	return GoalReady
}

// reached reports whether an object has reached a goal. If the object has failed and can never reach the goal, it
// returns an error.
func reached(s *Summary, goal string) (bool, error) {
	if !s.Observed {
		return false, nil // the status is about an older spec
	}

	switch {
	case goal == goalRunning && (s.Result == Running || s.Result == Succeeded),
		// While pods are being replaced, the old pods may still be ready.
		goal == GoalReady && s.Ready && !meta.IsStatusConditionTrue(s.Conditions, dialect.ConditionProgressing),
		(goal == GoalSucceeded || goal == GoalEnded) && s.Result == Succeeded:
		return true, nil
	case goal != GoalDeleted && s.Result == Failed:
		return false, exit.Errorf(exit.Failed, "%s %s/%s failed: %s", s.Kind.Kind, s.Namespace, s.Name, s.why())
	}
	return false, nil
}

func (s *Summary) why() string {
	switch {
	case s.Reason != "" && s.Message != "":
		return s.Reason + ": " + s.Message
	case s.Message != "":
		return s.Message
	}
	return "its state is " + s.State
}

// Wait waits until an object reaches a goal, and calls changed with each new state. If the object fails instead, the
// error has the exit code of a failed application. If the context is canceled, Wait returns. It never changes the
// object.
func (c *Client) Wait(ctx context.Context, object client.Object, goal string, changed func(*Summary)) error {
	last := ""
	for {
		version, err := c.look(ctx, object, goal, &last, changed)
		if err != nil || version == "" {
			return err
		}

		done, err := c.follow(ctx, object, version, goal, &last, changed)
		if done || err != nil {
			return err
		}

		if err := c.pause(ctx); err != nil {
			return err
		}
	}
}

// same reads an object again. It returns nil if the object was deleted, even if there is another one of its name now.
func (c *Client) same(ctx context.Context, object client.Object) (client.Object, error) {
	live := kinds.Of(object).New()
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), live); apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no object and no error
	} else if err != nil {
		return nil, c.ended(ctx, err)
	}

	if live.GetUID() != object.GetUID() {
		return nil, nil //nolint:nilnil // see above
	}
	return live, nil
}

// deleted returns the error of a wait for an object that was deleted, or nil if that is the goal.
func deleted(object client.Object, goal string) error {
	if goal == GoalDeleted {
		return nil
	}
	return exit.Errorf(exit.Cluster, "%s %s/%s was deleted", kinds.Of(object).Kind, object.GetNamespace(), object.GetName())
}

// interval is the time between two lists while something is awaited, and until a watch that has ended is started again.
const interval = time.Second

// pause waits for the interval. Its error is that of a context that ended.
func (c *Client) pause(ctx context.Context) error {
	select {
	case <-time.After(interval):
		return nil
	case <-ctx.Done():
		return c.ended(ctx, ctx.Err())
	}
}

// look reads the object once. If the object has reached the goal, look returns "". Otherwise it returns the
// resourceVersion from which to watch the object.
func (c *Client) look(ctx context.Context, object client.Object, goal string, last *string, changed func(*Summary)) (version string, err error) {
	live, err := c.same(ctx, object)
	switch {
	case err != nil:
		return "", err
	case live == nil:
		return "", deleted(object, goal)
	}

	if done, err := c.judge(ctx, live, goal, last, changed); done || err != nil {
		return "", err
	}
	return live.GetResourceVersion(), nil
}

// judge reports whether an object has reached the goal, and calls changed if its state is new. An object that has
// failed gets the cause from its log, as in the verb status.
func (c *Client) judge(ctx context.Context, object client.Object, goal string, last *string, changed func(*Summary)) (bool, error) {
	s := Summarize(object)
	if s.Result == Failed {
		c.ReadCause(ctx, object)
		s = Summarize(object)
	}

	if now := s.String(); now != *last && changed != nil {
		*last = now

		changed(&s)
	}
	return reached(&s, goal)
}

// follow watches the object until it reaches the goal or the watch ends. The API server ends every watch after some
// minutes. The first result reports whether the goal was reached.
func (c *Client) follow(ctx context.Context, object client.Object, version, goal string, last *string, changed func(*Summary)) (done bool, err error) {
	watcher, err := c.Watch(ctx, kinds.Of(object).NewList(), &client.ListOptions{
		Namespace: object.GetNamespace(), FieldSelector: fields.OneTermEqualSelector("metadata.name", object.GetName()),
	}, resumeFrom(version))
	if err != nil {
		return false, c.ended(ctx, err)
	}
	defer watcher.Stop()

	for {
		select {
		case <-ctx.Done():
			return false, c.ended(ctx, ctx.Err())
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return false, nil // read the object again
			}

			live, ok := event.Object.(client.Object)
			if !ok {
				continue
			}

			if event.Type == watch.Deleted || live.GetUID() != object.GetUID() {
				return true, deleted(object, goal)
			}

			if done, err := c.judge(ctx, live, goal, last, changed); done || err != nil {
				return done, err
			}
		}
	}
}

// ended returns the error for a wait or a log that ended early: because of a time limit, an interruption, or an error
// of the cluster.
func (c *Client) ended(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return c.Explain(err)
	case errors.Is(cause, context.DeadlineExceeded):
		return exit.Errorf(exit.TimedOut, "timed out")
	}
	return context.Canceled
}

// resumeFrom is a list option that sets the resourceVersion from which a watch begins.
type resumeFrom string

// ApplyToList sets the resourceVersion in the options.
func (r resumeFrom) ApplyToList(options *client.ListOptions) {
	if options.Raw == nil {
		options.Raw = &metav1.ListOptions{}
	}

	options.Raw.ResourceVersion = string(r)
}

// Within returns a context with a time limit. A limit of 0 means no limit.
func Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// String returns the summary as one line of text. If an application runs, the line has a reason only if the reason has
// a way out: the number of executors that it awaits changes often.
func (s *Summary) String() string {
	text := fmt.Sprintf("%s %s/%s: %s", s.Kind.Kind, s.Namespace, s.Name, s.State)
	if s.Message != "" && s.Result != Succeeded && (s.Result != Running || s.Advice != "") {
		text += ", " + s.why()
	}
	return text
}

// WaitPodsGone waits until all pods of a deleted object are gone.
func (c *Client) WaitPodsGone(ctx context.Context, object client.Object) error {
	for {
		pods, err := c.Pods(ctx, object)
		if err != nil || len(pods) == 0 {
			return err
		}

		if err := c.pause(ctx); err != nil {
			return err
		}
	}
}
