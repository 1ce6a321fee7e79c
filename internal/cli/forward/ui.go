// Package forward has the verbs of sparkctl that connect this machine to a pod: ui and connect.
package forward

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// historyVariable is the environment variable with the address of the History Server.
const historyVariable = "SPARK_HISTORY_SERVER"

// defaultUIPort is the port of Spark's web UI if the pod does not name one.
const defaultUIPort = 4040

// ui holds the flags of the verb ui.
type ui struct {
	terminal.Streams
	port      int
	noBrowser bool
	history   string
}

// Commands returns the verbs ui and connect.
func Commands(streams terminal.Streams) []*cobra.Command {
	return []*cobra.Command{uiCommand(streams), connectCommand(streams)}
}

func uiCommand(streams terminal.Streams) *cobra.Command {
	u := &ui{Streams: streams}
	cmd := &cobra.Command{
		Use:   "ui NAME|KIND/NAME",
		Short: "Open Spark's web UI in a browser",
		Long: "Forwards a port of this machine to the web UI of a driver, a Connect server or a master, and opens a browser if the output\n" +
			"goes to a terminal. The connection lasts until Ctrl-C, and needs the right to create pods/portforward.\n\n" +
			"If the application has ended, the verb opens the History Server of --history-server, which shows applications whose\n" +
			"sparkConf has spark.eventLog.enabled.",
		Example: "  sparkctl ui spark-pi\n" +
			"  sparkctl ui spark-pi --port 8080 --no-browser\n" +
			"  sparkctl ui spark-pi --history-server http://history.example.com:18080",
		Args: cobra.ExactArgs(1),
	}
	connect := selection.Connection(cmd.Flags(), u.Err)
	cmd.ValidArgsFunction = selection.CompleteNames(connect, "app", "connect", "apache-app", "cluster")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, object, err := selection.Named(cmd, connect, args)
		if err != nil {
			return err
		}
		return u.show(cmd, c, object)
	}
	flags := cmd.Flags()
	flags.IntVar(&u.port, "port", 0, "`port` of this machine; by default that of the UI, or a free one")
	flags.BoolVar(&u.noBrowser, "no-browser", false, "print the address, and open no browser")
	flags.StringVar(&u.history, "history-server", "", "`address` of the History Server for applications that have ended; default $"+historyVariable)
	return cmd
}

func (u *ui) show(cmd *cobra.Command, c *kube.Client, object client.Object) error {
	ctx := cmd.Context()

	if _, ok := object.(*v1beta2.ScheduledSparkApplication); ok {
		return exit.Errorf(exit.Usage, "%s is a schedule and has no web UI; %s shows its runs", screen.Title(object), terminal.Hint("list -n %s", object.GetNamespace()))
	}

	if s := kube.Summarize(object); s.Over() {
		return u.showHistory(cmd, c, object)
	}

	pod, err := c.MainPod(ctx, object)
	if err != nil {
		return err
	}

	t, err := open(ctx, c, pod, u.port, portNamed(pod, defaultUIPort, uiPortNames...))
	if err != nil {
		return err
	}

	address := fmt.Sprintf("http://127.0.0.1:%d/", t.local)
	fmt.Fprintf(u.Out, "the web UI of %s is at %s (press Ctrl-C to disconnect)\n", screen.Title(object), address)
	u.browse(address)
	return t.wait(ctx, pod)
}

// uiPortNames are the names of the web UI's port: in drivers, in Connect servers, and in masters.
var uiPortNames = []string{"spark-ui", "web-ui", "web"}

// portNamed returns the first port of a pod that has one of the names, or the given default.
func portNamed(pod *corev1.Pod, otherwise int, names ...string) int {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if slices.Contains(names, port.Name) {
				return int(port.ContainerPort)
			}
		}
	}
	return otherwise
}

// showHistory handles an application that has ended: it opens the application's page in the History Server.
func (u *ui) showHistory(cmd *cobra.Command, c *kube.Client, object client.Object) error {
	base := cmp.Or(u.history, os.Getenv(historyVariable))
	if base == "" {
		return exit.Errorf(exit.Cluster, "%s has ended and no longer serves its web UI; name a History Server with --history-server or %s", screen.Title(object), historyVariable)
	}

	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" {
		return exit.Usagef("--history-server %s is not an address such as http://history.example.com:18080", base)
	}

	id, err := u.sparkID(cmd, c, object)
	if err != nil {
		return err
	}

	address := parsed.JoinPath("history", id).String() + "/"
	fmt.Fprintf(u.Out, "%s has ended; its pages in the History Server are at %s\n", screen.Title(object), address)

	if confOf(object)["spark.eventLog.enabled"] != "true" {
		fmt.Fprintln(u.Err, terminal.Wrap("note: ", "the application does not set spark.eventLog.enabled to true in sparkConf, so the History Server may have no pages for it", u.Width))
	}

	u.browse(address)
	return nil
}

// sparkID returns the id that Spark gave the application in its last attempt.
func (u *ui) sparkID(cmd *cobra.Command, c *kube.Client, object client.Object) (string, error) {
	if app, ok := object.(*v1beta2.SparkApplication); ok && app.Status.SparkApplicationID != "" {
		return app.Status.SparkApplicationID, nil
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
	return "", exit.Errorf(exit.Cluster, "Spark's id of %s is unknown, because its pods are gone; look for the application's name in the History Server", screen.Title(object))
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

// browse opens an address in a browser, if the output goes to a terminal. If the browser cannot be started, browse
// only prints a note, because the address is printed anyway.
func (u *ui) browse(address string) {
	if u.noBrowser || u.Width == 0 {
		return
	}

	if err := openBrowser(address); err != nil {
		fmt.Fprintln(u.Err, terminal.Wrap("note: ", "no browser could be started ("+strings.TrimSpace(err.Error())+"); open the address yourself", u.Width))
	}
}
