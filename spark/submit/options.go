package submit

import (
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/language"
)

// IsJVM reports whether the JVM itself runs a main resource (Request.Resource). For a Python or R resource, the JVM
// starts an interpreter and gets only the interpreter's exit code. If the resource is empty, the JVM runs a class from
// the image's class path (SparkSubmit.isPython, isR).
func IsJVM(resource string) bool { return language.Of(resource) == language.Java }

// OptionProblem returns the reason why the name of a file cannot be an argument of spark-submit, or "" if it can.
// Spark-submit reads the first word that is neither an option nor an option's value as the main file. All later words
// are arguments of the application, except with MixingClasses.
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

// SkipsConfFile reports whether Spark omits a file with this name when it copies its configuration directory into the
// driver's ConfigMap.
func SkipsConfFile(name string) bool {
	for _, suffix := range []string{".gz", ".zip", ".jar", ".tar", ".template"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.HasPrefix(name, "spark") && (strings.HasSuffix(name, "conf") || strings.HasSuffix(name, "properties"))
}

// EscapeArg escapes text so that Kubernetes passes it on unchanged in the arguments or the command of a container. The
// kubelet reads "$(NAME)" as a variable and "$$" as a dollar sign, and garbles a character beyond ASCII that follows a
// dollar sign. Other dollar signs need no escape.
func EscapeArg(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}

	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])

		if text[i] == '$' && i+1 < len(text) && (text[i+1] == '$' || text[i+1] == '(' || text[i+1] >= 0x80) {
			b.WriteByte('$')
		}
	}
	return b.String()
}
