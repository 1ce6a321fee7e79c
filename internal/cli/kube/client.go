// Package kube reads and changes custom resources with the rights of the user. It supports the five kinds.
// Its error messages say what is wrong with the cluster or with the user's rights, and what to do.
package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Client is a connection to a cluster.
type Client struct {
	client.WithWatch
	core   *typedcorev1.CoreV1Client
	host   string
	config *rest.Config
	// kubeconfig and context are the values of the flags --kubeconfig and --context, or empty.
	kubeconfig, context string
	// Namespace is the namespace in the flag --namespace or, without the flag, in the context of the kubeconfig.
	Namespace string
}

// New returns a client for the given connection and namespace.
func New(rc *rest.Config, namespace string) (*Client, error) {
	rc = rest.AddUserAgent(rest.CopyConfig(rc), "sparkctl")
	rc.QPS = -1 // the API server's priority and fairness limits requests

	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}

	c, err := client.NewWithWatch(rc, client.Options{Scheme: scheme, Mapper: newMapper()})
	if err != nil {
		return nil, exit.Explain(err, rc.Host)
	}

	core, err := typedcorev1.NewForConfig(rc)
	if err != nil {
		return nil, exit.Explain(err, rc.Host)
	}
	return &Client{WithWatch: c, core: core, host: rc.Host, config: rc, Namespace: namespace}, nil
}

// strict makes the API server refuse a field that the kind's installed definition does not have. Without it the API
// server would drop the field, so that, for example, an object with spec.suspend would start.
const strict = client.FieldValidation(metav1.FieldValidationStrict)

// Create creates an object, with strict validation as kubectl requests it, unless an option says otherwise.
func (c *Client) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return c.WithWatch.Create(ctx, object, append([]client.CreateOption{strict}, options...)...)
}

// Update updates an object, with strict validation.
func (c *Client) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return c.WithWatch.Update(ctx, object, append(options, strict)...)
}

// Patch changes an object, with strict validation.
func (c *Client) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.WithWatch.Patch(ctx, object, patch, append(options, strict)...)
}

// Config returns the configuration of the connection. It is for clients of resources that this package does not read.
func (c *Client) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Raw sends a GET request for a path to the API server and returns the answer. If the request fails, Raw returns the
// original error, which Explain can make readable.
func (c *Client) Raw(ctx context.Context, path string, parameters ...string) ([]byte, error) {
	request := c.core.RESTClient().Get().AbsPath(path)
	for i := 0; i+1 < len(parameters); i += 2 {
		request = request.Param(parameters[i], parameters[i+1])
	}

	answer := request.Do(ctx)
	if err := answer.Error(); err != nil { // unlike that of Raw, this error has the API server's message
		return nil, err
	}
	return answer.Raw()
}

// NamespaceLabels returns the labels of a namespace. If the namespace does not exist, or if the user has no right to
// read it, NamespaceLabels returns no labels and a note with the reason.
func (c *Client) NamespaceLabels(ctx context.Context, name string) (found map[string]string, note string, err error) {
	namespace, err := c.core.Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("you are not allowed to get the namespace %s, so its labels are unknown", name), nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("the namespace %s does not exist, so it has no labels yet", name), nil
	case err != nil:
		return nil, "", c.Explain(err)
	case namespace.Labels == nil:
		return map[string]string{}, "", nil
	}
	return namespace.Labels, "", nil
}

// Explain converts the error of a request into an error whose message is one line: it says what is wrong and what to
// do.
func (c *Client) Explain(err error) error { return exit.Explain(err, c.host) }

// ExplainFor converts the error of a request for objects of one kind, as Explain does. The message can name this kind.
func (c *Client) ExplainFor(err error, k *kinds.Kind) error {
	return c.Explain(exit.WithResource(err, k.FullName()))
}

// Query selects objects. The zero value selects all objects.
type Query struct {
	Namespace string          // empty: all namespaces
	Selector  labels.Selector // nil: all objects
	Kinds     []*kinds.Kind   // empty: all kinds
}

// List returns the selected objects of all kinds. It reads them page by page. It leaves out kinds that have no
// CustomResourceDefinition or that the user has no right to list. The notes name the kinds for which the right is
// missing. List returns an error if no kind can be listed.
func (c *Client) List(ctx context.Context, q Query) (objects []client.Object, notes []string, err error) {
	if len(q.Kinds) == 0 {
		q.Kinds = kinds.All
	}

	var failed []error
	for _, k := range q.Kinds {
		found, err := c.listKind(ctx, k, q)
		switch {
		case err == nil:
			objects = append(objects, found...)
		case exit.NoDefinition(err), apierrors.IsForbidden(err):
			failed = append(failed, err)
			if apierrors.IsForbidden(err) {
				notes = append(notes, c.Explain(err).Error())
			}
		default:
			return nil, nil, c.Explain(err)
		}
	}

	if len(failed) == len(q.Kinds) {
		return nil, nil, c.Explain(failed[0])
	}
	return objects, notes, nil
}

func (c *Client) listKind(ctx context.Context, k *kinds.Kind, q Query) (objects []client.Object, err error) {
	_, err = c.EachOf(ctx, k, q, func(object client.Object) { objects = append(objects, object) })
	return objects, err
}

// Find returns the object that an argument names. The argument is NAME. If objects of several kinds have this name, it
// must be KIND/NAME.
func (c *Client) Find(ctx context.Context, argument string) (client.Object, error) {
	kindName, name, isQualified := strings.Cut(argument, "/")

	candidates := kinds.All
	if isQualified {
		k, err := kinds.Named(kindName)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}

		candidates = []*kinds.Kind{k}
	} else {
		name = argument
	}
	var found []client.Object

	var failed []error
	for _, k := range candidates {
		object := k.New()

		err := exit.WithResource(c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, object), k.FullName())
		switch {
		case err == nil:
			object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
			found = append(found, object)
		case exit.NoDefinition(err), apierrors.IsForbidden(err):
			failed = append(failed, err)
		case !apierrors.IsNotFound(err):
			return nil, c.Explain(err)
		}
	}

	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, exit.Errorf(exit.Usage, "objects of several kinds are named %s; give one of these arguments instead: %s", name, strings.Join(qualified(found), ", "))
	case len(failed) == len(candidates):
		return nil, c.Explain(failed[0])
	}

	err := c.unknown(ctx, name, candidates)
	if slices.ContainsFunc(failed, apierrors.IsForbidden) {
		return nil, err // an object of a kind that the user may not read can have the name
	}
	return nil, &unknownError{err}
}

// unknownError is the error for a name that no object has.
type unknownError struct{ error }

// Unwrap returns the error with its exit code.
func (e *unknownError) Unwrap() error { return e.error }

// Unknown reports whether an error of Find says that no object has the name.
func Unknown(err error) bool {
	_, unknown := errors.AsType[*unknownError](err)
	return unknown
}

func qualified(objects []client.Object) (names []string) {
	for _, object := range objects {
		names = append(names, kinds.Of(object).Name+"/"+object.GetName())
	}
	return names
}

// unknown returns the error for a name that no object has. The error suggests similar names. If the user has the
// rights, it also suggests names in other namespaces.
func (c *Client) unknown(ctx context.Context, name string, candidates []*kinds.Kind) error {
	what := "application, schedule, Connect server or cluster"
	if len(candidates) == 1 {
		what = candidates[0].Kind
	}

	message := fmt.Sprintf("no %s named %q in namespace %s", what, name, c.Namespace)

	objects, _, err := c.List(ctx, Query{Kinds: candidates})
	if err != nil {
		objects, _, err = c.List(ctx, Query{Namespace: c.Namespace, Kinds: candidates})
	}

	if near := exit.Similar(objects, name, c.Namespace); err == nil && len(near) > 0 {
		return exit.Errorf(exit.Cluster, "%s; did you mean %s?", message, strings.Join(near, ", "))
	}
	return exit.Errorf(exit.Cluster, "%s; %s lists the objects of all namespaces", message, terminal.Hint("list -A"))
}

// MainPod returns the pod that the commands for an object use: the driver, the Connect server, or the master of a
// cluster. The pod must belong to the object's current attempt and must be running. Otherwise the error says why there
// is no such pod.
func (c *Client) MainPod(ctx context.Context, object client.Object) (*corev1.Pod, error) {
	pods, err := c.Pods(ctx, object)
	if err != nil {
		return nil, err
	}

	if pod := RunningMain(pods); pod != nil {
		return pod, nil
	}

	s := Summarize(object)
	text := fmt.Sprintf("%s %s/%s has no running driver, server or master; its state is %s", s.Kind.Kind, s.Namespace, s.Name, s.State)
	return nil, exit.Errorf(exit.Cluster, "%s; %s says why", text, s.Hint("explain"))
}

// RunningMain returns the newest driver, Connect server or master in a list that runs; nil if there is none.
func RunningMain(pods []corev1.Pod) *corev1.Pod {
	main := logged(pods, LogOptions{})
	for i := len(main) - 1; i >= 0; i-- {
		if pod := &main[i]; pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			return pod
		}
	}
	return nil
}
