package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
)

func (r *root) lintCommand() *cobra.Command {
	var files []string
	var output, configuration, namespaceLabels string
	var strict bool
	cmd := &cobra.Command{
		Use:   "lint (-f FILE|DIR|- | FILE ...)",
		Short: "Check manifests as the operator does, without a cluster",
		Long: "Checks manifests of all five kinds with the operator's own validation, and prints file, line and column of each finding.\n" +
			"An error is something that the API server or the operator rejects. A warning is an unknown field, a field without effect, a\n" +
			"key that is set twice (the last value counts, as for kubectl), a placeholder such as <BUCKET>, or a kind of the operator in an\n" +
			"unknown group. Other kinds in the files are left out.\n\n" +
			"With --config, lint also applies the rules of the platform in that file (docs/policy.md). Rules for selected namespaces\n" +
			"need --namespace-labels.\n\n" +
			"A file may have 3 MB, 50,000 fields and list items, and 1,000 documents. Aliases count as if they were written out.\n\n" +
			"The exit code is 3 if there is an error; with --strict also if there is a warning, or nothing to check.\n\n" +
			"Lint checks types, enumerations, patterns and limits of the definitions, but not their rules (CEL).",
		Example: "  sparkctl lint -f app.yaml\n" +
			"  sparkctl lint -f manifests/ -o sarif > lint.sarif\n" +
			"  helm template chart | sparkctl lint -f -",
		RunE: func(_ *cobra.Command, args []string) error {
			if files = append(files, args...); len(files) == 0 {
				return exit.Usagef("name the files with -f")
			}

			operator, err := preview.Load(configuration)
			if err != nil {
				return err
			}

			if namespaceLabels != "" {
				if operator.NamespaceLabels, err = labels.ConvertSelectorToLabelsMap(namespaceLabels); err != nil {
					return exit.Usagef("--namespace-labels: %v", err)
				}
			}

			report, err := r.check(operator, files, strict)
			if err != nil {
				return exit.With(exit.Invalid, err)
			}

			if err := r.print(report, output); err != nil {
				return err
			}

			if strict && report.Objects == 0 && len(report.Findings) == 0 {
				return exit.Errorf(exit.Invalid, "%s: --strict, but the files contain no custom resource of %s", strings.Join(files, ", "), strings.Join(manifest.Groups, " or "))
			}

			if report.Count(preview.Error) > 0 || strict && report.Count(preview.Warning) > 0 {
				return &exit.Error{Code: exit.Invalid}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "`file` or directory to check; - is the standard input; may be repeated")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "output `format`: text, json or sarif")
	cmd.Flags().StringVar(&configuration, "config", "", "the operator's configuration `file`; without one, all settings have their defaults")
	cmd.Flags().StringVar(&namespaceLabels, "namespace-labels", "", "`labels` of the manifests' namespace, such as team=a,tier=tenant, for rules of the platform that select namespaces")
	cmd.Flags().BoolVar(&strict, "strict", false, "an unknown field is an error; exit with 3 also if there are only warnings, or if nothing was checked")
	return cmd
}

func (r *root) check(operator preview.Operator, names []string, strict bool) (*preview.Report, error) {
	files, err := manifest.Files(names)
	if err != nil {
		return nil, err
	}

	report := &preview.Report{Findings: []preview.Finding{}}
	for _, file := range files {
		data, err := manifest.Load(file, r.In)
		if err != nil {
			return nil, err
		}

		report.Add(operator, file, data, strict)
	}
	return report, nil
}

func (r *root) print(report *preview.Report, output string) error {
	var text []byte

	var err error
	switch output {
	case "text":
		fmt.Fprint(r.Out, report.Text(r.Width))
		return nil
	case "json":
		text, err = json.MarshalIndent(report, "", "  ")
	case "sarif":
		text, err = report.SARIF(currentBuild().Version)
	default:
		return exit.Usagef("-o %s: the formats are: text, json, sarif", output)
	}

	fmt.Fprintln(r.Out, string(text))
	return err
}
