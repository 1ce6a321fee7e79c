package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/spark/cmdline"
)

// groups are the headings of the help, and the verbs below each.
var groups = []struct{ title, verbs string }{
	{"Run", "submit create restart suspend resume scale trigger delete"},
	{"Look", "list status explain events log wait top ui connect console"},
	{"Compare", "usage runs advise"},
	{"Check and convert files", "lint render diff convert migrate"},
	{"The installation and this program", "doctor version completion docs help"},
}

// aliases are verbs of other programs for the same task: kubectl, Docker, YARN, and sparkctl of the kubeflow operator.
var aliases = map[string][]string{"status": {"describe"}, "delete": {"kill", "cancel"}, "ui": {"forward"}}

// former lists flags and verbs of the kubeflow operator's sparkctl and of kubectl that have another form here. A flag
// that takes a value ends in "=". A verb that does not exist here has no flag.
var former = []struct{ verb, flag, short, instead string }{
	{"apply", "", "", "to create or change an object, use kubectl apply -f FILE; the verb create creates one, and diff shows what an edit does"},
	{"edit", "", "", "use kubectl edit"},
	{"run", "", "", "use the verb submit, with the command line of spark-submit"},
	{"create", "upload-to=", "", "the verb submit sends local files to a store: submit --stage s3://BUCKET/PREFIX"},
	{"create", "upload-prefix=", "", "it is a part of the URL: submit --stage s3://BUCKET/PREFIX"},
	{"create", "upload-to-region=", "", "it is a part of the URL: submit --stage s3://BUCKET/PREFIX?region=REGION"},
	{"create", "upload-to-endpoint=", "", "it is a part of the URL: submit --stage s3://BUCKET/PREFIX?endpoint=ENDPOINT"},
	{"create", "s3-force-path-style", "", "it is a part of the URL: submit --stage s3://BUCKET/PREFIX?use_path_style=true"},
	{"create", "override", "", "submit --stage stores each content once, and overwrites nothing"},
	{"create", "public", "", "submit --stage changes no access rights; give the driver's account the right to read"},
	{"create", "from=", "", "the verb trigger starts a run of a schedule"},
	{"events", "watch", "w", "the verb status shows the last Events as they come, with --watch"},
	{"status", "follow", "f", "use --watch; log -f follows the log"},
	{"explain", "filename=", "f", "name a stored object: explain NAME"},
	{"delete", "filename=", "f", "name the object: delete NAME, or use kubectl delete -f FILE"},
	{"restart", "filename=", "f", "name the object: restart NAME"},
	{"events", "follow", "f", "the verb status shows the last Events as they come, with --watch"},
	{"ui", "local-port=", "", "use --port"},
	{"ui", "remote-port=", "", "the verb finds the port of the web UI itself"},
}

// adopt gives the verbs their groups and the forms of other programs, and completes their flags.
func adopt(top *cobra.Command) {
	for _, group := range groups {
		top.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})

		for verb := range strings.FieldsSeq(group.verbs) {
			if cmd, _, err := top.Find([]string{verb}); err == nil && cmd != top {
				cmd.GroupID, cmd.Aliases = group.title, append(cmd.Aliases, aliases[verb]...)
			}
		}
	}

	top.SetHelpCommandGroupID(groups[len(groups)-1].title)
	adoptFlags(top)
	top.SuggestionsMinimumDistance = 2
	top.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); cmd == top && len(args) > 0 {
			return unknownVerb(top, args[0])
		}
		return withForm(cmd, err)
	})

	for _, cmd := range top.Commands() {
		offerNames(cmd)

		if check := cmd.Args; check != nil {
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if err := formerFlag(cmd); err != nil {
					return err
				}
				return withForm(cmd, check(cmd, args))
			}
		}

		completeFlags(cmd)

		for _, line := range append(cmd.Commands(), cmd) {
			if line.DisableFlagParsing {
				line.ValidArgsFunction = completeLine
			}
		}
	}

	help := top.HelpFunc()
	top.SetHelpFunc(func(cmd *cobra.Command, args []string) { shortHelp(cmd, args, help) })
}

// adoptFlags adds the flags of other programs to the verbs. A verb with such a flag ends with the new form.
func adoptFlags(top *cobra.Command) {
	for _, old := range former {
		cmd, _, err := top.Find([]string{old.verb})
		if name, hasValue := strings.CutSuffix(old.flag, "="); err == nil && name != "" {
			cmd.Flags().StringP(name, old.short, "", "see docs/migrate-kubeflow.md")

			f := cmd.Flags().Lookup(name)
			if f.Hidden = true; !hasValue {
				f.NoOptDefVal = "true"
			}
		}
	}

	top.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return cmp.Or(formerFlag(cmd), checkFlags(cmd))
	}
}

// formerFlag returns an error with the new form if a flag of another program is set.
func formerFlag(cmd *cobra.Command) error {
	for _, old := range former {
		name := strings.TrimSuffix(old.flag, "=")
		if f := cmd.Flags().Lookup(name); cmd.Name() == old.verb && f != nil && f.Changed {
			return exit.Usagef("--%s is a flag of another program: %s", name, old.instead)
		}
	}
	return nil
}

// checkFlags checks the values of flags that several verbs have, before a verb connects to a cluster.
func checkFlags(cmd *cobra.Command) (wrong error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		switch {
		case f.Name == "selector":
			if _, err := labels.Parse(value); err != nil {
				wrong = exit.Usagef("-l: %v", err)
			}
		case f.Name == "output" && strings.HasSuffix(f.Usage, ": json or yaml") && value != "json" && value != "yaml":
			wrong = exit.Usagef("-o %s: the formats are: json, yaml", value)
		case f.Value.Type() == "duration" && strings.HasPrefix(value, "-"):
			wrong = exit.Usagef("--%s: a duration cannot be negative; write one such as 10m", f.Name)
		}
	})
	return wrong
}

// withForm adds the form of a verb to an error about its flags and arguments, unless the error says what to do.
func withForm(cmd *cobra.Command, err error) error {
	if _, coded := errors.AsType[*exit.Error](err); coded || err == nil {
		return err
	}
	return exit.Usagef("%w; write: %s", err, cmd.UseLine())
}

// shortHelp prints the help of a verb, without the flags about the connection that users need rarely.
func shortHelp(cmd *cobra.Command, args []string, help func(*cobra.Command, []string)) {
	hidden := false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if isConnectionFlag(f) && !slices.Contains([]string{"namespace", "context", "kubeconfig"}, f.Name) {
			f.Hidden, hidden = true, true
		}
	})

	if help(cmd, args); hidden {
		fmt.Fprintln(cmd.OutOrStdout(), "\nIt also takes the other flags of kubectl about the connection, such as --as and --server.")
	}
}

// unknownVerb returns the error for a verb that does not exist, with the form of this program if another program has
// it.
func unknownVerb(top *cobra.Command, verb string) error {
	hint := "see " + top.DisplayName() + " --help"
	if near := top.SuggestionsFor(verb); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}

	for _, old := range former {
		if old.verb == verb && old.flag == "" {
			hint = old.instead
		}
	}
	return exit.Usagef("unknown verb %q; %s", verb, hint)
}

// offerNames makes the error about missing names list the objects that exist.
func offerNames(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}

	if cmd.ValidArgsFunction == nil {
		return
	}

	cmd.Args = func(cmd *cobra.Command, args []string) error {
		selector := cmd.Flags().Lookup("selector")
		if len(args) > 0 || selector != nil && selector.Changed {
			return check(cmd, args)
		}

		way := "name an object"
		if selector != nil {
			way += ", or choose objects with -l"
		}

		names, _ := cmd.ValidArgsFunction(cmd, nil, "")
		if len(names) == 0 {
			return exit.Usagef("%s; %s list -A lists the objects of all namespaces", way, cmd.Root().DisplayName())
		}
		return exit.Usagef("%s: %s", way, strings.Join(names[:min(len(names), 10)], ", "))
	}
}

// listed matches the values that the description of a flag lists: the texts after a colon, with commas between them.
// Each may have a remark in brackets, which matches remark.
var (
	listed = regexp.MustCompile(`: ([\w-]+(?:(?:, | or )[\w-]+)+)`)
	remark = regexp.MustCompile(` \([^)]*\)`)
)

// completeFlags completes the flags of a verb: namespaces from the cluster, and the values that the description lists.
func completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, known := cmd.GetFlagCompletionFunc(f.Name)

		match := listed.FindStringSubmatch(remark.ReplaceAllString(f.Usage, ""))
		switch {
		case known || f.Hidden:
		case f.Name == "state":
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(screen.Results(), cobra.ShellCompDirectiveNoFileComp))
		case f.Name == "namespace":
			_ = cmd.RegisterFlagCompletionFunc(f.Name, completeNamespaces) // fails only if it is registered already
		case match != nil && f.Value.Type() != "bool":
			values := strings.Split(strings.ReplaceAll(match[1], " or ", ", "), ", ")
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

// completeNamespaces offers the namespaces of the cluster that the other flags of the command choose.
func completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	connection := new(kube.Flags)
	connection.AddTo(set)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if isConnectionFlag(f) {
			_ = set.Set(f.Name, f.Value.String()) // the value was valid for the same type
		}
	})
	return selection.Namespaces(cmd.Context(), connection), cobra.ShellCompDirectiveNoFileComp
}

// completeLine offers the options of spark-submit, and keys of properties behind --conf.
func completeLine(cmd *cobra.Command, args []string, prefix string) (words []string, directive cobra.ShellCompDirective) {
	options, keys := cmdline.Words()
	switch {
	case len(args) > 0 && slices.Contains([]string{"--conf", "-c"}, args[len(args)-1]):
		return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	case strings.HasPrefix(prefix, "-"):
		cmd.Flags().VisitAll(func(f *pflag.Flag) { options = append(options, "--"+f.Name) })
		return options, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}
