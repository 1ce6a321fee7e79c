// Command kube contains every Kubernetes program that sparklocal runs, in one binary. The programs share nearly all of
// their code, so the link of one binary takes a sixth of the time and disk space that six binaries would take. Usually
// the binary is called through a symbolic link with the name of a program, and runs that program. Under any other name,
// it runs the program that its first argument names.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"github.com/sparkoperator/spark-operator/local/kube/localpath"
)

// programs maps the name of a program to its main function. A main function finds its name in os.Args[0].
var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          daemon(apiserver.NewAPIServerCommand),
	"kube-controller-manager": daemon(controllers.NewControllerManagerCommand),
	"kube-scheduler":          daemon(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kube-proxy":              daemon(proxy.NewProxyCommand),
	"kubelet":                 daemon(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubectl":                 client,
	"local-path-provisioner":  daemon(localpath.NewCommand),
}

func main() {
	name := filepath.Base(os.Args[0])
	if programs[name] == nil {
		if len(os.Args) < 2 || programs[os.Args[1]] == nil {
			fmt.Fprintf(os.Stderr, "usage: kube PROGRAM [flags]\nprograms: %s\n",
				strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
			os.Exit(2)
		}

		name = os.Args[1]
		os.Args = os.Args[1:]
	}

	programs[name]()
}

func daemon(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

// client runs kubectl. kubectl prints its own errors, so cli.Run must not print them again.
func client() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
