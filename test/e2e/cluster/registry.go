package cluster

import (
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
)

// HostAddress returns the address of this machine in the network of the embedded cluster. The node and the machine have
// the two addresses of a /30 network.
func (c *Cluster) HostAddress() (netip.Addr, error) {
	server, err := url.Parse(c.Config.Host)
	if err != nil {
		return netip.Addr{}, err
	}

	node, err := netip.ParseAddr(server.Hostname())
	return node.Prev(), err
}

// MirrorRegistry makes the embedded node pull the images of a registry, such as docker.io, from a server.
func (c *Cluster) MirrorRegistry(registry, server string) error {
	dir := filepath.Join(c.state(), "node", "etc", "registries", registry)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "hosts.toml"), fmt.Appendf(nil, "[host.%q]\n", server), 0o644)
}
