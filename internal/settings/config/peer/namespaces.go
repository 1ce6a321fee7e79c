package peer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// namespaceFlag matches the flags of the kubeflow operator that select the served namespaces.
var namespaceFlag = regexp.MustCompile(`^--?namespace(s|-selector|)="?([^"]*)"?$`)

// ServedNamespaces returns the namespaces that a kubeflow operator with the given arguments serves. Without flags, it
// serves all.
func ServedNamespaces(arguments []string) (served config.Namespaces) {
	var names []string

	for _, argument := range arguments {
		switch match := namespaceFlag.FindStringSubmatch(argument); {
		case match == nil:
		case match[1] == "-selector":
			served.Selector = match[2]
		default:
			names = strings.Split(match[2], ",")
		}
	}

	var anyLabels bool
	if served.Names, anyLabels = named(names, ""); anyLabels {
		served.Selector = ""
	}
	return served
}

// named returns the names of the served namespaces; none for all. The empty name, which the kubeflow chart passes for
// an empty list, means all namespaces. If it stands beside others, they are served whatever their labels.
func named[T comparable](names []T, empty T) (kept []T, anyLabels bool) {
	if slices.Contains(names, empty) {
		return nil, len(names) > 1
	}
	return names, false
}
