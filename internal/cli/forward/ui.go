// Package forward has the verbs of sparkctl that connect this machine to a pod: ui and connect.
package forward

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/podproxy"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// ui holds the flags of the verb ui.
type ui struct {
	terminal.Streams
	port      int
	noBrowser bool
	history   string
	attempt   int32
	// historyNamespace is the namespace in which the History Server runs; empty for that of the operator's release.
	historyNamespace string
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
			"If the application has ended, or with --attempt, the verb opens the application's page in the History Server. Its address is\n" +
			"that of --history-server, or the one in the application's status. Without an address, the verb forwards a port to the\n" +
			"History Server that the operator's chart has installed. It looks only in the namespace of the Helm release that owns the\n" +
			"definition of the application's kind, or in that of --history-namespace, because users could run another server under the\n" +
			"same labels in their own namespaces. This needs the rights to get the customresourcedefinition, unless the flag is given, and\n" +
			"to list pods in the namespace.",
		Example: "  sparkctl ui spark-pi\n" +
			"  sparkctl ui spark-pi --port 8080 --no-browser\n" +
			"  sparkctl ui spark-pi --attempt 1\n" +
			"  sparkctl ui spark-pi --history-server http://history.example.com:18080",
	}
	flags := cmd.Flags()
	flags.IntVar(&u.port, "port", 0, "`port` of this machine; by default that of the UI, or a free one")
	flags.BoolVar(&u.noBrowser, "no-browser", false, "print the address, and open no browser")
	flags.StringVar(&u.history, "history-server", "", "`address` of the History Server for applications that have ended; default $"+historyVariable)
	flags.StringVar(&u.historyNamespace, "history-namespace", "", "`namespace` of the History Server in the cluster; default: that of the operator's Helm release")
	flags.Int32Var(&u.attempt, "attempt", 0, "`number` of an attempt that the History Server shows; default: the last")
	return selection.One(cmd, u.Err, u.show, "app", "connect", "apache-app", "cluster")
}

func (u *ui) show(cmd *cobra.Command, c *kube.Client, object client.Object) error {
	ctx := cmd.Context()

	if _, ok := object.(*v1beta2.ScheduledSparkApplication); ok {
		return exit.Errorf(exit.Usage, "%s is a schedule and has no web UI; %s shows its runs", kube.Title(object), terminal.Hint("list -n %s", object.GetNamespace()))
	}

	if s := kube.Summarize(object); s.Over() || u.attempt > 0 {
		return u.showHistory(cmd, c, object)
	}

	pod, err := c.MainPod(ctx, object)
	if err != nil {
		return err
	}

	t, err := open(ctx, c, pod, u.port, podproxy.UIPort(pod))
	if err != nil {
		return err
	}

	address := fmt.Sprintf("http://127.0.0.1:%d/", t.local)
	fmt.Fprintf(u.Out, "the web UI of %s is at %s (press Ctrl-C to disconnect)\n", kube.Title(object), address)
	u.browse(address)
	return t.wait(ctx, pod)
}

// browse opens an address in a browser, if the output goes to a terminal. If the browser cannot be started, browse
// only prints a note, because the address is printed anyway.
func (u *ui) browse(address string) {
	if u.noBrowser || u.Width == 0 {
		return
	}

	if err := OpenBrowser(address); err != nil {
		fmt.Fprintln(u.Err, terminal.Wrap("note: ", "no browser could be started ("+strings.TrimSpace(err.Error())+"); open the address yourself", u.Width))
	}
}
