// Command coredns is CoreDNS with the four plugins that a cluster's DNS needs. sparklocal runs it beside the node. It
// has its own module because CoreDNS and Kubernetes pin different versions of the same libraries.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// The order of the directives is the order in which the plugins handle a request. The order in the Corefile has no
// effect.
func init() {
	dnsserver.Directives = []string{"bind", "ready", "errors", "kubernetes"}
}

func main() {
	coremain.Run()
}
