package preview

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/redact"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Line is a command line of spark-submit. Files maps the path of each file that the command line names to its content.
type Line struct {
	Args  []string
	Files map[string][]byte
}

// own is the prefix of the operator's own labels and annotations.
const own = "sparkoperator.dev/"

// SubmitLine returns the spark-submit command line that submits the same application as the operator would. It is the
// command line that the operator passes to spark-submit in the submission mode SparkSubmit, without the labels by which
// the operator finds its objects.
func SubmitLine(o Operator, object client.Object) (Line, error) {
	made, secret, err := runner(o, object)
	if err != nil {
		return Line{}, err
	}
	return lineOf(secret.Data, secret.Labels, made.Driver.Spec.Containers[0].Args)
}

// runner returns the objects that the operator creates for an application in the submission mode SparkSubmit. The
// result secret is the Secret among these objects that holds the input of spark-submit.
func runner(o Operator, object client.Object) (made submit.Objects, secret *corev1.Secret, err error) {
	o.Config.Submission.Mode = config.SubmissionSparkSubmit
	if app, ok := object.(*v1beta2.SparkApplication); ok {
		app = app.DeepCopy()
		app.Spec.Submission, app.Spec.Suspend = nil, nil
		object = app
	}

	k, err := o.Kind(object)
	if err != nil {
		return made, nil, err
	}

	if !k.Launches() {
		return made, nil, fmt.Errorf("spark-submit cannot submit a %s; leave out --spark-submit to print its objects", object.GetObjectKind().GroupVersionKind().Kind)
	}

	object = o.Fresh(object)

	made, err = k.Render(object, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, o.Now)
	if err != nil {
		return made, nil, err
	}

	for _, before := range made.Before {
		if s, ok := before.(*corev1.Secret); ok {
			secret = s
		}
	}

	if secret == nil || made.Driver.Labels[submit.RoleLabel] != submit.RoleSubmitter {
		return made, nil, errors.New("the operator never uses spark-submit for this driver pod; leave out --spark-submit to print the objects")
	}
	return made, secret, nil
}

// lineOf returns the command line that a submitter pod runs, from the files and the arguments of this pod. It leaves
// out the labels by which the operator finds its objects (marks).
func lineOf(data map[string][]byte, marks map[string]string, runner []string) (line Line, err error) {
	properties, err := conf.UnmarshalProperties(string(data["spark.properties"]))
	if err != nil {
		return line, err
	}

	line.Files = map[string][]byte{}
	for name, content := range data {
		switch name {
		case "spark.properties":
		case "driver.json", "executor.json":
			role := strings.TrimSuffix(name, ".json")

			template, needed, err := withoutMarks(content, marks)
			if err != nil {
				return line, err
			}

			if needed {
				line.Files[name] = template
			} else {
				properties.Delete("spark.kubernetes."+role+".podTemplateFile", "spark.kubernetes."+role+".podTemplateContainerName")
			}
		default:
			line.Files[name] = content
		}
	}

	properties.Delete("spark.master", "spark.submit.deployMode")

	line.Args = []string{}
	rest := submitWords(runner)
	end := endOfOptions(rest)
	line.Args = append(line.Args, rest[:end]...)

	deleteMarks(properties, marks)

	for key, value := range properties.Sorted().All() {
		line.Args = append(line.Args, "--conf", key+"="+localFile(value, line.Files))
	}

	line.Args = append(line.Args, rest[end:]...)
	return line, nil
}

// submitWords returns the arguments of spark-submit from the arguments of a submitter pod. It leaves out the first
// three: the program, --properties-file, and the path of that file.
func submitWords(arguments []string) []string {
	words := slices.Clone(arguments[3:])
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "$$", "$") // submit.EscapeArg
	}
	return words
}

// deleteMarks removes the configuration keys that set the labels by which the operator finds its objects.
func deleteMarks(c *conf.Conf, marks map[string]string) {
	for _, key := range c.Keys() {
		_, label, _ := strings.Cut(key, ".label.")
		if _, mark := marks[label]; mark {
			c.Delete(key)
		}
	}
}

// endOfOptions returns the number of arguments before the application's file, which are the options and their values.
// It assumes that each option has a value. This is true for all options that the operator writes.
func endOfOptions(words []string) int {
	i := 0
	for i+1 < len(words) && strings.HasPrefix(words[i], "--") {
		i += 2
	}
	return i
}

// localFile returns the name of a file if the value is the file's path in the submitter pod. It returns any other value
// unchanged.
func localFile(value string, files map[string][]byte) string {
	if name := path.Base(value); strings.HasPrefix(value, "/opt/sparkoperator/submit/") && files[name] != nil {
		return name
	}
	return value
}

// withoutMarks removes from a pod template the owners, labels and annotations that only the operator needs. It returns
// the remaining template. The second result is false if this template has no settings, so that spark-submit can run
// without it.
func withoutMarks(text []byte, marks map[string]string) (template []byte, needed bool, err error) {
	var pod map[string]any
	if err := utiljson.Unmarshal(text, &pod); err != nil {
		return nil, false, err
	}

	meta, _ := pod["metadata"].(map[string]any)
	delete(meta, "ownerReferences")
	delete(meta, "creationTimestamp")

	for _, field := range []string{"labels", "annotations"} {
		values, _ := meta[field].(map[string]any)
		maps.DeleteFunc(values, func(key string, _ any) bool { return strings.HasPrefix(key, own) || marks[key] != "" })

		if len(values) == 0 {
			delete(meta, field)
		}
	}

	if len(meta) == 0 {
		delete(pod, "metadata")
	}

	delete(pod, "status")
	spec, _ := pod["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)

	plain := len(containers) == 1
	if plain {
		container, _ := containers[0].(map[string]any)
		rest := maps.Clone(container)
		delete(rest, "name")

		resources, _ := rest["resources"].(map[string]any)
		if len(resources) == 0 {
			delete(rest, "resources")
		}

		plain = len(rest) == 0
	}

	if plain && len(spec) == 1 && len(meta) == 0 {
		return nil, false, nil
	}

	template, err = json.MarshalIndent(pod, "", "  ")
	return template, true, err
}

// Redacted returns a copy of the command line in which values that look like secrets are redacted.
func (l Line) Redacted() Line {
	out := Line{Args: slices.Clone(l.Args), Files: map[string][]byte{}}
	for i := range out.Args {
		if i > 0 && out.Args[i-1] == "--conf" {
			if key, value, ok := strings.Cut(out.Args[i], "="); ok {
				out.Args[i] = key + "=" + conf.Redact(key, value)
			}
		}
	}

	for name, content := range l.Files {
		out.Files[name] = []byte(redact.File(name, string(content)))
		if !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".yaml") {
			out.Files[name] = []byte(conf.Redacted)
		}
	}
	return out
}

// String returns a shell script that first writes the files and then runs the command line.
func (l Line) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.Files)) {
		text, end := strings.TrimRight(string(l.Files[name]), "\n"), "END_OF_FILE"
		for strings.Contains(text, end) { // the rest of the file would be commands
			end += "_"
		}

		fmt.Fprintf(&b, "cat > %s <<'%s'\n%s\n%[2]s\n", terminal.Quote(name), end, text)
	}

	b.WriteString("spark-submit")

	for i := 0; i < len(l.Args); i++ {
		b.WriteString(" \\\n  " + terminal.Quote(l.Args[i]))

		if strings.HasPrefix(l.Args[i], "--") && i+1 < len(l.Args) && i < endOfOptions(l.Args) {
			i++
			b.WriteString(" " + terminal.Quote(l.Args[i]))
		}
	}
	return b.String() + "\n"
}

// Namespaced sets the namespace of an object that has none.
func Namespaced(object client.Object, namespace string) {
	if object.GetNamespace() == "" {
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}

		object.SetNamespace(namespace)
	}
}
