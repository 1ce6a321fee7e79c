// Package world is what a measurement runs in: a control plane of its own on loopback with nothing on it but what the bench does, clients without a limit of
// their own, and the operator as a process whose cost is read from the kernel. Everything that it starts ends with it.
package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

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

// Applications is the resource under test.
var Applications = schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"}

// Agent is the user agent of the world's own clients.
const Agent = "spark-bench"

// Options say what a world is made of.
type Options struct {
	// Root is the repository: definitions are read from it, and binaries built.
	Root string
	// Operator and Local are the binaries spark-operator and sparklocal. Empty: built into the world's directory.
	Operator, Local string
	// Scheduler runs kube-scheduler too. Without it pods stay where they are until somebody binds them.
	Scheduler bool
	// Bodies has the audit log hold what writes send, so that they can be made again.
	Bodies bool
}

// World is a control plane, the operator's binary, and clients. Use New.
type World struct {
	// Config is of the world's own clients: no limit on requests, user agent Agent.
	Config   *rest.Config
	Core     kubernetes.Interface // protobuf
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	// Dir holds all that the world writes; it goes with it.
	Dir string

	o         Options
	up        bool
	yardstick *Yardstick
}

// New starts a control plane with an audit log in a directory of its own, and installs the definitions. What the start has to say goes to out.
func New(ctx context.Context, o Options, out io.Writer) (*World, error) {
	dir, err := os.MkdirTemp("", "spark-bench-")
	if err != nil {
		return nil, err
	}
	w := &World{Dir: dir, o: o, yardstick: NewYardstick(workEvery)}
	if err := w.start(ctx, out); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Build compiles the binaries that are not given into dir and returns options that have both: several worlds of one run share them.
func (o Options) Build(ctx context.Context, dir string) (Options, error) {
	if o.Local == "" {
		o.Local = filepath.Join(dir, "sparklocal")
		if err := goBuild(ctx, filepath.Join(o.Root, "local"), o.Local, "./cmd/sparklocal"); err != nil {
			return o, err
		}
	}
	if o.Operator == "" {
		o.Operator = filepath.Join(dir, "spark-operator")
		if err := goBuild(ctx, o.Root, o.Operator, "./cmd/spark-operator"); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (w *World) start(ctx context.Context, out io.Writer) (err error) {
	if w.o, err = w.o.Build(ctx, w.Dir); err != nil {
		return err
	}
	args := []string{"up", "--control-plane-only", "--audit", "--dir", w.Dir, "--owner-pid", strconv.Itoa(os.Getpid())}
	if w.o.Scheduler {
		args = append(args, "--scheduler")
	}
	if w.o.Bodies {
		args = append(args, "--audit-bodies")
	}
	up := exec.CommandContext(ctx, w.o.Local, args...)
	up.Stdout, up.Stderr = out, out
	w.up = true // also where it fails: what it did start is ended
	if err := up.Run(); err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent = -1, Agent
	w.Config = config
	if w.Core, w.Dynamic, err = w.Client(Agent); err != nil {
		return err
	}
	if w.Metadata, err = metadata.NewForConfig(binary(config)); err != nil {
		return err
	}
	return w.install(ctx)
}

// Client returns clients with a user agent of their own, which tells actors apart in the audit log, and with connections of their own, so that no actor waits
// behind another.
func (w *World) Client(agent string) (kubernetes.Interface, dynamic.Interface, error) {
	config := rest.CopyConfig(w.Config)
	config.UserAgent = agent
	config.Dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext // a function of its own is not shared with other clients' connections
	core, err := kubernetes.NewForConfig(binary(config))
	if err != nil {
		return nil, nil, err
	}
	dyn, err := dynamic.NewForConfig(config)
	return core, dyn, err
}

func binary(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.ContentType, out.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	return out
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (w *World) Kubeconfig() string { return filepath.Join(w.Dir, "kubeconfig") }

// AuditLog is the path of the API server's audit log: a line of JSON for each stage of each request (audit.k8s.io/v1 Event).
func (w *World) AuditLog() string { return filepath.Join(w.Dir, "audit.log") }

// Local is the sparklocal binary.
func (w *World) Local() string { return w.o.Local }

// defaultAccount is the account of the pods of a namespace that name none.
const defaultAccount = "default"

// Namespace makes a namespace and waits for its default service account, without which no pod is admitted.
func (w *World) Namespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := w.Core.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// Drivers have what Spark needs, as in an installation: an operator asks for that where executors take their time.
	if err := w.LetEdit(ctx, name, defaultAccount); err != nil {
		return err
	}
	return Until(ctx, "the service account of namespace "+name, func() (bool, error) {
		_, err := w.Core.CoreV1().ServiceAccounts(name).Get(ctx, defaultAccount, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// LetEdit gives an account of a namespace the right to edit what is in it. That it has it already is no error.
func (w *World) LetEdit(ctx context.Context, namespace, account string) error {
	_, err := w.Core.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: namespace},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// install makes the definitions and waits until they are served.
func (w *World) install(ctx context.Context) error {
	definitions := w.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	files, err := filepath.Glob(filepath.Join(w.o.Root, "config/crd/*.yaml"))
	if err != nil || len(files) == 0 {
		return errors.Join(fmt.Errorf("no definitions in config/crd of %s", w.o.Root), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var crd unstructured.Unstructured
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, err := definitions.Create(ctx, &crd, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return w.served(ctx)
}

// served waits for the definitions. It tries a create: the API server holds those of a definition that was established less than 2 s ago for as long, and what
// was measured would be that.
func (w *World) served(ctx context.Context) error {
	try := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Applications.GroupVersion().String(), "kind": "SparkApplication", "metadata": map[string]any{"name": "try"},
		"spec": map[string]any{"type": "Scala", "sparkVersion": "4.1.4", "mainClass": "Try", "mainApplicationFile": "local:///try.jar", "driver": map[string]any{}, "executor": map[string]any{}},
	}}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	return Until(ctx, "the definitions", func() (bool, error) {
		_, err := w.Dynamic.Resource(Applications).Namespace(metav1.NamespaceDefault).Create(ctx, try, dry)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// Work is the CPU that a fixed piece of work took at the median in a span: what a processor is worth meanwhile. It is 0 where that is not known.
func (w *World) Work(from, to time.Time) time.Duration {
	if w.yardstick == nil {
		return 0
	}
	return w.yardstick.Between(from, to)
}

// Close ends the control plane and removes the world's directory. Operators are stopped before it.
func (w *World) Close() error {
	var err error
	if w.yardstick != nil {
		w.yardstick.Stop()
	}
	if w.up {
		down := exec.Command(w.o.Local, "down", "--dir", w.Dir)
		if text, e := down.CombinedOutput(); e != nil {
			err = fmt.Errorf("end the control plane: %w\n%s", e, text)
		}
	}
	return errors.Join(err, os.RemoveAll(w.Dir))
}

func goBuild(ctx context.Context, dir, bin, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", bin, pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}
