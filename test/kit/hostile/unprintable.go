package hostile

import (
	"iter"

	"github.com/sparkoperator/spark-operator/test/kit/crdfields"
	"github.com/sparkoperator/spark-operator/test/kit/unprintable"
)

// AllUnprintable returns the cases of Unprintable for all definitions. In a share of the sample, most cases of twin
// fields are left out.
func (g *Generator) AllUnprintable() iter.Seq[*Case] {
	return g.withoutTwins(g.Unprintable, !g.shares())
}

// Unprintable returns cases that set one text or one key of a map to unprintable.Text, in the sample for one in seven
// of the fields without a schema. Objects that the definitions do not admit may be stored under an older definition.
func (g *Generator) Unprintable(d *Definition) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for i, f := range fieldsOf(d) {
			if !f.Typed && !g.Thorough && i%7 != 0 {
				continue
			}

			for _, v := range unprintables(f) {
				if !yield(At(d, f, 0, Worst{"unprintable", value(v)})) {
					return
				}
			}
		}
	}
}

func unprintables(f *Field) []any {
	switch text := unprintable.Text; {
	case f.IsMap():
		one := filler(f.Schema.AdditionalProperties.Schema, "value", 0, distinct, 0)
		return []any{tree{text: one}, tree{"spark.kubernetes.driver.label." + text: "x"}, tree{"spark.app.name": text}, tree{"-" + text: "-" + text}}
	case f.IsList() && f.Schema.Items.Schema.Type == "string":
		return []any{[]any{text, "--" + text}}
	case f.Schema.Type == "string" || crdfields.IsQuantity(f.Schema):
		return []any{text}
	}
	return nil
}
