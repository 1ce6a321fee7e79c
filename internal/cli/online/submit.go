package online

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/stage"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// submitOptions are the flags that the verb submit has in addition to spark-submit's options.
type submitOptions struct {
	afterwards
	staging                  stage.Staging
	sparkVersion, objectName string
}

func (r *verbs) submitCommand() *cobra.Command {
	var o submitOptions
	own := pflag.NewFlagSet("submit", pflag.ContinueOnError)
	connect := selection.Connection(own, r.Err)
	own.BoolVar(&o.dryRun, "dry-run", false, "print the manifest and create nothing; needs no cluster")
	own.BoolVar(&o.wait, "wait", false, "wait until the application ended; the exit code is 1 if it fails")
	own.BoolVar(&o.log, "log", false, "print the driver's log until the application ended")
	own.DurationVar(&o.timeout, "timeout", 0, "end --wait after this `duration`, with the exit code 5; 0 means no limit")
	own.StringVar(&o.sparkVersion, "spark-version", "", "`version` of Spark in the image; default: that of the image's tag")
	own.StringVar(&o.objectName, "object-name", "", "`name` of the SparkApplication; default: the application's name and five letters")
	o.staging.AddFlags(own)

	return manifest.LineCommand(&cobra.Command{
		Use:   "submit [OPTIONS] FILE [ARGUMENTS]",
		Short: "Create a SparkApplication from spark-submit's command line",
		Long: "Takes spark-submit's own options in their order, and creates a SparkApplication of sparkoperator.k8s.io that does the same. An\n" +
			"existing line can be pasted behind \"sparkctl submit\", with the program's name. Every option of Spark 3.5 to 4.3 is honoured, or refused with a reason.\n\n" +
			"A line for YARN or a standalone cluster is converted: warnings name what does not carry over.\n\n" +
			"The flags below can stand anywhere before the application's file. --master is not needed: the cluster is that of the\n" +
			"kubeconfig's context. Properties files, spark-defaults.conf of SPARK_CONF_DIR or SPARK_HOME, pod templates and the\n" +
			"environment are read as spark-submit reads them.\n\n" +
			"The application's file, --jars, --files, --py-files and --archives can be files of this machine. They are put into the object\n" +
			"store that --stage names, in which each content is stored once. Without a store, files of at most 900 kB together go into a\n" +
			"ConfigMap. The application's image needs the client of the store, such as hadoop-aws for s3a://. The ConfigMap is deleted with\n" +
			"the application; the files in a store are deleted by sparkctl delete. Other local files, such as keytabs, are not sent.",
		Example: "  sparkctl submit --deploy-mode cluster --class org.apache.spark.examples.SparkPi \\\n" +
			"    --conf spark.kubernetes.container.image=docker.io/apache/spark:4.1.4 \\\n" +
			"    --conf spark.kubernetes.authenticate.driver.serviceAccountName=spark-operator-spark \\\n" +
			"    --num-executors 2 --wait local:///opt/spark/examples/jars/spark-examples.jar 1000",
	}, own, func(cmd *cobra.Command, line []string) error { return r.submit(cmd, line, own, &o, connect) })
}

func (r *verbs) submit(cmd *cobra.Command, line []string, own *pflag.FlagSet, o *submitOptions, connect func() (*kube.Client, error)) error {
	made, err := manifest.FromLineHere(line, o.sparkVersion, r.Streams)
	if err != nil {
		return err
	}

	app := made.Application
	if namespace := own.Lookup("namespace"); namespace.Changed {
		app.Namespace = namespace.Value.String()
	}

	if app.Name = o.objectName; app.Name != "" {
		app.GenerateName = ""
	}

	o.wait = o.wait || made.Wait
	return r.submitApplication(cmd, app, o, connect)
}

// submitApplication puts the local files of an application where its pods can read them, and creates the application.
// In a dry run it prints the application instead.
func (r *verbs) submitApplication(cmd *cobra.Command, app *v1beta2.SparkApplication, o *submitOptions, connect func() (*kube.Client, error)) error {
	var c *kube.Client

	namespace := func() (_ string, err error) {
		if o.dryRun || app.Namespace != "" {
			return cmp.Or(app.Namespace, metav1.NamespaceDefault), nil
		}

		if c, err = connect(); err != nil {
			return "", err
		}
		return c.Namespace, nil
	}
	if err := o.staging.Prepare(cmd.Context(), app, namespace); err != nil {
		return err
	}
	defer o.staging.Close()

	warnings, err := checkSubmitted(app)
	if err != nil {
		return err
	}

	r.Warn(warnings...)

	if o.dryRun {
		o.staging.Describe(r.Streams)
		return r.printManifest(app)
	}

	if c == nil {
		var err error
		if c, err = connect(); err != nil {
			return err
		}
	}

	if app.Namespace == "" {
		app.Namespace = c.Namespace
	}

	err = o.staging.Upload(cmd.Context(), r.Streams, app.Namespace)
	if err == nil {
		err = r.create(cmd, c, app, &o.afterwards)
	}

	if err != nil {
		if failed := o.staging.Undo(cmd.Context(), c.WithWatch, app); failed != nil {
			r.Warn(failed.Error())
		}
		return err
	}

	if err := o.staging.Attach(cmd.Context(), c.WithWatch, app); err != nil {
		return err
	}
	return r.afterwards(cmd, c, &o.afterwards, app)
}

// checkSubmitted returns the warnings of the operator about an application, or the first fault for which the operator
// would reject it. One of the warnings reports that a pod has to run spark-submit. If the application has only a
// generateName, checkSubmitted appends a random suffix, as the API server does.
func checkSubmitted(app *v1beta2.SparkApplication) ([]string, error) {
	operator, err := preview.Load("")
	if err != nil {
		return nil, err
	}

	named := app.DeepCopy()
	if named.Name == "" {
		named.Name = app.GenerateName + utilrand.String(5)
	}

	review, err := operator.Review(named)
	if err != nil {
		return nil, exit.With(exit.Invalid, err)
	}

	for _, fault := range review.Faults {
		return nil, exit.With(exit.Invalid, fault)
	}

	launched, err := operator.Launch(named)
	if err == nil && launched.RunsSparkSubmit() {
		review.Warnings = append(review.Warnings, "a pod that runs spark-submit creates the driver, which needs a service account with the rights to do so "+
			"("+string(terminal.Hint("explain"))+" shows the reason)")
	}
	return review.Warnings, nil
}

// printManifest prints an application as YAML, without the empty status.
func (r *verbs) printManifest(app *v1beta2.SparkApplication) error {
	text, err := manifest.YAML(app)
	if err != nil {
		return err
	}

	_, err = r.Out.Write(text)
	return err
}
