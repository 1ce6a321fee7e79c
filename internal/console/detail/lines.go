package detail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/podlog"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

const (
	// maxLineShown is the largest number of bytes of a line that a page shows.
	maxLineShown = 4 << 10
	// batchTime and maxBatch are the longest time and the largest number of bytes that lines wait for further ones.
	batchTime, maxBatch = 250 * time.Millisecond, 128 << 10
	// heartbeat keeps the connection open, and checkTime is the time between two checks of the user's rights.
	heartbeat, checkTime = 15 * time.Second, time.Minute
	// writeTimeout ends the connection of a browser that does not read.
	writeTimeout = 30 * time.Second
)

// sessionEnded is why a log is not sent any more if nobody is signed in.
const sessionEnded = "Your session has ended."

// colours matches the sequences that colour a text on a terminal (ECMA-48, CSI).
var colours = regexp.MustCompile("\x1b\\[[0-9;:?]*[ -/]*[@-~]")

// sieve passes the lines of a log on that contain a text, in a form that a page can show.
type sieve struct {
	ctx  context.Context
	out  chan<- string
	text string // in lower case; empty: all lines
}

// Write passes whole lines on. It waits while the browser does not read.
func (s *sieve) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if s.text != "" && !bytes.Contains(bytes.ToLower(line), []byte(s.text)) {
			continue
		}

		select {
		case s.out <- shownLine(line):
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
	return len(p), nil
}

// shownLine returns a line without colours, with visible control characters, and cut to a length that browsers can
// show.
func shownLine(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	rest := len(line) - maxLineShown

	text := bounds.Text(string(colours.ReplaceAll(line[:min(len(line), maxLineShown)], nil)))
	if rest > 0 {
		text += fmt.Sprintf(" … (%d more bytes)", rest)
	}
	return text + "\n"
}

// sender sends lines as server-sent events.
type sender struct {
	*subject
	w       http.ResponseWriter
	pod     string // whose log is sent; empty for a kept log, which has an end
	session *session.Session
}

// run sends lines until the log, the session or the right of the user ends, or until the browser has gone.
func (s *sender) run(ctx context.Context, lines <-chan string, ended <-chan error) error {
	flush, beat, check := time.NewTicker(batchTime), time.NewTicker(heartbeat), time.NewTicker(checkTime)
	defer flush.Stop()
	defer beat.Stop()
	defer check.Stop()

	var batch strings.Builder
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-s.session.Done():
			if !s.signedIn() {
				return s.finish(ctx, &batch, sessionEnded)
			}
		case line, more := <-lines:
			batch.WriteString(line)

			if !more {
				return s.end(ctx, &batch, <-ended)
			}

			if batch.Len() >= maxBatch {
				err = s.sendLines(ctx, &batch)
			}
		case <-flush.C:
			err = s.sendLines(ctx, &batch)
		case <-beat.C:
			err = s.write(":\n\n")
		case <-check.C:
			if !s.signedIn() {
				return s.finish(ctx, &batch, sessionEnded)
			}

			if !s.still(ctx) {
				return s.finish(ctx, &batch, "You may no longer read this log, or it is gone.")
			}
		}

		if err != nil {
			return nil // the browser has gone
		}
	}
}

// end sends the last lines of a log that was read to an end. If the connection to the cluster was lost meanwhile, the
// log has not ended: the browser opens the stream again, which begins anew with the last lines.
func (s *sender) end(ctx context.Context, batch *strings.Builder, err error) error {
	why := s.reason(err)
	if s.pod == "" || s.FormValue("follow") == "" || err == nil || podlog.IsNoLog(err) {
		return s.finish(ctx, batch, why)
	}

	batch.WriteString("— " + why + "; the log continues as soon as the cluster answers.\n")
	_ = s.sendLines(ctx, batch) // the browser may have gone
	return nil
}

// finish sends the last lines, and why there are no more. The error only says that the browser has gone.
func (s *sender) finish(ctx context.Context, batch *strings.Builder, why string) error {
	batch.WriteString("— " + why + "\n")
	_ = errors.Join(s.sendLines(ctx, batch), s.send("end", why))
	return nil
}

// reason says why a log has ended.
func (s *sender) reason(err error) string {
	if err != nil {
		return bounds.Line(s.Explain(err).Error())
	}
	return "The log has ended."
}

// signedIn reports whether the user still has a session.
func (s *sender) signedIn() bool {
	found := s.site.Lasting(s.w, s.Request)
	if found == nil {
		return false
	}

	s.session = found
	return true
}

// still reports whether the user may still read the object and the log. A log that is open would otherwise outlive the
// rights of its reader. If the API server cannot be reached, the log continues.
func (s *sender) still(ctx context.Context) bool {
	err := s.Get(ctx, client.ObjectKeyFromObject(s.object), kinds.Of(s.object).New())
	if apierrors.IsUnauthorized(err) {
		s.site.Sessions.End(s.session.User)
	}

	if denied(err) {
		return false
	}

	if s.pod == "" {
		return true
	}

	allowed, err := s.CanReadLog(ctx, s.object.GetNamespace(), s.pod)
	return allowed || err != nil && !denied(err)
}

func (s *sender) sendLines(ctx context.Context, batch *strings.Builder) error {
	if batch.Len() == 0 {
		return nil
	}

	var text strings.Builder

	err := view.LogLines(batch.String()).Render(ctx, &text)
	batch.Reset()

	if err != nil {
		return err
	}
	return s.send("line", text.String())
}

func (s *sender) send(name, data string) error {
	return s.write("event: " + name + "\ndata: " + strings.ReplaceAll(strings.ReplaceAll(data, "\r", ""), "\n", "\ndata: ") + "\n\n")
}

func (s *sender) write(text string) error {
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // every server of Go supports it

	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	return control.Flush()
}
