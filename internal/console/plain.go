package console

import (
	"context"
	"encoding/json"
	"io"

	"github.com/a-h/templ"

	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/view"
)

// plain returns a page that shows its data as JSON, until package view has a component for it.
func plain[T any](p model.Page, data T) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, out io.Writer) error {
		text, err := json.MarshalIndent(data, "", "  ")
		if err != nil {
			return err
		}

		content := templ.ComponentFunc(func(_ context.Context, out io.Writer) error {
			_, err := io.WriteString(out, "<h1>"+templ.EscapeString(p.Title)+"</h1><pre>"+templ.EscapeString(string(text))+"</pre>")
			return err
		})
		return view.Layout(p).Render(templ.WithChildren(ctx, content), out)
	})
}
