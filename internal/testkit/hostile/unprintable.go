package hostile

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sparkoperator/spark-operator/internal/testkit/crdfields"
)

// Unprintable is a text with characters of all kinds that a terminal interprets: colours, the clipboard (OSC 52), links
// (OSC 8), C0 and C1 controls, bidirectional controls, separators of lines, and characters without a width.
const Unprintable = "a\x1b[31m\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\b\nforged\rd\te\x00\x08\x7f\u0085\u009b1m\u202ef\u202a\u2066\u2069\u200e\u200f\u061c\u2028\u2029\u200b\ufeff\u00ad\U000e0041\U0001d173z"

// FirstUnprintable returns the first character of an output that is neither printable nor a line break or a tab, with
// its surroundings, or "".
func FirstUnprintable(output string) string {
	for i, c := range output {
		_, size := utf8.DecodeRuneInString(output[i:])
		if c != '\n' && c != '\t' && !unicode.IsPrint(c) || c == utf8.RuneError && size == 1 {
			return output[max(0, i-60):min(len(output), i+60)]
		}
	}
	return ""
}

// unprintableStride determines how many of the fields without a schema are in the sample.
const unprintableStride = 7

// Unprintables returns cases that set one text or one key of a map to Unprintable. The definitions do not admit all of
// them, but an object may be stored under an older definition.
func (g *Generator) Unprintables(d *Definition) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for i, f := range fieldsOf(d) {
			if !f.Typed && !g.Thorough && i%unprintableStride != 0 {
				continue
			}
			for _, worst := range unprintable(f) {
				if !yield(at(d, f, 0, worst)) {
					return
				}
			}
		}
	}
}

func unprintable(f *Field) []Worst {
	text := Worst{"unprintable", value(Unprintable)}
	switch last := f.Path[len(f.Path)-1]; {
	case f.IsMap() && f.Schema.AdditionalProperties.Schema.Type == "string":
		pair := func(key, text string) Worst {
			return Worst{"unprintable entry " + text[:1], func() any { return tree{key: text} }}
		}
		return []Worst{pair(Unprintable, "x"), pair("spark.kubernetes.driver.label."+Unprintable, "y"), pair("spark.app.name", Unprintable), pair("-"+Unprintable, "-"+Unprintable)}
	case f.IsMap():
		return []Worst{{"unprintable key", func() any {
			return tree{Unprintable: filler(f.Schema.AdditionalProperties.Schema, last, 0, distinct, 0)}
		}}}
	case f.IsList() && f.Schema.Items.Schema.Type == "string":
		return []Worst{{"unprintable item", func() any { return []any{Unprintable, "--" + strings.Clone(Unprintable)} }}}
	case f.Schema.Type == "string", crdfields.IsQuantity(f.Schema):
		return []Worst{text}
	}
	return nil
}
