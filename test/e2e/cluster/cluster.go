// Package cluster brings up an embedded Kubernetes with a node and installs the operator there with Helm, for the end-to-end tests and for
// the figures. Everything is reached through the command lines that users have: sparklocal, helm and the API server.
//
// With Options.Kubeconfig the cluster is one that is there, such as kind's, with the images loaded.
package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// What is installed, under the names that users have as well.
const (
	Release      = "spark-operator"
	Namespace    = "spark-operator" // of the operator
	SparkVersion = "4.1.4"
	SparkImage   = sparkImages + SparkVersion
	// ServiceAccount of drivers, made by the chart in every job namespace.
	ServiceAccount = "spark-operator-spark"
	// SubmitAccount is the service account of pods that run spark-submit, made by the chart beside it.
	SubmitAccount = "spark-operator-submit"
)

// sparkImages are named by the version of Spark in them.
const sparkImages = "docker.io/apache/spark:"

// The operator's image, made from this repository.
const (
	imageRegistry   = "docker.io"
	imageRepository = "sparkoperator/spark-operator"
	imageTag        = "e2e"
	image           = imageRegistry + "/" + imageRepository + ":" + imageTag
)

// Options of Start.
type Options struct {
	// Root of the repository.
	Root string
	// Out receives what the tools say.
	Out io.Writer
	// Spark loads the Spark image, for applications that run. Without it every pod waits for an image.
	Spark bool
	// Kubeconfig is the administrator's of a cluster that is there, empty for one that is brought up. Its nodes have
	// the operator's image under the name that OperatorImageName gives, and those of Spark under their usual names.
	Kubeconfig string
	// Values are further --set arguments of helm install.
	Values []string
}

// OperatorImageName is the name under which the operator's image is installed.
const OperatorImageName = image

// Cluster is a running Kubernetes, ended with its owner: Close, or the end of the process.
type Cluster struct {
	Dir    string // state directory: logs, audit.log, kubeconfig
	Config *rest.Config
	Client client.WithWatch
	Core   kubernetes.Interface
	// OperatorImage is the docker-archive tar of the operator's image.
	OperatorImage string

	options     Options
	installed   bool // into a cluster that was there
	local, helm string
	mu          sync.Mutex // of options.Out, which several tools write to
}

// Start builds what is missing, brings the cluster up, loads the images and installs the chart. What can run side by side does: images are
// made while the cluster starts. On an error nothing stays behind.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "spark-e2e-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, options: o, local: filepath.Join(dir, "sparklocal"), helm: filepath.Join(dir, "helm")}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Embedded says whether the cluster is one that was brought up for this, whose programs and logs can be reached.
func (c *Cluster) Embedded() bool { return c.options.Kubeconfig == "" }

// startExisting installs the operator in a cluster that is there. A release or a namespace of ours in it is an error: it
// is not known whose they are.
func (c *Cluster) startExisting(ctx context.Context) error {
	if err := c.connect(); err != nil {
		return err
	}
	if err := c.build(ctx, "test/e2e", c.helm, "helm.sh/helm/v4/cmd/helm"); err != nil {
		return err
	}
	if err := c.makeNamespace(ctx); err != nil {
		return fmt.Errorf("the cluster of %s: %w", c.options.Kubeconfig, err)
	}
	c.installed = true
	return c.Install(ctx)
}

// makeNamespace makes the operator's namespace. The operator must do with what the strictest of the Pod Security
// Standards allows.
func (c *Cluster) makeNamespace(ctx context.Context) error {
	return c.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: Namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
}

func (c *Cluster) start(ctx context.Context) error {
	if !c.Embedded() {
		return c.startExisting(ctx)
	}
	if err := c.build(ctx, "local", c.local, "./cmd/sparklocal"); err != nil {
		return err
	}
	group, side := errgroup.WithContext(ctx)
	group.Go(func() error { return c.build(side, "test/e2e", c.helm, "helm.sh/helm/v4/cmd/helm") })
	group.Go(func() (err error) {
		c.OperatorImage, err = c.output(side, nil, c.local, "image", "operator", "--source", c.options.Root, "--tag", image)
		return err
	})
	spark := ""
	if c.options.Spark {
		group.Go(func() (err error) {
			spark, err = c.output(side, nil, c.local, "image", "spark", "--version", SparkVersion)
			return err
		})
	}
	group.Go(func() error {
		return c.Local(side, "up", "--dir", c.state(), "--audit", "--owner-pid", strconv.Itoa(os.Getpid()))
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	if err := c.makeNamespace(ctx); err != nil {
		return err
	}
	return c.fill(ctx, spark)
}

// fill installs the operator while the Spark image, which is large, is still being loaded.
func (c *Cluster) fill(ctx context.Context, spark string) error {
	group, side := errgroup.WithContext(ctx)
	if spark != "" {
		group.Go(func() error { return c.Local(side, "load", "--dir", c.state(), spark) })
	}
	group.Go(func() error {
		if err := c.Local(side, "load", "--dir", c.state(), c.OperatorImage); err != nil {
			return err
		}
		return c.Install(side)
	})
	return group.Wait()
}

// LoadSpark brings the image of another Spark version into the cluster and returns the image's name. What is there already takes no time; an
// image that was never made on this machine takes minutes.
func (c *Cluster) LoadSpark(ctx context.Context, version string) (string, error) {
	if !c.Embedded() {
		return sparkImages + version, nil // whoever owns the cluster has loaded it
	}
	archive, err := c.output(ctx, nil, c.local, "image", "spark", "--version", version)
	if err != nil {
		return "", err
	}
	return sparkImages + version, c.Local(ctx, "load", "--dir", c.state(), archive)
}

// state is the cluster's own directory; what is beside it is ours.
func (c *Cluster) state() string { return filepath.Join(c.Dir, "cluster") }

// Kubeconfig is the path of the administrator's.
func (c *Cluster) Kubeconfig() string {
	if !c.Embedded() {
		return c.options.Kubeconfig
	}
	return filepath.Join(c.state(), "kubeconfig")
}

// NodeName is the name of the cluster's only node, or of the first that takes pods.
func (c *Cluster) NodeName(ctx context.Context) (string, error) {
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes); err != nil {
		return "", err
	}
	for _, node := range nodes.Items {
		if !node.Spec.Unschedulable && len(node.Spec.Taints) == 0 {
			return node.Name, nil
		}
	}
	return "", fmt.Errorf("none of %d nodes takes pods", len(nodes.Items))
}

// kubectl is a command line of kubectl for the cluster: sparklocal's, or the one on PATH for a cluster that is there.
func (c *Cluster) kubectl(args ...string) (name string, all []string) {
	if !c.Embedded() {
		return "kubectl", append([]string{"--kubeconfig", c.options.Kubeconfig}, args...)
	}
	return c.local, append([]string{"kubectl", "--dir", c.state()}, args...)
}

// AuditLog is the path of the API server's audit log, which only an Embedded cluster has.
func (c *Cluster) AuditLog() string { return filepath.Join(c.state(), "audit.log") }

// connect makes the clients. They have no rate limit of their own.
func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent = -1, "spark-e2e"
	log.SetLogger(logr.Discard()) // the client would complain that nobody reads its log
	s := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(s), v1beta2.AddToScheme(s), v1alpha1.AddToScheme(s), sparkv1.AddToScheme(s), apiextensions.AddToScheme(s)); err != nil {
		return err
	}
	c.Config = config
	if c.Core, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	c.Client, err = client.NewWithWatch(config, client.Options{Scheme: s})
	return err
}

// Install runs helm install, with further arguments, and waits until the operator is ready.
func (c *Cluster) Install(ctx context.Context, further ...string) error {
	args := []string{"install", Release, filepath.Join(c.options.Root, "charts/spark-operator"), "--namespace", Namespace,
		"--wait", "--timeout", "2m",
		"--set", "image.registry=" + imageRegistry, "--set", "image.repository=" + imageRepository, "--set", "image.tag=" + imageTag,
		"--set", "controller.logLevel=debug"}
	for _, value := range c.options.Values {
		args = append(args, "--set", value)
	}
	if err := c.Helm(ctx, append(args, further...)...); err != nil {
		return fmt.Errorf("%w\n%s", err, c.Diagnose(ctx))
	}
	return nil
}

// Helm runs Helm against the cluster.
func (c *Cluster) Helm(ctx context.Context, args ...string) error {
	return c.run(ctx, []string{"KUBECONFIG=" + c.Kubeconfig(), "HELM_CACHE_HOME=" + c.Dir, "HELM_CONFIG_HOME=" + c.Dir, "HELM_DATA_HOME=" + c.Dir}, c.helm, args...)
}

// Local runs sparklocal.
func (c *Cluster) Local(ctx context.Context, args ...string) error {
	return c.run(ctx, nil, c.local, args...)
}

// Diagnose tells how the operator's pods are and what they logged last, for a failure's sake. It never fails itself.
func (c *Cluster) Diagnose(ctx context.Context) string {
	var text strings.Builder
	for _, args := range [][]string{
		{"get", "pods", "--all-namespaces", "--output", "wide"},
		{"describe", "pods", "--namespace", Namespace},
		{"logs", "--namespace", Namespace, "--tail", "50", "--selector", "app.kubernetes.io/name=spark-operator"},
	} {
		name, all := c.kubectl(args...)
		out, err := exec.CommandContext(ctx, name, all...).CombinedOutput()
		fmt.Fprintf(&text, "$ kubectl %s\n%s", strings.Join(args, " "), out)
		if err != nil {
			fmt.Fprintln(&text, err)
		}
	}
	return text.String()
}

// Close ends the cluster and removes its directory. A cluster that cannot be ended keeps its directory, for its logs. One that was there stays: the
// release and its namespace are taken away, and the definitions are left, as Helm leaves them.
func (c *Cluster) Close() error {
	if !c.Embedded() {
		return errors.Join(c.leave(), os.RemoveAll(c.Dir))
	}
	if _, err := os.Stat(c.local); err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Local(ctx, "down", "--dir", c.state()); err != nil {
			return err
		}
	}
	return os.RemoveAll(c.Dir)
}

// leave takes what was installed away from a cluster that was there.
func (c *Cluster) leave() error {
	if !c.installed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := c.Helm(ctx, "uninstall", Release, "--namespace", Namespace, "--ignore-not-found")
	return errors.Join(err, client.IgnoreNotFound(c.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}})))
}

func (c *Cluster) build(ctx context.Context, module, out, pkg string) error {
	return c.run(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-C", filepath.Join(c.options.Root, module), "-trimpath", "-o", out, pkg)
}

func (c *Cluster) run(ctx context.Context, env []string, name string, args ...string) error {
	_, err := c.output(ctx, env, name, args...)
	return err
}

// output runs one tool and returns what it prints to standard output, without the blanks around it. All that it says is part of an error.
func (c *Cluster) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	var printed, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &said
	err := cmd.Run()
	line := filepath.Base(name) + " " + strings.Join(args, " ")
	c.mu.Lock()
	fmt.Fprintf(c.options.Out, "%5.1f s  %s\n", time.Since(began).Seconds(), line)
	c.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", line, err, printed.Bytes(), said.Bytes())
	}
	return strings.TrimSpace(printed.String()), nil
}
