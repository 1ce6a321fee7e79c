// Package telemetry reports the operator's work in structured logs, Prometheus metrics, traces and Kubernetes Events.
// It makes no decisions and never blocks a reconciler. It never writes a specification, a configuration value or a
// Secret.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// NewLogger returns a logger that writes one record per line to w.
//
// The argument level is debug, info, warn or error, and format is json or text. logr's verbosity maps to slog's
// negative levels: info shows V(0), and debug shows V(1) to V(4).
func NewLogger(w io.Writer, level, format string) (logr.Logger, error) {
	var threshold slog.Level
	if err := threshold.UnmarshalText([]byte(level)); err != nil {
		return logr.Logger{}, fmt.Errorf("log level %q: use debug, info, warn or error: %w", level, err)
	}

	options := &slog.HandlerOptions{Level: threshold, ReplaceAttr: plainAttr}
	switch format {
	case "json":
		return logr.FromSlogHandler(slog.NewJSONHandler(printable{w}, options)), nil
	case "text":
		return logr.FromSlogHandler(slog.NewTextHandler(w, options)), nil
	}
	return logr.Logger{}, fmt.Errorf("log format %q: use json or text", format)
}

// printable escapes what slog's JSON encoder leaves as it is, such as U+202E. It receives whole records.
type printable struct{ w io.Writer }

func (p printable) Write(record []byte) (int, error) {
	_, err := io.WriteString(p.w, bounds.Text(string(record)))
	return len(record), err
}

// plainAttr returns an attribute in a form that log stores can read.
//
// slog would print logr's V(1) as level "DEBUG+3", which log stores cannot filter. It would also encode an event source
// as JSON, which fails because event sources hold functions. controller-runtime logs the sources that are added after
// its start.
func plainAttr(groups []string, a slog.Attr) slog.Attr {
	switch value := a.Value.Any().(type) {
	case slog.Level:
		if len(groups) == 0 && a.Key == slog.LevelKey && value < slog.LevelInfo {
			a.Value = slog.StringValue(slog.LevelDebug.String())
		}
	case source.Source:
		text := fmt.Sprintf("%T", value)
		if named, ok := value.(fmt.Stringer); ok {
			text = named.String()
		}

		a.Value = slog.StringValue(text)
	}
	return a
}
