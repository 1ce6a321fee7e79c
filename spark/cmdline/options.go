package cmdline

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// option is an option of spark-submit (SparkSubmitOptionParser).
type option struct {
	name, short string
	// toggle says that the option has no value.
	toggle bool
	// key is the configuration key with the same meaning. It is empty if there is none.
	key string
	// asConf says that the launcher converts the option to a --conf. If such options and --conf set the same key, the
	// last one on the command line counts. All other options override every --conf.
	asConf bool
	// major and minor are the numbers of the first Spark release line that has the option. Zero means that all release
	// lines have it.
	major, minor int
	// ignored is the reason why the option has no effect on Kubernetes, as the end of a message.
	ignored string
	// special is what the option does instead of a submission, as the end of a message.
	special string
}

const (
	noQueue     = "only YARN has these queues; set those of a batch scheduler with labels or annotations"
	noSupervise = "only standalone clusters restart a driver this way; set a restart policy where the application is declared"
	noTotal     = "only standalone clusters limit the total of cores; use --num-executors and --executor-cores"

	printsText = "prints a text"
)

var options = []option{
	{name: "--archives", key: "spark.archives"},
	{name: "--class"},
	{name: "--conf", short: "-c"},
	{name: "--deploy-mode", key: "spark.submit.deployMode"},
	{name: "--driver-class-path", key: "spark.driver.extraClassPath", asConf: true},
	{name: "--driver-cores", key: "spark.driver.cores"},
	{name: "--driver-default-class-path", key: "spark.driver.defaultExtraClassPath", asConf: true, major: 4},
	{name: "--driver-java-options", key: "spark.driver.extraJavaOptions", asConf: true},
	{name: "--driver-library-path", key: "spark.driver.extraLibraryPath", asConf: true},
	{name: "--driver-memory", key: "spark.driver.memory", asConf: true},
	{name: "--exclude-packages", key: "spark.jars.excludes"},
	{name: "--executor-cores", key: "spark.executor.cores"},
	{name: "--executor-memory", key: "spark.executor.memory"},
	{name: "--extra-properties-file", major: 4, minor: 2},
	{name: "--files", key: "spark.files"},
	{name: "--help", short: "-h", toggle: true, special: printsText},
	{name: "--jars", key: "spark.jars"},
	{name: "--keytab", key: "spark.kerberos.keytab"},
	{name: "--kill", special: "ends an application"},
	{name: "--load-spark-defaults", toggle: true, major: 4},
	{name: "--master", key: "spark.master"},
	{name: "--name", key: "spark.app.name"},
	{name: "--num-executors", key: "spark.executor.instances"},
	{name: "--packages", key: "spark.jars.packages"},
	{name: "--principal", key: "spark.kerberos.principal"},
	{name: "--properties-file"},
	{name: "--proxy-user"},
	{name: "--py-files", key: "spark.submit.pyFiles"},
	{name: "--queue", ignored: noQueue},
	{name: "--remote", key: "spark.remote"},
	{name: "--repositories", key: "spark.jars.repositories"},
	{name: "--status", special: "asks for an application's state"},
	{name: "--supervise", toggle: true, ignored: noSupervise},
	{name: "--total-executor-cores", ignored: noTotal},
	{name: "--usage-error", toggle: true, special: printsText},
	{name: "--verbose", short: "-v", toggle: true},
	{name: "--version", toggle: true, special: printsText},
}

// shells contains programs that cannot run in cluster mode, because they need the submitter's terminal or serve many
// users. A key is a primary resource, a main class, or the first word of one of Spark's own scripts. The value is the
// description of the program in an error message.
var shells = map[string]string{
	"spark-shell": "a shell", "pyspark-shell": "a shell", "sparkr-shell": "a shell", "connect-shell": "a shell",
	"pyspark-shell-main": "a shell", "sparkr-shell-main": "a shell",
	"org.apache.spark.repl.Main":                               "a shell",
	"org.apache.spark.sql.application.ConnectRepl":             "a shell",
	"org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver": "the SQL shell",
	"org.apache.spark.sql.hive.thriftserver.HiveThriftServer2": "the Thrift server",
	"org.apache.spark.sql.connect.service.SparkConnectServer":  "the Spark Connect server",
}

// withEqual matches a word that holds an option and its value ("--name=value"). A word with a line end does not match:
// Spark's own pattern matches the value with dots, and in Java a dot does not match a line end.
var withEqual = regexp.MustCompile(`^(--[^=]+)=([^\n\r\x{85}\x{2028}\x{2029}]+)$`)

// scan parses the command line up to the primary resource.
func (p *parser) scan(args []string) error {
	if len(args) > 0 && args[0] == "run-example" {
		return submit.FieldErrorf("Resource", "run-example takes jars of the submitter's Spark; give the image's examples jar and --class instead")
	}

	for i := 0; i < len(args); i++ {
		word, value, joined := args[i], "", false
		if match := withEqual.FindStringSubmatch(word); match != nil {
			word, value, joined = match[1], match[2], true
		}

		o := optionOf(word)
		switch {
		case o == nil:
			p.r.Arguments = slices.Clone(args[i+1:])
			return p.resource(word)
		case !o.in(p.major, p.minor):
			return submit.FieldErrorf(o.name, "is unrecognized: Spark %d.%d does not have this option, which came with %d.%d", p.major, p.minor, o.major, o.minor)
		case o.special != "":
			return submit.FieldErrorf(o.name, "is not a submission: it %s; remove the option, or run spark-submit itself", o.special)
		case !o.toggle && !joined:
			if i++; i == len(args) {
				return submit.FieldErrorf(o.name, "needs a value, but is the last argument")
			}

			value = args[i]
		}

		if err := p.take(o, value); err != nil {
			return err
		}
	}

	if err := p.checkShell(""); err != nil {
		return err
	}
	return submit.FieldErrorf("Resource", "is missing: write the application's jar, .py or .R file after the options, such as local:///opt/application.jar")
}

func optionOf(word string) *option {
	if i := slices.IndexFunc(options, func(o option) bool { return o.name == word || o.short == word && word != "" }); i >= 0 {
		return &options[i]
	}
	return nil
}

// in reports whether the Spark release line major.minor has the option.
func (o *option) in(major, minor int) bool {
	return major > o.major || major == o.major && minor >= o.minor
}

// take records one option and its value.
func (p *parser) take(o *option, value string) error {
	switch {
	case o.name == "--conf":
		key, text, ok := strings.Cut(value, "=")
		if !ok {
			shown := ""
			if strings.HasPrefix(value, "spark.") {
				shown = " " + conf.Quote("", value)
			}
			return submit.FieldErrorf(o.name, "needs KEY=VALUE, but the next argument%s has no \"=\"", shown)
		}

		p.conf.Set(key, text)
	case o.asConf:
		p.conf.Set(o.key, value)
	case o.name == "--extra-properties-file":
		p.extra = append(p.extra, value)
	case o.name == "--class":
		p.r.MainClass = value
	default:
		if o.toggle {
			value = ""
		}

		p.options[o.name] = value
	}
	return nil
}

// resource records the primary resource: the first word that is neither an option nor an option's value.
func (p *parser) resource(word string) error {
	if err := p.checkShell(word); err != nil {
		return err
	}

	switch {
	case strings.HasPrefix(word, "-"):
		name, _, _ := strings.Cut(word, "=")
		return submit.FieldErrorf(conf.Shorten(name), "is an unrecognized option; see spark-submit --help")
	case word == "":
		return submit.FieldErrorf("Resource", "is an empty argument: name the application's jar, .py or .R file after the options")
	}

	if word == noResource {
		return nil
	}

	var problem string
	if p.r.Resource, problem = p.resolve("Resource", word); problem != "" {
		return submit.FieldErrorf("Resource", "%s", problem)
	}
	return nil
}

// checkShell rejects programs that cannot run in cluster mode. The parameter `word` is the primary resource. It is
// empty if the command line has none.
func (p *parser) checkShell(word string) error {
	for _, f := range [...][2]string{{"MainClass", p.r.MainClass}, {"Resource", word}} {
		if what := shells[f[1]]; what != "" {
			return submit.FieldErrorf(f[0], "%s is %s, which cannot run in cluster mode; run it with spark-submit in client mode", f[1], what)
		}
	}
	return nil
}

// Option reports whether a word is an option of spark-submit in any supported Spark release line, and whether the next
// word is its value. In a word such as --name=x, the value is part of the word. Callers that add options of their own
// to the command line use Option to find the end of the options.
func Option(word string) (known, takesValue bool) {
	if match := withEqual.FindStringSubmatch(word); match != nil {
		return optionOf(match[1]) != nil, false
	}

	o := optionOf(word)
	return o != nil, o != nil && !o.toggle
}

// common are keys of properties that have no option and that many applications on Kubernetes set.
var common = []string{
	"spark.kubernetes.container.image", "spark.kubernetes.container.image.pullPolicy", "spark.kubernetes.container.image.pullSecrets", "spark.kubernetes.namespace",
	"spark.kubernetes.authenticate.driver.serviceAccountName", "spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile",
	"spark.kubernetes.driver.request.cores", "spark.kubernetes.executor.request.cores", "spark.kubernetes.driver.limit.cores", "spark.kubernetes.executor.limit.cores",
	"spark.executor.memoryOverhead", "spark.executor.extraJavaOptions", "spark.dynamicAllocation.enabled", "spark.dynamicAllocation.shuffleTracking.enabled",
	"spark.dynamicAllocation.minExecutors", "spark.dynamicAllocation.maxExecutors", "spark.eventLog.enabled", "spark.eventLog.dir", "spark.sql.shuffle.partitions", "spark.sql.extensions",
}

// Words returns the options of spark-submit, and keys of properties that many applications set, each with an equal
// sign. It is for the completion of a command line.
func Words() (names, keys []string) {
	keys = slices.Clone(common)
	for i := range options {
		if names = append(names, options[i].name); options[i].key != "" {
			keys = append(keys, options[i].key)
		}
	}

	for i := range keys {
		keys[i] += "="
	}
	return names, keys
}
