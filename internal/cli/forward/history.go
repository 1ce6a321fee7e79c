package forward

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	apache "github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	sparkoperator "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// historyVariable is the environment variable with the address of the History Server.
const historyVariable = "SPARK_HISTORY_SERVER"

// These select the pod of the History Server that the operator's chart installs, and its port.
const (
	historyPortName = "http"
	historyPort     = 18080
)

var historyLabels = client.MatchingLabels{"app.kubernetes.io/component": "history-server"}

// showHistory opens the page of an application in the History Server.
func (u *ui) showHistory(cmd *cobra.Command, c *kube.Client, object client.Object) error {
	id, err := u.sparkID(cmd, c, object)
	if err != nil {
		return err
	}

	base := cmp.Or(u.history, os.Getenv(historyVariable))
	switch o := kube.OperatorStatus(object); {
	case base != "" && !kube.IsWebAddress(base):
		return exit.Usagef("--history-server %s is not an address such as http://history.example.com:18080", base)
	case base != "":
		u.announce(object, launch.HistoryPage(base, id), "")
	case o != nil && u.attempt == 0 && kube.IsWebAddress(o.HistoryServerURL):
		u.announce(object, o.HistoryServerURL, "")
	default:
		return u.forwardHistory(cmd, c, object, id)
	}
	return nil
}

// announce prints the address of an application's page, and opens a browser.
func (u *ui) announce(object client.Object, address, suffix string) {
	fmt.Fprintf(u.Out, "%s has ended; its pages in the History Server are at %s%s\n", u.subject(object), address, suffix)

	if o := kube.OperatorStatus(object); (o == nil || o.HistoryServerURL == "") && confOf(object)["spark.eventLog.enabled"] != "true" {
		fmt.Fprintln(u.Err, terminal.Wrap("note: ", "the application does not set spark.eventLog.enabled to true in sparkConf, so the History Server may have no pages for it", u.Width))
	}

	u.browse(address)
}

// subject names what has ended: an application, or one of its attempts.
func (u *ui) subject(object client.Object) string {
	if u.attempt == 0 {
		return kube.Title(object)
	}
	return fmt.Sprintf("attempt %d of %s", u.attempt, kube.Title(object))
}

// forwardHistory forwards a port to the History Server in the cluster.
func (u *ui) forwardHistory(cmd *cobra.Command, c *kube.Client, object client.Object, id string) error {
	advice := "; name a History Server with --history-server or " + historyVariable

	namespace, err := u.historyNamespaceOf(cmd.Context(), c, object)
	if err != nil {
		return err
	}

	var servers corev1.PodList

	err = c.WithWatch.List(cmd.Context(), &servers, client.InNamespace(namespace), historyLabels)
	if err != nil && !apierrors.IsForbidden(err) {
		return c.Explain(err)
	}

	running := slices.DeleteFunc(servers.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil })
	switch {
	case err != nil:
		return exit.Errorf(exit.Cluster, "%s has ended and no longer serves its web UI, and you may not list pods in namespace %s to find a History Server%s", u.subject(object), namespace, advice)
	case len(running) == 0:
		return exit.Errorf(exit.Cluster, "%s has ended and no longer serves its web UI, and no History Server of the operator's chart runs in namespace %s%s",
			u.subject(object), namespace, advice)
	case len(running) > 1:
		return exit.Errorf(exit.Cluster, "%s has ended, and namespace %s has several History Servers: %s and %s, for example%s", u.subject(object), namespace, running[0].Name, running[1].Name, advice)
	}

	pod := &running[0]

	t, err := open(cmd.Context(), c, pod, u.port, kube.PortNamed(pod, historyPort, historyPortName))
	if err != nil {
		return err
	}

	u.announce(object, launch.HistoryPage(fmt.Sprintf("http://127.0.0.1:%d", t.local), id), " (press Ctrl-C to disconnect)")
	return t.wait(cmd.Context(), pod)
}

// historyNamespaceOf returns the namespace of the History Server: the given one, or that of the Helm release that
// installed the definition of the object's kind. A user of any namespace can give a pod the labels of the server, but
// only administrators can change definitions.
func (u *ui) historyNamespaceOf(ctx context.Context, c *kube.Client, object client.Object) (string, error) {
	if u.historyNamespace != "" {
		return u.historyNamespace, nil
	}

	var definition metav1.PartialObjectMetadata

	name := kinds.Of(object).FullName()

	text, err := c.Raw(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name)
	if err == nil {
		err = utiljson.Unmarshal(text, &definition)
	}

	advice := "; name its address with --history-server or " + historyVariable + ", or its namespace with --history-namespace"

	namespace := definition.Annotations["meta.helm.sh/release-namespace"]
	switch {
	case apierrors.IsForbidden(err):
		return "", exit.Errorf(exit.Cluster, "%s has ended and no longer serves its web UI, and you may not get the customresourcedefinition %s, which names the namespace of the History Server%s",
			u.subject(object), name, advice)
	case err != nil:
		return "", c.Explain(err)
	case namespace == "":
		return "", exit.Errorf(exit.Cluster, "%s has ended and no longer serves its web UI, and the namespace of the History Server is unknown, because no Helm release owns the customresourcedefinition %s%s",
			u.subject(object), name, advice)
	}
	return namespace, nil
}

// sparkID returns the id that Spark gave the application in an attempt. The ids of earlier attempts are those that the
// operator chose. If spark-submit created the driver, only the id of the last attempt is known.
func (u *ui) sparkID(cmd *cobra.Command, c *kube.Client, object client.Object) (string, error) {
	s := kube.Summarize(object)
	if u.attempt > s.Attempt {
		return "", exit.Usagef("--attempt %d: %s has had %d attempts", u.attempt, kube.Title(object), s.Attempt)
	}

	isLast := u.attempt == 0 || u.attempt == s.Attempt
	switch app := object.(type) {
	case *v1beta2.SparkApplication:
		if isLast && app.Status.SparkApplicationID != "" {
			return app.Status.SparkApplicationID, nil
		}

		if !isLast {
			return sparkoperator.AppID(lifecycle.AttemptID(string(app.UID), u.attempt)), nil
		}
	case *sparkv1.SparkApplication:
		if s.Attempt > 0 {
			return apache.ID(app, cmp.Or(u.attempt, s.Attempt)), nil
		}
	}

	pods, err := c.Pods(cmd.Context(), object)
	if err != nil {
		return "", err
	}

	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })

	for i := range pods {
		if id := pods[i].Labels[submit.SelectorLabel]; id != "" {
			return id, nil
		}
	}
	return "", exit.Errorf(exit.Cluster, "Spark's id of %s is unknown, because its pods are gone; look for the application's name in the History Server", kube.Title(object))
}

func confOf(object client.Object) map[string]string {
	switch object := object.(type) {
	case *v1beta2.SparkApplication:
		return object.Spec.SparkConf
	case *sparkv1.SparkApplication:
		return object.Spec.SparkConf
	}
	return nil
}
