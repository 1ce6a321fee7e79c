// Package podlog writes the logs of Spark's containers line by line, with the rights of the user.
package podlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Options select lines of a log.
type Options struct {
	Previous bool          // the container before its last restart
	Since    time.Duration // only newer lines; 0 means all
	Tail     int64         // only the last lines; negative means all
	Limit    int64         // the largest number of bytes; 0 means all
	Times    bool          // each line begins with the time at which the node received it
}

// Reader reads logs through the API server.
type Reader struct {
	Pods typedcorev1.PodsGetter
	// Explain returns the error for a request that failed or that the context ended.
	Explain func(context.Context, error) error
}

// noLog is the error of a log that was not opened.
type noLog struct{ error }

func (e noLog) Unwrap() error { return e.error }

// NoLog marks an error as that of a log that does not exist or is not readable, such as the log of a pod on a lost node
// or of a container that has not restarted.
func NoLog(err error) error { return noLog{err} }

// IsNoLog reports whether an error means that a log was not opened. Other errors of a log mean that it broke off after
// something was written.
func IsNoLog(err error) bool {
	_, is := errors.AsType[noLog](err)
	return is
}

// container returns the name of the container in which Spark runs.
func container(pod *corev1.Pod) string {
	if name := pod.Annotations[submit.DefaultContainerAnnotation]; name != "" || len(pod.Spec.Containers) == 0 {
		return name
	}

	for _, container := range pod.Spec.Containers {
		if slices.Contains([]string{overlay.DriverContainer, overlay.ExecutorContainer, submit.RunnerContainer}, container.Name) {
			return container.Name
		}
	}
	return pod.Spec.Containers[0].Name
}

// status returns the status of the container in which Spark runs. If the node has not reported one, it is empty.
func status(pod *corev1.Pod) (s corev1.ContainerStatus) {
	name := container(pod)
	if i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == name }); i >= 0 {
		s = pod.Status.ContainerStatuses[i]
	}
	return s
}

// Started reports whether the container in which Spark runs has started.
func Started(pod *corev1.Pod) bool {
	state := status(pod).State
	return state.Running != nil || state.Terminated != nil
}

// maxLine is the largest number of bytes of a log that are written as one line. A program may write a line that is
// longer than the memory.
const maxLine = 64 << 10

// Copy writes what the log of a pod has now, each line with a prefix. Longer lines than 64 KiB become several lines.
func (r Reader) Copy(ctx context.Context, pod *corev1.Pod, o Options, prefix string, out io.Writer) error {
	return r.copy(ctx, pod, o.request(pod), prefix, out)
}

// copy writes one stream of a log.
func (r Reader) copy(ctx context.Context, pod *corev1.Pod, options *corev1.PodLogOptions, prefix string, out io.Writer) error {
	log, err := r.open(ctx, pod, options)
	if err != nil {
		return err
	}
	defer log.Close()

	if err := CopyLines(log, -1, 0, prefix, out); err != nil {
		return r.Explain(ctx, err)
	}
	return nil
}

// request returns the options of the API server.
func (o Options) request(pod *corev1.Pod) *corev1.PodLogOptions {
	options := &corev1.PodLogOptions{Container: container(pod), Previous: o.Previous, Timestamps: o.Times}
	if o.Since > 0 {
		options.SinceSeconds = new(max(int64(o.Since.Seconds()), 1))
	}

	if o.Tail >= 0 {
		options.TailLines = new(o.Tail)
	}

	if o.Limit > 0 {
		options.LimitBytes = new(o.Limit)
	}
	return options
}

// opened is a log without the messages of the kubelet.
type opened struct {
	io.Reader
	io.Closer
}

func (r Reader) open(ctx context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	in, err := r.Pods.Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		if apierrors.IsBadRequest(err) {
			return nil, noLog{exit.Errorf(exit.Cluster, "the log of pod %s cannot be read: %w", pod.Name, err)}
		}
		return nil, noLog{r.Explain(ctx, err)}
	}

	checked := bufio.NewReader(nodelog.Checked(in))
	if _, err := checked.Peek(1); err != nil { // the node has removed the container, and has no text of it
		if refused, ok := errors.AsType[*nodelog.Error](err); ok {
			_ = in.Close()
			return nil, noLog{exit.Errorf(exit.Cluster, "the log of pod %s cannot be read: %w", pod.Name, refused)}
		}
	}
	return opened{checked, in}, nil
}

// MaxTail is the largest size of the last lines of a log that are kept in memory, in bytes.
const MaxTail = 16 << 20

// CopyLines writes the last lines of a log, each with a prefix. A negative tail means all. Longer lines than 64 KiB
// become several lines. Of last lines that have more than most bytes together, the first ones are left out.
func CopyLines(in io.Reader, tail, most int64, prefix string, out io.Writer) error {
	var last [][]byte // the last lines, if there is a tail

	size := int64(0)

	reader := bufio.NewReaderSize(in, maxLine)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			text := prefixed(prefix, line)
			if tail < 0 {
				if _, err := out.Write(text); err != nil {
					return err
				}
			} else {
				last, size = append(last, text), size+int64(len(text))
				for int64(len(last)) > tail || size > most {
					size -= int64(len(last[0]))
					last = last[1:]
				}
			}
		}

		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return writeAll(out, last)
		case err != nil:
			return err
		}
	}
}

// prefixed returns a line, or a piece of a long one, as it is written.
func prefixed(prefix string, line []byte) []byte {
	return fmt.Appendf(nil, "%s%s\n", prefix, bytes.TrimSuffix(line, []byte("\n")))
}

// writeAll writes lines one after the other, so that those which are written take no memory while the reader is slow.
func writeAll(out io.Writer, lines [][]byte) error {
	for i, line := range lines {
		if _, err := out.Write(line); err != nil {
			return err
		}

		lines[i] = nil
	}
	return nil
}
