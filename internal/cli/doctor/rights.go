package doctor

import (
	"context"
	"strings"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// right is a row of a table of rights. The resources and verbs are separated by blanks.
type right struct{ group, resources, verbs string }

// listPods is the right without which an operator does not serve a namespace.
var listPods = []right{{"", "pods", "list"}}

// driverRights are the rights that the chart gives to drivers. Spark needs all of them and no others.
var driverRights = []right{
	{"", "pods", "get list watch create patch delete deletecollection"},
	{"", "configmaps", "create deletecollection"},
	{"", "services", "deletecollection"},
	{"", "persistentvolumeclaims", "list create deletecollection"},
}

// isOn returns the value of a switch whose default is true.
func isOn(value *bool) bool { return value == nil || *value }

// kindRights describes, in the order of kinds.All, which of the chart's values lets an operator serve a kind, and
// which rights it then needs beside those to read the custom resources and to write their status.
var kindRights = []struct {
	value  string
	served func(*config.Configuration) bool
	rights []right
}{
	{"controller.sparkOperator.enable", func(c *config.Configuration) bool { return isOn(c.SparkOperator.Enabled) }, []right{{sparkGroup, "sparkapplications", "delete"}}},
	{"controller.scheduledApplications.enable", func(c *config.Configuration) bool { return isOn(c.ScheduledApplications.Enabled) }, []right{{sparkGroup, "sparkapplications", "create"}}},
	{"controller.connect.enable", func(c *config.Configuration) bool { return isOn(c.Connect.Enabled) }, nil},
	{"controller.apache.enable", func(c *config.Configuration) bool { return isOn(c.Apache.Enabled) }, []right{{apacheGroup, "sparkapplications", "patch delete"}}},
	{"controller.apache.clusters.enable", func(c *config.Configuration) bool { return isOn(c.Apache.Clusters.Enabled) },
		[]right{
			{"apps", "statefulsets", "get list watch create patch delete"}, {"autoscaling", "horizontalpodautoscalers", "get list watch create patch delete"},
			{apacheGroup, "sparkclusters", "patch"}, {"", "configmaps", "patch"},
		}},
}

// The API groups of the custom resources.
var (
	sparkGroup  = v1beta2.SchemeGroupVersion.Group
	apacheGroup = sparkv1.GroupVersion.Group
)

// switchedOff returns the chart's value that switches a kind off in a configuration; empty if the kind is served.
func switchedOff(c *config.Configuration, kind *kinds.Kind) string {
	for i, k := range kinds.All {
		first := i == 0 || kinds.All[i-1].Group != k.Group // has the switch of its group
		if k.Group == kind.Group && (first || k.Name == kind.Name) && !kindRights[i].served(c) {
			return kindRights[i].value
		}
	}
	return ""
}

// operatorRights returns the rights that an operator needs in a namespace; TestOperatorRights reads the chart's.
func operatorRights(c *config.Configuration) []right {
	rights := []right{
		{"", "pods configmaps", "get list watch create delete"}, {"", "services", "get list watch create patch delete"}, {"", "events", "get list create patch"},
		{"networking.k8s.io", "networkpolicies", "get list watch create patch delete"}, {"policy", "poddisruptionbudgets", "get list watch create patch delete"},
		{"authorization.k8s.io", "localsubjectaccessreviews", "create"}, {"", "serviceaccounts", "get"},
	}
	for i, k := range kinds.All {
		if switchedOff(c, k) == "" {
			rights = append(append(rights, right{k.Group, k.Resource, "get list watch"}, right{k.Group, k.Resource + "/status", "patch"}), kindRights[i].rights...)
		}
	}

	if c.Submission.Mode != config.SubmissionNative {
		rights = append(rights, right{"", "secrets", "create deletecollection"})
	}

	if len(c.Logs) > 0 {
		rights = append(rights, right{"", "pods/log", "get"}, right{"", "configmaps", keptlogs.ConfigMapVerbs(c.Logs)})
	}
	return rights
}

// missingRights returns the rights that an account lacks in a namespace, as texts such as "create, patch pods".
func missingRights(ctx context.Context, c *kube.Client, a kube.Account, namespace string, rights []right) (missing []string, err error) {
	for _, right := range rights {
		for resource := range strings.FieldsSeq(right.resources) {
			var lost []string
			for verb := range strings.FieldsSeq(right.verbs) {
				allowed, err := c.Allows(ctx, a, namespace, verb, right.group, resource)
				if err != nil {
					return nil, err
				}

				if !allowed {
					lost = append(lost, verb)
				}
			}

			if len(lost) > 0 {
				missing = append(missing, strings.Join(lost, ", ")+" "+strings.TrimSuffix(resource+"."+right.group, "."))
			}
		}
	}
	return missing, nil
}
