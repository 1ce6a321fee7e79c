// Command firsttask measures how long an application takes from its creation to its first task, in pairs: as it is
// written, and with other settings. It needs a cluster with the operator and the images, and an application that ends.
//
//	go run ./cmd/firsttask -kubeconfig K -f ../../examples/spark-pi.yaml -image REGISTRY/spark:cds \
//	    -conf spark.driver.extraClassPath=/opt/spark/cds/spark.jar
//
// It prints the medians of when each step of the start was reached. Steps of pods have the times at which a watch
// showed them, steps of Spark those of the lines in the driver's log.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// steps are the steps of a start in their order.
var steps = []string{
	"driver pod created", "driver has a node", "driver container runs", "driver's first output", "SparkContext begins",
	"executor pod created", "executor has a node", "executor container runs", "executor registered", "first task",
}

// logSteps are the texts of the driver's log that show a step; the first line of the log shows driver's first output.
var logSteps = map[string]string{
	"SparkContext begins": "Running Spark version", "executor registered": "Registered executor", "first task": "Starting task 0.0 in stage 0.0",
}

// timeline has the time from the creation of the application to each step.
type timeline map[string]time.Duration

// reach records a step, unless it was reached before.
func (t timeline) reach(step string, after time.Duration) {
	if _, known := t[step]; !known {
		t[step] = after
	}
}

func main() {
	var m measurement

	pairs := flag.Int("pairs", 5, "number of pairs")
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of the cluster")
	file := flag.String("f", "../../examples/spark-pi.yaml", "manifest of a SparkApplication of sparkoperator.k8s.io")

	flag.StringVar(&m.image, "image", "", "image of the second run of a pair, if it is another one")
	flag.Func("conf", "KEY=VALUE of the second run's sparkConf; repeatable", func(text string) error {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("write KEY=VALUE")
		}

		if m.conf == nil {
			m.conf = map[string]string{}
		}

		m.conf[key] = value
		return nil
	})
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	err := m.connect(*kubeconfig, *file)
	if err == nil {
		err = m.run(ctx, *pairs)
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "firsttask:", err)
		os.Exit(1)
	}
}

type measurement struct {
	app   v1beta2.SparkApplication
	image string
	conf  map[string]string

	client client.WithWatch
	core   kubernetes.Interface
}

func (m *measurement) connect(kubeconfig, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}

	if err := yaml.UnmarshalStrict(text, &m.app); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}

	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}

	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1beta2.AddToScheme(scheme)); err != nil {
		return err
	}

	if m.core, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}

	m.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err
}

// run measures pairs and prints a table. The two runs of a pair change places from pair to pair, which evens out a
// machine that becomes slower or faster.
func (m *measurement) run(ctx context.Context, pairs int) error {
	var all [2][]timeline

	for pair := range pairs {
		for turn := range 2 {
			which := (pair + turn) % 2

			t, err := m.measure(ctx, fmt.Sprintf("first-task-%d-%d", pair, which), which == 1)
			if err != nil {
				return err
			}

			all[which] = append(all[which], t)
			fmt.Fprintf(os.Stderr, "pair %d, %s: first task after %.1f s\n", pair+1, []string{"as written", "with settings"}[which], t["first task"].Seconds())
		}
	}

	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "reached after (median), s\tas written\twith settings\tratio\t")

	for _, step := range steps {
		a, b := median(all[0], step), median(all[1], step)
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t\n", step, a, b, b/a)
	}
	return w.Flush()
}

func median(of []timeline, step string) float64 {
	var all []float64
	for _, t := range of {
		all = append(all, t[step].Seconds())
	}

	slices.Sort(all)
	return (all[len(all)/2] + all[(len(all)-1)/2]) / 2
}

// measure runs the application once and deletes it.
func (m *measurement) measure(ctx context.Context, name string, changed bool) (timeline, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()

	app := m.app.DeepCopy()
	app.Name = name

	if changed {
		if m.image != "" {
			app.Spec.Image = &m.image
		}

		for key, value := range m.conf {
			if app.Spec.SparkConf == nil {
				app.Spec.SparkConf = map[string]string{}
			}

			app.Spec.SparkConf[key] = value
		}
	}

	began := time.Now()

	if err := m.client.Create(ctx, app); err != nil {
		return nil, err
	}

	t := timeline{}

	err := m.follow(ctx, app, t, began)
	if err == nil {
		err = m.readLog(ctx, app, t, began)
	}
	return t, errors.Join(err, m.remove(ctx, app))
}

// follow records the steps of pods until the driver has ended.
func (m *measurement) follow(ctx context.Context, app *v1beta2.SparkApplication, t timeline, began time.Time) error {
	pods, err := m.client.Watch(ctx, &corev1.PodList{}, client.InNamespace(app.Namespace), client.MatchingLabels{"sparkoperator.k8s.io/app-name": app.Name})
	if err != nil {
		return err
	}
	defer pods.Stop()

	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			continue
		}

		role, after := pod.Labels["spark-role"], time.Since(began)
		t.reach(role+" pod created", after)

		if pod.Spec.NodeName != "" {
			t.reach(role+" has a node", after)
		}

		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Waiting == nil {
				t.reach(role+" container runs", after)
			}
		}

		switch {
		case role == "driver" && pod.Status.Phase == corev1.PodSucceeded:
			return nil
		case role == "driver" && pod.Status.Phase == corev1.PodFailed:
			return fmt.Errorf("the driver of %s failed: see its log", app.Name)
		}
	}
	return fmt.Errorf("the driver of %s has not ended", app.Name)
}

// readLog records the steps of Spark from the driver's log.
func (m *measurement) readLog(ctx context.Context, app *v1beta2.SparkApplication, t timeline, began time.Time) error {
	log, err := m.core.CoreV1().Pods(app.Namespace).GetLogs(app.Name+"-driver", &corev1.PodLogOptions{Timestamps: true}).Stream(ctx)
	if err != nil {
		return err
	}
	defer log.Close()

	in := bufio.NewReader(log)
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return err
		}

		stamp, text, _ := strings.Cut(line, " ")

		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return err
		}

		t.reach("driver's first output", at.Sub(began))

		for step, shown := range logSteps {
			if strings.Contains(text, shown) {
				t.reach(step, at.Sub(began))
			}
		}
	}

	if _, ok := t["first task"]; !ok {
		return fmt.Errorf("the log of %s shows no task: Spark must log at INFO", app.Name)
	}
	return nil
}

// remove deletes the application and waits until its pods are gone, so that they do not slow down the next run.
func (m *measurement) remove(ctx context.Context, app *v1beta2.SparkApplication) error {
	ctx = context.WithoutCancel(ctx)
	if err := m.client.Delete(ctx, app); err != nil {
		return err
	}

	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pods, err := m.core.CoreV1().Pods(app.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "sparkoperator.k8s.io/app-name=" + app.Name})
		return err == nil && len(pods.Items) == 0, err
	})
}
