package conf

import "regexp"

// placeholders match what authors of examples and templates write for a value that a user, a shell or a template engine
// must fill in. They do not match the references of Spark, such as ${spark.master}, ${env:HOME} and {{APP_ID}}, those
// of the operator, such as {{$appName}}, and types such as array<string>.
var placeholders = regexp.MustCompile(`(?:^|[^A-Za-z0-9(?<])(<[A-Za-z][A-Za-z0-9 _./-]*>)|(\$\{[A-Z_][A-Z0-9_]*\})|(\{\{-?\s*[.A-Za-z][^{}]*[^A-Z_{}][^{}]*\}\}|\{%[^%]*%\})`)

// Placeholder returns the first placeholder of a text, or "".
func Placeholder(text string) string {
	for _, group := range placeholders.FindAllStringSubmatch(text, 1) {
		return group[1] + group[2] + group[3]
	}
	return ""
}

// PlaceholderMessage is the format of the message about a placeholder.
const PlaceholderMessage = "has the placeholder %s, which nothing replaces; write its value"
