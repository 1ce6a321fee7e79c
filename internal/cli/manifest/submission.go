package manifest

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/cmdline"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Submission is the application that a command line was converted into.
type Submission struct {
	Application *v1beta2.SparkApplication
	// Warnings are about options without effect.
	Warnings []string
	// Wait is true if the command line requests that spark-submit waits for the end of the application.
	Wait bool
}

// DefaultMaster is the master of a command line without --master. The address has no effect, because the application is
// created in the cluster of the kubeconfig.
const DefaultMaster = submit.DefaultMaster

// FromLine converts a command line into an application. An error names the option or the configuration key, and says
// why it cannot be converted.
func FromLine(args []string, s cmdline.Submitter) (Submission, error) {
	s.Environment, s.AnyCluster = maps.Clone(s.Environment), true
	if s.Environment == nil {
		s.Environment = map[string]string{}
	}

	if s.Environment["MASTER"] == "" {
		s.Environment["MASTER"] = DefaultMaster
	}

	r, warnings, err := cmdline.Parse(args, s)
	if err != nil {
		if wrong, ok := errors.AsType[*submit.Error](err); ok && wrong.Field == "Resource" {
			err = errors.New("the application's file " + wrong.Message)
		}
		return Submission{}, err
	}

	c := newConverter(r, warnings)
	c.conf.Set("spark.app.name", r.AppName) // that of --name, or else the class or the file, as with spark-submit

	if r.User != "" {
		c.conf.SetIfMissing("spark.kubernetes.driverEnv.SPARK_USER", r.User)
	}
	return c.run(c.refuseFiles, c.references)
}

// FromRequest converts a submit.Request into an application. Unlike Convert, it does not replace references to
// environment variables in the configuration, because the request was not made for this machine's environment.
func FromRequest(r submit.Request) (Submission, error) { return newConverter(r, nil).run() }

func newConverter(r submit.Request, warnings []string) *converter {
	c := &converter{request: r, conf: r.Conf.Clone(), warnings: warnings, app: &v1beta2.SparkApplication{}}
	c.app.SetGroupVersionKind(v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))
	return c
}

// run executes the given steps, and then the steps that every conversion has.
func (c *converter) run(before ...func() error) (Submission, error) {
	for _, part := range append(before, c.identity, c.program, c.fields, c.submitter, c.rest) {
		if err := part(); err != nil {
			return Submission{}, err
		}
	}
	return Submission{Application: c.app, Warnings: c.warnings, Wait: c.wait}, nil
}

type converter struct {
	request  submit.Request
	conf     *conf.Conf
	app      *v1beta2.SparkApplication
	warnings []string
	wait     bool
}

func (c *converter) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// take removes a key from the configuration and returns its value.
func (c *converter) take(key string) (string, bool) {
	value, ok := c.conf.Get(key)
	c.conf.Delete(key)
	return value, ok
}

// refuseFiles returns an error if the command line needs a local file, but a SparkApplication has no field for the
// file's content. For files in SPARK_CONF_DIR, it only adds warnings.
func (c *converter) refuseFiles() error {
	r := &c.request

	credentials := r.DriverCredentials
	for _, file := range []struct {
		has      bool
		key, way string
	}{
		{len(credentials.CACert)+len(credentials.ClientCert)+len(credentials.ClientKey) > 0, "spark.kubernetes.authenticate.driver.*File",
			"the driver uses the token of its service account; leave the files out"},
		{r.Keytab != nil, "--keytab", "put the file into a Secret, mount it with spark.kubernetes.driver.secrets.NAME, and name its path in the image with local://"},
		{r.Krb5Conf != nil, "spark.kubernetes.kerberos.krb5.path", "put the file into a ConfigMap, and name that with spark.kubernetes.kerberos.krb5.configMapName"},
		{len(r.PodGroupTemplate) > 0, "spark.kubernetes.scheduler.volcano.podGroupTemplateFile", "use spec.batchScheduler in a manifest, which makes the PodGroup"},
		{len(r.HadoopConfFiles) > 0, "HADOOP_CONF_DIR", "put the files into a ConfigMap, name that with spark.kubernetes.hadoop.configMapName, and unset the variable"},
	} {
		if file.has {
			return fmt.Errorf("%s: files of this machine are not sent to the cluster; %s", file.key, file.way)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(r.ConfFiles)) {
		c.warn("SPARK_CONF_DIR: %s is not sent to the cluster; put it into a ConfigMap, and name that in spec.sparkConfigMap", name)
	}
	return nil
}

// readHere matches the configuration keys that spark-submit itself reads. If the value of such a key refers to an
// environment variable, spark-submit uses the variable of the local machine. For all other keys, the driver uses its
// own variable.
var readHere = regexp.MustCompile(`^spark\.(kubernetes\.|(driver|executor)\.(cores|memory)|jars|files|archives|submit\.pyFiles)`)

// prefixed matches keys that begin with spark.kubernetes., but are exceptions: Spark never replaces references in their
// values.
var prefixed = regexp.MustCompile(`\.(label|annotation|node\.selector|secrets|secretKeyRef|driverEnv|volumes)\.`)

// references replaces references to environment variables and system properties by their values on the local machine,
// because the operator runs elsewhere and does not have these values. It does so for the keys that spark-submit reads,
// also if their values refer to keys that have such references.
func (c *converter) references() error {
	here := c.request.Conf.Clone().WithEnvironment(c.request.Environment).WithSystemProperties(c.request.SystemProperties)
	for key, value := range c.request.Conf.All() {
		if !strings.Contains(value, "${") || !readHere.MatchString(key) || prefixed.MatchString(key) {
			continue
		}

		text, err := here.Expand(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}

		if elsewhere, err := c.request.Conf.Expand(value); err != nil || elsewhere != text {
			c.conf.Set(key, text)
		}
	}

	if dirs := c.request.Environment["SPARK_LOCAL_DIRS"]; dirs != "" {
		c.conf.Set("spark.local.dir", dirs) // the variable has precedence over the key
	}

	for variable, key := range map[string]string{"PYSPARK_PYTHON": "spark.pyspark.python", "PYSPARK_DRIVER_PYTHON": "spark.pyspark.driver.python"} {
		if value := c.request.Environment[variable]; value != "" && strings.HasSuffix(c.request.Resource, ".py") {
			c.conf.SetIfMissing(key, value)
		}
	}
	return nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// maxName is the largest length of generateName, which the method identity sets. It leaves room for the letters that
// the API server appends, and for the suffixes of Service names.
const maxName = 40

// identity sets the namespace and generateName. The API server appends a suffix to generateName, so the same command
// line can be submitted several times.
func (c *converter) identity() error {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(c.request.AppName), "-"), "-")
	if name == "" || name[0] < 'a' {
		name = "spark-" + name
	}

	name = strings.Trim(name[:min(len(name), maxName)], "-")
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
		return fmt.Errorf("--name: %q cannot become the name of an application: %s", c.request.AppName, problems[0])
	}

	c.app.GenerateName = name + "-"
	if _, named := c.request.Conf.Get("spark.kubernetes.namespace"); named || c.request.Namespace != metav1.NamespaceDefault {
		c.app.Namespace = c.request.Namespace
	}

	c.conf.Delete("spark.kubernetes.namespace", "spark.submit.deployMode", "spark.master")

	if c.request.DriverPodName != "" {
		c.app.Spec.Driver.PodName = &c.request.DriverPodName
		c.conf.Delete("spark.kubernetes.driver.pod.name")
	}
	return nil
}

func (c *converter) program() error {
	spec, r := &c.app.Spec, &c.request

	spec.SparkVersion, spec.MainApplicationFile, spec.Arguments = r.SparkVersion, r.Resource, r.Arguments
	switch {
	case r.Resource == "":
		return errors.New("spark-internal: a SparkApplication needs a main file; name the application's jar, .py or .R file")
	case strings.HasSuffix(r.Resource, ".py"):
		spec.Type = v1beta2.SparkApplicationTypePython
	case strings.HasSuffix(strings.ToLower(r.Resource), ".r"):
		spec.Type = v1beta2.SparkApplicationTypeR
	default:
		spec.Type = v1beta2.SparkApplicationTypeScala
	}

	if r.MainClass != "" {
		spec.MainClass = &r.MainClass
	}

	if r.ProxyUser != "" {
		spec.ProxyUser = &r.ProxyUser
	}
	return nil
}

// fields moves configuration keys into fields of the spec: keys that a SparkApplication must not contain, and keys that
// readers of a manifest expect as fields.
func (c *converter) fields() error {
	spec := &c.app.Spec
	fields.Application.Take(c.conf, c.app)

	dynamic, _ := c.conf.Get(fields.Application.Key("spec.dynamicAllocation.enabled"))
	if spec.Executor.Instances == nil && !c.conf.Has(fields.Application.Key("spec.executor.instances")) && !strings.EqualFold(strings.TrimSpace(dynamic), "true") {
		spec.Executor.Instances = new(int32(2)) // the default of spark-submit; the default of the API is 1
	}

	if t := c.request.DriverTemplate; t != nil {
		spec.Driver.Template = &runtime.RawExtension{Raw: t}
	}

	if t := c.request.ExecutorTemplate; t != nil {
		spec.Executor.Template = &runtime.RawExtension{Raw: t}
	}
	return nil
}

// submitter removes the configuration keys for spark-submit's own connection to the cluster, and the key that makes
// spark-submit wait for the application.
func (c *converter) submitter() error {
	if text, ok := c.take("spark.kubernetes.submission.waitAppCompletion"); ok {
		c.wait = strings.EqualFold(strings.TrimSpace(text), "true")
	}

	const account = submit.RunnerAccountKey
	for _, key := range c.conf.Keys() {
		if strings.HasPrefix(key, "spark.kubernetes.authenticate.submission.") && key != account {
			c.warn("%s: has no effect: the connection is that of the kubeconfig", key)
			c.conf.Delete(key)
		}
	}

	for _, key := range []string{"spark.kubernetes.context", "spark.kubernetes.trust.certificates"} {
		if value, ok := c.take(key); ok {
			c.warn("%s: has no effect: the connection is that of the kubeconfig; use --context %s", key, conf.Quote(key, value))
		}
	}

	if c.request.Master != DefaultMaster {
		c.warn("--master: has no effect: the application is created in the cluster of the kubeconfig's context")
	}
	return nil
}

func (c *converter) rest() error {
	if c.conf.Len() > 0 {
		c.app.Spec.SparkConf = c.conf.Map()
	}
	return nil
}

var versionInTag = regexp.MustCompile(`:[^/@]*?(\d+\.\d+\.\d+)[^/]*$`)

// ImageVersion returns the version of Spark in an image's tag, or "" if the tag has none.
func ImageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if match := versionInTag.FindStringSubmatch(image); match != nil {
		return match[1]
	}
	return ""
}
