// Package jvm measures what operators do that run Spark's own spark-submit for each application: the real one of each Spark line, against the bench's API server.
// It is the submission alone, without a wait for the application.
package jvm

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Versions are one of each Spark line.
func Versions() []string { return []string{"3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"} }

// namespace is where everything is submitted, and account by whom.
const (
	namespace = "spark-submit"
	account   = "submitter"
)

// cost is what one spark-submit took.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

// AtOnce is how many submissions of a version go on at a time, after some that went on alone.
const AtOnce = 4

// full is how often a version submits: alone, one after the other, and at once.
var full = sizes{alone: 3, atOnce: AtOnce}

type sizes struct{ alone, atOnce int }

// figures are what a version took, as means of its runs and the most memory of any. took is until the last of them had ended.
func figures(version string, atOnce int, costs []cost, took time.Duration) []figure.Figure {
	var sum cost
	for _, c := range costs {
		sum.wall += c.wall
		sum.cpu += c.cpu
		sum.peak = max(sum.peak, c.peak)
	}
	of, n := figure.SubmitCase(version, atOnce), float64(len(costs))
	return []figure.Figure{
		{Scenario: figure.Submit, Case: of, Name: figure.SubmitWall, Value: sum.wall.Seconds() / n, Unit: "s"},
		{Scenario: figure.Submit, Case: of, Name: figure.SubmitCPU, Value: sum.cpu.Seconds() / n, Unit: "s"},
		{Scenario: figure.Submit, Case: of, Name: figure.SubmitMemory, Value: float64(sum.peak) / 1e6, Unit: "MB"},
		{Scenario: figure.Submit, Case: of, Name: "submissions a second", Value: n / took.Seconds(), Unit: "1/s"},
	}
}

// arguments are a submission that a user of the bench's load would type: of one executor, as its files are in the image and nothing is uploaded.
func arguments(server, version, name string) []string {
	return []string{
		"--master", "k8s://" + server, "--deploy-mode", "cluster", "--name", name, "--class", "org.apache.spark.examples.SparkPi",
		"--conf", "spark.kubernetes.submission.waitAppCompletion=false",
		"--conf", "spark.kubernetes.namespace=" + namespace,
		"--conf", "spark.kubernetes.container.image=docker.io/apache/spark:" + version,
		"--conf", "spark.kubernetes.authenticate.driver.serviceAccountName=" + account,
		"--conf", "spark.kubernetes.authenticate.submission.oauthTokenFile=" + dir + "/" + tokenFile,
		"--conf", "spark.kubernetes.authenticate.submission.caCertFile=" + dir + "/" + caFile,
		"--conf", "spark.executor.instances=1", "--conf", "spark.driver.memory=512m", "--conf", "spark.executor.memory=512m",
		"local:///opt/spark/examples/jars/spark-examples.jar",
	}
}

// Files of a submitter, below dir.
const (
	dir       = "/case" // record.Dir
	tokenFile = "token"
	caFile    = "ca.crt"
)

// credentials makes the namespace, and in it an account that may submit, and returns the files that it is known by. They are worth an hour.
func credentials(ctx context.Context, w *world.World) (map[string]string, error) {
	if err := w.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	made := metav1.ObjectMeta{Name: account, Namespace: namespace}
	_, err := w.Core.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: made}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	if err := w.LetEdit(ctx, namespace, account); err != nil {
		return nil, err
	}
	token, err := w.Core.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of the submitting account: %w", err)
	}
	return map[string]string{tokenFile: token.Status.Token, caFile: string(w.Config.CAData)}, nil
}

// drivers are the driver pods that submissions of a version made.
func drivers(ctx context.Context, w *world.World, version string) (int, error) {
	pods, err := w.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "spark-role=driver,spark-version=" + version})
	if err != nil {
		return 0, err
	}
	return len(pods.Items), nil
}

// clean deletes what was submitted: the drivers at once, as no kubelet ends them, and what they own with them.
func clean(ctx context.Context, w *world.World) error {
	now := metav1.NewDeleteOptions(0)
	if err := w.Core.CoreV1().Pods(namespace).DeleteCollection(ctx, *now, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete the drivers that were submitted: %w", err)
	}
	return world.Until(ctx, "what was submitted to be gone", func() (bool, error) {
		left, err := w.Core.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: "spark-app-selector"})
		if err != nil {
			return false, err
		}
		pods, err := w.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return len(pods.Items)+len(left.Items) == 0, nil
	})
}
