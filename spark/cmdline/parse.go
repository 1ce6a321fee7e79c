// Package cmdline parses spark-submit's command line. Parse returns the submit.Request of an application in Kubernetes'
// cluster mode. It reads the options, the properties files and the environment in spark-submit's order. The package
// itself does not access a file system: Parse reads the files that the command line names only through the functions of
// a Submitter.
//
// # Compatibility
//
// The package is part of the library that package spark/submit describes, and follows semantic versioning with the
// module.
package cmdline

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Submitter is the environment of a command line: data and files of the machine on which spark-submit would run. Parse
// reads the files through functions.
type Submitter struct {
	// SparkVersion is the version of Spark in the image, such as "4.1.4". It determines the valid options, and goes
	// into the Request.
	SparkVersion string
	// Environment is the submitter's environment, including that of a sourced spark-env.sh. It goes into the Request,
	// for "${env:NAME}".
	Environment map[string]string
	// SystemProperties are the system properties of a submitting JVM (SPARK_SUBMIT_OPTS=-Dkey=value). Properties that
	// begin with "spark." are configuration with the lowest priority. The property user.name is the submitting user if
	// neither SPARK_USER nor HADOOP_USER_NAME names a user. All properties go into the Request, for "${system:NAME}".
	SystemProperties map[string]string
	// AnyCluster accepts command lines for YARN and standalone clusters. Parse converts them to Kubernetes' cluster
	// mode, and a warning names each setting that does not carry over.
	AnyCluster bool
	// WorkingDirectory is the absolute path against which relative paths are resolved; empty means "/".
	WorkingDirectory string
	// ReadFile returns the content of a file by its absolute path. If it is nil, Parse rejects a command line that
	// names a file.
	ReadFile func(path string) ([]byte, error)
	// ReadDir returns the contents of the regular files directly in a directory, by file name. The path is absolute.
	// For a missing directory, ReadDir returns no files and no error. If ReadDir is nil, every directory counts as
	// empty.
	ReadDir func(path string) (map[string][]byte, error)
}

// Parse parses the command line of spark-submit ("--master k8s://... --deploy-mode cluster ... RESOURCE ARGUMENTS") as
// Spark does. It returns the input of native.Build and warnings for the user. Sources:
// org.apache.spark.launcher.SparkSubmitCommandBuilder and SparkSubmitOptionParser,
// org.apache.spark.deploy.SparkSubmitArguments and SparkSubmit.prepareSubmitEnvironment.
//
// spark-submit's launcher converts every --driver-* option except --driver-cores to a --conf. The value of a setting
// comes from the first of these sources that has it:
//   - an option that is not converted to a --conf;
//   - --conf, or an option that is converted to it (the last one counts);
//   - --extra-properties-file (Spark 4.2; the last file counts);
//   - --properties-file;
//   - conf/spark-defaults.conf of SPARK_CONF_DIR or SPARK_HOME, if there is no --properties-file or if the line has
//     --load-spark-defaults (Spark 4.0);
//   - the environment (MASTER, DEPLOY_MODE, SPARK_DRIVER_MEMORY, SPARK_EXECUTOR_MEMORY, SPARK_EXECUTOR_CORES);
//   - SystemProperties.
//
// Everything after the resource belongs to the application. Options without a meaning on Kubernetes, and keys that do
// not begin with "spark.", are dropped with a warning.
//
// The Request's Conf is the configuration without the keys that have a field of their own in the Request. These fields
// are Master, Namespace ("default" if nothing sets it), AppName, DriverPodName, and the contents of the submitter's
// files: pod templates (YAML becomes JSON), krb5.conf, a keytab, the driver's credentials, Volcano's PodGroup,
// HADOOP_CONF_DIR, and SPARK_CONF_DIR as ConfFiles. Paths without a scheme become file: URIs. The caller sets AppID,
// ResourceNamePrefix, ConfigMapName, SubmitTime, Owner, Labels and overlays, and DriverPodName if it is empty.
//
// Errors are *submit.Error. The error's Key names a configuration key, whichever source sets it. Its Field names an
// option such as "--conf", an environment variable, or a field of Request. Parse rejects these command lines:
//   - command lines that are not a submission (--kill, --status, --help, --version);
//   - command lines that are not for Kubernetes' cluster mode (another master, client mode, shells and servers, Spark
//     Connect);
//   - command lines that spark-submit would reject before it connects to a cluster;
//   - command lines that name files that cannot be read.
//
// The error's NotNative is set if only spark-submit's own file system clients could read a pod template and nothing
// else is wrong. In this case Parse returns the Request too, with the file's key in the Request's Conf. A caller that
// has the file may put its content into the field of the Request (DriverTemplate, ExecutorTemplate) and delete the key.
//
// Messages show no value that looks like a secret.
func Parse(args []string, s Submitter) (submit.Request, []string, error) {
	major, minor := submit.LineOf(s.SparkVersion)

	p := &parser{submitter: s, major: major, minor: minor, options: map[string]string{}, origin: map[string]string{},
		conf: conf.New().WithEnvironment(s.Environment).WithSystemProperties(s.SystemProperties)}
	for _, part := range []func() error{
		func() error { return p.scan(args) }, p.properties, p.settings, p.validate, p.clusterMode, p.systemProperties, p.lists, p.files, p.request,
	} {
		if err := part(); err != nil {
			return submit.Request{}, nil, submit.AsError(err)
		}
	}

	if p.notNative != nil {
		return p.r, p.warns.All(), p.notNative
	}
	return p.r, p.warns.All(), nil
}

// parser is the state of Parse, which its steps fill in one after the other.
type parser struct {
	submitter Submitter
	// major and minor are the numbers of the Spark release line.
	major, minor int
	// options maps the name of an option to its last value on the command line, and to "" if the option takes no value.
	// It does not contain options that are converted to a --conf.
	options map[string]string
	// extra are the files of --extra-properties-file.
	extra []string
	// conf starts with the values of --conf, and becomes the configuration of the Request.
	conf *conf.Conf
	// origin maps a key to the environment variable that set it.
	origin map[string]string
	r      submit.Request
	warns  conf.Messages
	// notNative is the first error for a file that only spark-submit's own file system clients could read.
	notNative *submit.Error
}

// settings applies the options and the environment variables. The value of an option overrides the properties. An
// environment variable sets a key only if the key has no value yet (SparkSubmitArguments.loadEnvironmentArguments).
func (p *parser) settings() error {
	for _, o := range options {
		value, ok := p.options[o.name]
		switch {
		case !ok:
		case o.ignored != "":
			p.warns.Add("%s: has no effect: %s", o.name, o.ignored)
		case o.key != "":
			p.conf.Set(o.key, value)
		}
	}

	for _, e := range [...][2]string{
		{"MASTER", masterKey},
		{"SPARK_REMOTE", "spark.remote"},
		{"DEPLOY_MODE", deployModeKey},
		{"SPARK_DRIVER_MEMORY", "spark.driver.memory"},
		{"SPARK_EXECUTOR_MEMORY", "spark.executor.memory"},
		{"SPARK_EXECUTOR_CORES", "spark.executor.cores"},
	} {
		if value, ok := p.submitter.Environment[e[0]]; ok && p.conf.SetIfMissing(e[1], value) {
			p.origin[e[1]] = e[0]
		}
	}

	for _, key := range []string{"spark.kerberos.principal", "spark.kerberos.keytab"} {
		// Spark copies old names to the new ones.
		if _, value, ok := p.conf.Lookup(key); ok {
			p.conf.Set(key, value)
		}
	}
	return nil
}

// systemProperties sets keys from the submitter's system properties, unless another source has set them. Spark ignores
// system properties for the master, the deploy mode and the application's name. The step clusterMode has already
// determined the first two, and systemProperties sets the name before it reads the system properties.
func (p *parser) systemProperties() error {
	name, _ := p.conf.Get(appNameKey)
	if name == "" {
		name = p.r.MainClass
	}

	if name == "" {
		name = path.Base(cmp.Or(p.r.Resource, noResource))
	}

	p.conf.Set(appNameKey, name)

	for _, key := range slices.Sorted(maps.Keys(p.submitter.SystemProperties)) {
		if strings.HasPrefix(key, "spark.") {
			p.conf.SetIfMissing(key, p.submitter.SystemProperties[key])
		}
	}
	return nil
}

// request sets the fields of the Request from the configuration and from the submitter's environment. It removes the
// configuration keys whose values are now in fields of the Request.
func (p *parser) request() error {
	s, r := p.submitter, &p.r
	r.SparkVersion, r.ProxyUser = s.SparkVersion, p.options["--proxy-user"]
	r.Environment, r.SystemProperties = maps.Clone(s.Environment), maps.Clone(s.SystemProperties)
	r.AppName, _ = p.conf.Get(appNameKey)

	var err error
	if r.Namespace, err = p.conf.String(namespaceKey, "default"); err != nil {
		return err
	}

	if r.DriverPodName, err = p.conf.String(podNameKey, ""); err != nil {
		return err
	}

	if r.User = s.Environment["SPARK_USER"]; r.User == "" && r.ProxyUser == "" {
		r.User = cmp.Or(s.Environment["HADOOP_USER_NAME"], s.SystemProperties["user.name"])
	}
	// Build sets these keys again, so references to these keys still resolve.
	p.conf.Delete(masterKey, deployModeKey, appNameKey, namespaceKey, podNameKey)
	// Build declares the environment and the system properties itself.
	r.Conf = p.conf.WithEnvironment(nil).WithSystemProperties(nil)
	return nil
}
