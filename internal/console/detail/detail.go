// Package detail serves the pages of one object: it reads what they show with the rights of the user (subject.go), the
// logs as a stream (logs.go), the manifest and what follows from it (spec.go), and what Spark's REST API shows of a
// running driver or master (spark.go). Package model makes the data of the pages from what was read.
//
// A part that cannot be read is left out with a note. Only without the object itself there is no page.
package detail

import (
	"context"

	"github.com/a-h/templ"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/startup"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
)

// Options are the settings of the pages.
type Options struct {
	// Operator returns the operator with its configuration, from which explanations and rendered objects follow. With
	// an error, the configuration is an old one, or has the defaults.
	Operator func(context.Context) (preview.Operator, error)
	// Actions returns what the user may do with an object; nil: nothing is offered.
	Actions func(context.Context, *session.User, client.Object) []model.Action
	// Store is the URL of the object store with logs and records, which is read with the credentials of this program.
	// It is empty in a console that several users share.
	Store string
	// Shared is true if several users share the console.
	Shared bool
}

// pages has what the routes share.
type pages struct {
	site *web.Site
	Options
	memory memory
}

const (
	path = "/o/{kind}/{namespace}/{name}"
	api  = "/objects/{kind}/{namespace}/{name}"
)

// Routes adds the pages of one object to a site.
func Routes(site *web.Site, o Options) {
	p := &pages{site: site, Options: o}
	web.Page(site, web.Route{
		Path: path, API: api, Section: "all", Summary: "One object with its pods, Events and what happens next.",
		Parameters: map[string]string{"compare": "the names of two runs of a schedule, as two parameters"},
	}, p.one, showOne)
	addTab(p, web.Route{
		Path: "/logs", Summary: "The logs that can be read, and the addresses of their streams.", Parameters: map[string]string{
			"pod": "the logs to show, by the names of their sources; at most four", "follow": "true: new lines follow", "tail": "the number of the last lines",
			"q": "a text that the lines have; the search is in the whole logs",
		},
	}, (*subject).logs, view.Logs)
	addTab(p, web.Route{Path: "/stages", Summary: "The stages that Spark's REST API shows, and tasks of one of them.", Parameters: map[string]string{
		"stage": "the number of a stage and of its attempt, such as 3.0, whose longest tasks are shown", "status": "only tasks that are running, or failed or killed",
	}}, (*subject).stages, view.Stages)
	addTab(p, web.Route{
		Path: "/manifest", Summary: "The manifest, and what the operator makes of it.",
		Parameters: map[string]string{"a": "the number of an attempt that is compared, or now", "b": "the number of the other attempt, or now"},
	}, (*subject).spec, view.ManifestPage)
	addTab(p, web.Route{Path: "/usage", Summary: "What the pods have requested, multiplied by time."}, (*subject).usage,
		func(f model.Page, o model.Object, u Usage) templ.Component { return view.UsagePage(f, o, u.Usage) })
	site.Stream(web.Route{
		Path: path + "/logs/stream", Title: "Lines", Summary: "The lines of a log as HTML, and an event end when the log has ended.",
		Parameters: map[string]string{
			"pod": "the name of the log's source", "follow": "true: new lines follow", "tail": "the number of the last lines",
			"q": "a text that the lines have; the search is in the whole log",
		},
	}, p.stream)
}

// One is the page of one object of any kind. Exactly one member is set.
type One struct {
	Application *model.Application `json:"application,omitempty"`
	Schedule    *model.Schedule    `json:"schedule,omitempty"`
	Connect     *model.Connect     `json:"connect,omitempty"`
	Cluster     *model.Cluster     `json:"cluster,omitempty"`
}

// Tab is a tab of an object's page: the object and what the tab shows.
type Tab[T any] struct {
	Object model.Object `json:"object"`
	Tab    T            `json:"tab"`
}

// Usage is the usage of an object.
type Usage struct {
	Usage *model.Usage `json:"usage,omitempty"`
}

// addTab adds a tab to a site.
func addTab[T any](p *pages, route web.Route, read func(*subject) (T, error), show func(model.Page, model.Object, T) templ.Component) {
	route.API, route.Path, route.Section = api+route.Path, path+route.Path, "all"
	web.Page(p.site, route, func(r *web.Request) (tab Tab[T], err error) {
		s, done, err := p.read(r, records)
		if err != nil {
			return tab, err
		}
		defer done()

		if tab.Tab, err = read(s); err == nil {
			tab.Object = model.ObjectOf(s.object, s.pods, s.events)
			s.complete(&tab.Object)
		}
		return tab, err
	}, func(f model.Page, tab Tab[T]) templ.Component { return show(f, tab.Object, tab.Tab) })
}

func showOne(f model.Page, one One) templ.Component {
	switch {
	case one.Schedule != nil:
		return view.Schedule(f, *one.Schedule)
	case one.Connect != nil:
		return view.Connect(f, *one.Connect)
	case one.Cluster != nil:
		return view.Cluster(f, *one.Cluster)
	}
	return view.Application(f, *one.Application)
}

// one reads the page of an object.
func (p *pages) one(r *web.Request) (One, error) {
	s, done, err := p.read(r, everything)
	if err != nil {
		return One{}, err
	}
	defer done()

	switch object := s.object.(type) {
	case *v1beta2.ScheduledSparkApplication:
		return s.schedule(object), nil
	case *v1alpha1.SparkConnect:
		connect := model.ConnectOf(object, s.pods, s.events, s.Now)
		connect.Sessions, connect.NoSessions = s.sessions()
		s.complete(&connect.Object)
		return One{Connect: &connect}, nil
	case *sparkv1.SparkCluster:
		cluster := model.ClusterOf(object, s.pods, s.events)
		cluster.Applications, cluster.NoApplications = s.applications()
		s.complete(&cluster.Object)
		return One{Cluster: &cluster}, nil
	}

	application, summary := model.ApplicationOf(s.object, s.pods, s.events, s.Now), kube.Summarize(s.object)
	application.Start = startup.Steps(&summary, s.spark)
	s.complete(&application.Object)
	return One{Application: &application}, nil
}

func (s *subject) usage() (Usage, error) {
	return Usage{model.UsageOf(s.object, s.Now)}, nil
}
