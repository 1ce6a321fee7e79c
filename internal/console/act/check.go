package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/web"
)

const (
	// file is the name of the manifest in findings and commands.
	file = "app.yaml"
	// maxObjects bounds the objects of a submission, because each one is a request for each check.
	maxObjects = 20
	// ruleSubmission and ruleCluster are the rules of findings that sparkctl lint does not have: about what the console
	// cannot submit, and of the API server.
	ruleSubmission = "submission"
	ruleCluster    = "cluster"
)

// check checks a submission in three steps: its form or command line becomes a manifest, sparkctl lint checks the
// manifest, and if it has no error, the API server checks it in a dry run with the rights of the user. It returns the
// objects in their namespaces.
func (s *service) check(ctx context.Context, user *session.User, in Submission) (model.Checks, []manifest.Loaded, error) {
	checks, objects, err := s.lint(ctx, user, in)
	if err == nil && checks.Checked && checks.Errors() == 0 {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()

		err = dryRun(ctx, user.Client, &checks, objects)
	}

	for i := range checks.Findings {
		f := &checks.Findings[i]
		f.Object, f.Field, f.Message = bounds.Line(f.Object), bounds.Line(f.Field), bounds.Line(f.Message)
	}
	return checks, objects, err
}

// lint does the steps of a check that need no cluster.
func (s *service) lint(ctx context.Context, user *session.User, in Submission) (checks model.Checks, _ []manifest.Loaded, _ error) {
	if strings.TrimSpace(in.Text) == "" && in.Form == (model.Form{}) {
		return checks, nil, nil
	}

	if !s.linting.Take(user.Holder(), 1) {
		return checks, nil, &web.Problem{
			Status: http.StatusTooManyRequests, Title: "Other checks are waiting", Why: "The console checks a limited number of submissions at the same time.",
			Do: "Send it again when they have ended.",
		}
	}
	defer s.linting.Give(user.Holder(), 1)

	select {
	case s.lints <- struct{}{}:
		defer func() { <-s.lints }()
	case <-ctx.Done():
		return checks, nil, ctx.Err()
	}

	checks.Checked = true

	text, err := in.manifest(&checks)
	if err != nil {
		add(&checks, preview.Error, ruleSubmission, err.Error())
		return checks, nil, nil
	}

	operator, err := preview.Load("")
	if err != nil {
		return checks, nil, err
	}

	report := preview.Report{}
	report.Add(operator, file, text, true)
	checks.Findings = append(checks.Findings, report.Findings...)
	return checks, in.objects(&checks, text), nil
}

// add adds a finding without a place.
func add(checks *model.Checks, severity, rule, message string) {
	checks.Findings = append(checks.Findings, preview.Finding{File: file, Severity: severity, Rule: rule, Message: bounds.Line(message)})
}

// manifest returns the manifest of a submission, and sets the command that submits the same. A form is converted as its
// command line.
func (in *Submission) manifest(checks *model.Checks) ([]byte, error) {
	var words []string

	var err error
	switch in.Mode {
	case modeManifest:
		checks.Command = commandOf("create", in.Namespace, "-f", file)
		return []byte(in.Text), nil
	case modeLine:
		words, err = terminal.Words(in.Text)
	case modeForm:
		words, err = wordsOf(&in.Form)
	default:
		err = fmt.Errorf("mode %q is unknown; the modes are: %s, %s, %s", in.Mode, modeForm, modeManifest, modeLine)
	}

	if err != nil {
		return nil, err
	}

	words = withoutProgram(words)
	checks.Command = commandOf("submit", in.Namespace, words...)

	made, err := manifest.FromPasted(words)
	for _, warning := range made.Warnings {
		add(checks, preview.Warning, ruleSubmission, warning)
	}

	if err != nil {
		return nil, err
	}

	made.Application.Namespace = cmp.Or(made.Application.Namespace, in.Namespace)

	text, err := manifest.YAML(made.Application)
	checks.Manifest = string(text)
	return text, err
}

// commandOf returns a command of sparkctl.
func commandOf(verb, namespace string, words ...string) string {
	if namespace != "" {
		words = append([]string{"-n", namespace}, words...)
	}

	command := terminal.Hint("%s", verb)
	for _, word := range words {
		command += terminal.Commandf(" %s", word)
	}
	return string(command)
}

// withoutProgram returns the words of a command line without those that name the program.
func withoutProgram(words []string) []string {
	for _, program := range [][]string{{"spark-submit"}, {"sparkctl", "submit"}, {"kubectl", "spark", "submit"}} {
		if n := len(program); len(words) >= n && filepath.Base(words[0]) == program[0] && slices.Equal(words[1:n], program[1:]) {
			return words[n:]
		}
	}
	return words
}

// wordsOf returns the command line of a form.
func wordsOf(f *model.Form) (words []string, err error) {
	words = []string{"--deploy-mode", "cluster"}
	for _, option := range [][2]string{
		{"--spark-version", f.SparkVersion}, {"--name", f.Name}, {"--class", f.Class}, {"--driver-cores", f.DriverCores}, {"--driver-memory", f.DriverMemory},
		{"--num-executors", f.Executors}, {"--executor-cores", f.ExecutorCores}, {"--executor-memory", f.ExecutorMemory},
	} {
		if option[1] != "" {
			words = append(words, option[0], option[1])
		}
	}

	settings := strings.Split(f.Conf, "\n")
	if f.Account != "" {
		settings = append([]string{"spark.kubernetes.authenticate.driver.serviceAccountName=" + f.Account}, settings...)
	}

	if f.Image != "" {
		settings = append([]string{"spark.kubernetes.container.image=" + f.Image}, settings...)
	}

	for _, setting := range settings {
		if setting = strings.TrimSpace(setting); setting != "" {
			words = append(words, "--conf", setting)
		}
	}

	if f.File == "" || strings.HasPrefix(f.File, "-") {
		return nil, errors.New("file: name the application's jar, .py or .R file")
	}

	arguments, err := terminal.Words(f.Arguments)
	if err != nil {
		err = fmt.Errorf("arguments: %w", err)
	}
	return slices.Concat(words, []string{f.File}, arguments), err
}

// objects returns the objects of a manifest in their namespaces. It adds what the console does not submit to the
// findings.
func (in *Submission) objects(checks *model.Checks, text []byte) []manifest.Loaded {
	objects, others, _ := manifest.ObjectsIn(file, text)
	for i := range others {
		add(checks, preview.Warning, ruleSubmission, others[i].Name()+" is left out: the console creates only the operator's kinds; use kubectl apply")
	}

	switch {
	case len(objects) == 0 && checks.Errors() == 0:
		add(checks, preview.Error, ruleSubmission, "the manifest has no custom resource of "+strings.Join(manifest.Groups, " or "))
	case len(objects) > maxObjects:
		add(checks, preview.Error, ruleSubmission, fmt.Sprintf("the manifest has more than %d custom resources; use sparkctl create", maxObjects))
	}

	for i := range objects {
		switch namespace := objects[i].Object.GetNamespace(); {
		case namespace == "" && in.Namespace == "":
			add(checks, preview.Error, ruleSubmission, objects[i].Name()+" has no namespace; choose one")
		case namespace == "":
			objects[i].Object.SetNamespace(in.Namespace)
		case in.Namespace != "" && namespace != in.Namespace:
			add(checks, preview.Error, ruleSubmission, fmt.Sprintf("%s is in the namespace %s, but the form names %s; leave one of them out", objects[i].Name(), namespace, in.Namespace))
		}
	}
	return objects
}

// warnings collects the API server's warnings.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.texts = append(w.texts, text)
}

// dryRun lets the API server check the objects, with admission and with the rights of the user, and adds what it
// rejects and warns about.
func dryRun(ctx context.Context, c *kube.Client, checks *model.Checks, objects []manifest.Loaded) error {
	rc, heard := c.Config(), &warnings{}
	rc.WarningHandler = heard

	listening, err := kube.New(rc, c.Namespace)
	if err != nil {
		return err
	}

	for i := range objects {
		err := change.Create(ctx, listening, objects[i].Object.DeepCopyObject().(client.Object), "", true)
		switch {
		case apierrors.IsUnauthorized(err), errors.Is(err, context.Canceled):
			return err
		case err != nil:
			checks.Findings = append(checks.Findings, rejections(&objects[i], err)...)
		}
	}

	for _, text := range heard.texts {
		// The webhook has the findings of lint.
		known := func(f preview.Finding) bool { return strings.Contains(text, f.Message) }
		if !slices.ContainsFunc(checks.Findings, known) {
			add(checks, preview.Warning, ruleCluster, text)
		}
	}
	return nil
}

// rejections returns the findings of a dry run that failed, at the fields that the API server names.
func rejections(d *manifest.Loaded, err error) (found []preview.Finding) {
	at := func(field, message string) {
		place := d.Place(field)
		found = append(found, preview.Finding{
			File: file, Line: place.Line, Column: place.Column, Severity: preview.Error, Rule: ruleCluster, Object: d.Name(), Field: field, Message: message,
		})
	}

	var status apierrors.APIStatus
	if apierrors.IsInvalid(err) && errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			at(cause.Field, cause.Message)
		}
	}

	if len(found) == 0 {
		at("", err.Error())
	}
	return found
}
