package detail

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/ledger"
	"github.com/sparkoperator/spark-operator/internal/cli/online"
	"github.com/sparkoperator/spark-operator/internal/cli/paged"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/startup"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// patience is the time in which a page is read. Parts that take longer are left out with a note.
const patience = 20 * time.Second

// subject is an object, with what a page reads about it.
type subject struct {
	*pages
	*web.Request
	*kube.Client
	ctx context.Context

	object   client.Object
	pods     []corev1.Pod
	events   []corev1.Event
	used     map[string]screen.Used
	spark    *startup.Times
	actions  []model.Action
	operator preview.Operator
	missing  []string
}

// depth is how much a page reads about an object.
type depth int

const (
	records    depth = iota // the object and its pods
	everything              // also Events, the cause in the log, used resources, and the times of the start
)

// find returns the object that the path of a request names. An object that the user may not see is answered as one that
// does not exist.
func find(r *web.Request) (client.Object, error) {
	at := slices.IndexFunc(kinds.All, func(k *kinds.Kind) bool { return k.FullName() == r.PathValue("kind") })
	if at < 0 {
		return nil, web.NotFound()
	}

	object := kinds.All[at].New()
	if err := r.Session.Client.Get(r.Context(), client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}, object); err != nil {
		return nil, err
	}

	object.GetObjectKind().SetGroupVersionKind(kinds.All[at].GroupVersionKind)
	r.Title = bounds.Line(object.GetName())
	return object, nil
}

// read reads an object. The caller calls the second result when the page is complete.
func (p *pages) read(r *web.Request, d depth) (*subject, func(), error) {
	object, err := find(r)
	if err != nil {
		return nil, nil, err
	}

	ctx, cancel := context.WithTimeout(r.Context(), patience)

	s := &subject{pages: p, Request: r, Client: r.Session.Client, ctx: ctx, object: object}
	if s.operator, err = p.Operator(ctx); err != nil {
		s.lacks("the operator's present settings", err)
	}

	s.operator.Now = r.Now.UTC().Truncate(time.Microsecond)

	if s.pods, err = limits.Pods(ctx, s.WithWatch, object); err != nil {
		s.lacks("the pods", err)
	}

	if s.operator.Config.SelectsByNamespace() {
		labels, note, err := s.NamespaceLabels(ctx, object.GetNamespace())
		if s.operator.NamespaceLabels = labels; err != nil || note != "" {
			s.lacks("defaults for namespaces with certain labels", errors.Join(err, noteError(note)))
		}
	}

	if d == everything {
		s.readMore()
	}

	if s.Actions != nil {
		s.actions = s.Actions(ctx, r.Session.User, object)
	}
	return s, cancel, nil
}

// limits bounds the pods and the Events that a page of the console keeps. One request reads few of them, because most
// Events of a namespace are dropped at once.
var limits = paged.Limits{Page: 100, Kept: 2000}

// noteError returns a note as an error, and an empty note as none.
func noteError(note string) error {
	if note == "" {
		return nil
	}
	return errors.New(note)
}

// startPatience is how long a page waits for Spark's times of a start.
const startPatience = 3 * time.Second

// readMore reads at the same time what does not depend on each other.
func (s *subject) readMore() {
	var group sync.WaitGroup
	defer group.Wait()

	var events error
	group.Go(func() { s.events, events = limits.Events(s.ctx, s.WithWatch, s.object, s.pods) })

	unused := ""
	if slices.ContainsFunc(s.pods, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }) {
		group.Go(func() { s.used, unused = screen.ReadUsage(s.ctx, s.Client, s.object) })
	}

	summary := kube.Summarize(s.object)
	if driver := startup.Driver(&summary, s.pods); driver != nil {
		group.Go(func() { s.spark = s.readStart(driver) })
	}

	s.ReadCause(s.ctx, s.object)
	group.Wait()

	if events != nil {
		s.lacks("the Events", events)
	}

	if unused != "" {
		s.missing = append(s.missing, bounds.Line(unused))
	}
}

// lacks notes that a part of the page could not be read.
func (s *subject) lacks(part string, err error) {
	if errors.Is(err, paged.ErrMore) {
		s.missing = append(s.missing, part+" are incomplete: "+err.Error())
		return
	}

	s.missing = append(s.missing, bounds.Line(part+" are missing: "+s.Explain(err).Error()))
}

// complete adds to an object's page what is not in the object itself.
func (s *subject) complete(o *model.Object) {
	for i := range o.Pods {
		used := s.used[o.Pods[i].Name]
		o.Pods[i].UsedCPUMillis, o.Pods[i].UsedMemoryBytes = used.CPUMillis, used.MemoryBytes
	}

	plan, err := s.operator.Next(s.object, s.pods)
	if err != nil {
		s.lacks("the next steps", err)
	}

	lines := screen.Explanation(s.operator.Now, screen.UTC, s.object, s.pods, s.events, plan)
	for _, line := range append(lines, online.Installation(s.ctx, s.Client, s.object)...) {
		line.Text = bounds.Line(line.Text)
		o.Explanation = append(o.Explanation, line)
	}

	o.Links, o.Actions, o.Missing = s.links(), s.actions, append(o.Missing, s.missing...)
	o.Fresh = table.Fresh{At: s.Now}
}

// links returns the links to the pages that Spark serves.
func (s *subject) links() (links []model.Link) {
	if pod := s.main(); pod != nil {
		links = append(links, model.Link{Title: "Spark UI", URL: uiPath(pod)})
	}

	if o := kube.OperatorStatus(s.object); o != nil && kube.IsWebAddress(o.HistoryServerURL) {
		links = append(links, model.Link{Title: "History", URL: o.HistoryServerURL, External: true})
	}
	return links
}

// uiPath returns the path of the web UI of a pod in the console.
func uiPath(pod *corev1.Pod) string {
	return "/ui/" + url.PathEscape(pod.Namespace) + "/" + url.PathEscape(pod.Name) + "/"
}

// main returns the pod of the driver, the server or the master that runs, or nil.
func (s *subject) main() *corev1.Pod { return kube.RunningMain(s.pods) }

// runs returns the last runs of the object's schedule or name, from custom resources that exist and from records.
func (s *subject) runs(existing []client.Object) (runs []model.Run) {
	records, notes, err := ledger.LastRuns(s.ctx, s.Client, s.object, existing, s.Store, s.Now)
	if err != nil {
		s.lacks("earlier runs", err)
	}

	for _, note := range notes {
		s.missing = append(s.missing, bounds.Line(note))
	}

	for _, record := range records {
		exists := slices.ContainsFunc(existing, func(o client.Object) bool { return o.GetUID() == record.UID })
		runs = append(runs, model.RunOf(record, exists, s.Now))
	}
	return runs
}

// schedule reads the page of a schedule.
func (s *subject) schedule(object *v1beta2.ScheduledSparkApplication) One {
	existing, _, err := s.List(s.ctx, kube.Query{
		Namespace: object.Namespace, Kinds: []*kinds.Kind{kinds.SparkApplication}, Selector: runsOf(object.Name),
	})
	if err != nil {
		s.lacks("runs that exist", err)
	}

	page := model.ScheduleOf(object, s.runs(existing), s.events, time.LoadLocation, s.Now)
	page.Compared = compared(page.Runs, existing, s.URL.Query()["compare"])
	s.complete(&page.Object)
	return One{Schedule: &page}
}

// compared compares two runs, the earlier one with the later one.
func compared(runs []model.Run, existing []client.Object, names []string) *model.Compared {
	if len(names) != 2 {
		return nil
	}

	var found []model.Run

	var objects []client.Object
	for _, name := range names {
		if at := slices.IndexFunc(runs, func(r model.Run) bool { return r.Name == name }); at >= 0 {
			found = append(found, runs[at])
		}

		if at := slices.IndexFunc(existing, func(o client.Object) bool { return o.GetName() == name }); at >= 0 {
			objects = append(objects, existing[at])
		}
	}

	if len(found) != 2 {
		return nil
	}

	if found[1].At().Before(found[0].At()) {
		slices.Reverse(found)
		slices.Reverse(objects)
	}

	c := &model.Compared{A: found[0], B: found[1]}
	if len(objects) != 2 {
		c.Missing = "The specs are not compared, because a run no longer exists; the hashes of the specs are " + cause(c.A.SpecHash == c.B.SpecHash, "equal.", "different.")
		return c
	}

	differences, err := preview.Differences(objects[0], objects[1])
	if err != nil {
		c.Missing = bounds.Line(err.Error())
	}

	c.Changes = changesOf(differences)
	return c
}

func cause(holds bool, yes, no string) string {
	if holds {
		return yes
	}
	return no
}

func changesOf(differences []preview.Difference) (changes []model.Change) {
	for _, d := range differences {
		changes = append(changes, model.Change{Name: bounds.Line(d.Path), Before: bounds.Line(d.Before), After: bounds.Line(d.After)})
	}
	return changes
}

// denied reports whether an error means that the user lost a right, or that the object is gone.
func denied(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
}
