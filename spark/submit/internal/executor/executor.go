// Package executor builds the executor pods that a driver will request, with Spark's executor feature steps
// (KubernetesExecutorBuilder). It first runs the driver's steps, because they decide about the configuration and the
// template that the driver gives its executors.
package executor

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/steps"
)

const (
	profileLabel   = "spark-exec-resourceprofile-id"
	defaultProfile = "0" // the ID of an application's first resource profile
	executorVolume = "spark-conf-volume-exec"
	excludedKey    = "spark.kubernetes.executor.pod.excludedFeatureSteps"
	scriptKey      = "spark.kubernetes.decommission.script"
	graceKey       = "spark.kubernetes.executor.terminationGracePeriodSeconds"
)

// executorSteps are Spark's executor feature steps, in Spark's order (KubernetesExecutorBuilder.buildFromFeatures).
var executorSteps = []struct {
	name  string
	apply func(*execution) error
}{
	{"BasicExecutorFeatureStep", basicExecutorStep},
	{"ExecutorKubernetesCredentialsFeatureStep", executorAccountStep},
	{"MountSecretsFeatureStep", shared(steps.MountSecrets)},
	{"EnvSecretsFeatureStep", shared(steps.EnvSecrets)},
	{"MountVolumesFeatureStep", executorVolumesStep},
	{"HadoopConfExecutorFeatureStep", executorHadoopStep},
	{"LocalDirsFeatureStep", shared(steps.LocalDirs)},
}

// shared adapts a step that drivers and executors have in common.
func shared(step func(*draft.Draft) error) func(*execution) error {
	return func(e *execution) error { return step(e.Draft) }
}

// Source is what the executors of a driver take from it: its configuration, their template, and two of its variables.
type Source struct {
	driver          draft.Draft
	user, localDirs string
}

// Of returns the source of a driver's executors. All steps must have run, but the driver pod must not be finished,
// because the driver's overlay may replace variables.
func Of(d *draft.Draft) *Source {
	s := &Source{driver: *d, user: lastValue(d.Spark.Env, "SPARK_USER"), localDirs: lastValue(d.Spark.Env, "SPARK_LOCAL_DIRS")}
	s.driver.Warns = conf.Messages{} // the driver reports them
	return s
}

// Bound returns the executor pod that native.Bound documents.
func (s *Source) Bound() (*corev1.Pod, error) {
	bound := *s
	bound.driver.Request.Bound = true
	return bound.Pod(1, "")
}

// Pod returns the executor pod that native.Executor documents. The arguments are the executor's ID and the UID of the
// driver pod.
func (s *Source) Pod(id int, driver types.UID) (*corev1.Pod, error) {
	e, err := s.execution(id, driver)
	if err != nil {
		return nil, submit.AsError(err)
	}

	if err := e.RequireKnown("spark.kubernetes.executor.podTemplateContainerName"); err != nil {
		return nil, err
	}

	excluded, err := excludedExecutorSteps(e.Draft)
	if err != nil {
		return nil, submit.AsError(err)
	}

	for _, s := range executorSteps {
		if slices.Contains(excluded, s.name) {
			continue
		}

		if err := s.apply(e); err != nil {
			return nil, submit.AsError(err)
		}
	}

	e.Pod.APIVersion, e.Pod.Kind = "v1", "Pod"

	e.Pod.Spec.Containers = append(e.Pod.Spec.Containers, e.Spark)
	if err := admit.Apply(e.Pod); err != nil {
		return nil, submit.FieldErrorf("Executor", "%v", err)
	}

	if err := e.CheckVolumes("Executor", e.Pod, e.Request.Executor); err != nil {
		return nil, err
	}
	return e.Pod, nil
}

// execution returns the draft of an executor. The draft has the configuration and the pod template that the driver
// reads.
func (s *Source) execution(id int, driver types.UID) (*execution, error) {
	d := &s.driver

	files, err := d.ConfFiles()
	if err != nil {
		return nil, err
	}

	e := &execution{
		Draft: &draft.Draft{
			Request: d.Request, Line: d.Line, Language: d.Language, Role: submit.RoleExecutor, Conf: d.Props, Props: d.Props, Pod: &corev1.Pod{},
			Spark: corev1.Container{Name: overlay.ExecutorContainer},
		},
		id: strconv.Itoa(id), driver: driver, user: s.user, files: conf.SortedKeys(files),
	}
	e.name = namePrefix(e.Draft) + "-exec-" + e.id
	// The driver passes its own local directories on to executors.
	e.Request.Environment = map[string]string{"SPARK_LOCAL_DIRS": s.localDirs}

	if d.Executors != nil {
		e.Pod = d.Executors.DeepCopy()
		// The driver uses the first container of the template as the Spark container.
		e.Spark, e.Pod.Spec.Containers = e.Pod.Spec.Containers[0], e.Pod.Spec.Containers[1:]
	}
	return e, nil
}

// execution is the draft of one executor, with the values that it needs in addition to the configuration.
type execution struct {
	*draft.Draft
	id, name string
	driver   types.UID
	user     string   // SPARK_USER of the driver
	files    []string // names of the files in the driver's SPARK_CONF_DIR
}

func lastValue(env []corev1.EnvVar, name string) (value string) {
	for _, v := range env {
		if v.Name == name {
			value = v.Value
		}
	}
	return value
}

// namePrefix returns the prefix of executor names: the prefix that the user sets or, by default, a prefix in the form
// that the driver builds from the application's name and a random ID.
func namePrefix(d *draft.Draft) string {
	if prefix, _ := d.Conf.Get("spark.kubernetes.executor.podNamePrefix"); prefix != "" {
		return prefix
	}
	return submit.ResourceNamePrefix(d.Request.AppName, names.Digest("executors/"+d.Request.AppID, 16))
}

// excludedExecutorSteps returns the names of the steps that the user excludes.
func excludedExecutorSteps(d *draft.Draft) ([]string, error) {
	if !d.Line.ExcludedSteps && !d.Request.Bound {
		return nil, nil
	}

	if err := d.RequireKnown(excludedKey); err != nil {
		return nil, err
	}

	classes, err := d.Conf.List(excludedKey, nil)

	var names []string
	for _, class := range classes {
		// Spark compares the full name of the class (KubernetesExecutorBuilder).
		if name, ours := strings.CutPrefix(class, draft.FeaturePackage); ours {
			names = append(names, name)
		}
	}

	switch {
	case !d.Request.Bound:
		return names, err
	case slices.Contains(names, executorSteps[0].name):
		return nil, submit.KeyErrorf(excludedKey, "executors cannot run without %s; remove it", executorSteps[0].name)
	}
	return nil, err // a line that does not read the key runs all steps
}

// basicExecutorStep builds the Spark container and the pod of an executor (BasicExecutorFeatureStep).
func basicExecutorStep(e *execution) error {
	for _, part := range []func(*execution) error{
		shared(steps.BasicImage), shared(steps.BasicResources), shared(steps.BasicDevices), executorPort, executorEnv, executorMeta, shared(steps.BasicPlacement), executorLife, executorConfigMap,
	} {
		if err := part(e); err != nil {
			return err
		}
	}

	e.Spark.Args = append(e.Spark.Args, "executor")
	if e.Line.ResizePolicy {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			e.Spark.ResizePolicy = append(e.Spark.ResizePolicy, corev1.ContainerResizePolicy{ResourceName: name, RestartPolicy: corev1.NotRequired})
		}
	}
	return nil
}
