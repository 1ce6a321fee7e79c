package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// Resources that scenarios create or wait for.
var (
	applications = schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"}
	apacheApps   = schema.GroupVersionResource{Group: "spark.apache.org", Version: "v1", Resource: "sparkapplications"}
	scheduled    = applications.GroupVersion().WithResource("scheduledsparkapplications")
	pods         = corev1.SchemeGroupVersion.WithResource("pods")
	services     = corev1.SchemeGroupVersion.WithResource("services")
	configMaps   = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// Binaries holds the programs that a scenario runs.
type Binaries struct {
	// Root is the repository. It contains the custom resource definitions and the sources of the binaries.
	Root string
	// Operator and Local are the paths of the binaries spark-operator and sparklocal. If a path is empty, Build
	// compiles the binary.
	Operator, Local string
}

// Build compiles the missing binaries into dir.
func (b *Binaries) Build(ctx context.Context, dir string) error {
	for _, binary := range []struct {
		into              *string
		name, module, pkg string
	}{{&b.Local, "sparklocal", "local", "./cmd/sparklocal"}, {&b.Operator, "spark-operator", "", "./cmd/spark-operator"}} {
		if *binary.into != "" {
			continue
		}

		*binary.into = filepath.Join(dir, binary.name)
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "grpcnotrace,disable_grpc_modules", "-o", *binary.into, binary.pkg)

		cmd.Dir, cmd.Env = filepath.Join(b.Root, binary.module), append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", binary.pkg, err, text)
		}
	}
	return nil
}

// controlPlane is a control plane on loopback. Its clients have no rate limit.
type controlPlane struct {
	Binaries
	config *rest.Config
	core   kubernetes.Interface // protobuf
	dyn    dynamic.Interface
	meta   metadata.Interface
	dir    string // holds all files of the control plane; stopControlPlane removes it
}

// startControlPlane starts a control plane (etcd, API server, controller manager, scheduler) and installs the custom
// resource definitions. The audit log of this control plane includes the bodies of requests.
func (r *rig) startControlPlane(out io.Writer) {
	r.dir = must(os.MkdirTemp("", "spark-bench-"))
	cmd := exec.CommandContext(r.ctx, r.Local, "up", "--control-plane-only", "--scheduler", "--audit", "--audit-bodies",
		"--dir", r.dir, "--owner-pid", strconv.Itoa(os.Getpid()))
	cmd.Stdout, cmd.Stderr = out, out
	check(cmd.Run())

	r.config = must(clientcmd.BuildConfigFromFlags("", r.kubeconfig()))
	r.config.QPS = -1
	r.core, r.dyn = r.clients("spark-bench")
	r.meta = must(metadata.NewForConfig(r.config))
	r.install()
}

// stopControlPlane ends the control plane and removes its directory.
func (r *rig) stopControlPlane() error {
	text, err := exec.Command(r.Local, "down", "--dir", r.dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("stop the control plane: %w\n%s", err, text)
	}
	return os.RemoveAll(r.dir)
}

func (r *rig) kubeconfig() string { return filepath.Join(r.dir, "kubeconfig") }

// clients returns clients with their own connections and a user agent that identifies them in the audit log.
func (r *rig) clients(agent string) (kubernetes.Interface, dynamic.Interface) {
	config := rest.CopyConfig(r.config)
	config.UserAgent = agent
	// Clients with equal configurations share connections.
	config.Dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	dyn := must(dynamic.NewForConfig(config))
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	return must(kubernetes.NewForConfig(config)), dyn
}

// namespaces creates namespaces in which drivers have the rights that Spark needs, and waits until pods are admitted.
func (r *rig) namespaces(names ...string) {
	for _, name := range names {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := r.core.CoreV1().Namespaces().Create(r.ctx, ns, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			check(err)
		}

		_, err := r.core.RbacV1().RoleBindings(name).Create(r.ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "edit"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: name}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		}, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			check(err)
		}

		r.waitFor("the service account of "+name, func() bool {
			_, err := r.core.CoreV1().ServiceAccounts(name).Get(r.ctx, "default", metav1.GetOptions{})
			return found(err)
		})
	}
}

// found reports whether a read found its object. It returns false if err is NotFound, and ends the scenario at any
// other error.
func found(err error) bool {
	if !apierrors.IsNotFound(err) {
		check(err)
	}
	return err == nil
}

// waitEmpty waits until a namespace has no applications and none of their objects.
func (r *rig) waitEmpty(namespace string) {
	for _, resource := range []schema.GroupVersionResource{applications, pods, services, configMaps} {
		r.waitFor("the end of "+resource.Resource+" in "+namespace, func() bool {
			list := must(r.meta.Resource(resource).Namespace(namespace).List(r.ctx, metav1.ListOptions{Limit: 2})).Items
			return len(list) == 0 || len(list) == 1 && list[0].Name == "kube-root-ca.crt" // exists in each namespace
		})
	}
}

// install creates the custom resource definitions, and waits until the API server accepts a SparkApplication. The wait
// keeps the 2 s by which the API server delays the first writes of a new kind out of the measurements.
func (r *rig) install() {
	definitions := r.dyn.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, file := range must(filepath.Glob(filepath.Join(r.Root, "config/crd/*.yaml"))) {
		var crd unstructured.Unstructured
		check(yaml.Unmarshal(must(os.ReadFile(file)), &crd.Object))
		must(definitions.Create(r.ctx, &crd, metav1.CreateOptions{}))
	}

	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	r.waitFor("the definitions", func() bool {
		_, err := r.dyn.Resource(applications).Namespace("default").Create(r.ctx, application("try", "default"), dry)
		return found(err)
	})
}

// waitFor polls until done returns true. If the scenario's time limit ends first, waitFor ends the scenario with an
// error that contains the text condition.
func (r *rig) waitFor(condition string, done func() bool) {
	for !done() {
		if r.ctx.Err() != nil {
			check(fmt.Errorf("wait for %s: %w", condition, context.Cause(r.ctx)))
		}

		time.Sleep(20 * time.Millisecond)
	}
}

// pause waits for a duration. If the context ends first, pause returns the cause of the context's end.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// forEach calls f for 0 to n-1 from many goroutines, until the first error.
func (r *rig) forEach(n int, f func(ctx context.Context, i int) error) {
	group, ctx := errgroup.WithContext(r.ctx)
	group.SetLimit(senders)

	for i := 0; i < n && ctx.Err() == nil; i++ {
		group.Go(func() error { return f(ctx, i) })
	}

	check(group.Wait(), context.Cause(r.ctx))
}

// components returns the CPU time that each process of the control plane has used, by name. The result also contains
// the CPU time of the bench itself.
func (r *rig) components() map[string]time.Duration {
	var state struct {
		Components []struct {
			Name string
			PID  int
		}
	}
	check(json.Unmarshal(must(os.ReadFile(filepath.Join(r.dir, "state.json"))), &state))

	all := map[string]time.Duration{"the bench": usageOf(os.Getpid()).cpu}
	for _, c := range state.Components {
		all[c.Name] = usageOf(c.PID).cpu
	}
	return all
}
