package connect

import (
	"maps"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const (
	namespaceKey     = "spark.kubernetes.namespace"
	imageKey         = "spark.kubernetes.container.image"
	driverImageKey   = "spark.kubernetes.driver.container.image"
	executorImageKey = "spark.kubernetes.executor.container.image"
	driverLabelKey   = "spark.kubernetes.driver.label."
	executorLabelKey = "spark.kubernetes.executor.label."
	podNameKey       = "spark.kubernetes.driver.pod.name"
	namePrefixKey    = "spark.kubernetes.executor.podNamePrefix"
	templateFileKey  = "spark.kubernetes.executor.podTemplateFile"
	templateNameKey  = "spark.kubernetes.executor.podTemplateContainerName"
	hostKey          = "spark.driver.host"
	masterKey        = "spark.master"
	deployModeKey    = "spark.submit.deployMode"
)

// serverConf returns the configuration of a server. It contains, in this order, defaults, the user's values, and the
// keys that users cannot set.
func (d *draft) serverConf(executor executorTemplate) (*conf.Conf, error) {
	if err := d.dropForeign(); err != nil {
		return nil, err
	}

	before, after := conf.New(), conf.New()
	d.override(before, namespaceKey, d.r.Namespace)

	if d.r.Image != "" && !d.conf.Has(imageKey) {
		before.Set(imageKey, d.r.Image)
	}

	d.warnIneffective()

	for key, warning := range d.conf.Unfilled() {
		d.warns.OfKey(key, "%s", warning)
	}

	if !d.conf.Has(executorImageKey) {
		before.Set(executorImageKey, executor.image)
	}

	for _, key := range slices.Sorted(maps.Keys(d.r.Labels)) {
		d.override(after, driverLabelKey+key, d.r.Labels[key])
	}
	// The server binds to all addresses of the pod, because the pod's name cannot be resolved yet when the server
	// binds.
	d.override(after, "spark.driver.bindAddress", "0.0.0.0")
	// If this key is true, which is the default from 4.3 on, executors connect to the bind address
	// (BasicExecutorFeatureStep). If it is false, they connect to spark.driver.host, which is the pod's address.
	d.override(after, "spark.kubernetes.executor.useDriverPodIP", "false")
	d.drop(hostKey, "the address of the pod")
	d.setDefault(after, driverPortKey, "7078")
	d.setDefault(after, blockManagerPortKey, "7079")
	d.override(after, podNameKey, ServerName(d.r.Name))

	for _, key := range slices.Sorted(maps.Keys(d.r.Labels)) {
		d.override(after, executorLabelKey+key, d.r.Labels[key])
	}

	d.override(after, namePrefixKey, executorPrefix(d.r.Name))

	if executor.text != "" {
		d.override(after, templateFileKey, mountDir+"/"+templateKey)
		d.setDefault(after, templateNameKey, overlay.ExecutorContainer)
	}

	d.setDefault(after, "spark.app.name", d.r.Name)
	// The master and the deploy mode are options of spark-submit, which override the configuration.
	d.drop(masterKey, d.r.Master)
	d.drop(deployModeKey, "client")

	for _, part := range []*conf.Conf{d.conf, after} {
		for key, value := range part.All() {
			before.Set(key, value)
		}
	}
	// A server runs for a long time, and a client that can connect to its RPC port without a secret can run code as the
	// server.
	submit.Protect(before, d.r.SparkVersion)
	return before, nil
}

// override sets a key that users cannot set, and warns if the user set a different value.
func (d *draft) override(c *conf.Conf, key, value string) {
	d.drop(key, value)
	c.Set(key, value)
}

// drop removes a key that users cannot set. The argument effective is the value that the server gets. If the user set
// a different value, drop adds a warning.
func (d *draft) drop(key, effective string) {
	if given, ok := d.conf.Get(key); ok && given != effective {
		d.warns.OfKey(key, "%s has no effect: the operator sets %s", conf.Quote(key, given), effective)
	}

	d.conf.Delete(key)
}

func (d *draft) setDefault(c *conf.Conf, key, value string) {
	if !d.conf.Has(key) {
		c.Set(key, value)
	}
}

// executorPrefixLimit is the maximum length that Spark allows for the prefix of executors' names. A DNS label has at
// most 63 characters, and "-exec-" and a number of ten digits follow the prefix
// (Config.KUBERNETES_EXECUTOR_POD_NAME_PREFIX).
const executorPrefixLimit = 47

// executorPrefix returns the prefix of executors' names. It is the server's name or, if that name is too long, the
// beginning of the name and a digest of the whole name.
func executorPrefix(name string) string {
	if len(name) <= executorPrefixLimit {
		return name
	}
	return strings.TrimRight(name[:executorPrefixLimit-9], "-") + "-" + digest(name)
}

// commandLine divides a configuration into arguments of spark-submit and a properties file, which spark-submit reads
// too. Both have limits:
//
//   - An argument passes through bin/spark-class, which removes carriage returns, and through the JVM, which decodes it
//     in the locale of the container. Characters beyond ASCII survive only if the image has a UTF-8 locale. An argument
//     ends at the first NUL, and the kernel accepts at most 128 KiB.
//   - A value in the file loses the blanks at its ends (Utils.getPropertiesFromFile).
//
// Plain values become arguments, because people look for them there; the other values go into the file. The file is
// empty if all values are plain.
//
// Values that look like secrets always go into the file, because everybody who may read pods can read their arguments.
// If there is such a value, the result secret is true, and the caller must put the file into a Secret.
func (d *draft) commandLine(c *conf.Conf) (options []string, file string, secret bool, err error) {
	inFile := conf.New()
	var pairs []string

	hidden := d.secrets(c)
	for key, value := range c.All() {
		switch blanks, hides := strings.Trim(value, trimmed) != value, hidden(key, value); {
		case hides && blanks:
			return nil, "", false, submit.KeyErrorf(key, "looks like a secret and has blanks at its ends, which Spark loses when it reads it from a file; "+
				"write it without the blanks, or let the server's container read it from a Secret of your own")
		case hides:
			secret = true

			inFile.Set(key, value)
			continue
		case plain(key+value) && !strings.Contains(key, "="):
		case !blanks && d.readsFile():
			inFile.Set(key, value)
			continue
		case strings.ContainsAny(key+value, "\r\x00") || strings.Contains(key, "=") || len(key)+len(value) >= argumentLimit:
			return nil, "", false, submit.KeyErrorf(key, "cannot be passed to Spark unchanged: it has blanks at its ends and content that survives only in a file "+
				"(a carriage return, NUL, more than %d bytes); remove one of the two", argumentLimit)
		default:
			d.warns.OfKey(key, "%s reaches Spark unchanged only if the locale of the image is UTF-8 (LANG=C.UTF-8): it has blanks at its ends and characters beyond ASCII",
				conf.Quote(key, value))
		}

		pairs = append(pairs, "--conf", key+"="+value)
	}

	options = []string{"--class", mainClass, "--deploy-mode", "client"}
	if inFile.Len() > 0 {
		file = conf.MarshalProperties(inFile)
		// Spark reads the image's spark-defaults.conf only if no file is named or an option asks for it (SPARK-48392).
		options = append(options, "--properties-file", mountDir+"/"+propertiesKey)
		if d.readsFile() {
			options = append(options, "--load-spark-defaults")
		} else {
			d.warns.OfField("Conf", "values that look like secrets are in a properties file, and with such a file Spark %s does not read the image's conf/spark-defaults.conf; "+
				"copy its settings into the configuration, or use Spark 4", d.r.SparkVersion)
		}
	}
	return slices.Concat(options, []string{"--master", d.r.Master}, pairs), file, secret, nil
}

// secrets returns a function that reports whether a key or its value looks like a secret. Three kinds of keys are
// exempt. Most keys below spark.kubernetes. describe pods, which show the values anyway; the others refer to Secrets.
// The application's name is not secret. The values of spark.authenticate.*.file are only the names of files with
// secrets.
func (d *draft) secrets(c *conf.Conf) func(key, value string) bool {
	looks, err := conf.Secrets(c)
	if err != nil {
		d.warns.OfKey(conf.RedactionKey, "is a pattern that the operator cannot use (%s), so the whole configuration is kept as a secret; write a simpler pattern", conf.Shorten(err.Error()))
	}
	return func(key, value string) bool {
		switch {
		case strings.HasPrefix(key, "spark.kubernetes."), key == "spark.app.name", strings.HasPrefix(key, "spark.authenticate.") && strings.HasSuffix(key, ".file"):
			return false
		}
		return looks(key, value)
	}
}

// argumentLimit is half of the kernel's limit for one argument (MAX_ARG_STRLEN), since escapes may double the length.
const argumentLimit = 64 << 10

// trimmed contains the characters that Spark removes from the ends of values in a file: all characters up to the blank
// (U+0020) except line ends.
var trimmed = func() string {
	var b strings.Builder
	for c := byte(0); c <= ' '; c++ {
		if c != '\r' && c != '\n' {
			b.WriteByte(c)
		}
	}
	return b.String()
}()

// plain reports whether text reaches Spark unchanged as an argument, whatever the image is. Such a text is ASCII
// without NUL and carriage return, and is not too long.
func plain(text string) bool {
	return len(text) < argumentLimit && strings.IndexFunc(text, func(r rune) bool { return r == 0 || r == '\r' || r > 0x7e }) < 0
}

// readsFile reports whether the server's Spark version (4.0 or later) can read a properties file together with the
// image's spark-defaults.conf.
func (d *draft) readsFile() bool {
	return !strings.HasPrefix(strings.TrimPrefix(d.r.SparkVersion, "v"), "3.")
}

// script puts brackets around an IPv6 address, as spark.driver.host requires, and executes spark-submit. It contains no
// text of the user, and no "$(" or "$$", which Kubernetes would expand.
const script = `host=$POD_IP
case $host in *:*) host="[$host]" ;; esac
exec "${SPARK_HOME:-/opt/spark}/bin/spark-submit" --conf "` + hostKey + `=$host" "$@"
`

// arguments returns the arguments of bash -c: the script, the name of the script in error messages, and the options
// unchanged.
func arguments(options []string) []string {
	args := append([]string{script, RoleServer}, options...)
	for i := range args {
		args[i] = submit.EscapeArg(args[i])
	}
	return args
}
