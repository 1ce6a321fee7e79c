package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/sparkoperator/spark-operator/local/internal/kubeapi"
	"github.com/sparkoperator/spark-operator/local/internal/pki"
	"github.com/sparkoperator/spark-operator/local/internal/supervise"
)

// issuer is the issuer of service-account tokens. It is also the default audience of these tokens.
const issuer = "https://kubernetes.default.svc.cluster.local"

// environment returns the whole environment of a component. GOGC is its only variable that comes from the user's
// environment. Other variables, such as proxy settings, would redirect calls within the cluster.
func (s *Spec) environment() []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + s.Dir, "LANG=C.UTF-8"}
	if percent, ok := os.LookupEnv("GOGC"); ok {
		env = append(env, "GOGC="+percent)
	}
	return env
}

// kube returns a component that runs one of the programs in the Kubernetes binary.
func (s *Spec) kube(name string, ready func(context.Context) error, args ...string) supervise.Component {
	return supervise.Component{Name: name, Path: s.Kube, Args: args, Env: s.environment(), Ready: ready}
}

// health returns a health check that requests an HTTPS path on a port of the control plane or node. The last two
// arguments are the names of the only certificate authority that the check trusts, and of the client certificate that
// it presents. The certificates must have been issued before the call, because health reads their files.
func (s *Spec) health(port int, path, ca, cert string) (func(context.Context) error, error) {
	config, err := pki.ClientConfig(s.path("pki"), ca, cert)
	if err != nil {
		return nil, err
	}

	client := kubeapi.New(s.endpoint(port), config)
	return func(ctx context.Context) error { return client.Get(ctx, path, nil) }, nil
}

func (s *Spec) etcd() (supervise.Component, error) {
	client, peer := s.endpoint(s.Ports.Etcd), s.endpoint(s.Ports.EtcdPeer)
	ready, err := s.health(s.Ports.Etcd, "/health", etcdCA, "etcd-client")
	return s.kube("etcd", ready,
		"--name=default",
		"--data-dir="+s.path("etcd"),
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--client-cert-auth=true", "--trusted-ca-file="+s.pki(etcdCA+".crt"),
		"--cert-file="+s.pki("etcd.crt"), "--key-file="+s.pki("etcd.key"),
		"--peer-client-cert-auth=true", "--peer-trusted-ca-file="+s.pki(etcdCA+".crt"),
		"--peer-cert-file="+s.pki("etcd.crt"), "--peer-key-file="+s.pki("etcd.key"),
		// etcd's data is discarded after a reboot, so etcd need not flush it to disk. If only the process is killed, no
		// data is lost.
		"--unsafe-no-fsync=true",
		"--quota-backend-bytes=4294967296", "--auto-compaction-retention=10m",
		"--log-level=warn",
	), err
}

func (s *Spec) apiserver() (supervise.Component, error) {
	bind := s.host()
	if s.Node != nil {
		bind = "0.0.0.0"
	}

	args := []string{
		"--etcd-servers=" + s.endpoint(s.Ports.Etcd), "--etcd-cafile=" + s.pki(etcdCA+".crt"),
		"--etcd-certfile=" + s.pki("etcd-client.crt"), "--etcd-keyfile=" + s.pki("etcd-client.key"),
		"--bind-address=" + bind, "--secure-port=" + strconv.Itoa(s.Ports.API), "--advertise-address=" + s.advertised(),
		"--tls-cert-file=" + s.pki("kube-apiserver.crt"), "--tls-private-key-file=" + s.pki("kube-apiserver.key"),
		"--client-ca-file=" + s.pki(clusterCA+".crt"),
		"--kubelet-certificate-authority=" + s.pki(clusterCA+".crt"),
		"--kubelet-client-certificate=" + s.pki("kubelet-client.crt"), "--kubelet-client-key=" + s.pki("kubelet-client.key"),
		// The API server cannot resolve the node's name, so logs and exec must use the node's address.
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-key-file=" + s.pki("service-accounts.pub"),
		"--service-account-signing-key-file=" + s.pki("service-accounts.key"),
		"--service-account-issuer=" + issuer,
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		// Many clusters enable OwnerReferencesPermissionEnforcement, which requires an extra permission to create
		// objects with owner references. Without the plugin, a missing permission would go unnoticed in tests.
		"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
		"--allow-privileged=true",
		// A control plane without a node has no kube-proxy, so the API server cannot use the addresses of Services. It
		// therefore sends requests to a webhook directly to the pods of the webhook's Service.
		"--enable-aggregator-routing=true",
		"--requestheader-client-ca-file=" + s.pki(frontCA+".crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + s.pki("front-proxy.crt"), "--proxy-client-key-file=" + s.pki("front-proxy.key"),
		"--profiling=false",
	}
	if s.Node == nil {
		// The API server rejects a loopback address as an endpoint, and no pod would use the endpoint.
		args = append(args, "--endpoint-reconciler-type=none")
	}

	if s.Audit {
		args = append(args, "--audit-policy-file="+s.path("audit-policy.yaml"), "--audit-log-path="+s.path("audit.log"),
			// The audit log is read as one file, so it must not be rotated.
			"--audit-log-maxsize=4096")
	}

	ready, err := s.health(s.Ports.API, "/readyz", clusterCA, "admin")
	return s.kube("kube-apiserver", ready, args...), err
}

// auditPolicy logs the metadata of each request when its response is complete. A line contains the times of the request
// and the response in microseconds.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// auditPolicyBodies logs the metadata of each request, and also the bodies of writes by clients that are not Kubernetes
// components. It omits the bodies of Secrets, tokens and authentication requests.
const auditPolicyBodies = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]
- level: Metadata
  userGroups: ["system:nodes", "system:serviceaccounts:kube-system"]
- level: Metadata
  resources:
  - resources: ["secrets", "serviceaccounts/token"]
  - group: authentication.k8s.io
- level: Request
  verbs: [create, update, patch, delete, deletecollection]
- level: Metadata
`

// controllerFlags returns the flags that are the same for the controller manager and the scheduler.
func (s *Spec) controllerFlags(name string, port int) []string {
	config := s.pki(name + ".kubeconfig")
	return []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=" + s.host(), "--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + s.pki(name+".crt"), "--tls-private-key-file=" + s.pki(name+".key"),
		"--leader-elect=false", "--profiling=false",
		// The limits of the client are high, because each component has one instance, and the API server's priority and
		// fairness limits its requests.
		"--kube-api-qps=1000", "--kube-api-burst=2000",
	}
}

func (s *Spec) controllerManager() (supervise.Component, error) {
	const name = "kube-controller-manager"
	ready, err := s.health(s.Ports.Controllers, "/healthz", clusterCA, "admin")
	return s.kube(name, ready, append(s.controllerFlags(name, s.Ports.Controllers),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+s.pki("service-accounts.key"),
		"--root-ca-file="+s.pki(clusterCA+".crt"),
		"--cluster-signing-cert-file="+s.pki(clusterCA+".crt"), "--cluster-signing-key-file="+s.pki(clusterCA+".key"),
	)...), err
}

func (s *Spec) scheduler() (supervise.Component, error) {
	const name = "kube-scheduler"
	ready, err := s.health(s.Ports.Scheduler, "/healthz", clusterCA, "admin")
	return s.kube(name, ready, s.controllerFlags(name, s.Ports.Scheduler)...), err
}

// writeControlPlaneFiles writes the audit policy, if auditing is on.
func (s *Spec) writeControlPlaneFiles() error {
	if !s.Audit {
		return nil
	}

	policy := auditPolicy
	if s.AuditBodies {
		policy = auditPolicyBodies
	}

	if err := os.WriteFile(s.path("audit-policy.yaml"), []byte(policy), 0o644); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	return nil
}

// Admin returns a client with administrator permissions.
func (s *Spec) Admin() (*kubeapi.Client, error) {
	config, err := pki.ClientConfig(s.path("pki"), clusterCA, "admin")
	if err != nil {
		return nil, err
	}
	return kubeapi.New(s.endpoint(s.Ports.API), config), nil
}

// listening returns a health check for a socket that does not serve HTTP.
func listening(network, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		var dialer net.Dialer

		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
}
