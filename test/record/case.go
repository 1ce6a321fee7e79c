// Package record makes recordings of what the real spark-submit sends to an API server, and reads them again. spark/submit is proven against
// them: a Case is run by spark-submit of each Spark line once, and by cmdline.Parse and submit.Build in every test.
package record

import "encoding/json"

// Dir is the directory, inside the machine that spark-submit sees, below which a case's files are. It is the working directory too.
const Dir = "/case"

// Case is one run of spark-submit.
type Case struct {
	// Name is unique, and the recording's file name.
	Name string `json:"name"`
	// Doc says in a few words what the case is for.
	Doc string `json:"doc,omitempty"`
	// Bare leaves the common arguments out; without it CommonArgs stand before Args.
	Bare bool `json:"bare,omitempty"`
	// Args is the command line after "--master k8s://... --deploy-mode cluster". Without Resource in it the case ends with CommonResource.
	Args []string `json:"args,omitempty"`
	// Resource is the primary resource and what follows it; empty means CommonResource unless Bare.
	Resource []string `json:"resource,omitempty"`
	// Env is the submitter's environment, beside what the recorder needs itself (PATH, HOME, JAVA_HOME, SPARK_HOME).
	Env map[string]string `json:"env,omitempty"`
	// SystemProperties are set in the submitting JVM, as SPARK_SUBMIT_OPTS=-Dkey=value would.
	SystemProperties map[string]string `json:"systemProperties,omitempty"`
	// Files are the submitter's files as text, by path below Dir. Those below conf/ are SPARK_CONF_DIR.
	Files map[string]string `json:"files,omitempty"`
	// Binary are further files, as bytes (base64 in YAML).
	Binary map[string][]byte `json:"binary,omitempty"`
	// Versions are the lines that have the case, such as "4.2"; empty means all.
	Versions []string `json:"versions,omitempty"`
	// Live cases are recorded again in every test run, with one line, to show that the recordings are real.
	Live bool `json:"live,omitempty"`
}

// CommonArgs and CommonResource are what most cases share.
var (
	CommonArgs     = []string{"--class", "a.B", "--name", "m", "--conf", "spark.kubernetes.container.image=img:1"}
	CommonResource = []string{"local:///x.jar"}
)

// CommandLine is what spark-submit gets after master and deploy mode.
func (c Case) CommandLine() []string {
	var out []string
	if !c.Bare {
		out = append(out, CommonArgs...)
	}
	out = append(out, c.Args...)
	switch {
	case len(c.Resource) > 0:
		out = append(out, c.Resource...)
	case !c.Bare:
		out = append(out, CommonResource...)
	}
	return out
}

// Recording is what spark-submit of one or more versions sent for a case.
type Recording struct {
	// Versions of Spark that sent the same, such as "4.1.4".
	Versions []string `json:"versions"`
	// Error is the message with which spark-submit refused the case; then there are no Requests.
	Error string `json:"error,omitempty"`
	// Requests in the order in which they were sent. Reads are left out.
	Requests []Request `json:"requests,omitempty"`
}

// Request is one write that spark-submit sent.
type Request struct {
	// Method is POST, PUT, PATCH or DELETE.
	Method string `json:"method"`
	// Path is the URL's path, such as "/api/v1/namespaces/default/pods".
	Path string `json:"path"`
	// Body is the object, as JSON.
	Body json.RawMessage `json:"body,omitempty"`
}
