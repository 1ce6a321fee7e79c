package executor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/steps"
)

// executorPort declares the block manager's port on the container. It declares no port if the configured port is zero,
// which means any port.
func executorPort(e *execution) error {
	const key = "spark.blockManager.port"

	port, err := e.Conf.Int(key, steps.BlockManagerPort)
	if err != nil || port == 0 {
		return err
	}

	e.Spark.Ports = append(e.Spark.Ports, corev1.ContainerPort{Name: steps.BlockManagerPortName, ContainerPort: int32(port)})
	return nil
}

// executorEnv sets the executor's environment variables: the variables that Spark always sets, the variables of the
// user, and the variables in which Spark passes the options of the JVM.
func executorEnv(e *execution) error {
	heap, err := e.Conf.Size("spark.executor.memory", 1024, conf.MiB)
	if err != nil {
		return err
	}

	cores, err := e.Conf.Int("spark.executor.cores", 1)
	if err != nil {
		return err
	}

	host, err := driverAddress(e.Draft)
	if err != nil {
		return err
	}

	port, err := e.Conf.Int("spark.driver.port", steps.DriverPort)
	if err != nil {
		return err
	}

	e.AddEnv("SPARK_USER", e.user)
	e.AddEnv("SPARK_DRIVER_URL", fmt.Sprintf("spark://CoarseGrainedScheduler@%s:%d", host, port))
	e.AddEnv("SPARK_EXECUTOR_CORES", strconv.Itoa(cores))
	e.AddEnv("SPARK_EXECUTOR_MEMORY", fmt.Sprintf("%dm", heap))
	e.AddEnv("SPARK_APPLICATION_ID", e.Request.AppID)
	e.AddEnv("SPARK_CONF_DIR", draft.ConfDir)
	e.AddEnv("SPARK_EXECUTOR_ID", e.id)
	e.AddEnv("SPARK_RESOURCE_PROFILE_ID", defaultProfile)

	const prefix = "spark.executorEnv."
	for name, value := range e.Conf.WithPrefix(prefix) {
		if errs := validation.IsRelaxedEnvVarName(name); len(errs) > 0 {
			return submit.KeyErrorf(prefix+name, "%q is not a valid name of an environment variable: %s", name, errs[0])
		}

		e.AddEnv(name, value)
	}

	if path, err := e.Conf.String("spark.executor.extraClassPath", ""); err != nil {
		return err
	} else if path != "" {
		e.AddEnv("SPARK_CLASSPATH", path)
	}

	options, err := executorOptions(e)
	if err != nil {
		return err
	}

	e.Spark.Env = slices.Grow(e.Spark.Env, len(options)+3) // with SPARK_LOCAL_DIRS
	for i, option := range options {
		e.AddEnv("SPARK_JAVA_OPT_"+strconv.Itoa(i), option)
	}

	for _, field := range [...][2]string{{"SPARK_EXECUTOR_POD_IP", "status.podIP"}, {"SPARK_EXECUTOR_POD_NAME", "metadata.name"}} {
		e.Spark.Env = append(e.Spark.Env, corev1.EnvVar{Name: field[0], ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field[1]},
		}})
	}
	return nil
}

// executorOptions returns the options of the executor's JVM: the options of every executor, the user's options, and
// the settings that an executor needs before it can request the other settings from the driver
// (SparkConf.isExecutorStartupConf).
func executorOptions(e *execution) ([]string, error) {
	text, err := e.Conf.String("spark.executor.extraJavaOptions", "")
	if err != nil {
		return nil, err
	}

	if size := replacedSize(text, e.Request.AppID, e.id); size > maxArguments {
		return nil, submit.KeyErrorf("spark.executor.extraJavaOptions", "is %d bytes long with {{APP_ID}} and {{EXECUTOR_ID}} replaced; the limit is %d bytes", size, maxArguments)
	}

	options := append(moduleOptions(e.Draft), conf.SplitExecutorOptions(e.withIDs(text))...)
	for key, value := range e.Conf.All() {
		if startsExecutors(e.Draft, key) {
			options = append(options, "-D"+key+"="+value)
		}
	}
	return options, nil
}

func startsExecutors(d *draft.Draft, key string) bool {
	for _, prefix := range []string{"spark.auth", "spark.rpc", "spark.network", "spark.port."} {
		if strings.HasPrefix(key, prefix) {
			return key != "spark.authenticate.secret"
		}
	}
	return d.Line.Major >= 4 && strings.HasPrefix(key, "spark.ssl") && !strings.Contains(key, "Password") ||
		strings.HasPrefix(key, "spark.") && strings.HasSuffix(key, ".port")
}

// maxArguments is the maximum length of the options of a JVM. Linux allows 2 MiB for all arguments and environment
// variables of a process.
const maxArguments = 1 << 20

// replacedSize returns the length that text has after the markers of IDs in it are replaced.
func replacedSize(text, application, executor string) int {
	return len(text) + strings.Count(text, "{{APP_ID}}")*(len(application)-len("{{APP_ID}}")) +
		strings.Count(text, "{{EXECUTOR_ID}}")*(len(executor)-len("{{EXECUTOR_ID}}"))
}
