package act

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
)

// The modes of a submission.
const (
	modeForm     = "form"
	modeManifest = "manifest"
	modeLine     = "line"
)

// Submission is what a user submits.
type Submission struct {
	// Mode is form, manifest or line.
	Mode string `json:"mode"`
	// Namespace is that of objects that name none. It is required for them; other objects must not name another.
	Namespace string `json:"namespace,omitempty"`
	// Text is the manifest, or the command line of spark-submit.
	Text string     `json:"text,omitempty"`
	Form model.Form `json:"form,omitzero"`
	// DryRun only checks the submission.
	DryRun bool `json:"dryRun,omitempty"`
}

// Submitted is what was found in a submission, and what was created.
type Submitted struct {
	Checks  model.Checks `json:"checks"`
	Created []Done       `json:"created,omitempty"`
}

// Status returns the status of HTTP: whether the submission has errors, or created something.
func (s Submitted) Status() int {
	switch {
	case !s.Checks.Checked, s.Checks.Errors() > 0, s.Checks.Problem != "":
		return http.StatusUnprocessableEntity
	case len(s.Created) > 0:
		return http.StatusCreated
	}
	return http.StatusOK
}

// refused is the error of a submission that was not carried out, or only in part.
type refused struct{}

func (refused) Error() string { return "the submission was refused" }

// submit checks a submission, and creates its objects unless it has an error.
func (s *service) submit(ctx context.Context, user *session.User, in Submission) (out Submitted, err error) {
	checked, objects, err := s.check(ctx, user, in)
	if out.Checks = checked; err != nil || in.DryRun || out.Status() != http.StatusOK {
		return out, err
	}

	for i := range objects {
		object := objects[i].Object
		if err := change.Create(ctx, user.Client, object, "", false); err != nil {
			out.Checks.Problem = bounds.Line(kube.Title(object) + " was not created: " + err.Error())
			break
		}

		out.Created = append(out.Created, doneWith(object, "is created", ""))
	}

	for _, done := range out.Created {
		if out.Checks.Problem != "" {
			out.Checks.Problem += "; but " + done.Text
		}
	}
	return out, nil
}

// submitOnce submits, but a repetition of a request only once.
func (s *service) submitOnce(r *web.Request, in Submission, key string) (Submitted, error) {
	out, err := do(&s.submitted, r, key, in, func(ctx context.Context) (Submitted, error) {
		out, err := s.submit(ctx, r.Session.User, in)
		if err == nil && out.Status() != http.StatusCreated {
			err = refused{}
		}
		return out, err
	})
	if errors.Is(err, refused{}) {
		err = nil
	}
	return out, err
}

// postSubmission is the submission of /api/v1.
func (s *service) postSubmission(r *web.Request, in Submission) (Submitted, error) {
	return s.submitOnce(r, in, r.Header.Get(idempotencyKey))
}

// submissionOf returns the submission of a form.
func submissionOf(r *web.Request) Submission {
	value := func(name string) string { return strings.TrimSpace(r.FormValue(name)) }
	return Submission{
		Mode: cmp.Or(value("mode"), modeForm), Namespace: value("namespace"), Text: strings.ReplaceAll(r.FormValue("text"), "\r\n", "\n"),
		Form: model.Form{
			Name: value("name"), File: value("file"), Class: value("class"), Arguments: value("arguments"), Image: value("image"), SparkVersion: value("sparkVersion"),
			Account: value("account"), DriverCores: value("driverCores"), DriverMemory: value("driverMemory"), Executors: value("executors"),
			ExecutorCores: value("executorCores"), ExecutorMemory: value("executorMemory"), Conf: value("conf"),
		},
	}
}

// writeSubmit answers with the page of submissions.
func (s *service) writeSubmit(w http.ResponseWriter, r *web.Request, status int, in Submission, checks model.Checks) error {
	names, err := s.namespaces(r)
	if err != nil {
		return err
	}

	data := model.Submit{
		Namespaces: names, Namespace: in.Namespace, Mode: in.Mode, Form: in.Form, Text: in.Text, Checks: checks, Request: cmp.Or(r.PostFormValue("request"), rand.Text()),
	}
	r.Title = "Submit"
	return s.Write(w, r, status, view.Submit(s.Frame(r, "submit"), data))
}

// showSubmit shows the page of submissions. The address chooses no more than the mode and the namespace, so that nobody
// can lead a user to a form that another has filled in.
func (s *service) showSubmit(w http.ResponseWriter, r *web.Request) error {
	in := Submission{Mode: cmp.Or(r.FormValue("mode"), modeForm), Namespace: cmp.Or(r.FormValue("namespace"), r.Session.User.Client.Namespace)}
	return s.writeSubmit(w, r, http.StatusOK, in, model.Checks{})
}

// postCheck checks what the user has entered until now.
func (s *service) postCheck(w http.ResponseWriter, r *web.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}

	checks, _, err := s.check(r.Context(), r.Session.User, submissionOf(r))
	if err != nil {
		return err
	}
	return s.Write(w, r, http.StatusOK, view.Checks(checks))
}

// postSubmit submits what the user has entered. The next page is that of the object, or of all objects of the
// namespace.
func (s *service) postSubmit(w http.ResponseWriter, r *web.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}

	in := submissionOf(r)

	out, err := s.submitOnce(r, in, r.PostFormValue("request"))
	switch status := out.Status(); {
	case err != nil:
		return err
	case status != http.StatusCreated && r.Header.Get("Hx-Request") != "":
		return s.Write(w, r, status, view.Checks(out.Checks))
	case status != http.StatusCreated:
		return s.writeSubmit(w, r, status, in, out.Checks)
	}

	first := out.Created[0]
	page, done := table.ObjectPath(first.Kind, first.Namespace, first.Name), first.Text

	if len(out.Created) > 1 {
		var names []string
		for _, done := range out.Created {
			names = append(names, done.Namespace)
		}

		page = table.Query{Namespaces: slices.Compact(slices.Sorted(slices.Values(names)))}.URL()
		done = bounds.Count(len(out.Created), "object") + " created"
	}

	redirect(w, r, page, done)
	return nil
}
