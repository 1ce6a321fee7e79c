package console

import (
	"context"
	"sync"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
)

const (
	// checkLifetime is for how long the findings of the installation are shown before they are examined again.
	checkLifetime = 30 * time.Second
	// checkTimeout bounds an examination.
	checkTimeout = time.Minute
)

// checks keeps the findings of users by their credentials. An examination takes seconds and many requests, so pages
// that are loaded at the same time share it.
type checks struct {
	ctx context.Context //nolint:containedctx // examinations outlast the request that started them

	mu    sync.Mutex
	found map[string]*check
}

// check is an examination.
type check struct {
	ready   chan struct{} // closed when the other fields are set
	at      time.Time
	found   []findings.Finding
	problem string
}

func (c *check) done() bool {
	select {
	case <-c.ready:
		return true
	default:
		return false
	}
}

// addDoctor adds the page of the installation.
func (c *console) addDoctor() {
	web.Page(c.Site, web.Route{
		Path: "/doctor", Title: "Installation", Section: "doctor", Summary: "What sparkctl doctor finds, with the user's rights.",
	}, c.readDoctor, view.Doctor)
}

func (c *console) readDoctor(r *web.Request) (model.Doctor, error) {
	found := c.checks.of(r.Session.User, r.Now)

	wait := time.NewTimer(patience)
	if r.Pattern == "GET /api/v1/doctor" || r.FormValue("run") != "" { // the page that shows that the checks run
		wait.Reset(checkTimeout)
	}
	defer wait.Stop()

	select {
	case <-found.ready:
		return model.Doctor{Findings: found.found, Fresh: table.Fresh{At: found.at}, Problem: found.problem}, nil
	case <-wait.C:
	case <-r.Context().Done():
	}
	return model.Doctor{Loading: true}, r.Context().Err()
}

// of returns the examination with the credentials of a user. It starts one if there is none, or an old one.
func (c *checks) of(user *session.User, now time.Time) *check {
	c.mu.Lock()
	defer c.mu.Unlock()

	for key, old := range c.found {
		if old.done() && now.Sub(old.at) >= checkLifetime {
			delete(c.found, key)
		}
	}

	if running := c.found[user.Key]; running != nil {
		return running
	}

	next := &check{ready: make(chan struct{})}
	c.found[user.Key] = next

	go next.examine(c.ctx, user)
	return next
}

func (c *check) examine(ctx context.Context, user *session.User) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()

	report, err := doctor.Examine(ctx, user.Client)
	if err != nil {
		c.problem = bounds.Line(err.Error())
	} else {
		for _, f := range report.Findings {
			c.found = append(c.found, findings.Finding{Level: f.Level, Check: f.Check, Text: bounds.Line(f.Text), Fix: terminal.Command(bounds.Line(string(f.Fix)))})
		}
	}

	c.at = time.Now()
	close(c.ready)
}
