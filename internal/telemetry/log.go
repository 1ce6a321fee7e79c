// Package telemetry tells what the operator did: structured logs, Prometheus metrics and Kubernetes Events. It never decides anything,
// never blocks a reconciler, and writes no specification, configuration value or Secret anywhere.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// NewLogger returns a logger that writes one record a line to w.
//
// level is debug, info, warn or error; format is json or text. logr's verbosity maps to slog's negative levels, so info shows V(0) and
// debug shows V(1) to V(4).
func NewLogger(w io.Writer, level, format string) (logr.Logger, error) {
	var threshold slog.Level
	if err := threshold.UnmarshalText([]byte(level)); err != nil {
		return logr.Logger{}, fmt.Errorf("log level %q: use debug, info, warn or error: %w", level, err)
	}
	options := &slog.HandlerOptions{Level: threshold, ReplaceAttr: plainLevel}
	switch format {
	case "json":
		return logr.FromSlogHandler(slog.NewJSONHandler(w, options)), nil
	case "text":
		return logr.FromSlogHandler(slog.NewTextHandler(w, options)), nil
	}
	return logr.Logger{}, fmt.Errorf("log format %q: use json or text", format)
}

// plainLevel keeps the level field to four words: slog would print logr's V(1) as "DEBUG+3", by which no log store can filter.
func plainLevel(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 || a.Key != slog.LevelKey {
		return a
	}
	if level, ok := a.Value.Any().(slog.Level); ok && level < slog.LevelInfo {
		a.Value = slog.StringValue(slog.LevelDebug.String())
	}
	return a
}
