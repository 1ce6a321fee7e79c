// Package cluster starts an embedded Kubernetes with a node, and installs the operator with Helm. The end-to-end tests
// and the measurements of cmd/figures use this package. Like a user, it works through sparklocal, helm and the API
// server.
//
// If Options.Kubeconfig is set, the package instead uses an existing cluster, such as a kind cluster, into which the
// images are already loaded.
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
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// The names of the release, its namespace, its images and its service accounts. An ordinary installation has the same
// names.
const (
	Release      = "spark-operator"
	Namespace    = "spark-operator" // namespace of the operator
	SparkVersion = "4.1.4"
	SparkImage   = sparkImages + SparkVersion
	// ServiceAccount is the service account of drivers. The chart creates it in every job namespace.
	ServiceAccount = "spark-operator-spark"
	// SubmitAccount is the service account of pods that run spark-submit. The chart creates it in every job namespace.
	SubmitAccount = "spark-operator-submit"
)

// sparkImages is the name of the Spark images without the tag. The tag is the Spark version.
const sparkImages = "docker.io/apache/spark:"

// These constants name the operator's image, which is built from this repository.
const (
	imageRegistry   = "docker.io"
	imageRepository = "sparkoperator/spark-operator"
	imageTag        = "e2e"
	image           = imageRegistry + "/" + imageRepository + ":" + imageTag
)

// Options configures Start.
type Options struct {
	// Root is the root of the repository.
	Root string
	// Out receives the tools' progress.
	Out io.Writer
	// Spark loads the Spark image, so that applications run. If false, every pod waits for its image.
	Spark bool
	// Bare leaves the operator out: neither its namespace nor its image nor the release exists. Only an embedded cluster
	// can be bare.
	Bare bool
	// Kubeconfig is the administrator's kubeconfig of an existing cluster. If empty, Start starts an embedded cluster.
	// The nodes of an existing cluster must have the operator's image under the name OperatorImageName, and the Spark
	// images under their usual names.
	Kubeconfig string
	// Values are additional --set arguments of helm install.
	Values []string
}

// OperatorImageName is the name of the operator's image in the cluster.
const OperatorImageName = image

// Cluster is a running Kubernetes. An embedded cluster stops when Close is called or the process exits.
type Cluster struct {
	Dir    string // state directory with logs, audit.log and kubeconfig
	Config *rest.Config
	Client client.WithWatch
	Core   kubernetes.Interface
	// OperatorImage is the docker-archive tar of the operator's image.
	OperatorImage string

	options     Options
	installed   bool // true if Start has installed the operator in an existing cluster
	local, helm string
	mu          sync.Mutex // guards options.Out, because several tools write to it
}

// Start builds missing tools and images, starts the cluster, loads the images and installs the chart. It builds the
// images while the cluster starts. If Start fails, it removes everything that it created.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "spark-e2e-")
	if err != nil {
		return nil, err
	}

	c := &Cluster{Dir: dir, options: o}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Embedded reports whether Start started the cluster itself. Only then can tests reach the programs and logs of the
// cluster.
func (c *Cluster) Embedded() bool { return c.options.Kubeconfig == "" }

// startExisting installs the operator in an existing cluster. If the release or its namespace already exists,
// startExisting returns an error, because they may belong to somebody else.
func (c *Cluster) startExisting(ctx context.Context) error {
	if err := c.connect(); err != nil {
		return err
	}

	if err := c.buildHelm(ctx); err != nil {
		return err
	}

	if err := c.makeNamespace(ctx); err != nil {
		return fmt.Errorf("prepare the cluster of %s: %w", c.options.Kubeconfig, err)
	}

	c.installed = true
	return c.Install(ctx)
}

// makeNamespace creates the operator's namespace. The namespace enforces the strictest Pod Security Standard.
func (c *Cluster) makeNamespace(ctx context.Context) error {
	return c.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: Namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
}

func (c *Cluster) start(ctx context.Context) error {
	if !c.Embedded() {
		return c.startExisting(ctx)
	}

	local, err := gobuild.Program(ctx, "local", "./cmd/sparklocal")
	if err != nil {
		return err
	}

	c.local = local

	group, side := errgroup.WithContext(ctx)
	group.Go(func() error { return c.buildHelm(side) })
	group.Go(func() (err error) {
		if !c.options.Bare {
			c.OperatorImage, err = c.output(side, nil, c.local, "image", "operator", "--source", c.options.Root, "--tag", image)
		}
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

	if c.options.Bare {
		return c.Local(ctx, "load", "--dir", c.state(), spark)
	}

	if err := c.makeNamespace(ctx); err != nil {
		return err
	}
	return c.loadAndInstall(ctx, spark)
}

// loadAndInstall loads the large Spark image and installs the operator at the same time.
func (c *Cluster) loadAndInstall(ctx context.Context, spark string) error {
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

// LoadSpark loads the image of another Spark version into the cluster and returns its name. A cached image loads
// quickly. An image that this machine has never built takes minutes.
func (c *Cluster) LoadSpark(ctx context.Context, version string) (string, error) {
	if !c.Embedded() {
		return sparkImages + version, nil // the owner of the cluster must have loaded it
	}

	archive, err := c.output(ctx, nil, c.local, "image", "spark", "--version", version)
	if err != nil {
		return "", err
	}
	return sparkImages + version, c.Local(ctx, "load", "--dir", c.state(), archive)
}

// LoadSparkctl builds the image of sparkctl, which serves the web console, and loads it into the cluster. The chart
// looks for this image beside that of the operator.
func (c *Cluster) LoadSparkctl(ctx context.Context) error {
	if !c.Embedded() {
		return nil // the owner of the cluster must have loaded it
	}

	archive, err := c.output(ctx, nil, c.local, "image", "sparkctl", "--source", c.options.Root, "--tag", imageRegistry+"/sparkoperator/sparkctl:"+imageTag)
	if err != nil {
		return err
	}
	return c.Local(ctx, "load", "--dir", c.state(), archive)
}

// state returns the directory of the embedded cluster. sparklocal owns this directory. The other files in c.Dir belong
// to this package.
func (c *Cluster) state() string { return filepath.Join(c.Dir, "cluster") }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string {
	if !c.Embedded() {
		return c.options.Kubeconfig
	}
	return filepath.Join(c.state(), "kubeconfig")
}

// NodeName returns the name of the first node that accepts pods. An embedded cluster has only one node.
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
	return "", fmt.Errorf("none of %d nodes accepts pods: remove the taints of one node, or uncordon it", len(nodes.Items))
}

// kubectl returns a kubectl command line for the cluster. An embedded cluster uses sparklocal's kubectl, and an
// existing cluster uses the kubectl on PATH.
func (c *Cluster) kubectl(args ...string) (name string, all []string) {
	if !c.Embedded() {
		return "kubectl", append([]string{"--kubeconfig", c.options.Kubeconfig}, args...)
	}
	return c.local, append([]string{"kubectl", "--dir", c.state()}, args...)
}

// AuditLog returns the path of the API server's audit log. Only an embedded cluster has one.
func (c *Cluster) AuditLog() string { return filepath.Join(c.state(), "audit.log") }

// connect creates the clients. They have no client-side rate limit.
func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return err
	}

	config.QPS, config.UserAgent = -1, "spark-e2e"

	log.SetLogger(logr.Discard()) // otherwise controller-runtime warns that no logger is set

	s := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(s), v1beta2.AddToScheme(s), v1alpha1.AddToScheme(s), sparkv1.AddToScheme(s), apiextensions.AddToScheme(s),
		kueue.AddToScheme(s)); err != nil {
		return err
	}

	c.Config = config
	if c.Core, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}

	c.Client, err = client.NewWithWatch(config, client.Options{Scheme: s})
	return err
}

// Install runs helm install with the given arguments and waits until the operator is ready.
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

// Diagnose returns the state of all pods and the last log lines of the operator, for failure messages. If a part cannot
// be read, the text contains the error instead.
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

// Close stops an embedded cluster and removes its directory. If that cluster does not stop, Close keeps the directory
// with the logs. From an existing cluster, Close removes only the release and its namespace. The custom resource
// definitions remain, because Helm does not remove them either.
func (c *Cluster) Close() error {
	if !c.Embedded() {
		return errors.Join(c.uninstall(), os.RemoveAll(c.Dir))
	}

	if c.local != "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()

		if err := c.Local(ctx, "down", "--dir", c.state()); err != nil {
			return err
		}
	}
	return os.RemoveAll(c.Dir)
}

// uninstall uninstalls the release from an existing cluster and deletes its namespace.
func (c *Cluster) uninstall() error {
	if !c.installed {
		return nil
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	err := c.Helm(ctx, "uninstall", Release, "--namespace", Namespace, "--ignore-not-found")
	return errors.Join(err, client.IgnoreNotFound(c.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}})))
}

// HelmProgram returns the path of helm.
func (c *Cluster) HelmProgram() string { return c.helm }

func (c *Cluster) buildHelm(ctx context.Context) (err error) {
	c.helm, err = gobuild.Program(ctx, "test/e2e", "helm.sh/helm/v4/cmd/helm")
	return err
}

func (c *Cluster) run(ctx context.Context, env []string, name string, args ...string) error {
	_, err := c.output(ctx, env, name, args...)
	return err
}

// output runs a tool and returns its standard output without surrounding white space. If the tool fails, the error
// contains everything that the tool printed.
func (c *Cluster) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, name, args...)

	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	line := filepath.Base(name) + " " + strings.Join(args, " ")

	c.mu.Lock()
	fmt.Fprintf(c.options.Out, "%5.1f s  %s\n", time.Since(began).Seconds(), line)
	c.mu.Unlock()

	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", line, err, stdout.Bytes(), stderr.Bytes())
	}
	return strings.TrimSpace(stdout.String()), nil
}
