package cause

import (
	"regexp"
	"slices"
	"strings"
)

// Advice returns what to do about a cause with the given reason and message, or "" if there is no advice. If a reason
// has several rules, the last one is for all messages that no other of them recognizes.
func Advice(reason, message string) (advice string) {
	for i := range Rules {
		if Rules[i].Reason != reason {
			continue
		}

		advice = Rules[i].Advice
		if Rules[i].isAbout(message) {
			break
		}
	}

	if advice == schedule {
		if at := slices.IndexFunc(Scheduling, func(rule Rule) bool { return rule.isAbout(message) }); at >= 0 {
			advice = Scheduling[at].Advice
		}
	}
	return withAccount(advice, message)
}

// isAbout reports whether a message has one of the rule's texts.
func (r *Rule) isAbout(message string) bool {
	return slices.ContainsFunc(r.Has, func(text string) bool { return strings.Contains(message, text) })
}

// accounts finds the service account that the API server names in a message, with or without its namespace.
var accounts = regexp.MustCompile(`serviceaccount(?: "|:[a-z0-9-]+:)([a-z0-9.-]+)"`)

// withAccount writes the service account of a message into an advice, so that the command can be copied.
func withAccount(advice, message string) string {
	if named := accounts.FindStringSubmatch(message); named != nil {
		return strings.ReplaceAll(advice, "ACCOUNT", named[1])
	}
	return advice
}
