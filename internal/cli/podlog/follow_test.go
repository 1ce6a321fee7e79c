package podlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// line is a line of a log, with the time that the node gives it.
type line struct {
	at   time.Time
	text string
}

// node answers the requests of a Reader. The test sets where its streams break off.
type node struct {
	t       *testing.T
	lines   []line
	streams []stream                              // how the streams break; a nil function is a whole stream
	pods    func(streams int) ([]corev1.Pod, int) // the list of pods after a number of streams
	opened  int
}

// RoundTrip implements http.RoundTripper.
func (n *node) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/log") {
		pods, code := n.pods(n.opened)

		text, err := json.Marshal(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: pods})
		if code != http.StatusOK {
			text, err = json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: int32(code),
				Status: "Failure", Reason: metav1.StatusReasonForbidden})
		}
		return answer(code, bytes.NewReader(text)), err
	}

	query := r.URL.Query()

	var since time.Time
	if from := query.Get("sinceTime"); from != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, from); err != nil {
			n.t.Error(err)
		}
	}

	var whole strings.Builder
	for _, l := range n.lines {
		if !l.at.Before(since) {
			fmt.Fprintf(&whole, "%s %s\n", l.at.Format(timeFormat), l.text)
		}
	}

	n.opened++
	if n.opened > len(n.streams) || n.streams[n.opened-1] == nil {
		return answer(http.StatusOK, strings.NewReader(whole.String())), nil
	}

	text, code := n.streams[n.opened-1](whole.String())
	return answer(code, text), nil
}

func answer(code int, text io.Reader) *http.Response {
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(text),
		Header: http.Header{"Content-Type": {"application/json"}}}
}

// follow follows the log of a pod on the node.
func (n *node) follow(t *testing.T, o Options) (string, error) {
	t.Helper()

	core, err := kubernetes.NewForConfig(&rest.Config{Transport: n, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}

	r := Reader{Pods: core.CoreV1(), Explain: func(_ context.Context, err error) error { return err }}

	var out bytes.Buffer

	err = r.Follow(t.Context(), pod("c-1", false), o, "", &out)
	return out.String(), err
}

// pod returns the pod of the log, with the given container.
func pod(containerID string, terminated bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "driver", UID: "u-1"}}
	p.Spec.Containers = []corev1.Container{{Name: "spark-kubernetes-driver"}}

	began := metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if containerID != "c-1" {
		began = metav1.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	}

	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
	if terminated {
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: began}}
	}

	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "spark-kubernetes-driver", ContainerID: containerID, State: state}}
	return p
}

// endsAfter returns lists in which the container runs until a number of streams were opened.
func endsAfter(streams int) func(int) ([]corev1.Pod, int) {
	return func(opened int) ([]corev1.Pod, int) {
		return []corev1.Pod{*pod("c-1", opened >= streams)}, http.StatusOK
	}
}

func (o Options) all() Options {
	o.Tail = -1
	return o
}

// TestFollowLosesAndRepeatsNothing checks that a followed log is whole although its streams end at any byte, with and
// without an error. Lines can have the same time.
func TestFollowLosesAndRepeatsNothing(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		n := &node{t: t}

		want, at := "", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		for i := range random.IntN(30) {
			at = at.Add(time.Duration(random.IntN(3)) * 400 * time.Millisecond)
			text := fmt.Sprintf("line %d %s", i, strings.Repeat("x", random.IntN(40)))
			n.lines, want = append(n.lines, line{at, text}), want+text+"\n"
		}

		size := 0
		for range random.IntN(6) {
			size += random.IntN(400)

			n.streams = append(n.streams, func(whole string) (io.Reader, int) {
				text := io.Reader(strings.NewReader(whole[:min(random.IntN(size+1), len(whole))]))
				if random.IntN(2) == 0 {
					text = io.MultiReader(text, failing{io.ErrUnexpectedEOF})
				}
				return text, http.StatusOK
			})
		}

		n.pods = endsAfter(len(n.streams))
		synctest.Test(t, func(t *testing.T) {
			got, err := n.follow(t, Options{Tail: -1})
			if err != nil || got != want {
				t.Errorf("seed %d: %v\n%q, want\n%q", seed, err, got, want)
			}
		})
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// stream is how a stream of the log goes.
type stream = func(whole string) (io.Reader, int)

// TestFollowEnds checks what ends a followed log, and with which error.
func TestFollowEnds(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	one := func(string) (io.Reader, int) {
		return strings.NewReader(at.Format(timeFormat) + " one\n"), http.StatusOK
	}
	refused := func(string) (io.Reader, int) { return strings.NewReader("no connection"), http.StatusBadGateway }
	removed := func(string) (io.Reader, int) {
		return strings.NewReader("unable to retrieve container logs for containerd://0123abc"), http.StatusOK
	}
	timeless := func(string) (io.Reader, int) { return strings.NewReader("one\ntwo\n"), http.StatusOK }
	half := func(string) (io.Reader, int) { return strings.NewReader(at.Format(timeFormat) + " hal"), http.StatusOK }
	broken := func(string) (io.Reader, int) {
		return io.MultiReader(strings.NewReader(at.Format(timeFormat)+" one\n"), failing{io.ErrUnexpectedEOF}), http.StatusOK
	}
	message := func(string) (io.Reader, int) {
		return strings.NewReader(at.Format(timeFormat) + " one\nfailed to read log file \"x\""), http.StatusOK
	}
	// The connection is lost after an hour without a line.
	lost := func(string) (io.Reader, int) {
		return io.MultiReader(strings.NewReader(at.Format(timeFormat)+" one\n"), later{time.Hour}, failing{io.ErrUnexpectedEOF}), http.StatusOK
	}
	list := func(pods ...corev1.Pod) func(int) ([]corev1.Pod, int) {
		return func(int) ([]corev1.Pod, int) { return pods, http.StatusOK }
	}
	after := func(streams int, then, until func(int) ([]corev1.Pod, int)) func(int) ([]corev1.Pod, int) {
		return func(opened int) ([]corev1.Pod, int) {
			if opened >= streams {
				return then(opened)
			}
			return until(opened)
		}
	}

	other := pod("c-1", false)
	other.UID = "u-2"

	unavailable := func(int) ([]corev1.Pod, int) { return nil, http.StatusServiceUnavailable }

	const both = "one\ntwo\n"

	for name, test := range map[string]struct {
		streams []stream
		pods    func(int) ([]corev1.Pod, int)
		options Options
		text    string
		fails   bool
		noLog   bool
	}{
		"with the container":           {nil, endsAfter(1), Options{}, both, false, false},
		"with times":                   {nil, endsAfter(1), Options{Times: true}, "2026-01-02T03:04:05.000000600Z one\n2026-01-02T03:04:06.000000600Z two\n", false, false},
		"after a node was away":        {[]stream{one, refused, refused, refused}, endsAfter(4), Options{}, both, false, false},
		"after its end at such a node": {[]stream{one, refused, refused}, endsAfter(1), Options{}, both, false, false},
		"after connections were lost":  {[]stream{lost, lost, lost, lost}, endsAfter(5), Options{}, both, false, false},
		"when a node stays away":       {append([]stream{one}, manyOf(refused, 200)...), endsAfter(1000), Options{}, "one\n", true, false},
		"with a node":                  {[]stream{one, refused}, after(2, list(), endsAfter(9)), Options{}, "one\n", true, false},
		"when the cluster stays away":  {[]stream{one}, unavailable, Options{}, "one\n", true, false},
		"with the pod":                 {[]stream{one}, list(), Options{}, "one\n", false, false},
		"with another pod of the name": {[]stream{one}, list(*other), Options{}, "one\n", false, false},
		"with another container":       {nil, after(2, list(*pod("c-2", true)), list(*pod("c-2", false))), Options{}, both + both, false, false},
		"with the right": {[]stream{one}, func(int) ([]corev1.Pod, int) { return nil, http.StatusForbidden }, Options{},
			"one\n", true, false},
		"of a container that was never read": {[]stream{removed}, endsAfter(9), Options{}, "", true, true},
		"of a container that was removed":    {[]stream{one, removed}, endsAfter(1), Options{}, "one\n", false, false},
		"with half a line":                   {[]stream{half, half}, endsAfter(1), Options{}, "hal\n", false, false},
		"of another container with a rest":   {[]stream{half}, after(1, list(*pod("c-2", true)), endsAfter(9)), Options{}, "hal\n" + both, false, false},
		"that always breaks":                 {manyOf(broken, 200), endsAfter(1), Options{}, "one\n", true, false},
		"with a message of the node":         {[]stream{message, message}, endsAfter(1), Options{}, "one\n", true, false},
		"of a container that never returns":  {append([]stream{one}, manyOf(removed, 200)...), endsAfter(1000), Options{}, "one\n", true, false},
		"of a node without times, by time":   {[]stream{timeless, timeless}, endsAfter(9), Options{Since: time.Hour}, both, false, false},
		"of a node without times":            {[]stream{timeless, timeless}, endsAfter(9), Options{}, both, false, false},
	} {
		n := &node{t: t, lines: []line{{at, "one"}, {at.Add(time.Second), "two"}}, streams: test.streams, pods: test.pods}
		synctest.Test(t, func(t *testing.T) {
			text, err := n.follow(t, test.options.all())
			if text != test.text || (err != nil) != test.fails || IsNoLog(err) != test.noLog {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		})
	}
}

// TestFollowWithoutLines checks where the second stream begins if the first one had no whole line.
func TestFollowWithoutLines(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	for name, test := range map[string]struct {
		options Options
		first   string
		want    string
	}{
		"all":              {Options{Tail: -1}, "", "one\ntwo\n"},
		"half a line":      {Options{Tail: -1}, at.Format(timeFormat) + " on", "one\ntwo\n"},
		"only later lines": {Options{}, "", "two\n"}, // the fake clock is at the year 2000, so all lines are later
		"a tail":           {Options{Tail: 5}, at.Format(timeFormat) + " on", "one\ntwo\n"},
	} {
		cut := func(string) (io.Reader, int) { return strings.NewReader(test.first), http.StatusOK }

		n := &node{t: t, lines: []line{{at.AddDate(-100, 0, 0), "one"}, {at, "two"}}, streams: []stream{cut}, pods: endsAfter(2)}
		synctest.Test(t, func(t *testing.T) {
			if got, err := n.follow(t, test.options); got != test.want || err != nil {
				t.Errorf("%s: %q, want %q, %v", name, got, test.want, err)
			}
		})
	}
}

// later is a stream that has nothing for some time.
type later struct{ time.Duration }

func (l later) Read([]byte) (int, error) {
	time.Sleep(l.Duration)
	return 0, io.EOF
}

func manyOf[T any](value T, n int) (all []T) {
	for range n {
		all = append(all, value)
	}
	return all
}

// TestLongLines checks that lines are written whole if they have at most 64 KiB, and in several lines otherwise, and
// that the error of the output ends the log.
func TestLongLines(t *testing.T) {
	var out bytes.Buffer

	w := &lineWriter{out: &out, prefix: "> "}
	for _, piece := range []string{strings.Repeat("a", maxLine-10), "bbbb\n", strings.Repeat("c", maxLine), "d"} {
		if err := w.write([]byte(piece), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}

	w.flush(len(w.line))

	want := "> " + strings.Repeat("a", maxLine-10) + "bbbb\n> " + strings.Repeat("c", maxLine) + "\n> d\n"
	if out.String() != want {
		t.Errorf("%d bytes, want %d", out.Len(), len(want))
	}

	closed := errors.New("closed")

	w = &lineWriter{out: failingWriter{closed}}
	if err := w.write([]byte("a\nb\n"), time.Time{}); !errors.Is(err, closed) || !errors.Is(w.failed, closed) {
		t.Errorf("the error is %v", err)
	}
}

type failingWriter struct{ error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.error }
