package record

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// Ending describes a program that fails, of which the log is recorded for the tests of internal/lifecycle/cause.
type Ending struct {
	// Name is unique. The name of the recording is NAME.CODE.log.gz, with the exit code.
	Name string `json:"name"`
	// Version is the version of Spark, such as "4.1.4".
	Version string `json:"version"`
	// Submit has the arguments of spark-submit, as a shell reads them. The shell runs in Dir.
	Submit string `json:"submit"`
	// Before is a script that runs before spark-submit, in the same shell. It may start servers.
	Before string `json:"before,omitempty"`
	// Jars are patterns of JARs below the cache directory of sparklocal. The program finds them in Dir/jars.
	Jars []string `json:"jars,omitempty"`
	// Maven are artifacts that the program also finds there. Maven fetches those that are not in the cache.
	Maven []string `json:"maven,omitempty"`
	// Files maps paths below Dir to texts.
	Files map[string]string `json:"files,omitempty"`
}

// Endings loads the endings from a file.
func Endings(file string) ([]Ending, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	var list []Ending
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}

	seen := map[string]bool{}
	for _, e := range list {
		if err := (Case{Name: e.Name, Files: e.Files}).check(); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", file, e.Name, err)
		}

		if seen[e.Name] || strings.Contains(e.Name, ".") || e.Version == "" || e.Submit == "" {
			return nil, fmt.Errorf("%s: %q: a name must be unique and without dots, and version and submit are required", file, e.Name)
		}

		seen[e.Name] = true
	}
	return list, nil
}

// Script returns the script that runs the ending.
func (e Ending) Script() string {
	return e.Before + "\nexec " + SparkHome + "/bin/spark-submit " + e.Submit
}
