package podlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
)

const (
	// interval is the time until the log of a running container is opened again.
	interval = time.Second
	// patience is how long the API server and the node of the pod may fail, such as while the node restarts.
	patience = 2 * time.Minute
)

// Follow writes the log of a pod until its container has ended, each line with a prefix. The stream of a log can end
// earlier: a load balancer closes a connection on which a driver was silent, or a kubelet restarts. Follow then
// continues after the last text that it has read. If a container restarts in its pod, its new log follows.
//
// A stream proves that the log has ended only if the container had already ended when the stream was opened.
func (r Reader) Follow(ctx context.Context, pod *corev1.Pod, o Options, prefix string, out io.Writer) error {
	f := &follower{Reader: r, pod: pod, options: o, began: time.Now(), out: &lineWriter{out: out, prefix: prefix, times: o.Times}}

	var broken error // why the text may lack its end

	for first, now := true, stateOf(pod); ; first = false {
		err := f.read(ctx)
		switch {
		case first && errors.Is(err, nodelog.ErrNoTimes):
			return r.plain(ctx, pod, o, prefix, out)
		case first && IsNoLog(err), ctx.Err() != nil, f.out.failed != nil, errors.Is(err, nodelog.ErrNoTimes):
			return f.end(ctx, err)
		case !removed(err):
			broken = opening(err)
		}

		switch {
		case now == ended && (err == nil || removed(err) || refused(err)):
			return f.end(ctx, broken)
		case f.lost(err, now):
			return f.end(ctx, cmp.Or(broken, opening(err)))
		}

		if now, err = f.next(ctx, err == nil); err != nil {
			return f.end(ctx, r.Explain(ctx, err))
		}

		if now == gone {
			return f.end(ctx, broken)
		}
	}
}

// plain writes one stream of a log whose lines have no times, because the node does not support them.
func (r Reader) plain(ctx context.Context, pod *corev1.Pod, o Options, prefix string, out io.Writer) error {
	options := o.request(pod)
	options.Follow, options.Timestamps = true, false
	return r.copy(ctx, pod, options, prefix, out)
}

// removed reports whether the log does not exist any more. The node removes the log of a container with its pod.
func removed(err error) bool {
	return IsNoLog(err) && (refused(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err))
}

// refused reports whether the node cannot read the log, or the rest of it.
func refused(err error) bool {
	_, is := errors.AsType[*nodelog.Error](err)
	return is
}

// opening returns the error of a log that was read before. If its error is that of the opening, callers would take it
// for a log of which nothing was read.
func opening(err error) error {
	if IsNoLog(err) {
		return errors.Unwrap(err)
	}
	return err
}

// state says whether a container can still write to its log.
type state int

const (
	running state = iota // it has not ended, is not started, or will restart
	ended
	gone // the pod does not exist any more
)

func stateOf(pod *corev1.Pod) state {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return ended
	}

	end := status(pod).State.Terminated
	if end == nil || pod.Spec.RestartPolicy == corev1.RestartPolicyAlways || pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && end.ExitCode != 0 {
		return running
	}
	return ended
}

// follower is a log that is read with several streams.
type follower struct {
	Reader
	pod     *corev1.Pod
	options Options
	began   time.Time      // of the first stream
	opened  bool           // the first stream was opened
	at      nodelog.Cursor // where the next stream begins
	out     *lineWriter
	moved   bool      // the last stream had new text
	failing time.Time // since when no stream can be opened, or the rest of a log that has ended not be read; else zero
}

// lost reports whether the log could not be read for too long. The arguments are the error of the last stream, and the
// state of the container when it was opened.
func (f *follower) lost(err error, was state) bool {
	if err == nil || !IsNoLog(err) && (was == running || f.moved) {
		f.failing = time.Time{}
		return false
	}

	if f.failing.IsZero() {
		f.failing = time.Now()
	}
	return time.Since(f.failing) > patience
}

// read writes one stream of the log.
func (f *follower) read(ctx context.Context) error {
	options := f.request()

	log, err := f.open(ctx, f.pod, options)
	if err != nil {
		return err
	}
	defer log.Close()

	f.opened = true
	if f.at.Time.IsZero() { // a part of the first line comes again, with all of it
		f.at, f.out.line = nodelog.Cursor{}, nil
	}

	lines := nodelog.After(f.at)
	lines.Partial = options.SinceSeconds != nil || options.SinceTime != nil
	err = lines.Copy(log, func(text []byte) error { return f.out.write(text, lines.Time()) })

	at := lines.Position(0)
	f.moved, f.at = at != f.at, at

	switch {
	case refused(err):
		return exit.Errorf(exit.Cluster, "the rest of the log of pod %s cannot be read: %w", f.pod.Name, err)
	case err != nil:
		return f.Explain(ctx, err)
	}
	return nil
}

// request returns the options of the next stream.
func (f *follower) request() *corev1.PodLogOptions {
	options := f.options.request(f.pod)
	options.Follow, options.Timestamps = true, true

	since := f.at.Since()
	switch {
	case !since.IsZero():
	case !f.opened:
		return options
	case f.options.Since > 0:
		since = f.began.Add(-f.options.Since)
	case f.options.Tail == 0:
		since = f.began
	}

	options.SinceSeconds, options.TailLines = nil, nil
	if !since.IsZero() {
		options.SinceTime = &metav1.Time{Time: since}
	}
	return options
}

// next returns the state of the container before the next stream, for which a running container gets a pause. The next
// attempt may have a pod of the same name, so the pause comes before the last look at the pod.
func (f *follower) next(ctx context.Context, clean bool) (state, error) {
	if clean {
		if now, err := f.look(ctx); err == nil && now != running {
			return now, nil
		}
	}

	for until := time.Now().Add(patience); ; {
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return running, ctx.Err()
		}

		now, err := f.look(ctx)
		if err == nil || apierrors.IsForbidden(err) || time.Now().After(until) {
			return now, err
		}
	}
}

// look reads the pod. It needs the right to list pods, as the search for the pod did.
func (f *follower) look(ctx context.Context) (state, error) {
	pods, err := f.Pods.Pods(f.pod.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", f.pod.Name).String(),
	})
	if err != nil {
		return running, err
	}

	if len(pods.Items) == 0 || pods.Items[0].UID != f.pod.UID {
		return gone, nil
	}

	pod := &pods.Items[0]
	if began := beginning(pod); !began.IsZero() && status(pod).ContainerID != status(f.pod).ContainerID {
		if f.at.Time.Before(began) { // otherwise, the last stream was the new log
			f.out.flush(len(f.out.line))

			f.at, f.options.Since, f.options.Tail = nodelog.Cursor{}, 0, -1
		}

		f.pod = pod
	}
	return stateOf(pod), nil
}

// beginning returns when the container in which Spark runs has started; zero if it waits for its start.
func beginning(pod *corev1.Pod) time.Time {
	switch s := status(pod).State; {
	case s.Running != nil:
		return s.Running.StartedAt.Time
	case s.Terminated != nil:
		return s.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// end writes the rest of the last line. It returns the given error, or that of the output.
func (f *follower) end(ctx context.Context, err error) error {
	f.out.flush(len(f.out.line))

	if err == nil && f.out.failed != nil {
		return f.Explain(ctx, f.out.failed)
	}
	return err
}

// lineWriter writes whole lines, although a stream may end within a line.
type lineWriter struct {
	out    io.Writer
	prefix string
	times  bool
	line   []byte // the present line so far
	time   time.Time
	failed error // the first error of out
}

// timeFormat is the kubelet's format of the times of lines.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// write takes text of the line with the given time.
func (w *lineWriter) write(text []byte, at time.Time) error {
	w.line, w.time = append(w.line, text...), at
	for len(w.line) > 0 && w.failed == nil {
		n := bytes.IndexByte(w.line, '\n') + 1
		if n == 0 && len(w.line) < maxLine {
			break
		}

		if n == 0 || n > maxLine {
			n = maxLine
		}

		w.flush(n)
	}
	return w.failed
}

// flush writes the first bytes of the present line as a line, if there are some.
func (w *lineWriter) flush(n int) {
	if n == 0 || w.failed != nil {
		return
	}

	prefix := w.prefix
	if w.times {
		prefix += w.time.Format(timeFormat) + " "
	}

	_, w.failed = w.out.Write(prefixed(prefix, w.line[:n]))
	w.line = w.line[n:]
}
