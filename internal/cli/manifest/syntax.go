package manifest

import (
	"regexp"
	"slices"
	"strings"
)

// syntax maps what the YAML parser reports to what users have to do. The parser names the line.
var syntax = []struct{ parser, says string }{
	{"did not find expected node content", "has no value where one is expected, or a bracket that nothing closes; write the value, close the bracket, or put the text in quotes"},
	{"mapping values are not allowed", "has a colon that begins a value at a wrong place; put a text with a colon in quotes, and give keys of one object the same indentation"},
	{"block sequence entries are not allowed", "has an item at a wrong place; begin the list in a new line below its key"},
	{"cannot start any token", "has a tab, or a text that begins with @, ` or %; indent with blanks, and put such a text in quotes"},
	{"found a tab character", "has a tab; indent with blanks"},
	{"found unexpected end of stream", "ends within a text in quotes; close the quotes"},
	{"found unexpected document indicator", "ends within a text in quotes; close the quotes"},
	{"found unknown escape character", "has an escape (\\) that YAML does not have; use single quotes, or write \\\\"},
	{"directive name", "begins with %; put the text in quotes"},
	{"unknown anchor", "has a reference (*) to a name that no & defines; put the text in quotes if it is no reference"},
	{"could not find expected ':'", "has a line that is neither KEY: VALUE nor an item; write the colon, or indent the line if it continues a text"},
	{"did not find expected key", "has a line whose indentation fits no line before it; give keys of one object the same indentation"},
	{"did not find expected '-' indicator", "has a line that is no item of the list before it; begin it with a hyphen, or indent it less"},
	{"did not find expected ',' or", "has a bracket that nothing closes, or no comma between two entries; close the bracket, or write the comma"},
	{"control characters are not allowed", "has a control character; remove it"},
	{"did not find expected", "has a wrong indentation, bracket or quote; compare the line with those before it"},
}

// inWords returns what users have to do about the report of a YAML parser. Reports of other origins stay as they are.
func inWords(report string) string {
	at := slices.IndexFunc(syntax, func(s struct{ parser, says string }) bool { return strings.Contains(report, s.parser) })
	if at < 0 {
		return report
	}
	return "is not YAML: " + syntax[at].says
}

// controls matches a character that makes a text no YAML. The parser does not report its line.
var controls = regexp.MustCompile(`[\x00-\x08\x0b\x0c\x0e-\x1f]`)
