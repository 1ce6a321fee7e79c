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

// settled is the configuration of a server: the user's, what is said before it where he says nothing else, and what is ours behind it.
func (d *draft) settled(executor executorTemplate) (*conf.Conf, error) {
	if err := d.dropForeign(); err != nil {
		return nil, err
	}
	before, after := conf.New(), conf.New()
	d.decide(before, namespaceKey, d.r.Namespace)
	if d.r.Image != "" && !d.conf.Has(imageKey) {
		before.Set(imageKey, d.r.Image)
	}
	d.tellIdle()
	if !d.conf.Has(executorImageKey) {
		before.Set(executorImageKey, executor.image)
	}
	for _, key := range slices.Sorted(maps.Keys(d.r.Labels)) {
		d.decide(after, driverLabelKey+key, d.r.Labels[key])
	}
	// Any address of the pod; a name of it is not known yet when the server binds.
	d.decide(after, "spark.driver.bindAddress", "0.0.0.0")
	// That address is what executors would be told to connect to where this is true, as it is by default from 4.3 on (BasicExecutorFeatureStep); else
	// they are told spark.driver.host, which is the pod's address.
	d.decide(after, "spark.kubernetes.executor.useDriverPodIP", "false")
	d.take(hostKey, "the address of the pod")
	d.setDefault(after, driverPortKey, "7078")
	d.setDefault(after, blockManagerPortKey, "7079")
	d.decide(after, podNameKey, ServerName(d.r.Name))
	for _, key := range slices.Sorted(maps.Keys(d.r.Labels)) {
		d.decide(after, executorLabelKey+key, d.r.Labels[key])
	}
	d.decide(after, namePrefixKey, executorPrefix(d.r.Name))
	if executor.text != "" {
		d.decide(after, templateFileKey, mountDir+"/"+TemplateKey)
		d.setDefault(after, templateNameKey, overlay.ExecutorContainer)
	}
	d.setDefault(after, "spark.app.name", d.r.Name)
	// These two are options of spark-submit, which win over configuration.
	d.take(masterKey, d.r.Master)
	d.take(deployModeKey, "client")

	for _, part := range []*conf.Conf{d.conf, after} {
		for key, value := range part.All() {
			before.Set(key, value)
		}
	}
	// A server lives long, and whoever can connect to its RPC port without a secret may run code as the server.
	submit.Protect(before, d.r.SparkVersion)
	return before, nil
}

// decide sets a key that is not the user's, and says so where the user said otherwise.
func (d *draft) decide(c *conf.Conf, key, value string) {
	d.take(key, value)
	c.Set(key, value)
}

// take leaves out a key that is not the user's.
func (d *draft) take(key, instead string) {
	if was, ok := d.conf.Get(key); ok && was != instead {
		d.warns.OfKey(key, "%s has no effect, it is %s", conf.Quote(key, was), instead)
	}
	d.conf.Delete(key)
}

func (d *draft) setDefault(c *conf.Conf, key, value string) {
	if !d.conf.Has(key) {
		c.Set(key, value)
	}
}

// executorPrefixLimit is what Spark allows of a prefix of executors' names: a DNS label without "-exec-" and a number of ten digits
// (Config.KUBERNETES_EXECUTOR_POD_NAME_PREFIX).
const executorPrefixLimit = 47

// executorPrefix begins the names of executors: the server's name, or where that is too long its beginning and digits of its digest.
func executorPrefix(name string) string {
	if len(name) <= executorPrefixLimit {
		return name
	}
	return strings.TrimRight(name[:executorPrefixLimit-9], "-") + "-" + digest(name)
}

// commandLine divides a configuration among the arguments of spark-submit and the file of properties that it reads as well. Each has its limits:
//
//   - An argument passes bin/spark-class, which takes carriage returns out of it, and the JVM, which reads it in the locale of the container: beyond
//     ASCII only what an image with a UTF-8 locale is given arrives. It ends at the first NUL, and the kernel takes no more than 128 KiB.
//   - A value of the file loses the blanks at its ends (Utils.getPropertiesFromFile).
//
// So what is plain goes as an argument, where people look for it, and the rest into the file. The text is empty where all is plain.
//
// What looks like a secret always goes into the file, which is a Secret's then: whoever may read pods reads their arguments.
func (d *draft) commandLine(c *conf.Conf) (options []string, file string, secret bool, err error) {
	inFile := conf.New()
	var pairs []string
	hidden := d.secrets(c)
	for key, value := range c.All() {
		switch blanks, hides := strings.Trim(value, trimmed) != value, hidden(key, value); {
		case hides && blanks:
			return nil, "", false, keyError(key, "looks like a secret and has blanks at its ends, which Spark loses when it reads it from a file; "+
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
			return nil, "", false, keyError(key, "cannot be handed to Spark as it is: it has blanks at its ends and something that only survives in a file "+
				"(a carriage return, NUL, more than %d bytes); write it without", argumentLimit)
		default:
			d.warns.OfKey(key, "%s arrives only where the locale of the image is UTF-8 (LANG=C.UTF-8): it has blanks at its ends and characters beyond ASCII",
				conf.Quote(key, value))
		}
		pairs = append(pairs, "--conf", key+"="+value)
	}
	options = []string{"--class", MainClass, "--deploy-mode", "client"}
	if inFile.Len() > 0 {
		file = conf.MarshalProperties(inFile)
		// Spark reads spark-defaults.conf of the image only where no file is named, or where it is told to (SPARK-48392).
		options = append(options, "--properties-file", mountDir+"/"+PropertiesKey)
		if d.readsFile() {
			options = append(options, "--load-spark-defaults")
		} else {
			d.warns.OfField("Conf", "values that look like secrets are read from a file, beside which Spark %s does not read the image's conf/spark-defaults.conf; "+
				"write what it says into the configuration, or use Spark 4", d.r.SparkVersion)
		}
	}
	return slices.Concat(options, []string{"--master", d.r.Master}, pairs), file, secret, nil
}

// secrets returns what reports whether a pair looks like a secret. Keys below spark.kubernetes. do not: they are about pods, which show them, or refer to
// Secrets. Nor do names of files with secrets.
func (d *draft) secrets(c *conf.Conf) func(key, value string) bool {
	looks, err := conf.Secrets(c)
	if err != nil {
		d.warns.OfKey(conf.RedactionKey, "is a pattern that the operator cannot use (%s); the whole configuration is kept as a secret", conf.Shorten(err.Error()))
	}
	return func(key, value string) bool {
		switch {
		case strings.HasPrefix(key, "spark.kubernetes."), key == "spark.app.name", strings.HasPrefix(key, "spark.authenticate.") && strings.HasSuffix(key, ".file"):
			return false
		}
		return looks(key, value)
	}
}

// argumentLimit is half of what the kernel takes as one argument (MAX_ARG_STRLEN), since escapes may double it on the way there.
const argumentLimit = 64 << 10

// trimmed are the characters that Spark takes from the ends of values of a file: all up to the blank but line ends.
var trimmed = func() string {
	var b strings.Builder
	for c := byte(0); c <= ' '; c++ {
		if c != '\r' && c != '\n' {
			b.WriteByte(c)
		}
	}
	return b.String()
}()

// plain tells whether text arrives as an argument, whatever the image: ASCII without NUL and carriage return, and not too long.
func plain(text string) bool {
	return len(text) < argumentLimit && strings.IndexFunc(text, func(r rune) bool { return r == 0 || r == '\r' || r > 0x7e }) < 0
}

// readsFile tells whether this Spark can read a file of properties beside the image's spark-defaults.conf (4.0).
func (d *draft) readsFile() bool {
	return !strings.HasPrefix(strings.TrimPrefix(d.r.SparkVersion, "v"), "3.")
}

// script brackets an IPv6 address, which Spark wants in spark.driver.host, and becomes spark-submit. It has nothing of the user's in it, and no "$("
// or "$$", which Kubernetes would expand.
const script = `host=$POD_IP
case $host in *:*) host="[$host]" ;; esac
exec "${SPARK_HOME:-/opt/spark}/bin/spark-submit" --conf "` + hostKey + `=$host" "$@"
`

// arguments are those of bash -c: the script, its name in messages, and the options, each as it is.
func arguments(options []string) []string {
	args := append([]string{script, RoleServer}, options...)
	for i := range args {
		args[i] = submit.EscapeArg(args[i])
	}
	return args
}
