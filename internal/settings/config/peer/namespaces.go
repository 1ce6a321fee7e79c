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
// serves all. An empty name beside others means all namespaces, whatever their labels.
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

	switch empty := slices.Contains(names, ""); {
	case empty && len(names) > 1:
		served.Selector = ""
	case !empty:
		served.Names = names
	}
	return served
}
