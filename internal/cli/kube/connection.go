package kube

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Flags are kubectl's flags that choose the connection to a cluster.
type Flags struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
	// extra holds pairs KEY=VALUE of the user to impersonate.
	extra []string
}

// AddTo adds the flags to the flags of a command.
func (f *Flags) AddTo(flags *pflag.FlagSet) {
	names := clientcmd.RecommendedConfigOverrideFlags("")
	// Kubernetes has no passwords.
	names.AuthOverrideFlags.Username, names.AuthOverrideFlags.Password = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
	flags.StringVar(&f.kubeconfig, clientcmd.RecommendedConfigPathFlag, "", "Path to the kubeconfig file to use")
	flags.StringArrayVar(&f.extra, "as-user-extra", nil, "Extra attribute KEY=VALUE of the user to impersonate; can be repeated")
}

// config returns a loader for the kubeconfig that the flags choose.
func (f *Flags) config() (clientcmd.ClientConfig, error) {
	overrides := f.overrides
	for _, pair := range f.extra {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, exit.Usagef("--as-user-extra %q: write KEY=VALUE", pair)
		}

		if overrides.AuthInfo.ImpersonateUserExtra == nil {
			overrides.AuthInfo.ImpersonateUserExtra = map[string][]string{}
		}

		overrides.AuthInfo.ImpersonateUserExtra[key] = append(overrides.AuthInfo.ImpersonateUserExtra[key], value)
	}

	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides), nil
}

// Connect returns a client for the cluster that kubectl would use with the same flags. It sends no request. The client
// prints the API server's warnings, such as those of a webhook, to the given output.
func (f *Flags) Connect(warnings io.Writer) (*Client, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}

	rc, err := config.ClientConfig()
	if err != nil {
		return nil, exit.Explain(err, "")
	}

	namespace, _, err := config.Namespace()
	if err != nil {
		return nil, exit.Explain(err, "")
	}

	rc.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})

	c, err := New(rc, namespace)
	if err == nil {
		c.kubeconfig, c.context = f.kubeconfig, f.overrides.CurrentContext
	}
	return c, err
}

// programs matches the programs of a command that reach a cluster.
var programs = regexp.MustCompile(`(^|&& |\| )(kubectl|helm) `)

// Carry returns a command of kubectl and helm with the flags that chose the connection. Without them, a command that
// users paste would reach the cluster of their current context, which may be another one.
func (c *Client) Carry(command terminal.Command) terminal.Command {
	if c == nil {
		return command
	}
	return terminal.Command(programs.ReplaceAllStringFunc(string(command), func(program string) string {
		flag := " --context "
		if strings.HasSuffix(program, "helm ") {
			flag = " --kube-context "
		}

		program = strings.TrimSuffix(program, " ")
		for _, chosen := range [][2]string{{" --kubeconfig ", c.kubeconfig}, {flag, c.context}} {
			if chosen[1] != "" {
				program += chosen[0] + terminal.Quote(chosen[1])
			}
		}
		return program + " "
	}))
}

// HTTP returns the address of the API server, and a client that sends requests with the rights of the user. Both are
// copies.
func (c *Client) HTTP() (*url.URL, *http.Client) {
	found := http.Client{}
	if own, ok := c.core.RESTClient().(*rest.RESTClient); ok && own.Client != nil {
		found = *own.Client
	}
	return c.core.RESTClient().Get().AbsPath("/").URL(), &found
}

// IsWebAddress reports whether a text is an address that a browser may open. An address with a user is none, because it
// may look like one of another host.
func IsWebAddress(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && parsed.Host != "" && parsed.User == nil && (parsed.Scheme == "http" || parsed.Scheme == "https")
}

// PortNamed returns the first port of a pod that has one of the names, or the given default.
func PortNamed(pod *corev1.Pod, otherwise int, names ...string) int {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if slices.Contains(names, port.Name) {
				return int(port.ContainerPort)
			}
		}
	}
	return otherwise
}
