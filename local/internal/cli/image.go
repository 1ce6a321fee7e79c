package cli

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/local/internal/image"
)

// NewImageCommand returns the command `image`, which builds a container image as a tar without a container engine, and
// prints the path of the tar. If the machine lacks a tool or a package, the error names the missing one.
func NewImageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build a container image without Docker",
		Long: `image builds a container image as a tar in the format of docker save and prints the tar's path. sparklocal load imports the tar into a cluster of
sparklocal. For other clusters, use docker load, ctr images import, kind load image-archive or minikube image load.`,
	}
	cmd.AddCommand(imageSpark(), imageProgram("operator", "./cmd/spark-operator", "The operator's image: one static binary and CA certificates"),
		imageProgram("sparkctl", image.SparkctlPackage, "The image with sparkctl, which serves the web console"), imageSmall("pause", "the program that holds a pod's namespaces", image.PauseTag),
		imageSmall("probe", "the program that tests run in pods", image.ProbeTag))
	return cmd
}

func imageSpark() *cobra.Command {
	var o image.SparkOptions
	var output string
	cmd := &cobra.Command{
		Use:   "spark --version VERSION",
		Short: "The Spark image: Java, Python, Spark and small example programs",
		Long: "spark builds the image docker.io/apache/spark:VERSION, or the image that --tag names. Versions: " + strings.Join(image.SparkVersions(), ", ") + `.
It consists of the machine's own Debian or Ubuntu packages and Spark's Python source distribution.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Progress = cmd.ErrOrStderr()
			path, err := image.Spark(cmd.Context(), o)
			return deliver(cmd, path, output, err)
		},
	}
	cmd.Flags().StringVar(&o.Version, "version", "4.1.4", "Spark version")
	cmd.Flags().StringVar(&o.Tag, "tag", "", "name of the image (default docker.io/apache/spark:VERSION and docker.io/library/spark:VERSION)")
	cmd.Flags().BoolVar(&o.CDS, "cds", false, "add a class-data-sharing archive, with which drivers and executors start faster (docs/how-to/fast-start.md)")
	cmd.Flags().IntVar(&o.Java, "java", 0, "Java version, 17 or 21 (default: that of a cached base layer, or else the first that the distribution has)")
	outputFlag(cmd, &output)
	return cmd
}

// imageProgram returns the command that builds the image of one of the repository's programs.
func imageProgram(name, pkg, summary string) *cobra.Command {
	var o image.OperatorOptions
	var output string
	cmd := &cobra.Command{
		Use:   name,
		Short: summary,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Progress = cmd.ErrOrStderr()
			archive, err := image.Operator(cmd.Context(), o)
			return deliver(cmd, archive, output, err)
		},
	}
	cmd.Flags().StringVar(&o.SourceDir, "source", ".", "directory of the operator's Go module")
	cmd.Flags().StringVar(&o.Package, "package", pkg, "main package of the program")
	cmd.Flags().StringVar(&o.Version, "version", "", "version that the program reports")
	cmd.Flags().StringVar(&o.Arch, "arch", "", "processor architecture, such as arm64 (default: that of this machine)")
	cmd.Flags().StringVar(&o.Tag, "tag", "localhost/"+path.Base(pkg)+":dev", "name of the image")
	outputFlag(cmd, &output)
	return cmd
}

// imageSmall returns a hidden command that builds one of the small images for inspection. Clusters and tests do not use
// the command, because they build the images themselves.
func imageSmall(name, summary, tag string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:    name,
		Short:  summary + " (" + tag + ")",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			build := image.Pause
			if name == "probe" {
				build = image.Probe
			}

			path, err := build(cmd.Context(), "")
			return deliver(cmd, path, output, err)
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "write the tar to this file (default: keep it in the cache)")
}

// deliver prints the path of the archive. If an output file is requested, deliver first copies the archive there.
func deliver(cmd *cobra.Command, archive, output string, err error) error {
	if err != nil {
		return err
	}

	if archive == "" {
		return errors.New("the build returned no archive, which is a bug of sparklocal: please report it")
	}

	if output != "" {
		if err := image.Copy(archive, output); err != nil {
			return err
		}

		archive = output
	}

	_, err = fmt.Fprintln(cmd.OutOrStdout(), archive)
	return err
}
