package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/spark/cmdline"
)

// FromPasted converts the words of a command line that a user has on another machine. The words may contain the options
// --namespace, --object-name and --spark-version of the verb submit. FromPasted reads no file and no environment
// variable of this machine, and it refuses a line that names files of the user's machine.
func FromPasted(words []string) (Submission, error) {
	var namespace, name, version string

	own := pflag.NewFlagSet("submit", pflag.ContinueOnError)
	own.StringVarP(&namespace, "namespace", "n", "", "")
	own.StringVar(&name, "object-name", "", "")
	own.StringVar(&version, "spark-version", "", "")

	line, flags := splitLine(words, own)
	if err := own.Parse(flags); err != nil {
		return Submission{}, exit.Usagef("%v", err)
	}

	s := cmdline.Submitter{SparkVersion: version}
	if version == "" {
		var err error
		if s.SparkVersion, err = versionIn(line, s); err != nil {
			return Submission{}, err
		}
	}

	made, err := FromLine(line, s)
	if err != nil {
		return made, err
	}

	app := made.Application
	if namespace != "" {
		app.Namespace = namespace
	}

	if app.Name = name; name != "" {
		app.GenerateName = ""
	}

	deps := &app.Spec.Deps
	for _, uri := range slices.Concat([]string{app.Spec.MainApplicationFile}, deps.Jars, deps.Files, deps.PyFiles, deps.Archives) {
		if strings.HasPrefix(strings.ToLower(uri), "file:") {
			return made, fmt.Errorf("%s is a file of your machine; submit the line with %s, which sends the file, or name local:///PATH for a file of the image or a URL that the driver can read",
				strings.TrimPrefix(uri, "file://"), terminal.Hint("submit"))
		}
	}
	return made, nil
}
