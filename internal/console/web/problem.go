package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
)

// Problem is an error that users understand. Status is that of HTTP.
type Problem struct {
	Status         int
	Title, Why, Do string

	err error
}

// Error returns the title and the reason.
func (p *Problem) Error() string { return p.Title + ": " + p.Why }

// Unwrap returns the error that caused the problem.
func (p *Problem) Unwrap() error { return p.err }

// NotFound is the problem of an object that does not exist, or that the user may not see. Both are answered alike, so
// that nobody learns which objects and namespaces exist.
func NotFound() *Problem {
	return &Problem{Status: http.StatusNotFound, Title: "Nothing is here", Why: "There is no such object, or you may not see it.", Do: "Check the name and the namespace, or ask an administrator for a Role."}
}

// problemOf returns an error as a problem. The error of a request to the API server is explained.
func problemOf(err error, user *session.User) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}

	tooLarge := &http.MaxBytesError{}
	switch {
	case apierrors.IsUnauthorized(err):
		return &Problem{Status: http.StatusUnauthorized, Title: "Sign in again", Why: "The cluster rejects your credentials; they may have expired or been revoked."}
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), exit.NoDefinition(err):
		return NotFound()
	case errors.As(err, &tooLarge):
		return &Problem{Status: http.StatusRequestEntityTooLarge, Title: "The input is too large", Why: "The console accepts 2 MiB."}
	case errors.Is(err, context.DeadlineExceeded):
		return &Problem{Status: http.StatusGatewayTimeout, Title: "The cluster does not answer", Why: "The API server took too long.", Do: "Load the page again."}
	case user == nil:
		return &Problem{Status: http.StatusInternalServerError, Title: "The page cannot be shown", Why: bounds.Line(err.Error())}
	}
	return &Problem{Status: http.StatusBadGateway, Title: "The cluster cannot be read", Why: bounds.Line(user.Client.Explain(err).Error()), Do: "The console tries again when you load the page."}
}

// fail answers a request with an error. If the API server rejects the user's credentials, the user's sessions end.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, request *Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client has gone
	}

	var user *session.User
	if request != nil {
		user = request.Session.User
	}

	p := problemOf(err, user)
	if p.Status == http.StatusUnauthorized && user != nil {
		s.Sessions.End(user)
	}

	switch {
	case strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/events":
		s.writeJSON(w, r, p.Status, model.Problem{Status: p.Status, Title: p.Title, Why: p.Why, Do: p.Do})
		return
	case p.Status == http.StatusUnauthorized && r.Header.Get("Hx-Request") != "":
		w.Header().Set("Hx-Redirect", "/sign-in")
		w.WriteHeader(p.Status)

		return
	case p.Status == http.StatusUnauthorized && r.Method == http.MethodGet && s.Sessions.Proxy == nil:
		http.Redirect(w, r, "/sign-in?return="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	case p.Status == http.StatusUnauthorized:
		s.writeSignIn(w, r, p.Status, reasonOf(p))
		return
	}

	if request == nil {
		request = &Request{Request: r, Now: s.Now()}
	}

	request.Title = p.Title
	_ = s.write(w, r, p.Status, s.Views.Problem(s.page(request, ""), model.Problem{Status: p.Status, Title: p.Title, Why: p.Why, Do: p.Do}))
}

func reasonOf(p *Problem) string {
	if p.err != nil {
		return bounds.Line(p.err.Error())
	}
	return p.Why
}
