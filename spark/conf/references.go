package conf

import (
	"iter"
	"regexp"
	"strings"
)

// referencePattern matches what the kubelet replaces in arguments and variables: references $(NAME), and escaped dollar
// signs.
var referencePattern = regexp.MustCompile(`\$\$|\$\([-._A-Za-z][-._A-Za-z0-9]*\)`)

// References returns the references to variables in a text, such as $(NAME), which Kubernetes fills in.
func References(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for strings.Contains(text, "$(") {
			at := referencePattern.FindStringIndex(text)
			if at == nil {
				return
			}

			found := text[at[0]:at[1]]
			if text = text[at[1]:]; found != "$$" && !yield(found) {
				return
			}
		}
	}
}

// filledIn matches the keys whose values become variables or other texts in which Kubernetes fills in references.
var filledIn = regexp.MustCompile(`^spark\.(kubernetes\.driverEnv\.|executorEnv\.|executor\.(default|extra)JavaOptions$|kubernetes\..*\.subPathExpr$)`)

// Unfilled returns the keys whose values have a reference $(NAME) that nothing fills in, each with a warning.
func (c *Conf) Unfilled() iter.Seq2[string, string] {
	return func(yield func(key, warning string) bool) {
		for key, value := range c.All() {
			for reference := range References(value) {
				text := c.Quote(key, reference) + " stays as it is: Kubernetes fills in such references only in arguments and variables; write the value"
				if !filledIn.MatchString(key) && !yield(key, text) {
					return
				}
				break
			}
		}
	}
}
