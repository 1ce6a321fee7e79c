package exit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// resourceError is the error of a request for objects of one kind.
type resourceError struct {
	error
	resource string
}

func (e *resourceError) Unwrap() error { return e.error }

// WithResource returns an error of a request for objects of one kind, so that its explanation can name the full name of
// the kind's resource.
func WithResource(err error, resource string) error {
	if err == nil {
		return nil
	}
	return &resourceError{err, resource}
}

// NoDefinition reports whether an error means that the API server does not serve the requested kind. In this case the
// API server answers with a plain text, so NoDefinition checks the message that client-go writes into the error.
func NoDefinition(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && strings.Contains(err.Error(), "the server could not find the requested resource")
}

// forbidden matches the message of the API server about a right that the user does not have.
var forbidden = regexp.MustCompile(`cannot (\S+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`)

// Explain makes the error of a request to the API server at an address readable. An error that already has an exit code
// is returned unchanged.
func Explain(err error, host string) error {
	if _, coded := errors.AsType[*Error](err); coded || err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return With(Cluster, readable(err, host))
}

func readable(err error, host string) error {
	var status apierrors.APIStatus
	isStatus := errors.As(err, &status)
	_, isURL := errors.AsType[*url.Error](err)
	var network net.Error

	isNet := errors.As(err, &network)
	switch {
	case clientcmd.IsEmptyConfig(err):
		return errors.New("no cluster is configured; set KUBECONFIG, or give --kubeconfig")
	case clientcmd.IsContextNotFound(err), clientcmd.IsConfigurationInvalid(err), host == "" && !isStatus:
		return fmt.Errorf("the kubeconfig cannot be used: %w; kubectl config get-contexts shows the contexts", err)
	case NoDefinition(err):
		return missingDefinition(err)
	// If the upgrade of a connection fails, the error has only a text.
	case apierrors.IsForbidden(err), forbidden.MatchString(err.Error()):
		return missingRight(err)
	case apierrors.IsUnauthorized(err):
		return &rejectedError{fmt.Errorf("the cluster at %s rejects your credentials; log in again, or choose another --context", host), err}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return With(Invalid, err)
	case !isStatus && (isURL || isNet || errors.Is(err, context.DeadlineExceeded)):
		return fmt.Errorf("the cluster at %s cannot be reached: %w; check the network, and check the cluster's address with kubectl config view --minify", host, rootOf(err))
	}
	return err
}

// rejectedError is the error for credentials that the cluster rejects. It wraps the API server's answer.
type rejectedError struct {
	error
	cause error
}

func (e *rejectedError) Unwrap() error { return e.cause }

// rootOf returns the innermost error of a chain of wrapped errors.
func rootOf(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}

		err = next
	}
}

func missingDefinition(err error) error {
	name := "custom resources of the Spark operator"
	if of, ok := errors.AsType[*resourceError](err); ok {
		name = of.resource
	}
	return fmt.Errorf("the cluster has no CustomResourceDefinition of %s; install the operator's chart with its CustomResourceDefinitions (crds.*), or choose another --context", name)
}

// rightError is the error for a missing right. It contains the command with which the user can check whether the right
// exists.
type rightError struct {
	error
	check terminal.Command
}

// CheckRight returns the command with which the user can check a missing right. It takes the command from an error that
// Explain returned. If this error is not about a missing right, CheckRight returns "".
func CheckRight(err error) terminal.Command {
	if missing, ok := errors.AsType[*rightError](err); ok {
		return missing.check
	}
	return ""
}

func missingRight(err error) error {
	match := forbidden.FindStringSubmatch(err.Error())
	if match == nil {
		return err // an admission webhook, or a quota
	}

	verb, resource, namespace := match[1], match[2], match[4]
	if match[3] != "" {
		resource += "." + match[3]
	}

	where, flag := "in all namespaces", terminal.Command(" -A")
	if namespace != "" {
		where, flag = "in namespace "+namespace, terminal.Commandf(" -n %s", namespace)
	}

	check := terminal.Commandf("kubectl auth can-i %s %s", verb, resource) + flag
	return &rightError{fmt.Errorf("you are not allowed to %s %s %s; ask an administrator for a Role that allows it, and check with: %s", verb, resource, where, check), check}
}
