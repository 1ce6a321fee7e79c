package detail

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kept"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const (
	// maxShown is the number of logs that a page shows side by side. A browser has six connections to a host.
	maxShown = 4
	// defaultTail is the number of last lines with which a log begins, and maxTail the largest one.
	defaultTail, maxTail = 1000, 20_000
)

// logs lists the logs of an object: of its pods, and of the pods that are gone if the operator has kept them.
func (s *subject) logs() (model.Logs, error) {
	out := model.Logs{Tail: tailOf(s.Request), Follow: s.FormValue("follow") != "" || !s.URL.Query().Has("pod"), Search: s.FormValue("q")}

	for i := range slices.Backward(s.pods) {
		if source, ok := sourceOf(&s.pods[i]); ok {
			out.Sources = append(out.Sources, source)
		}
	}

	isMain := func(source model.LogSource) bool { return !strings.HasPrefix(source.Title, "executor") }
	slices.SortStableFunc(out.Sources, func(a, b model.LogSource) int { return rank(isMain(a)) - rank(isMain(b)) })
	out.Sources = append(out.Sources, s.kept(&out)...)
	selectLogs(&out, s.URL.Query()["pod"])

	for i := range out.Sources {
		source := &out.Sources[i]
		if !source.Selected {
			continue
		}

		query := url.Values{"pod": {source.Name}, "tail": {strconv.Itoa(out.Tail)}}
		if out.Follow {
			query.Set("follow", "true")
		}

		if out.Search != "" {
			query.Set("q", out.Search)
		}

		source.Stream = table.ObjectPath(s.PathValue("kind"), s.PathValue("namespace"), s.PathValue("name")) + "/logs/stream?" + query.Encode()
	}

	if len(out.Sources) == 0 && out.Missing == "" {
		out.Missing = "There is no pod yet, or its log was deleted with it. The page docs/logs.md says how to keep logs."
	}
	return out, nil
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

func tailOf(r *web.Request) int {
	tail, err := strconv.Atoi(r.FormValue("tail"))
	if err != nil || tail <= 0 {
		return defaultTail
	}
	return min(tail, maxTail)
}

// sourceOf returns the log of a pod. It reports false for a pod without a log of Spark.
func sourceOf(pod *corev1.Pod) (model.LogSource, bool) {
	var title string
	switch role := pod.Labels[identity.RoleLabel]; {
	case role == identity.RoleExecutor:
		title = "executor " + pod.Labels[submit.ExecutorIDLabel]
	case role == identity.RoleWorker:
		title = "executor pod " + pod.Name
	case identity.IsDriver(pod), role == identity.RoleMaster, role == identity.RoleSubmitter:
		title = role
	default:
		return model.LogSource{}, false
	}

	if attempt := identity.Attempt(pod); attempt > 0 {
		title += fmt.Sprintf(", attempt %d", attempt)
	}
	return model.LogSource{Name: pod.Name, Title: bounds.Line(title)}, true
}

// maxAttempts is the number of last attempts whose kept logs are listed.
const maxAttempts = 10

// kept returns the kept logs of the last attempts whose pods are gone. Their names are ATTEMPT/EXECUTOR.
func (s *subject) kept(out *model.Logs) (sources []model.LogSource) {
	reader, last := s.reader(io.Discard), kube.Summarize(s.object).Attempt
	for number := last; number > max(last-maxAttempts, 0); number-- {
		index, err := reader.Index(s.ctx, kube.LogOptions{Attempt: number})
		if err != nil {
			out.Missing = bounds.Line(s.Explain(err).Error())
			break
		}

		if index != nil {
			sources = append(sources, s.keptOf(index)...)
		}
	}
	return sources
}

// keptOf returns the kept logs of an attempt whose pods are gone.
func (s *subject) keptOf(index *store.Index) (sources []model.LogSource) {
	files := slices.Clone(index.Executors)
	if index.Driver != nil {
		files = slices.Insert(files, 0, *index.Driver)
	}

	for _, f := range files {
		if f.Missing != "" || slices.ContainsFunc(s.pods, func(p corev1.Pod) bool { return p.UID == f.PodUID }) {
			continue
		}

		sources = append(sources, keptSource(index.Number, &f))
	}
	return sources
}

func keptSource(attempt int32, f *store.File) model.LogSource {
	title := "driver"
	if f.Executor != "" {
		title = "executor " + f.Executor
	}
	return model.LogSource{Name: fmt.Sprintf("%d/%s", attempt, f.Executor), Title: bounds.Line(fmt.Sprintf("%s, attempt %d", title, attempt)), Kept: true}
}

// reader returns a reader of the kept logs, which reads each ConfigMap once.
func (s *subject) reader(notes io.Writer) *kept.Reader {
	read := &configMaps{Reader: s.WithWatch, memory: &s.memory, user: s.Session.Key, read: map[client.ObjectKey]*answer{}}
	return &kept.Reader{Client: s.Client, ConfigMaps: read, Object: s.object, Store: s.Store, Shared: s.Shared, Err: notes}
}

// selectLogs selects the logs of the given names, or the first one.
func selectLogs(out *model.Logs, names []string) {
	selected := 0
	for i := range out.Sources {
		if slices.Contains(names, out.Sources[i].Name) && selected < maxShown {
			out.Sources[i].Selected = true
			selected++
		}
	}

	if len(names) > maxShown {
		out.Missing = fmt.Sprintf("Only %d logs are shown side by side.", maxShown)
	}

	if selected == 0 && len(out.Sources) > 0 {
		out.Sources[0].Selected = true
	}
}

// stream sends a log as server-sent events: an event line with lines as HTML, and an event end when the log has ended.
func (p *pages) stream(w http.ResponseWriter, r *web.Request) error {
	s, done, err := p.read(r, records)
	if err != nil {
		return err
	}

	done()

	read, err := s.opened(r.FormValue("pod"))
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()

	// The page has only what the browser shows. The channel bounds how much is read ahead, and the log waits.
	lines, ended := make(chan string, 64), make(chan error, 1)
	go func() {
		ended <- read(ctx, &sieve{ctx: ctx, out: lines, text: strings.ToLower(r.FormValue("q"))})

		close(lines)
	}()

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would collect the events

	pod := r.FormValue("pod")
	if strings.Contains(pod, "/") {
		pod = ""
	}
	return (&sender{w: w, subject: s, pod: pod, session: r.Session}).run(ctx, lines, ended)
}

// opened returns a function that reads the log of a name until it ends, or an error if the object has no such log.
func (s *subject) opened(name string) (func(context.Context, io.Writer) error, error) {
	o := kube.LogOptions{Tail: int64(tailOf(s.Request)), Follow: s.FormValue("follow") != ""}
	if s.FormValue("q") != "" {
		o.Tail = -1 // the search is in the whole log
	}

	if attempt, executor, isKept := strings.Cut(name, "/"); isKept {
		number, err := strconv.ParseInt(attempt, 10, 32)
		if err != nil {
			return nil, web.NotFound()
		}

		o.Attempt, o.Executor = int32(number), executor
		return func(ctx context.Context, out io.Writer) error {
			var notes bytes.Buffer

			found, err := s.reader(&notes).Print(ctx, o, nil, out)
			if err == nil && !found {
				err = fmt.Errorf("nothing is kept of attempt %d", number)
			}

			_, _ = out.Write(notes.Bytes())
			return err
		}, nil
	}

	at := slices.IndexFunc(s.pods, func(p corev1.Pod) bool { return p.Name == name })
	if at < 0 {
		return nil, web.NotFound()
	}

	pod := &s.pods[at]
	return func(ctx context.Context, out io.Writer) error { return s.PodLog(ctx, pod, o, out) }, nil
}
