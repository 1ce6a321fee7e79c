package submit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// resourceType is the value of spark.kubernetes.resource.type: the language of the application.
type resourceType string

const (
	typeJava   resourceType = "java"
	typePython resourceType = "python"
	typeR      resourceType = "r"
)

// typeOf determines the language from the suffix of the resource alone, as SparkSubmit does.
func typeOf(resource string) resourceType {
	switch {
	case strings.HasSuffix(resource, ".py"):
		return typePython
	case strings.HasSuffix(resource, ".R"), strings.HasSuffix(resource, ".r"):
		return typeR
	}
	return typeJava
}

// IsJVM reports whether the JVM itself runs a main resource (Request.Resource). For a Python or R resource, the JVM
// starts an interpreter and gets only the interpreter's exit code. If the resource is empty, the JVM runs a class from
// the image's class path (SparkSubmit.isPython, isR).
func IsJVM(resource string) bool { return typeOf(resource) == typeJava }

// rejectedKeys lists the keys with which spark-submit would read a file or a URL of the submitter, or use the
// submitter's credentials. It also lists keys that have no meaning on Kubernetes. A key with a trailing dot is a
// prefix. If byJVM is true, the real spark-submit in the application's image accepts the key. The field reason is the
// error message after the key. It gives the reason and, if there is one, the alternative.
var rejectedKeys = []struct {
	key    string
	byJVM  bool
	reason string
}{
	{"spark.kubernetes.authenticate.submission.", false, "the objects are created with the submitter's own credentials; remove the key"},
	{"spark.driver.bindAddress", false, "is not supported on Kubernetes: the driver binds to its pod's address"},
	{"spark.kubernetes.driver.podTemplateFile", true, "the operator never reads files and URLs that a configuration names; give the content as the driver's pod template"},
	{"spark.kubernetes.executor.podTemplateFile", true, "the operator never reads files and URLs that a configuration names; give the content as the executors' pod template"},
	{"spark.kubernetes.authenticate.driver.caCertFile", true, "a file of the submitter is never read; mount a Secret and use spark.kubernetes.authenticate.driver.mounted.caCertFile"},
	{"spark.kubernetes.authenticate.driver.clientKeyFile", true, "a file of the submitter is never read; mount a Secret and use spark.kubernetes.authenticate.driver.mounted.clientKeyFile"},
	{"spark.kubernetes.authenticate.driver.clientCertFile", true, "a file of the submitter is never read; mount a Secret and use spark.kubernetes.authenticate.driver.mounted.clientCertFile"},
	{"spark.kubernetes.kerberos.krb5.path", true, "a file of the submitter is never read; put it into a ConfigMap and use spark.kubernetes.kerberos.krb5.configMapName"},
}

// fileLists are the keys whose values are lists of files. Spark-submit uploads these files or expands their patterns.
var fileLists = []string{"spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles"}

// rejectKeys rejects configurations with which spark-submit would read from the submitter's machine.
func (d *draft) rejectKeys() error {
	for _, entry := range rejectedKeys {
		for rest := range d.conf.WithPrefix(entry.key) {
			if rest != "" && !strings.HasSuffix(entry.key, ".") || entry.key+rest == RunnerAccountKey {
				continue
			}
			err := KeyErrorf(entry.key+rest, "%s", entry.reason)
			if !entry.byJVM {
				return err
			}
			d.onlyByJVM(err)
		}
	}
	if err := d.customSteps(); err != nil {
		return err
	}
	if name, keytab, ok := d.conf.Lookup("spark.kerberos.keytab"); ok && !strings.HasPrefix(keytab, "local:") {
		d.onlyByJVM(KeyErrorf(name, "a file of the submitter is never read; mount the keytab from a Secret (spark.kubernetes.driver.secrets.*) and name it local://PATH"))
	}
	return d.rejectFiles()
}

// customSteps checks the feature steps that the user adds to the driver. Build supports only Spark's own step for
// Volcano; all other steps are classes that need a JVM.
func (d *draft) customSteps() error {
	const key = "spark.kubernetes.driver.pod.featureSteps"
	classes, err := d.conf.List(key, nil)
	if err != nil {
		return err
	}
	for _, class := range classes {
		if class == volcanoClass {
			d.volcano = true
			continue
		}
		// Only the first class is reported, because formatting a class takes time in proportion to the whole list.
		if d.notNative == nil {
			d.onlyByJVM(KeyErrorf(key, "%s cannot run outside a JVM; remove it, or submit this application by spark-submit", d.conf.Quote(key, class)))
		}
	}
	switch {
	case !d.conf.Has(volcanoFileKey):
	case d.volcano:
		d.onlyByJVM(KeyErrorf(volcanoFileKey, "the operator does not read files and URLs that a configuration names; set %s to the file's content (Spark 4.2 or later)", volcanoJSONKey))
	default:
		d.warn("%s: has no effect without %s in %s", volcanoFileKey, volcanoClass, key)
	}
	return d.executorSteps()
}

// executorSteps warns about Volcano's step for executors if the driver's image may lack the step, because the driver
// would then fail when it creates its first executor.
func (d *draft) executorSteps() error {
	const key = "spark.kubernetes.executor.pod.featureSteps"
	classes, err := d.conf.List(key, nil)
	if err == nil && slices.Contains(classes, volcanoClass) && !d.q.volcanoShipped {
		d.warn("%s: %s is in Spark's own images from 4.2 only; the image needs a Spark that was built with Volcano", key, volcanoClass)
	}
	return err
}

// mixingClasses are the main classes with which arguments of the application become options of spark-submit: Spark's
// launcher searches the arguments of most of them (SparkSubmitCommandBuilder.specialClasses), and the first one is
// spark-submit itself.
var mixingClasses = []string{
	"org.apache.spark.deploy.SparkSubmit",
	"org.apache.spark.repl.Main", "org.apache.spark.sql.application.ConnectRepl", "org.apache.spark.sql.connect.service.SparkConnectServer",
	"org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver",
}

// OptionProblem returns the reason why the name of a file cannot be an argument of spark-submit, or "" if it can.
// Spark-submit reads the first word that is neither an option nor an option's value as the main file. All later words
// are arguments of the application, except with mixingClasses.
func OptionProblem(file string) string {
	const instead = " would be read as an option by spark-submit; name a file that does not begin with a hyphen"
	switch {
	case strings.HasPrefix(strings.TrimLeftFunc(file, func(r rune) bool { return r < '!' || r > '~' }), "-"):
		return conf.Quote("Resource", file) + instead
	case strings.Contains(file, "$("):
		return conf.Quote("Resource", file) + " has a reference to a variable, whose value could be an option of spark-submit; write the name without $("
	}
	return ""
}

// rejectOptions rejects texts that spark-submit would read as its own options instead of as a file or an argument of
// the application. Such options would override the configuration.
func (d *draft) rejectOptions() error {
	if problem := OptionProblem(d.r.Resource); problem != "" {
		return FieldErrorf("Resource", "%s", problem)
	}
	for _, key := range fileLists {
		list, _ := d.conf.Get(key)
		for _, uri := range conf.SplitList(list) {
			if strings.HasPrefix(uri, "-") {
				return KeyErrorf(key, "%s", OptionProblem(uri))
			}
		}
	}
	if d.kind != typeJava || !slices.Contains(mixingClasses, d.r.MainClass) {
		return nil
	}
	for _, argument := range d.r.Arguments {
		if strings.HasPrefix(argument, "-") && argument != "--hiveconf" || strings.Contains(argument, "$(") {
			return FieldErrorf("Arguments", "%s could be read as an option by spark-submit, which searches the arguments of the class %s for options; set keys in the configuration instead",
				conf.Quote("Arguments", argument), d.r.MainClass)
		}
	}
	return nil
}

// rejectFiles rejects files that spark-submit would upload, and patterns that spark-submit would expand.
func (d *draft) rejectFiles() error {
	if err := d.rejectOptions(); err != nil {
		return err
	}
	for _, key := range fileLists {
		list, _ := d.conf.Get(key)
		for _, uri := range conf.SplitList(list) {
			switch {
			case isSubmitterFile(uri):
				err := KeyErrorf(key, "%s", submitterFileMessage(key, uri))
				if !d.uploads() {
					return err
				}
				d.onlyByJVM(err)
			case conf.NotURI(uri) != "":
				return KeyErrorf(key, "%s", conf.IllegalURI(uri, conf.NotURI(uri)))
			case isPattern(uri):
				d.onlyByJVM(KeyErrorf(key, "%s is a pattern, which needs the file system's own client to expand; list the files", conf.Quote(key, uri)))
			}
		}
	}
	if !isSubmitterFile(d.r.Resource) {
		if part := conf.NotURI(d.r.Resource); part != "" {
			return FieldErrorf("Resource", "%s", conf.IllegalURI(d.r.Resource, part))
		}
	} else if d.r.Resource != "" {
		err := FieldErrorf("Resource", "%s", submitterFileMessage("Resource", d.r.Resource))
		// Spark-submit does not upload an R file: it passes the path to the driver.
		if !d.uploads() && d.kind != typeR {
			return err
		}
		d.onlyByJVM(err)
	}
	return nil
}

// uploads reports whether the configuration sets the path to which spark-submit uploads files from its own machine.
func (d *draft) uploads() bool {
	path, _ := d.conf.Get("spark.kubernetes.file.upload.path")
	return path != ""
}

// jarCanBeOpened reports whether spark-submit could open the jar to search it for the main class. It cannot open a jar
// with the scheme "local", since Hadoop has no such file system. A jar on spark-submit's own machine counts only if an
// upload path is configured, because spark-submit also has to upload the jar.
func (d *draft) jarCanBeOpened() bool {
	switch {
	case d.r.Resource == "":
		return false
	case isSubmitterFile(d.r.Resource):
		return d.uploads()
	}
	return !strings.HasPrefix(d.r.Resource, "local:")
}

// isSubmitterFile reports whether a URI names a file on the submitter's machine.
func isSubmitterFile(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	return !ok || strings.Contains(scheme, "/") || strings.EqualFold(scheme, "file")
}

func submitterFileMessage(key, uri string) string {
	return conf.Quote(key, uri) + " is a file of the submitter, which is never read; use local:///PATH for a file of the image, or a URL that the driver " +
		"can read, such as s3a://, gs://, hdfs:// or https://"
}

// isPattern reports whether a URI is a pattern that spark-submit would expand with a Hadoop file system.
func isPattern(uri string) bool {
	switch scheme, _, _ := strings.Cut(uri, ":"); scheme {
	case "local", "http", "https", "ftp":
		return false
	}
	return strings.ContainsAny(uri, `*?[{\`)
}

// checkConf rejects values that spark-submit would reject before anything else
// (SparkSubmitArguments.validateSubmitArguments), and values with which the driver's JVM would fail at its start.
func (d *draft) checkConf() error {
	for _, key := range []string{"spark.driver.memory", "spark.executor.memory"} {
		// The raw value is checked, because spark-submit checks these keys before it replaces "${...}", and the
		// driver's -Xmx is the raw text.
		raw, ok := d.conf.Get(key)
		if !ok {
			continue
		}
		switch n, err := conf.ParseSize(raw, conf.MiB); {
		case err != nil:
			return KeyErrorf(key, "%v", err)
		case n == 0:
			return KeyErrorf(key, "should be more than zero")
		}
	}
	if raw, ok := d.conf.Get("spark.driver.memory"); ok && !heapSize(raw) {
		return KeyErrorf("spark.driver.memory", "%q becomes the option -Xmx of the driver's JVM, which reads it differently (a number without unit is bytes "+
			"there); use one of the units k, m, g or t, such as 512m or 2g", conf.Shorten(strings.TrimSpace(raw)))
	}
	if err := d.checkJavaOptions(); err != nil {
		return err
	}
	if err := d.checkPackages(); err != nil {
		return err
	}
	for _, key := range []string{"spark.driver.cores", "spark.executor.cores"} {
		if n, err := d.conf.Int(key, 1); err != nil {
			return err
		} else if n <= 0 {
			return KeyErrorf(key, "should be more than zero, but is %s", d.conf.Quote(key, strconv.Itoa(n)))
		}
	}
	return d.checkInstances()
}

// checkJavaOptions rejects JVM options that set the heap size. For the driver, Spark's launcher rejects such options,
// both at submission and in the pod. For the executors, the driver's SparkConf rejects them when the application starts
// (SparkConf.validateSettings, which looks for the text anywhere in the options).
func (d *draft) checkJavaOptions() error {
	const executor = "spark.executor.extraJavaOptions"
	for _, key := range []string{"spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"} {
		options, _ := d.conf.Get(key)
		if problem := HeapOption(options, d.r.SparkVersion); problem != "" {
			return KeyErrorf(key, "%s; use spark.driver.memory", problem)
		}
	}
	if options, _ := d.conf.Get(executor); strings.Contains(options, "-Xmx") {
		return KeyErrorf(executor, "the heap cannot be set by -Xmx; use spark.executor.memory")
	}
	return nil
}

// HeapOption returns the reason why Spark's launcher rejects the JVM options of a driver. If the launcher accepts the
// options, the result is empty. The launcher rejects options that set the heap size
// (SparkSubmitCommandBuilder.checkJavaOptions). Spark 3.5 looks for the text Xmx anywhere. Later lines look for an
// option that begins with -Xmx, so -Dchild.opts=-Xmx2g is valid there.
func HeapOption(options, sparkVersion string) string {
	words, _ := conf.SplitJavaOptions(options)
	if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "-Xmx") }) {
		return "the heap cannot be set by -Xmx"
	}
	if major, _ := LineOf(sparkVersion); major == 3 && strings.Contains(options, "Xmx") {
		return "Spark 3.5 rejects the text Xmx anywhere in the options, even in the value of another option"
	}
	return ""
}

func (d *draft) checkInstances() error {
	dynamic, err := d.conf.Bool("spark.dynamicAllocation.enabled", false)
	if err != nil {
		return err
	}
	const key = "spark.executor.instances"
	if n, err := d.conf.Int(key, 1); err != nil {
		return err
	} else if n < 0 || n == 0 && !dynamic {
		return KeyErrorf(key, "should be more than zero (zero only with dynamic allocation), but is %s", d.conf.Quote(key, strconv.Itoa(n)))
	}
	return nil
}

// heapSize reports whether text ends with one of the units k, m, g and t. Spark and the JVM's option -Xmx read a size
// with one of these units as the same number of bytes.
func heapSize(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return text != "" && strings.IndexByte("kmgt", text[len(text)-1]) >= 0
}

// checkLabel returns an error for a label that the API server would reject, and for Spark's own labels.
func checkLabel(key, value string) error {
	switch key {
	case VersionLabel, SelectorLabel, AppNameKey, RoleLabel:
		return errors.New("is Spark's own label and cannot be set; remove it")
	}
	return checkPair("label", key, value)
}

// checkPair returns an error for a label or node selector that the API server would reject.
func checkPair(what, key, value string) error {
	if errs := validation.IsQualifiedName(key); len(errs) > 0 {
		return fmt.Errorf("%q is not a valid %s name: %s", conf.Shorten(key), what, errs[0])
	}
	if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
		return fmt.Errorf("%s is not a valid %s value: %s", conf.Quote(key, value), what, errs[0])
	}
	return nil
}
