package podlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
)

const (
	// interval is the time until the log of a running container is opened again.
	interval = time.Second
	// patience is how long the log of a running container may be unreadable, such as while its node restarts.
	patience = 2 * time.Minute
)

// Follow writes the log of a pod until its container has ended, each line with a prefix. The stream of a log can end
// earlier: a load balancer closes a connection on which a driver was silent, or a kubelet restarts. Follow then
// continues after the last text that it has read.
//
// A stream proves that the log has ended only if the container had already ended when the stream was opened.
func (r Reader) Follow(ctx context.Context, pod *corev1.Pod, o Options, prefix string, out io.Writer) error {
	f := &follower{Reader: r, pod: pod, options: o, out: &lineWriter{out: out, prefix: prefix, times: o.Times}}

	var broken error // of the last stream

	for first, state := true, stateOf(pod); ; first = false {
		err := f.read(ctx)
		switch {
		case IsNoLog(err) && state == ended && !first: // the node has removed a log that was read before
			return f.out.end(broken)
		case state != running || ctx.Err() != nil || f.out.failed != nil || IsNoLog(err) && first:
			return f.out.end(err)
		case !IsNoLog(err):
			broken = err
		}

		lost := f.lost(err)

		var failed error

		state, failed = f.next(ctx)
		switch {
		case apierrors.IsForbidden(failed):
			return f.out.end(r.Explain(ctx, failed))
		case state == gone:
			return f.out.end(broken)
		case lost != nil:
			return f.out.end(lost)
		}
	}
}

// state says whether a container can still write to its log.
type state int

const (
	running state = iota // it has not ended, or is not started
	ended
	gone // the pod has another container now, or does not exist
)

func stateOf(pod *corev1.Pod) state {
	if status(pod).State.Terminated != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return ended
	}
	return running
}

// follower is a log that is read with several streams.
type follower struct {
	Reader
	pod     *corev1.Pod
	options Options
	at      nodelog.Cursor // where the next stream begins
	out     *lineWriter
	failing time.Time // since when the log is not readable
}

// lost returns the error of a log that is unreadable for too long, of which a part was read. The argument is the error
// of the last stream.
func (f *follower) lost(err error) error {
	switch {
	case err == nil:
		f.failing = time.Time{}
	case f.failing.IsZero():
		f.failing = time.Now()
	case time.Since(f.failing) > patience && IsNoLog(err):
		return errors.Unwrap(err)
	case time.Since(f.failing) > patience:
		return err
	}
	return nil
}

// read writes one stream of the log.
func (f *follower) read(ctx context.Context) error {
	options := f.options.request(f.pod)
	options.Follow, options.Timestamps = true, true

	if since := f.at.Since(); !since.IsZero() {
		options.SinceTime, options.SinceSeconds, options.TailLines = &metav1.Time{Time: since}, nil, nil
	}

	log, err := f.open(ctx, f.pod, options)
	if err != nil {
		return err
	}
	defer log.Close()

	lines := nodelog.After(f.at)
	err = lines.Copy(log, func(text []byte) error { return f.out.write(text, lines.Time()) })
	f.at = lines.Position(0)

	if err != nil {
		return f.Explain(ctx, err)
	}
	return nil
}

// next returns the state of the container before the next stream. The next attempt may have a pod of the same name, so
// a pause comes before the last look at the pod.
func (f *follower) next(ctx context.Context) (state, error) {
	if now, err := f.state(ctx); now != running || apierrors.IsForbidden(err) {
		return now, err
	}

	select {
	case <-time.After(interval):
	case <-ctx.Done():
	}
	return f.state(ctx)
}

// state reads the pod. It needs the right to list pods, as the search for the pod did.
func (f *follower) state(ctx context.Context) (state, error) {
	pods, err := f.Pods.Pods(f.pod.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", f.pod.Name).String(),
	})
	if err != nil {
		return running, err
	}

	if len(pods.Items) == 0 {
		return gone, nil
	}

	pod := &pods.Items[0]
	if was := status(f.pod).ContainerID; pod.UID != f.pod.UID || was != "" && status(pod).ContainerID != was {
		return gone, nil
	}
	return stateOf(pod), nil
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

// flush writes the first bytes of the present line as a line.
func (w *lineWriter) flush(n int) {
	prefix := w.prefix
	if w.times {
		prefix += w.time.Format(timeFormat) + " "
	}

	_, w.failed = w.out.Write(fmt.Appendf(nil, "%s%s\n", prefix, bytes.TrimSuffix(w.line[:n], []byte("\n"))))
	w.line = w.line[n:]
}

// end writes the rest of the last line. It returns the given error, or that of the output.
func (w *lineWriter) end(err error) error {
	if len(w.line) > 0 && w.failed == nil {
		w.flush(len(w.line))
	}

	if w.failed != nil {
		return w.failed
	}
	return err
}
