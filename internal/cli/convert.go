package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/convert"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/stage"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// convertOptions are the flags of the verb convert.
type convertOptions struct {
	files      []string
	to         string
	properties string
	// For a command line of spark-submit or a properties file.
	sparkVersion, name, namespace string
}

func (r *root) convertCommand() *cobra.Command {
	var o convertOptions
	cmd := &cobra.Command{
		Use:   "convert (-f FILE|DIR|- | FILE ... | spark-submit ... | --properties-file FILE)",
		Short: "Convert between the two API groups, or from spark-submit",
		Long: "Converts SparkApplications between sparkoperator.k8s.io and spark.apache.org, in both directions, without a cluster, and prints\n" +
			"the converted manifests. The operator builds the same driver pod for both, except for names and labels. A comment stands at\n" +
			"everything that has no counterpart, and at each part of the driver pod that differs. Read the comments before you apply.\n\n" +
			"Of a ScheduledSparkApplication, the application is converted, with comments about the schedule. SparkConnects and\n" +
			"SparkClusters have no counterpart; keep them, because the operator serves both API groups. Other kinds in the files and the\n" +
			"comments of the source are left out.\n\n" +
			"It also makes a manifest from a command line of spark-submit, which can be pasted behind \"sparkctl convert\", and from the\n" +
			"properties of a spark-defaults.conf.",
		Example: "  sparkctl convert -f app.yaml\n" +
			"  sparkctl convert -f manifests/ --to spark.apache.org > converted.yaml\n" +
			"  sparkctl convert --properties-file spark-defaults.conf --spark-version 4.1.4",
		Args: cobra.ArbitraryArgs, // the default refuses arguments that are no subcommand
		RunE: func(_ *cobra.Command, args []string) error {
			o.files = append(o.files, args...)
			return r.convert(&o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "`file` or directory to read; - is the standard input; may be repeated")
	flags.StringVar(&o.properties, "properties-file", "", "make a manifest from the properties in this `file`, such as a spark-defaults.conf")
	submitFlags(flags, &o)
	cmd.AddCommand(r.convertSubmitCommand())
	return cmd
}

// submitFlags defines the flags of sparkctl that users can mix with spark-submit's own options.
func submitFlags(flags *pflag.FlagSet, o *convertOptions) {
	flags.StringVar(&o.to, "to", "", "API `group` of the result; default: the other group, and sparkoperator.k8s.io for spark-submit")
	flags.StringVar(&o.sparkVersion, "spark-version", "", "`version` of Spark in the image, for spark-submit; default: that of the image's tag")
	flags.StringVar(&o.name, "object-name", "", "`name` of the SparkApplication, for spark-submit; default: the application's name")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "`namespace` of the SparkApplication, for spark-submit")
}

func (r *root) convertSubmitCommand() *cobra.Command {
	var o convertOptions
	own := pflag.NewFlagSet("spark-submit", pflag.ContinueOnError)
	submitFlags(own, &o)

	return manifest.LineCommand(&cobra.Command{
		Use:   "spark-submit [OPTIONS] FILE [ARGUMENTS]",
		Short: "Make a manifest from spark-submit's command line",
		Long: "Takes spark-submit's own options in their order, and prints a SparkApplication that does the same. It reads options, files and\n" +
			"the environment as the verb submit does, also of lines for YARN and standalone clusters. The flags below can stand anywhere before the application's file.",
		Example: "  sparkctl convert spark-submit --deploy-mode cluster --class org.apache.spark.examples.SparkPi \\\n" +
			"    --conf spark.kubernetes.container.image=docker.io/apache/spark:4.1.4 local:///opt/spark/examples/jars/spark-examples.jar",
	}, own, func(_ *cobra.Command, line []string) error { return r.convertLine(line, &o, nil) })
}

func (r *root) convert(o *convertOptions) error {
	switch {
	case len(o.files) > 0 && o.properties != "":
		return exit.Usagef("-f and --properties-file cannot be combined")
	case o.properties != "":
		return r.convertProperties(o)
	case len(o.files) == 0:
		return exit.Usagef("name the files with -f, or paste a command line of spark-submit behind convert")
	}

	operator, err := preview.Load("")
	if err != nil {
		return err
	}

	documents, err := manifest.Objects(o.files, r.Streams, metav1.FieldValidationWarn)
	if err != nil {
		return err
	}

	for i := range documents {
		d := &documents[i]

		group := o.to
		if group == "" {
			group = convert.Other(d.Object.GetObjectKind().GroupVersionKind().Group)
		}

		if err := checkGroup(group); err != nil {
			return err
		}

		if err := operator.Check(d); err != nil {
			return exit.With(exit.Invalid, err)
		}

		result, err := convert.Convert(operator, d.Object, group)
		if err != nil {
			return exit.Errorf(exit.Invalid, "%s: %w", d.Place(""), err)
		}

		if stage.HasFiles(d.Object) {
			r.Warn(fmt.Sprintf("%s: %s deletes the files that %s has put into a store if no application of the cluster names them; apply the result before you delete the source, or delete the source with kubectl",
				d.Object.GetName(), terminal.Hint("delete"), terminal.Hint("submit")))
		}

		if i > 0 {
			fmt.Fprintln(r.Out, "---")
		}

		if err := r.write(&result); err != nil {
			return err
		}
	}
	return nil
}

func checkGroup(group string) error {
	if group != convert.SparkOperator && group != convert.Apache {
		return exit.Usagef("--to %s: the API groups are: %s, %s", group, convert.SparkOperator, convert.Apache)
	}
	return nil
}

func (r *root) write(result *convert.Result) error {
	text, err := result.YAML()
	if err != nil {
		return err
	}

	_, err = r.Out.Write(text)
	return err
}

// Placeholders for the values that a manifest needs and a properties file does not have.
const (
	someFile  = "local:///path/to/application.jar"
	someClass = "org.example.Main"
)

// convertProperties makes a manifest from a properties file. The file names no application, so the manifest has
// placeholders with comments.
func (r *root) convertProperties(o *convertOptions) error {
	if o.name == "" {
		o.name = "application"
	}

	line := []string{"--deploy-mode", "cluster", "--properties-file", o.properties, "--class", someClass, someFile}
	return r.convertLine(line, o, []convert.Comment{
		{Field: "spec.mainApplicationFile", Text: "The properties name no application: write its jar, .py or .R file here."},
		{Field: "spec.mainClass", Text: "Write the main class of the jar here; remove the field for a .py or .R file."},
		{Field: "spec.jars", Text: "The properties name no application: write its jar here, or use pyFiles or sparkRFiles."},
	})
}

// convertLine makes a manifest from a command line of spark-submit.
func (r *root) convertLine(line []string, o *convertOptions, comments []convert.Comment) error {
	if o.to == "" {
		o.to = convert.SparkOperator
	}

	if err := checkGroup(o.to); err != nil {
		return err
	}

	made, err := manifest.FromLineHere(line, o.sparkVersion, r.Streams)
	if err != nil {
		return err
	}

	app := made.Application
	if comments != nil {
		delete(app.Spec.SparkConf, "spark.app.name") // the placeholder's
	}

	name(app, o)

	operator, err := preview.Load("")
	if err != nil {
		return err
	}

	result, err := convert.Submitted(operator, app, o.to)
	if err != nil {
		return exit.With(exit.Invalid, err)
	}

	for _, comment := range comments {
		if result.Has(comment.Field) {
			result.Comments = append(result.Comments, comment)
		}
	}
	return r.write(&result)
}

// name gives the application a name that kubectl apply accepts.
func name(app *v1beta2.SparkApplication, o *convertOptions) {
	app.Name = strings.TrimSuffix(app.GenerateName, "-")
	if o.name != "" {
		app.Name = o.name
	}

	if o.namespace != "" {
		app.Namespace = o.namespace
	}

	app.GenerateName = ""
}
