// Package console serves the web console: one look at all applications, schedules, Connect servers and clusters that a
// user may see. sparkctl console serves it on this machine, and the chart's console.enable deploys it for a team.
//
// A request passes package session, which identifies its user, and package web, which has the routes. The routes read
// the cluster as the user: the table from the rows that package live keeps by watches, an object by requests of its
// own. Package model converts what was read into the data of a page, which is answered as JSON or rendered by package
// view.
package console

import (
	"context"
	"net/http"
	"time"

	"github.com/sparkoperator/spark-operator/internal/console/act"
	"github.com/sparkoperator/spark-operator/internal/console/detail"
	"github.com/sparkoperator/spark-operator/internal/console/live"
	"github.com/sparkoperator/spark-operator/internal/console/proxy"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Options are the settings of a console.
type Options struct {
	Sessions *session.Sessions
	// Hosts are the hosts, as HOST or HOST:PORT, that requests may name; empty: any.
	Hosts []string
	// Cluster names the cluster on each page; empty: it has no name.
	Cluster string
	// Namespaces are those in which users look who can neither see all namespaces nor list them.
	Namespaces []string
	// Operator reads the configuration of the operator, from which explanations and rendered objects follow; nil: all
	// settings have their defaults. It is called twice a minute at most.
	Operator func(context.Context) (config.Configuration, error)
	// Store is the URL of the object store with kept logs and records of runs. It is read with the credentials of this
	// program, and only for a local user.
	Store string
	// Linger is for how long a watch continues when nobody looks; 0: 30 s.
	Linger time.Duration
}

// console has what the routes of this package share.
type console struct {
	*web.Site
	live   *live.Store
	checks checks
}

// New returns the console as a handler of HTTP. Its watches end with the context.
func New(ctx context.Context, o Options) http.Handler {
	c := &console{
		Site: web.New(web.Options{
			Sessions: o.Sessions, Hosts: o.Hosts, Cluster: o.Cluster, Views: web.Views{SignIn: view.SignIn, Problem: view.ProblemPage},
		}),
		live:   live.New(ctx, live.Options{Namespaces: o.Namespaces, Linger: o.Linger, Rejected: o.Sessions.End}),
		checks: checks{ctx: ctx, found: map[string]*check{}},
	}

	go o.Sessions.Sweep(ctx)

	assets := view.Assets()
	c.Open("GET /assets/", assets.ServeHTTP)
	act.Register(c.Site, c.choices)
	c.Open("GET /open", c.redeem)
	c.addAll()
	c.addNamespaces()
	c.addDoctor()
	c.addDetail(o)
	proxy.Routes(c.Site, proxy.Limits{})
	return c
}

// addDetail adds the pages of one object.
func (c *console) addDetail(o Options) {
	operator := &settings{read: o.Operator, found: config.Default()}

	options := detail.Options{Operator: operator.operator, Actions: act.Offered, Shared: o.Sessions.Local == nil}
	if !options.Shared {
		options.Store = o.Store
	}

	detail.Routes(c.Site, options)
}

// redeem signs the user in whose browser sparkctl console has opened.
func (c *console) redeem(w http.ResponseWriter, r *http.Request) {
	target := "/"
	if !c.Sessions.Redeem(w, r.FormValue("token")) {
		target = "/sign-in"
	}

	http.Redirect(w, r, target, http.StatusSeeOther)
}

// choices returns the namespaces in which the user of a request may see objects.
func (c *console) choices(r *web.Request) ([]string, error) {
	v, err := c.live.Open(r.Context(), r.Session.User, nil)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return v.Namespaces(), nil
}
