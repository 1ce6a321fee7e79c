// Package record records the requests that the real spark-submit sends to an API server, and loads the recordings.
//
// Tests of spark/submit compare their results with these recordings. The recorder runs each Case once per Spark line,
// with the spark-submit of that line. The tests pass the same Case to cmdline.Parse and native.Build.
package record

import "encoding/json"

// Dir is the directory in which spark-submit finds a case's files. It is also spark-submit's working directory.
const Dir = "/case"

// Case describes one run of spark-submit: its arguments, its files and its environment.
type Case struct {
	// Name is unique. It is also the file name of the recording.
	Name string `json:"name"`
	// Doc describes the purpose of the case in a few words.
	Doc string `json:"doc,omitempty"`
	// Bare omits the common arguments. If Bare is false, commonArgs precede Args.
	Bare bool `json:"bare,omitempty"`
	// Args is the command line after "--master k8s://... --deploy-mode cluster". It precedes the primary resource.
	Args []string `json:"args,omitempty"`
	// Resource is the primary resource and its arguments. If it is empty, commonResource is used, unless the case is
	// Bare.
	Resource []string `json:"resource,omitempty"`
	// Env is the submitter's environment. The recorder adds the variables that spark-submit needs (PATH, HOME,
	// JAVA_HOME, SPARK_HOME).
	Env map[string]string `json:"env,omitempty"`
	// SystemProperties are set in the submitting JVM, like SPARK_SUBMIT_OPTS=-Dkey=value.
	SystemProperties map[string]string `json:"systemProperties,omitempty"`
	// Files maps paths below Dir to the text of the submitter's files. The files below conf/ form SPARK_CONF_DIR.
	Files map[string]string `json:"files,omitempty"`
	// Binary maps paths below Dir to the bytes of further files (base64 in YAML).
	Binary map[string][]byte `json:"binary,omitempty"`
	// Versions lists the Spark lines on which the case runs, such as "4.2". If it is empty, the case runs on all lines.
	Versions []string `json:"versions,omitempty"`
	// Live marks a case that the tests of test/e2e/recorded can run again with the real spark-submit of one line.
	Live bool `json:"live,omitempty"`
}

// commonArgs and commonResource are shared by most cases.
var (
	commonArgs     = []string{"--class", "a.B", "--name", "m", "--conf", "spark.kubernetes.container.image=img:1"}
	commonResource = []string{"local:///x.jar"}
)

// CommandLine returns the arguments that spark-submit gets after the master and the deploy mode.
func (c Case) CommandLine() []string {
	var out []string
	if !c.Bare {
		out = append(out, commonArgs...)
	}

	out = append(out, c.Args...)
	switch {
	case len(c.Resource) > 0:
		out = append(out, c.Resource...)
	case !c.Bare:
		out = append(out, commonResource...)
	}
	return out
}

// Recording is the result of running one case with one or more versions of spark-submit.
type Recording struct {
	// Versions are the Spark versions that sent the same requests, such as "4.1.4".
	Versions []string `json:"versions"`
	// Error is the message with which spark-submit rejected the case. If it is set, Requests is empty.
	Error string `json:"error,omitempty"`
	// Requests are the writes, in the order in which spark-submit sent them. Reads are omitted.
	Requests []Request `json:"requests,omitempty"`
}

// Request is one write request of spark-submit.
type Request struct {
	// Method is POST, PUT, PATCH or DELETE.
	Method string `json:"method"`
	// Path is the URL's path, such as "/api/v1/namespaces/default/pods".
	Path string `json:"path"`
	// Body is the object as JSON.
	Body json.RawMessage `json:"body,omitempty"`
}
