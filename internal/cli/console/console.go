// Package console has the verb console of sparkctl, which serves the web console.
package console

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/forward"
	"github.com/sparkoperator/spark-operator/internal/cli/kept"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/stage"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/console"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// verb has the flags of the verb.
type verb struct {
	terminal.Streams
	port       int
	noBrowser  bool
	namespaces []string
	config     string
	operator   string
}

// Command returns the command sparkctl console.
func Command(streams terminal.Streams) *cobra.Command {
	v := &verb{Streams: streams}
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve the web console, and open it in a browser",
		Long: "Serves a web console on this machine until Ctrl-C: one live table of all applications, schedules, Connect servers and\n" +
			"clusters, and a page for each of them. It acts with your rights, and needs nothing in the cluster.\n\n" +
			"The printed address works once, for ten minutes; each Enter in a terminal prints another one. Only this machine can\n" +
			"connect.\n\n" +
			"Without the right to list namespaces, the console looks in the namespace of the kubeconfig and in those of --namespaces.\n" +
			"Explanations follow from the configuration of the cluster's operator if you may read it, or else from the defaults.\n\n" +
			"With --config, it serves a team, as the chart's console.enable deploys it (docs/console.md).",
		Example: "  sparkctl console\n" +
			"  sparkctl console --port 8090 --no-browser\n" +
			"  sparkctl console --namespaces team-a,team-b",
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.IntVar(&v.port, "port", 0, "`port` of this machine; by default a free one")
	flags.BoolVar(&v.noBrowser, "no-browser", false, "print the address, and open no browser")
	flags.StringSliceVar(&v.namespaces, "namespaces", nil, "`names` of namespaces to look in, in addition to those that you may list")
	flags.StringVar(&v.operator, "operator-config", "", "the operator's configuration `file`; by default that of the cluster's operator")
	flags.StringVar(&v.config, "config", "", "configuration `file` of a console for a team")

	connect := selection.Connection(flags, streams.Err)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if v.config != "" {
			return v.serveTeam(cmd.Context())
		}

		c, err := connect()
		if err != nil {
			return err
		}
		return v.serve(cmd.Context(), c)
	}
	return cmd
}

// serveTeam serves a console for a team, in a pod.
func (v *verb) serveTeam(ctx context.Context) error {
	config, err := console.LoadConfig(v.config)
	if err != nil {
		return exit.With(exit.Invalid, err)
	}

	fmt.Fprintf(v.Out, "the console serves at %s\n", config.Listen)
	return console.Serve(ctx, config)
}

// serve serves the console on this machine.
func (v *verb) serve(ctx context.Context, c *kube.Client) error {
	if v.operator != "" {
		if _, err := config.Load(v.operator); err != nil {
			return exit.With(exit.Invalid, err)
		}
	}

	// Requests open stores while others run, so the clients of stores are silent until the process ends.
	_ = stage.Quiet()

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(v.port)))
	if err != nil {
		return exit.Errorf(exit.Usage, "unable to listen on port %d of this machine; choose another port with --port: %w", v.port, err)
	}

	_, port, _ := net.SplitHostPort(listener.Addr().String()) // an address of a listener has a port
	host := hostOf(ctx) + ":" + port

	sessions := session.New(session.Options{
		// Without a name of its own, the console shares its cookies with all ports, so the cookie's name has the port.
		Cookie: "sparkctl-console-" + port, Idle: 12 * time.Hour, Lifetime: 7 * 24 * time.Hour, Local: session.Local(ctx, c),
	})
	handler := console.New(ctx, console.Options{
		Sessions: sessions, Hosts: []string{host, "127.0.0.1:" + port, "localhost:" + port}, Cluster: clusterOf(c), Namespaces: v.namespaces,
		Store: os.Getenv(kept.StoreVariable), Operator: func(ctx context.Context) (config.Configuration, error) { return v.settings(ctx, c) },
	})

	address := func() string { return "http://" + host + "/open?token=" + url.QueryEscape(sessions.Ticket()) }
	defer v.announce(ctx, address)()

	server := console.NewServer(ctx, handler)
	return console.Run(ctx, server, func() error { return server.Serve(listener) })
}

// hostOf returns the host name in the console's address. A browser sends the cookies of 127.0.0.1 to each port of this
// machine, and so to programs of other users. Nobody else knows a random name. Names below localhost lead to this
// machine (RFC 6761) in Chromium, Firefox and Edge; Safari leaves them to the system, which may not know them.
func hostOf(ctx context.Context) string {
	name := "console-" + strings.ToLower(rand.Text()) + ".localhost"
	if runtime.GOOS != "darwin" {
		return name
	}

	found, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil || !slices.Contains(found, "127.0.0.1") {
		return "127.0.0.1"
	}
	return name
}

// settings returns the operator's configuration: from the file of the flag, or from the cluster. A user who may not
// read the latter, or whose cluster has several operators, gets the defaults.
func (v *verb) settings(ctx context.Context, c *kube.Client) (config.Configuration, error) {
	if v.operator != "" {
		return config.Load(v.operator)
	}

	operators, err := doctor.Operators(ctx, c)
	operators = slices.DeleteFunc(operators, func(o doctor.Operator) bool { return o.Other })

	if err != nil || len(operators) != 1 {
		return config.Default(), nil //nolint:nilerr // the pages show an outage themselves
	}

	found, err := operators[0].Configuration(ctx, c)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return config.Default(), nil
	}
	return found, c.Explain(err)
}

// announce prints an address that signs in, and opens it in a browser if the output goes to a terminal. After each line
// that the user enters there, it prints another address. The caller calls the result when the console ends.
func (v *verb) announce(ctx context.Context, address func() string) (end func()) {
	first := address()
	end = func() {}

	fmt.Fprintf(v.Out, "the console is at %s (press Ctrl-C to stop)\n", first)

	if v.Width == 0 {
		return end
	}

	if !v.noBrowser {
		var err error
		if end, err = forward.OpenSecret(address()); err != nil {
			fmt.Fprintln(v.Err, terminal.Wrap("note: ", "no browser could be started ("+strings.TrimSpace(err.Error())+"); open the address yourself", v.Width))
		}
	}

	go func() {
		for lines := bufio.NewScanner(v.In); ctx.Err() == nil && lines.Scan(); {
			fmt.Fprintln(v.Out, address())
		}
	}()
	return end
}

// clusterOf returns the address of the API server, as the name of the cluster.
func clusterOf(c *kube.Client) string {
	parsed, err := url.Parse(c.Config().Host)
	if err != nil {
		return ""
	}
	return cmp.Or(parsed.Host, parsed.Path)
}
