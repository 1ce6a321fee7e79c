// Package effective finds the Spark configuration that a custom resource really has: from sparkConf and typed fields,
// from the options of the JVMs, and from the variables and files of the containers. The rules of the platform judge it.
package effective

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Configuration is the Spark configuration of a custom resource from all places that can set it: sparkConf and typed
// fields, options of the JVMs, and variables of the containers.
type Configuration struct {
	Settings []dialect.Setting
	// Hidden are the parts of the custom resource whose effect on the configuration cannot be read.
	Hidden []Hidden
}

// Hidden is a part of a custom resource that may set any key of the Spark configuration.
type Hidden struct {
	Field string
	// The text What describes the part in a message. Remedy is the advice for the user.
	What, Remedy string
	// Driver is true if a driver or a server reads the keys.
	Driver bool
}

// Advice about parts of a custom resource that cannot be read.
const (
	writeOptions = "write the options themselves, and set keys of Spark in sparkConf"
	writeValue   = "write the value into the custom resource, and set keys of Spark in sparkConf"
	writeKeys    = "set the keys in sparkConf, and put other files elsewhere"
)

// Of returns the configuration of a custom resource with the given settings and pods. If several places set
// a key, the result contains each of them, since Spark's precedence depends on the program that reads them.
func Of(settings []dialect.Setting, pods []dialect.Pod) Configuration {
	m := merger{Configuration: Configuration{Settings: slices.Clone(settings)}, fields: map[string]string{}, seen: map[string]bool{}}
	for _, s := range settings {
		m.fields[s.Key] = s.Field
	}

	for i := 0; i < len(m.Settings); i++ { // also the settings that the loop adds
		m.setting(m.Settings[i])
	}

	for i := range pods {
		if p := &pods[i]; p.Container != nil && (p.Role != "executor" || !m.large) {
			m.environment(p)
			m.files(p)
		}
	}
	return m.Configuration
}

type merger struct {
	Configuration
	fields map[string]string // the fields that set the keys of the configuration
	seen   map[string]bool   // options of executors' JVMs that the configuration sets
	large  bool              // the options of executors are hidden, so that their pods need not be read
	// expanded is the length of the values of all references to variables.
	expanded int
}

// setting adds the effect of a setting that contains options of a JVM or a variable of executors.
func (m *merger) setting(s dialect.Setting) {
	driver := strings.HasPrefix(s.Key, "spark.driver.")

	name, variable := strings.CutPrefix(s.Key, "spark.executorEnv.")
	switch {
	case s.Field == "":
	case strings.HasSuffix(s.Key, "JavaOptions") && (driver || strings.HasPrefix(s.Key, "spark.executor.")):
		m.large = m.large || !driver && len(s.Value) > conf.MaxJavaOptions
		for _, word := range conf.SplitExecutorOptions(s.Value[:min(len(s.Value), conf.MaxJavaOptions)]) {
			if strings.HasPrefix(word, "-Dspark.") || !strings.HasPrefix(word, "-") {
				m.seen[word] = true
			}
		}

		m.options(s.Field, driver, conf.ReadJavaOptions(s.Value))
	case variable && s.Outside: // the pods have the variables of the configuration itself
		m.variable(&dialect.Pod{Role: "executor", Field: s.Field}, name, s.Value)
	}
}

func (m *merger) hide(field string, driver bool, what, remedy string) {
	m.Hidden = append(m.Hidden, Hidden{Field: field, Driver: driver, What: what, Remedy: remedy})
}

// options adds the effect of options of a JVM.
func (m *merger) options(field string, driver bool, options conf.JavaProperties) {
	for _, property := range options.Spark {
		m.Settings = append(m.Settings, dialect.Setting{Key: property.Key, Value: property.Value, Field: field, Outside: true, Driver: driver})
	}

	if len(options.Unreadable) > 0 {
		m.hide(field, driver, "the word "+conf.Quote(field, options.Unreadable[0])+" in the options of the JVM, whose effect on the Spark configuration is unknown,", writeOptions)
	}
}

// javaVariables are the variables from which a JVM reads options.
var javaVariables = []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "IBM_JAVA_OPTIONS", "OPENJ9_JAVA_OPTIONS"}

// executorOption begins the names of the variables in which a driver passes the options of the JVM to its executors.
// The entrypoint of some images searches the whole environment for this text.
const executorOption = "SPARK_JAVA_OPT_"

// keyVariables are variables from which spark-submit reads keys that the configuration does not set
// (SparkSubmitArguments.loadEnvironmentArguments).
var keyVariables = map[string]string{
	"MASTER": "spark.master", "DEPLOY_MODE": "spark.submit.deployMode", "SPARK_DRIVER_MEMORY": "spark.driver.memory",
	"SPARK_EXECUTOR_MEMORY": "spark.executor.memory", "SPARK_EXECUTOR_CORES": "spark.executor.cores", "SPARK_REMOTE": "spark.remote",
	"DEFAULT_ARTIFACT_REPOSITORY": "spark.jars.repositories", // MavenUtils.createRepoResolvers
}

// fileVariables are variables that name files from which Spark's scripts read options, with the values that are
// harmless.
var fileVariables = map[string]string{"SPARK_CONF_DIR": "/opt/spark/conf", "SPARK_HOME": "/opt/spark", "BASH_ENV": ""}

// optionVariables are all names above.
var optionVariables = slices.Concat(javaVariables, slices.Collect(maps.Keys(keyVariables)), slices.Collect(maps.Keys(fileVariables)))

func isJavaVariable(name string) bool {
	return slices.Contains(javaVariables, name) || strings.HasPrefix(name, "SPARK_") && strings.HasSuffix(name, "_OPTS")
}

// environment adds the effect of the variables of a pod's Spark container.
func (m *merger) environment(p *dialect.Pod) {
	known := map[string]string{}
	for i := range p.Container.Env { // a driver may write the variables in another order
		v := &p.Container.Env[i]
		if known[v.Name] = m.valueOf(p.Container, v, nil); strings.Contains(v.Value, "$(") {
			known[v.Name] = unreadable
		}
	}

	var words []string
	for i := range p.Container.Env {
		v := &p.Container.Env[i]
		value := m.valueOf(p.Container, v, known)

		known[v.Name] = value
		switch {
		case value == unreadable || !strings.Contains(v.Name, executorOption):
			m.variable(p, v.Name, value)
		case !m.seen[value]:
			words = append(words, value)
		}
	}

	m.options(p.Field, drives(p), conf.ReadJavaWords(words))

	for _, from := range p.Container.EnvFrom {
		reaches := func(name string) bool { return strings.HasPrefix(name, from.Prefix) }
		if strings.HasPrefix(from.Prefix, "SPARK_") || slices.ContainsFunc(optionVariables, reaches) {
			m.hide(p.Field, drives(p), "a variable of envFrom of the "+p.Role+", which may have a name such as JDK_JAVA_OPTIONS,", "list the variables in env, or set a prefix")
		}
	}
}

// variable adds the effect of a variable.
func (m *merger) variable(p *dialect.Pod, name, value string) {
	field, executor := m.envField(p, name), p.Role == "executor"
	what := "the variable " + name + " of the " + p.Role
	harmless, files := fileVariables[name]

	key := keyVariables[name]
	switch {
	case value == unreadable && (isJavaVariable(name) || key != "" && drives(p) || strings.Contains(name, executorOption)):
		m.hide(field, drives(p), what+", whose value cannot be read,", writeValue)
	case isJavaVariable(name):
		options := conf.ReadJavaOptions(value)
		options.Unreadable = slices.DeleteFunc(options.Unreadable, func(word string) bool { return slices.Contains(p.OptionFiles, strings.TrimPrefix(word, "@")) })
		m.options(field, drives(p), options)
	case key != "" && drives(p):
		m.Settings = append(m.Settings, dialect.Setting{Key: key, Value: value, Field: field, Outside: true, Driver: true})
	case files && !executor && value != harmless:
		m.hide(field, drives(p), what+", which makes Spark read options from other files,", writeKeys)
	case executor && strings.Contains(value+name, executorOption):
		m.hide(field, false, what+", which the image may read as options of the JVM,", writeOptions)
	}
}

// envField returns the field that sets a variable of a pod.
func (m *merger) envField(p *dialect.Pod, name string) string {
	if p.EnvField != nil {
		if field := p.EnvField(name); field != "" {
			return field
		}
	}

	keys := []string{"spark.kubernetes.driverEnv.", "spark.kubernetes.driver.secretKeyRef."}
	if p.Role == "executor" {
		keys = []string{"spark.executorEnv.", "spark.kubernetes.executor.secretKeyRef."}
	}
	return cmp.Or(m.fields[keys[0]+name], m.fields[keys[1]+name], p.Field)
}

// reference matches what the kubelet replaces in the value of a variable.
var reference = regexp.MustCompile(`\$\$|\$\([^)]*\)`)

// unreadable stands for a value that is not known. No variable can have it.
const unreadable = "\x00"

// These limit the cost of references, whose values can have references themselves. Beyond them, values are not known.
const (
	maxExpanded = conf.MaxJavaOptions
	maxSources  = 16
)

// valueOf returns the value of a variable as the kubelet computes it from the known variables, or unreadable. A value
// that cannot contain an option, such as an address, counts as "x".
func (m *merger) valueOf(c *corev1.Container, v *corev1.EnvVar, known map[string]string) string {
	if from := v.ValueFrom; from != nil {
		if from.ResourceFieldRef != nil || from.FieldRef != nil && !strings.HasPrefix(from.FieldRef.FieldPath, "metadata.annotations") && !strings.HasPrefix(from.FieldRef.FieldPath, "metadata.labels") {
			return "x"
		}
		return unreadable
	}

	value := reference.ReplaceAllStringFunc(v.Value, func(text string) string {
		if text == "$$" {
			return "$"
		}

		name := text[2 : len(text)-1]
		replaced, found := known[name]

		m.expanded += len(replaced)
		switch {
		case m.expanded > maxExpanded || len(c.EnvFrom) > maxSources || slices.ContainsFunc(c.EnvFrom, func(from corev1.EnvFromSource) bool { return strings.HasPrefix(name, from.Prefix) }):
			return unreadable
		case found:
			return replaced
		}
		return text
	})
	if strings.Contains(value, unreadable) {
		return unreadable
	}
	return value
}

// scriptDirs are the directories from which Spark's scripts and its launcher read options of the JVM.
var scriptDirs = []string{"/opt/spark/conf", "/opt/spark/bin", "/opt/spark/sbin"}

// files adds the volumes that a custom resource mounts over Spark's configuration, and its own command line. An
// executor reads no configuration from files.
func (m *merger) files(p *dialect.Pod) {
	if p.OwnCommand {
		m.hide(p.Field, drives(p), "the command or args of the Spark container of the "+p.Role+", which may have options of Spark,", "remove them, and let the image run Spark")
	}

	if p.Role == "executor" {
		return
	}

	for _, mount := range p.Container.VolumeMounts {
		at := path.Clean("/" + mount.MountPath)
		over := func(dir string) bool {
			return at == dir || at == "/" || strings.HasPrefix(dir, at+"/") || strings.HasPrefix(at, dir+"/")
		}

		own := p.Role == "driver" && mount.Name == submit.ConfVolume && at == scriptDirs[0] && mount.SubPath+mount.SubPathExpr == ""
		if slices.ContainsFunc(scriptDirs, over) && !own {
			m.hide(p.Field, drives(p), "the volume "+mount.Name+" at "+conf.Shorten(mount.MountPath)+" of the "+p.Role+", from which Spark may read options,", writeKeys)
		}
	}
}

// drives reports whether the pod creates pods according to its configuration.
func drives(p *dialect.Pod) bool { return p.Role == "driver" || p.Role == "server" }
