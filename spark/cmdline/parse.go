// Package cmdline reads spark-submit's command line. Parse returns the submit.Request of an application in Kubernetes' cluster mode. It reads the
// options, the properties files and the environment in spark-submit's order, and the files that the line names by the functions of a Submitter:
// the package itself touches no file system.
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

// Submitter is where a command line is given: what spark-submit finds around itself, as data, and the caller's way to its files.
type Submitter struct {
	// SparkVersion is the version of Spark in the image, such as "4.1.4". It decides which options there are, and goes into the Request.
	SparkVersion string
	// Environment is the submitter's, that of a sourced spark-env.sh included. It goes into the Request, for "${env:NAME}".
	Environment map[string]string
	// SystemProperties are those that a submitting JVM would have (SPARK_SUBMIT_OPTS=-Dkey=value). Those that begin with "spark." are
	// configuration of the lowest priority; user.name is who submits, where neither SPARK_USER nor HADOOP_USER_NAME says so. All go into the
	// Request, for "${system:NAME}".
	SystemProperties map[string]string
	// WorkingDirectory is the absolute path below which relative paths are; empty means "/".
	WorkingDirectory string
	// ReadFile returns the content of a file by its absolute path. Where it is nil, a command line that names a file is refused.
	ReadFile func(path string) ([]byte, error)
	// ReadDir returns the contents of the regular files directly in a directory, by name; the path is absolute. A directory that is not there
	// is empty, not an error. Where it is nil, every directory is empty.
	ReadDir func(path string) (map[string][]byte, error)
}

// Parse understands the command line of spark-submit ("--master k8s://... --deploy-mode cluster ... RESOURCE ARGUMENTS") as Spark does, and
// returns what submit.Build needs for it, with warnings in plain words. Sources: org.apache.spark.launcher.SparkSubmitCommandBuilder and
// SparkSubmitOptionParser, org.apache.spark.deploy.SparkSubmitArguments and SparkSubmit.prepareSubmitEnvironment.
//
// A setting is taken from the first that has it: an option; --conf (the --driver-* options but --driver-cores are forms of --conf, the later
// one wins); --extra-properties-file (Spark 4.2, the later file wins); --properties-file; conf/spark-defaults.conf of SPARK_CONF_DIR or
// SPARK_HOME (without a --properties-file, or with --load-spark-defaults of Spark 4.0); the environment (MASTER, DEPLOY_MODE,
// SPARK_DRIVER_MEMORY, SPARK_EXECUTOR_MEMORY, SPARK_EXECUTOR_CORES); SystemProperties. Everything behind the resource is the application's.
// Options that mean nothing on Kubernetes and keys that do not begin with "spark." are left out with a warning.
//
// The Request's Conf is the configuration without what has a field of its own: Master, Namespace ("default" where nothing says otherwise),
// AppName, DriverPodName, and the files of the submitter, which are read and put into the Request: pod templates (YAML becomes JSON), krb5.conf, a
// keytab, the driver's credentials, Volcano's PodGroup, HADOOP_CONF_DIR, and SPARK_CONF_DIR as ConfFiles. Paths without a scheme become
// file: URIs. AppID, ResourceNamePrefix, ConfigMapName, SubmitTime, Owner, Labels and overlays are the caller's to set, and
// DriverPodName too where it is empty.
//
// Errors are *submit.Error, before Build's: Key names a configuration key, however it was given, and Field an option such as "--conf", an
// environment variable, or a field of Request. Refused is what is no submission (--kill, --status, --help, --version), what is not for
// Kubernetes' cluster mode (another master, client mode, shells and servers, Spark Connect), what spark-submit would refuse before it
// talks to a cluster, and a file that cannot be read. NotNative is set where spark-submit's own clients could read it, and nothing else is
// wrong: then the Request is returned too, with that file's key in its Conf. Whoever has the file may put it into its field (DriverTemplate,
// ExecutorTemplate) and delete the key. Messages show no value that looks like a secret.
func Parse(args []string, s Submitter) (submit.Request, []string, error) {
	major, minor := submit.LineOf(s.SparkVersion)
	p := &parser{submitter: s, major: major, minor: minor, options: map[string]string{}, origin: map[string]string{},
		conf: conf.New().WithEnvironment(s.Environment).WithSystemProperties(s.SystemProperties)}
	for _, part := range []func() error{
		func() error { return p.scan(args) }, p.properties, p.settings, p.validate, p.clusterMode, p.systemProperties, p.lists, p.files, p.request,
	} {
		if err := part(); err != nil {
			return submit.Request{}, nil, asError(err)
		}
	}
	if p.notNative != nil {
		return p.r, p.warns.All(), p.notNative
	}
	return p.r, p.warns.All(), nil
}

// parser is what the parts of Parse work on, one after the other.
type parser struct {
	submitter Submitter
	// major and minor are the Spark line's.
	major, minor int
	// options are the last values of the options that are no form of --conf, by name; a switch has an empty one.
	options map[string]string
	// extra are the --extra-properties-file.
	extra []string
	// conf begins as what --conf says and becomes the Request's.
	conf *conf.Conf
	// origin tells which environment variable gave a key its value.
	origin map[string]string
	r      submit.Request
	warns  conf.Messages
	// notNative is the first thing that only spark-submit's own clients could do.
	notNative *submit.Error
}

// settings puts what options and environment say over the properties (SparkSubmitArguments.loadEnvironmentArguments).
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
		// The old names are copied to the new ones.
		if _, value, ok := p.conf.Lookup(key); ok {
			p.conf.Set(key, value)
		}
	}
	return nil
}

// systemProperties fills in what nothing else says. Master, deploy mode and name are settled before: a JVM's properties do not count there.
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

// request fills the fields that are read from the configuration, and takes out of it what has a field.
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
	// Build writes them again, so that references to them still find them.
	p.conf.Delete(masterKey, deployModeKey, appNameKey, namespaceKey, podNameKey)
	// Build declares both itself.
	r.Conf = p.conf.WithEnvironment(nil).WithSystemProperties(nil)
	return nil
}
