package manifest

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/spark/cmdline"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// LineCommand makes a command take a command line of spark-submit, in which the given flags can stand too.
func LineCommand(cmd *cobra.Command, own *pflag.FlagSet, run func(cmd *cobra.Command, line []string) error) *cobra.Command {
	help := own.BoolP("help", "h", false, "help for "+cmd.Name())
	cmd.DisableFlagParsing = true
	cmd.Flags().AddFlagSet(own)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		line, flags := splitLine(args, own)
		if err := own.Parse(flags); err != nil {
			return exit.Usagef("%v", err)
		}

		if *help {
			return cmd.Help()
		}
		return run(cmd, line)
	}
	return cmd
}

// FromLineHere converts a command line that the user runs on this machine, and prints the warnings. If the given
// version of Spark is empty, it uses the version in the tag of the image that the command line names.
func FromLineHere(line []string, sparkVersion string, streams terminal.Streams) (Submission, error) {
	submitter, err := submitterHere(line, sparkVersion)
	if err != nil {
		return Submission{}, err
	}

	made, err := FromLine(line, submitter)
	streams.Warn(made.Warnings...)
	return made, exit.With(exit.Invalid, err)
}

// splitLine divides arguments into a command line for spark-submit and sparkctl's own flags. All arguments after the
// application's file belong to the application, so they stay in the command line. The program spark-submit itself, with
// or without its directory, may be the first word.
func splitLine(args []string, own *pflag.FlagSet) (line, flags []string) {
	for i := 0; i < len(args); i++ {
		known, takesValue := cmdline.Option(args[i])
		name, _, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "=")

		flag := lookup(own, args[i], name)
		switch {
		case strings.HasPrefix(args[i], "-") && flag != nil && (!known || name == "help" || name == "h"):
			flags = append(flags, args[i])
			if flag.NoOptDefVal == "" && !joined && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		case len(line) == 0 && filepath.Base(args[i]) == "spark-submit":
		case !known:
			return append(line, args[i:]...), flags
		default:
			line = append(line, args[i])
			if takesValue && i+1 < len(args) {
				i++
				line = append(line, args[i])
			}
		}
	}
	return line, flags
}

// lookup returns the flag of a word, whose name or letter is given, or nil.
func lookup(own *pflag.FlagSet, word, name string) *pflag.Flag {
	if len(word) == 2 && strings.HasPrefix(word, "-") {
		return own.ShorthandLookup(name)
	}
	return own.Lookup(name)
}

// submitterHere returns a Submitter that describes this machine (FromLineHere).
func submitterHere(line []string, sparkVersion string) (cmdline.Submitter, error) {
	directory, err := os.Getwd()
	if err != nil {
		return cmdline.Submitter{}, err
	}

	s := cmdline.Submitter{
		SparkVersion: sparkVersion, Environment: environment(os.Environ()), WorkingDirectory: directory, ReadFile: os.ReadFile, ReadDir: readDirectory,
	}

	s.SystemProperties = systemProperties(s.Environment["SPARK_SUBMIT_OPTS"])
	if s.SparkVersion == "" {
		s.SparkVersion, err = versionIn(line, s)
	}
	return s, err
}

// newest is a version of the newest supported Spark release line, which has the most options. versionIn uses it to
// parse the command line, because the real version is known only after the command line has been parsed.
const newest = "4.3.0"

// versionIn returns the version of Spark in the tag of the image that a command line names.
func versionIn(line []string, s cmdline.Submitter) (string, error) {
	s.SparkVersion = newest
	made, err := FromLine(line, s)

	var images []string
	if err == nil {
		for _, image := range []*string{made.Application.Spec.Driver.Image, made.Application.Spec.Image} {
			if image != nil {
				images = append(images, *image)
			}
		}
	}

	for _, word := range line {
		if _, image, ok := strings.Cut(word, "container.image="); ok {
			images = append(images, image)
		}
	}

	for _, image := range images {
		if version := ImageVersion(image); version != "" {
			return version, nil
		}
	}

	if err != nil {
		return "", exit.With(exit.Invalid, err)
	}
	return "", exit.Usagef("the image's tag does not show the version of Spark; name it with --spark-version")
}

// systemProperties returns the properties that options of a JVM set.
func systemProperties(options string) map[string]string {
	properties := map[string]string{}

	words, _ := conf.SplitJavaOptions(options)
	for _, word := range words {
		if option, ok := strings.CutPrefix(word, "-D"); ok {
			key, value, _ := strings.Cut(option, "=")
			properties[key] = value
		}
	}
	return properties
}

func environment(pairs []string) map[string]string {
	variables := map[string]string{}
	for _, pair := range pairs {
		if name, value, ok := strings.Cut(pair, "="); ok {
			variables[name] = value
		}
	}
	return variables
}

// readDirectory returns the contents of the regular files in a directory, by their names. If the directory does not
// exist, the result is empty.
func readDirectory(path string) (map[string][]byte, error) {
	entries, err := os.ReadDir(path)
	if os.IsNotExist(err) {
		return nil, nil
	}

	files := map[string][]byte{}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}

		data, err := os.ReadFile(filepath.Join(path, entry.Name()))
		if err != nil {
			return nil, err
		}

		files[entry.Name()] = data
	}
	return files, err
}
