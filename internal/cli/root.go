// Package cli is the program sparkctl. The program reads and changes a cluster with the rights of the user. It never
// imports the operator's reconciler. This package contains the command with all verbs, the verbs about the program
// itself, such as version, and those that need no cluster: convert, lint and render.
package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sparkoperator/spark-operator/internal/cli/console"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/forward"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/ledger"
	"github.com/sparkoperator/spark-operator/internal/cli/online"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// completionName is the name of the binary that kubectl runs to complete words of its plugin.
const completionName = "kubectl_complete-spark"

// root holds the standard streams, which the verbs of this package use.
type root struct {
	terminal.Streams
}

// Main runs the program and returns its exit code. The first element of args is the path of the binary.
func Main(ctx context.Context, args []string, streams terminal.Streams) exit.Code {
	streams = streams.Safe()
	cmd := command(streams, terminal.Program(args[0]))
	cmd.SetArgs(pasted(args[1:]))

	if strings.Contains(args[0], completionName) {
		cmd.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args[1:]...))
	}

	err := cmd.ExecuteContext(ctx)

	code := exit.CodeOf(err)
	switch message := messageOf(err); {
	case code == exit.Interrupted && !errors.Is(err, context.Canceled):
		if streams.Width > 0 {
			fmt.Fprintln(streams.Err) // the terminal has printed ^C
		}

		for line := range strings.SplitSeq(message, "\n") {
			fmt.Fprintln(streams.Err, terminal.Wrap("", line, streams.Width))
		}
	case code == exit.Interrupted:
		fmt.Fprintln(streams.Err, "interrupted")
	case message != "":
		for _, each := range several(err) {
			fmt.Fprintln(streams.Err, terminal.Wrap("error: ", each, streams.Width))
		}
	}
	return code
}

// several returns the messages of an error that joins several errors, or the message of the error.
func several(err error) (messages []string) {
	var joined interface {
		error
		Unwrap() []error
	}
	if !errors.As(err, &joined) || !strings.Contains(joined.Error(), "\n") {
		return []string{messageOf(err)}
	}

	for _, each := range joined.Unwrap() {
		messages = append(messages, each.Error())
	}
	return messages
}

// pasted returns arguments in which spark-submit behind the verb convert has no directory.
func pasted(args []string) []string {
	if i := slices.Index(args, "convert") + 1; i > 0 && i < len(args) && path.Base(args[i]) == "spark-submit" {
		args = slices.Clone(args)
		args[i] = "spark-submit"
	}
	return args
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}

	if coded, ok := errors.AsType[*exit.Error](err); ok && coded.Err == nil {
		return "" // everything is printed
	}
	return err.Error()
}

// command returns the command with all verbs. The argument name is the name of the program in usage texts.
func command(streams terminal.Streams, name string) *cobra.Command {
	streams = streams.Safe()
	r := &root{Streams: streams}
	top := &cobra.Command{
		Use:   strings.ReplaceAll(name, " ", "-"),
		Short: "Create, follow and debug Apache Spark on Kubernetes",
		Long: "sparkctl creates, follows and debugs Spark applications, schedules, Connect servers and clusters on Kubernetes. It serves\n" +
			"both API groups, sparkoperator.k8s.io and spark.apache.org. Some verbs need no cluster, such as lint and render.\n\n" +
			"If the binary is named kubectl-spark, it is also a plugin of kubectl: kubectl spark list.\n\n" +
			"The output is plain lines unless it goes to a terminal. Errors go to the standard error.",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(cmd, args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	top.SetIn(streams.In)
	top.SetOut(streams.Out)
	top.SetErr(streams.Err)
	top.AddCommand(r.versionCommand(), r.completionCommand(), r.docsCommand(), r.convertCommand(), r.migrateCommand(), r.lintCommand(), r.renderCommand())
	top.AddCommand(online.Commands(streams)...)
	top.AddCommand(screen.ListCommand(streams), doctor.Command(streams), console.Command(streams), screen.TopCommand(streams))
	top.AddCommand(forward.Commands(streams)...)
	top.AddCommand(ledger.Commands(streams)...)
	adopt(top)

	for _, cmd := range top.Commands() {
		codeErrors(cmd)
		cmd.Example = strings.ReplaceAll(cmd.Example, "sparkctl ", name+" ")
	}
	return top
}

// codeErrors makes exit.Cluster the exit code of all errors without a code that a verb or its subcommands return. It
// does not affect errors in the command line, because these occur before the verb runs.
func codeErrors(cmd *cobra.Command) {
	run := cmd.RunE

	cmd.RunE = func(cmd *cobra.Command, args []string) error { return exit.With(exit.Cluster, run(cmd, args)) }
	for _, sub := range cmd.Commands() {
		codeErrors(sub)
	}
}

// connectionFlags returns kubectl's connection flags.
var connectionFlags = sync.OnceValue(func() *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(kube.Flags).AddTo(set)
	return set
})

func isConnectionFlag(f *pflag.Flag) bool {
	known := connectionFlags().Lookup(f.Name)
	return known != nil && known.Usage == f.Usage
}
