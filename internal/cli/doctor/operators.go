package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/config/peer"
)

// Operator is a Deployment of a Spark operator. This may be this project's operator, or another operator that serves
// the same API groups.
type Operator struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Release is the Helm release; empty if the Deployment does not name one.
	Release string `json:"release,omitempty"`
	Version string `json:"version"`
	Image   string `json:"image"`
	// Groups are the API groups that the operator can serve.
	Groups []string `json:"groups"`
	// Other is set for the operators of other projects.
	Other   bool  `json:"other,omitempty"`
	Wanted  int32 `json:"wantedReplicas"`
	Ready   int32 `json:"readyReplicas"`
	metrics bool
	account string // the service account of its pods
	created metav1.Time
	// examined is set if the findings are about this operator: it serves the user's namespace, or it is in it.
	examined bool
	// disputed are the namespaces that another operator shall serve alone.
	disputed []string
	// config is the operator's configuration; nil if it is unknown.
	config *config.Configuration
}

// operatorLabels selects the Deployments of Spark operators. The first value is the label in this project's chart and
// in the kubeflow operator's chart. The second value is the label in the chart of the operator of the Apache Spark
// project (spark.apache.org).
const operatorLabels = "app.kubernetes.io/name in (spark-operator,spark-kubernetes-operator)"

// ofOperators makes a list request select by operatorLabels.
var ofOperators = &client.ListOptions{Raw: &metav1.ListOptions{LabelSelector: operatorLabels}}

// Operators returns all Spark operators in the cluster. The message of an error says what is wrong and what to do.
func Operators(ctx context.Context, c *kube.Client) ([]Operator, error) {
	var list appsv1.DeploymentList
	if err := c.WithWatch.List(ctx, &list, ofOperators); err != nil {
		return nil, c.Explain(err)
	}

	var found []Operator
	for i := range list.Items {
		if operator, ok := operatorOf(&list.Items[i]); ok {
			found = append(found, operator)
		}
	}
	return found, nil
}

// operatorOf returns the operator that a Deployment runs. The second result is false if the Deployment is another
// component, such as the webhook of the kubeflow operator or the History Server of this chart.
func operatorOf(d *appsv1.Deployment) (Operator, bool) {
	containers := d.Spec.Template.Spec.Containers
	if len(containers) == 0 || slices.Contains([]string{"webhook", "history-server", "console"}, d.Labels["app.kubernetes.io/component"]) {
		return Operator{}, false
	}

	o := Operator{
		Namespace: d.Namespace, Name: d.Name, Release: d.Labels["app.kubernetes.io/instance"], Version: d.Labels["app.kubernetes.io/version"],
		Image: containers[0].Image, Wanted: 1, Ready: d.Status.ReadyReplicas,
		created: d.CreationTimestamp, account: cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default"),
		Groups:  []string{v1beta2.SchemeGroupVersion.Group, sparkv1.GroupVersion.Group},
		metrics: d.Spec.Template.Annotations["prometheus.io/scrape"] == "true",
	}
	if d.Spec.Replicas != nil {
		o.Wanted = *d.Spec.Replicas
	}

	switch {
	case strings.Contains(o.Image, "spark-kubernetes-operator"):
		o.Other, o.Groups = true, o.Groups[1:]
	case strings.Contains(o.Image, "kubeflow/spark-operator"), strings.Contains(o.Image, "gcr.io/spark-operator"),
		strings.Contains(o.Image, "googlecloudplatform/spark-operator"):
		o.Other, o.Groups = true, o.Groups[:1]
		o.config = &config.Configuration{Namespaces: peer.ServedNamespaces(containers[0].Args)}
	}

	if o.Version == "" {
		image, _, _ := strings.Cut(o.Image, "@") // a digest is no version
		_, o.Version, _ = strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
		o.Version = cmp.Or(o.Version, "unknown")
	}
	return o, true
}

// String returns the namespace and the name of the operator's Deployment.
func (o *Operator) String() string { return o.Namespace + "/" + o.Name }
