package main

import (
	"bufio"
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
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const namespace = "bench"

// applications is the resource under test.
var applications = schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"}

// world is a control plane, the operator's binary, and clients without a rate limit of their own.
type world struct {
	o        options
	dir      string
	local    string
	operator string
	config   *rest.Config
	core     kubernetes.Interface
	dyn      dynamic.Interface
	meta     metadata.Interface
}

// newWorld starts a control plane with an audit log in a directory of its own and installs the definitions.
func newWorld(ctx context.Context, o options, out io.Writer) (*world, error) {
	dir, err := os.MkdirTemp("", "spark-bench-")
	if err != nil {
		return nil, err
	}
	w := &world{o: o, dir: dir, local: o.local, operator: o.operator}
	if err := w.start(ctx, out); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) start(ctx context.Context, out io.Writer) error {
	if w.local == "" {
		w.local = filepath.Join(w.dir, "sparklocal")
		if err := goBuild(ctx, filepath.Join(w.o.root, "local"), w.local, "./cmd/sparklocal"); err != nil {
			return err
		}
	}
	if w.operator == "" {
		w.operator = filepath.Join(w.dir, "spark-operator")
		if err := goBuild(ctx, w.o.root, w.operator, "./cmd/spark-operator"); err != nil {
			return err
		}
	}
	up := exec.CommandContext(ctx, w.local, "up", "--control-plane-only", "--audit", "--dir", w.dir, "--owner-pid", strconv.Itoa(os.Getpid()))
	up.Stdout, up.Stderr = out, out
	if err := up.Run(); err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(w.dir, "kubeconfig"))
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent = -1, "spark-bench"
	w.config = config
	binary := rest.CopyConfig(config)
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	if w.core, err = kubernetes.NewForConfig(binary); err != nil {
		return err
	}
	if w.dyn, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if w.meta, err = metadata.NewForConfig(binary); err != nil {
		return err
	}
	return w.install(ctx)
}

// install makes the namespace, its service account and the definitions, and waits until they are served.
func (w *world) install(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := w.core.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	definitions := w.dyn.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	files, err := filepath.Glob(filepath.Join(w.o.root, "config/crd/*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no definitions in config/crd of %s: %w", w.o.root, err)
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
	return until(ctx, "the definitions and the service account", func() (bool, error) {
		// A create, if only to try: the API server holds those of a definition that was established less than 2 s ago for as long, and what was measured
		// would be that.
		try := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		_, err := w.dyn.Resource(applications).Namespace(namespace).Create(ctx, application("try"), try)
		if err == nil {
			_, err = w.core.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// close ends the control plane and removes its directory.
func (w *world) close() error {
	var err error
	if w.config != nil {
		down := exec.Command(w.local, "down", "--dir", w.dir)
		if text, e := down.CombinedOutput(); e != nil {
			err = fmt.Errorf("end the control plane: %w\n%s", e, text)
		}
	}
	return errors.Join(err, os.RemoveAll(w.dir))
}

// until polls a condition with the context's deadline.
func until(ctx context.Context, what string, done func() (bool, error)) error {
	for {
		ok, err := done()
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func goBuild(ctx context.Context, dir, bin, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", bin, pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// process is the operator as a child process.
type process struct {
	cmd *exec.Cmd
	log *os.File
}

// startOperator runs the operator against the control plane and waits until it is ready.
func (w *world) startOperator(ctx context.Context) (*process, error) {
	settings := filepath.Join(w.dir, "operator.yaml")
	text := "apiVersion: " + configAPIVersion + "\nkind: " + configKind + "\nnamespaces: {names: [" + namespace + "]}\n" +
		"leaderElection: {enabled: false}\nmetrics: {bindAddress: \"0\"}\nhealth: {bindAddress: \"127.0.0.1:18081\"}\nlogging: {level: error}\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(w.dir, "operator.log"))
	if err != nil {
		return nil, err
	}
	p := &process{log: log, cmd: exec.CommandContext(ctx, w.operator, "controller", "start", "--config", settings)}
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(w.dir, "kubeconfig"))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := func() (bool, error) {
		if p.cmd.Process.Signal(syscall.Signal(0)) != nil {
			return false, errors.New("the operator ended")
		}
		return healthy(ctx, "http://127.0.0.1:18081/readyz"), nil
	}
	short, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := until(short, "the operator to be ready", ready); err != nil {
		said, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, tail(said, 20)), p.stop())
	}
	return p, nil
}

// stop asks the operator to end and returns when it did.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	err := p.cmd.Wait()
	_ = p.log.Close()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == -1 {
		return nil // ended by our own signal
	}
	return err
}

// usage is what a process took so far.
type usage struct {
	cpu      time.Duration
	resident int64 // bytes, now
	peak     int64 // bytes
}

// read takes the figures from /proc/PID (proc(5)).
func (p *process) read() (usage, error) {
	dir := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return usage{}, err
	}
	// The command's name, the second field, may hold blanks: count from its closing bracket.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage{}, err
		}
		ticks += n
	}
	u := usage{cpu: time.Duration(ticks) * (time.Second / 100)} // USER_HZ is 100 on every Linux that Go runs on
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return usage{}, err
	}
	for line := range strings.Lines(string(status)) {
		for prefix, into := range map[string]*int64{"VmRSS:": &u.resident, "VmHWM:": &u.peak} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				if err != nil {
					return usage{}, err
				}
				*into = n << 10
			}
		}
	}
	return u, nil
}

// tail keeps the last n lines.
func tail(text []byte, n int) string {
	var lines []string
	scan := bufio.NewScanner(bytes.NewReader(text))
	for scan.Scan() {
		lines = append(lines, scan.Text())
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
