package cmdline

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const defaultsFile = "spark-defaults.conf"

// properties reads the properties files, beginning with the file of the highest priority, and drops keys that are not
// Spark configuration.
func (p *parser) properties() error {
	for _, file := range slices.Backward(p.extra) {
		if err := p.propertiesFile("--extra-properties-file", file); err != nil {
			return err
		}
	}

	file, given := p.options["--properties-file"]
	if given {
		if err := p.propertiesFile("--properties-file", file); err != nil {
			return err
		}
	}

	if _, both := p.options["--load-spark-defaults"]; !given || both {
		if err := p.defaults(); err != nil {
			return err
		}
	}

	if warning := p.conf.DropForeign(); warning != "" {
		p.warns.Add("%s", warning)
	}
	return nil
}

func (p *parser) propertiesFile(name, file string) error {
	data, err := p.readFile(file)
	if err != nil {
		return submit.FieldErrorf(name, "%v", err)
	}
	return p.fillIn(name, file, data)
}

func (p *parser) defaults() error {
	dir := p.confDir()

	files, err := p.readDir("SPARK_CONF_DIR", dir)
	if err != nil {
		return err
	}

	data, ok := files[defaultsFile]
	if !ok {
		return nil
	}
	return p.fillIn(defaultsFile, path.Join(dir, defaultsFile), data)
}

// fillIn sets each property of a file, unless a source with a higher priority has set the property.
func (p *parser) fillIn(field, file string, data []byte) error {
	// A JVM decodes bytes that are not UTF-8 as U+FFFD.
	properties, err := conf.UnmarshalProperties(string([]rune(string(data))))
	if err != nil {
		return submit.FieldErrorf(field, "%s: %v", p.absolute(file), err)
	}

	for key, value := range properties.All() {
		// Spark removes blanks and control characters around a value, except line ends (Utils.trimExceptCRLF).
		p.conf.SetIfMissing(key, strings.TrimFunc(value, func(r rune) bool { return r <= ' ' && r != '\r' && r != '\n' }))
	}
	return nil
}

// confDir returns the directory in which spark-submit's script finds its configuration, or an empty string if the
// environment names no directory.
func (p *parser) confDir() string {
	env := p.submitter.Environment
	if dir := env["SPARK_CONF_DIR"]; dir != "" {
		return dir
	}

	if home := env["SPARK_HOME"]; home != "" {
		return path.Join(home, "conf")
	}
	return ""
}

// validate returns an error for a command line that the launcher or SparkSubmitArguments.validateSubmitArguments would
// reject. Like these two, it checks a value before the references in the value are replaced.
func (p *parser) validate() error {
	for _, key := range []string{"spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"} {
		if err := p.checkJavaOptions(key); err != nil {
			return err
		}
	}

	for _, key := range []string{"spark.driver.memory", "spark.executor.memory"} {
		raw, ok := p.conf.Get(key)
		if !ok {
			continue
		}

		if n, err := conf.ParseSize(raw, conf.Byte); err != nil {
			return submit.KeyErrorf(key, "%v%s", err, p.from(key))
		} else if n == 0 {
			return submit.KeyErrorf(key, "should be more than zero%s", p.from(key))
		}
	}

	if err := p.checkNumbers(); err != nil {
		return err
	}

	if _, proxy := p.options["--proxy-user"]; proxy && p.conf.Has("spark.kerberos.principal") {
		return submit.FieldErrorf("--proxy-user", "cannot be used together with --principal (spark.kerberos.principal); give one of them")
	}
	return nil
}

func (p *parser) checkNumbers() error {
	const total, instances = "--total-executor-cores", "spark.executor.instances"

	keys := []string{"spark.driver.cores", "spark.executor.cores"}
	if raw, ok := p.options[total]; !ok {
		keys = append(keys, "spark.cores.max")
	} else if !positive(raw) {
		return submit.FieldErrorf(total, "should be a whole number more than zero, but is %s", conf.Quote("", raw))
	}

	if dynamic, _ := p.conf.Get("spark.dynamicAllocation.enabled"); !strings.EqualFold(dynamic, "true") {
		keys = append(keys, instances)
	}

	for _, key := range keys {
		if raw, ok := p.conf.Get(key); ok && !positive(raw) {
			return submit.KeyErrorf(key, "should be a whole number more than zero, but is %s%s", conf.Quote(key, raw), p.from(key))
		}
	}
	return nil
}

// from returns a text for the end of an error message about the value of key. The text names the environment variable
// that the value comes from. It is empty if the value has another source.
func (p *parser) from(key string) string {
	if name := p.origin[key]; name != "" {
		return " (it comes from the environment: " + name + ")"
	}
	return ""
}

// positive reports whether text is a positive 32-bit integer by the rules of Scala's toInt: a sign is allowed, blanks
// are not.
func positive(text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	return err == nil && n > 0
}

// checkJavaOptions rejects a heap size among the Java options of key, because spark.driver.memory sets the heap size.
// Messages never show the options, which may contain passwords.
func (p *parser) checkJavaOptions(key string) error {
	text, _ := p.conf.Get(key)
	if _, ok := conf.SplitJavaOptions(text); !ok {
		return submit.KeyErrorf(key, "cannot be split into options: a quotation is not closed, or the last character is an unescaped backslash; correct the value")
	}

	if problem := submit.HeapOption(text, p.submitter.SparkVersion); problem != "" {
		return submit.KeyErrorf(key, "%s; use --driver-memory or spark.driver.memory", problem)
	}
	return nil
}

// clusterMode checks that the line is for Kubernetes' cluster mode, and normalises the master.
func (p *parser) clusterMode() error {
	p.move()

	const remote = "spark.remote"
	if p.conf.Has(remote) {
		return submit.KeyErrorf(remote, "an application for Spark Connect is a client and is not submitted%s; give --master k8s://... instead of --remote", p.from(remote))
	}

	raw, ok := p.conf.Get(masterKey)
	if !ok {
		return submit.KeyErrorf(masterKey, "is missing; give --master k8s://https://HOST:PORT")
	}

	var err error
	if p.r.Master, err = p.master(masterKey, raw); err != nil {
		return err
	}

	p.conf.Set(masterKey, p.r.Master)

	switch raw, ok = p.conf.Get(deployModeKey); {
	case raw == "cluster":
		return nil
	case !ok:
		return submit.KeyErrorf(deployModeKey, "is missing, which means client mode, where the driver runs here; give --deploy-mode cluster")
	case raw == "client":
		return submit.KeyErrorf(deployModeKey, "in client mode the driver runs where spark-submit does%s; give --deploy-mode cluster", p.from(deployModeKey))
	}
	return submit.KeyErrorf(deployModeKey, "should be cluster, but is %s%s", conf.Quote(deployModeKey, raw), p.from(deployModeKey))
}

// master checks and normalises a master like Utils.checkAndGetK8sMasterUrl.
func (p *parser) master(key, raw string) (string, error) {
	const prefix = "k8s://"

	address, ok := strings.CutPrefix(raw, prefix)
	if !ok {
		return "", submit.KeyErrorf(key, "%s is not Kubernetes%s; give --master k8s://https://HOST:PORT", redactedAddress(key, raw), p.from(key))
	}

	if !strings.Contains(address, "://") {
		return prefix + "https://" + address, nil
	}

	switch scheme, _, _ := strings.Cut(address, "://"); strings.ToLower(scheme) {
	case "https":
	case "http":
		p.warns.Add("%s: connections to the API server over http are not encrypted; use https", key)
	default:
		return "", submit.KeyErrorf(key, "%s should have https (or http) after k8s://", redactedAddress(key, raw))
	}
	return raw, nil
}

// redactedAddress returns an address without its password, for use in a message.
func redactedAddress(key, address string) string {
	if strings.Contains(address, "@") {
		if u, err := url.Parse(address); err == nil {
			return conf.Quote(key, u.Redacted())
		}
		return "the address"
	}
	return conf.Quote(key, address)
}
