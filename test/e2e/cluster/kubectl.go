package cluster

// KubectlLine returns the beginning of a command line that runs kubectl with the administrator's kubeconfig.
func (c *Cluster) KubectlLine() []string {
	name, args := c.kubectl()
	return append([]string{name}, args...)
}
