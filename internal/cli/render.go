package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/redact"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// renderOptions are the flags of the verb render.
type renderOptions struct {
	files                                    []string
	output, configuration                    string
	namespace, sparkVersion, uid, submitTime string
	namespaceLabels                          string
	sparkSubmit, showSecrets, defaults       bool
}

func (r *root) renderCommand() *cobra.Command {
	var o renderOptions
	cmd := &cobra.Command{
		Use:   "render (-f FILE|DIR|- | FILE ...)",
		Short: "Print the objects that the operator would create",
		Long: "Prints every object that the operator would create for a custom resource, in order, without a cluster. For a schedule, it\n" +
			"prints the application of the next run, and that application's objects.\n\n" +
			"Names and labels depend on the UID of the custom resource. For one that is stored, render the stored object: kubectl get -o\n" +
			"yaml | sparkctl render -f -. The output is then byte for byte what the operator creates, except for the time of the\n" +
			"submission.\n\n" +
			"The data of Secrets and values that look like secrets are hidden, unless --show-secrets is set.\n\n" +
			"With --defaults, it prints the defaults of the operator's configuration that the custom resource uses instead, each with the\n" +
			"entry of the configuration that sets it. Entries can select namespaces by labels: --namespace-labels says which the\n" +
			"namespace has.\n\n" +
			"With --spark-submit, it prints the spark-submit command line that submits the same, as a script for a shell.",
		Example: "  sparkctl render -f app.yaml\n" +
			"  sparkctl render -f app.yaml -o name\n" +
			"  sparkctl render -f app.yaml --spark-version 3.5.7 --config operator.yaml\n" +
			"  sparkctl render -f app.yaml --defaults --config operator.yaml --namespace-labels tier=batch\n" +
			"  sparkctl render -f app.yaml --spark-submit",
		RunE: func(_ *cobra.Command, args []string) error {
			o.files = append(o.files, args...)
			return r.render(&o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "`file` or directory to read; - is the standard input; may be repeated")
	flags.StringVarP(&o.output, "output", "o", preview.YAML, "output `format`: yaml, json (one object in each line) or name")
	flags.StringVar(&o.configuration, "config", "", "the operator's configuration `file`; without one, all settings have their defaults")
	flags.StringVarP(&o.namespace, "namespace", "n", "default", "`namespace` of manifests that name none")
	flags.StringVar(&o.sparkVersion, "spark-version", "", "render for this `version` of Spark instead of the manifest's")
	flags.StringVar(&o.uid, "uid", "", "`UID` of the custom resource, instead of the manifest's")
	flags.StringVar(&o.submitTime, "submit-time", "", "`time` of the submission in the form of RFC 3339, instead of now")
	flags.StringVar(&o.namespaceLabels, "namespace-labels", "", "`labels` of the namespace, such as tier=batch,team=a, for the defaults of the configuration")
	flags.BoolVar(&o.defaults, "defaults", false, "print the defaults of the configuration that are used, with their origins")
	flags.BoolVar(&o.sparkSubmit, "spark-submit", false, "print the equivalent spark-submit command line")
	flags.BoolVar(&o.showSecrets, "show-secrets", false, "do not hide secrets")
	return cmd
}

func (r *root) render(o *renderOptions) error {
	if len(o.files) == 0 {
		return exit.Usagef("name the files with -f")
	}

	if o.output != preview.YAML && o.output != preview.JSON && o.output != preview.Name {
		return exit.Usagef("-o %s: the formats are: yaml, json, name", o.output)
	}

	operator, err := preview.Load(o.configuration)
	if err != nil {
		return err
	}

	if o.submitTime != "" {
		at, err := time.Parse(time.RFC3339Nano, o.submitTime)
		if err != nil {
			return exit.Usagef("--submit-time: %v", err)
		}

		operator.Now = at.UTC()
	}

	if operator.NamespaceLabels, err = labels.ConvertSelectorToLabelsMap(o.namespaceLabels); err != nil {
		return exit.Usagef("--namespace-labels: %v", err)
	}

	documents, err := manifest.Objects(o.files, r.Streams, metav1.FieldValidationWarn)
	if err != nil {
		return err
	}

	for i := range documents {
		object := documents[i].Object
		if object.GetName() == "" {
			fmt.Fprintln(r.Err, terminal.Wrap("note: ", fmt.Sprintf("the API server generates the name; the output has the placeholder %s%s", object.GetGenerateName(), preview.PlaceholderSuffix), r.Width))
		}

		preview.Namespaced(object, o.namespace)

		if o.uid != "" {
			object.SetUID(types.UID(o.uid))
		}

		setSparkVersion(object, o.sparkVersion)

		if err := r.renderOne(operator, &documents[i], o); err != nil {
			return exit.With(exit.Invalid, err)
		}
	}
	return nil
}

// setSparkVersion overrides the version of Spark in the object's spec.
func setSparkVersion(object client.Object, version string) {
	if version == "" {
		return
	}

	switch object := object.(type) {
	case *v1beta2.SparkApplication:
		object.Spec.SparkVersion = version
	case *v1beta2.ScheduledSparkApplication:
		object.Spec.Template.SparkVersion = version
	case *v1alpha1.SparkConnect:
		object.Spec.SparkVersion = version
	case *sparkv1.SparkApplication:
		object.Spec.RuntimeVersions.SparkVersion = version
	case *sparkv1.SparkCluster:
		object.Spec.RuntimeVersions.SparkVersion = version
	}
}

func (r *root) renderOne(operator preview.Operator, d *manifest.Loaded, o *renderOptions) error {
	if err := operator.Check(d); err != nil {
		return err
	}

	if o.sparkSubmit {
		line, err := preview.SubmitLine(operator, d.Object)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Place(""), err)
		}

		if !o.showSecrets {
			line = line.Redacted()
		}

		fmt.Fprint(r.Out, line)
		return nil
	}
	return r.renderObjects(operator, d.Object, o)
}

// renderObjects prints the objects that the operator would create for a custom resource. For a schedule, it also prints
// the objects of the next run.
func (r *root) renderObjects(operator preview.Operator, object client.Object, o *renderOptions) error {
	launched, err := operator.Launch(object)
	if err != nil {
		return err
	}

	r.Warn(launched.Warnings...)

	if launched.Why != "" {
		fmt.Fprintln(r.Err, terminal.Wrap("note: ", fmt.Sprintf("the operator creates no objects for %s: %s", object.GetName(), launched.Why), r.Width))
	}

	objects := launched.Objects
	if o.defaults {
		if err := preview.WriteDefaults(r.Out, operator.Defaults(object), objects); err != nil {
			return err
		}

		objects = nil
	}

	if err := r.writeObjects(objects, o); err != nil {
		return err
	}

	for _, run := range launched.Runs {
		if !o.defaults {
			if err := r.writeObjects([]client.Object{run}, o); err != nil {
				return err
			}
		}

		if err := r.renderObjects(operator, run, o); err != nil {
			return err
		}
	}
	return nil
}

// writeObjects prints objects, without their secrets unless the user wants them.
func (r *root) writeObjects(objects []client.Object, o *renderOptions) (err error) {
	if !o.showSecrets {
		if objects, err = redact.Objects(objects); err != nil {
			return err
		}
	}
	return preview.Write(r.Out, objects, o.output)
}
