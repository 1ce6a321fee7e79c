package cluster

import (
	"github.com/sparkoperator/spark-operator/local/internal/pki"
)

// The names of the certificate authorities. etcd and the aggregation layer have their own authorities: a client with a
// certificate for etcd bypasses the API server, and the client certificate of the aggregation layer can impersonate any
// user. The other certificates of the cluster must not give these permissions.
const (
	clusterCA = "ca"
	etcdCA    = "etcd-ca"
	frontCA   = "front-proxy-ca"
)

// superuser is the group whose requests bypass authorization.
const superuser = "system:masters"

// identities returns the certificates of the API server's clients, by name. Each client also has a kubeconfig with this
// name. The Kubernetes components use the users and groups to which the API server binds its built-in roles.
func (s *Spec) identities() map[string]pki.Leaf {
	hosts := []string{"localhost", s.host()}

	users := map[string]pki.Leaf{
		"admin":                   {User: "sparklocal-admin", Groups: []string{superuser}},
		"kube-controller-manager": {User: "system:kube-controller-manager", Hosts: hosts},
		"kube-scheduler":          {User: "system:kube-scheduler", Hosts: hosts},
	}
	if s.Node != nil {
		users["kubelet"] = pki.Leaf{User: "system:node:" + NodeName, Groups: []string{"system:nodes"}, Hosts: append(hosts, NodeName)}
		users["kube-proxy"] = pki.Leaf{User: "system:kube-proxy"}
		users["coredns"] = pki.Leaf{User: dnsUser}
		users["local-path"] = pki.Leaf{User: localPathUser}
	}
	return users
}

// issue creates the missing certificate authorities, and reissues every certificate and kubeconfig. Certificates and
// kubeconfigs contain the cluster's address, which may have changed since the last start.
func (s *Spec) issue() error {
	dir := s.path("pki")

	ca, err := pki.LoadCA(dir, clusterCA)
	if err != nil {
		return err
	}

	for name, leaf := range s.identities() {
		if err := ca.Issue(name, leaf); err != nil {
			return err
		}

		path := s.path("pki", name+".kubeconfig")
		if name == "admin" {
			path = Kubeconfig(s.Dir)
		}

		if err := pki.Kubeconfig(path, s.endpoint(s.Ports.API), dir, clusterCA, name); err != nil {
			return err
		}
	}

	serving := pki.Leaf{User: "kube-apiserver", Hosts: []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"localhost", "127.0.0.1", apiService, s.host(), s.advertised(),
	}}
	if err := ca.Issue("kube-apiserver", serving); err != nil {
		return err
	}

	if err := ca.Issue("kubelet-client", pki.Leaf{User: "kube-apiserver-kubelet-client", Groups: []string{superuser}}); err != nil {
		return err
	}

	if err := s.issueOthers(dir); err != nil {
		return err
	}
	return pki.ServiceAccountKey(dir, "service-accounts")
}

func (s *Spec) issueOthers(dir string) error {
	etcd, err := pki.LoadCA(dir, etcdCA)
	if err != nil {
		return err
	}

	if err := etcd.Issue("etcd", pki.Leaf{User: "etcd", Hosts: []string{"localhost", "127.0.0.1", s.host()}}); err != nil {
		return err
	}

	if err := etcd.Issue("etcd-client", pki.Leaf{User: "kube-apiserver"}); err != nil {
		return err
	}

	front, err := pki.LoadCA(dir, frontCA)
	if err != nil {
		return err
	}
	return front.Issue("front-proxy", pki.Leaf{User: "front-proxy-client"})
}
