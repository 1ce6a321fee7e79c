// Package nodelog reads the log of a container as a kubelet returns it.
//
// A kubelet that cannot read a log answers with the status 200 nevertheless, because it has begun the answer by then.
// Its message is the last line of the text, without a line break. So the message would be kept as the log of a
// container, or an incomplete log as a whole one.
package nodelog

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// Error is the message of a kubelet that cannot read a log, or the rest of it.
type Error struct{ Message string }

func (e *Error) Error() string { return "the kubelet answers: " + e.Message }

// messages are the beginnings of the kubelet's messages (pkg/kubelet/kuberuntime and k8s.io/cri-client/pkg/logs). The
// first means that the container was removed, for example because the kubelet has evicted its pod.
var messages = []string{
	"unable to retrieve container logs for ",
	`failed to try resolving symlinks in path "`,
	`failed to open log file "`,
	`failed to read log file "`,
	"failed to create fsnotify watcher: ",
	`failed to watch directory "`,
}

// maxMessage is the largest size of a kubelet's message, in bytes.
const maxMessage = 4 << 10

// Checked returns a log that ends with an Error, and without the kubelet's message, if the kubelet could not read it to
// its end. A program that writes such a message as its last line, without a line break, has the same effect.
func Checked(log io.ReadCloser) io.ReadCloser { return &checked{ReadCloser: log} }

type checked struct {
	io.ReadCloser
	ready []byte // text that the next calls return
	held  []byte // the present line, while it can be a message
	plain bool   // the present line is no message
	err   error  // after the text that is ready
}

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	for len(p) > 0 {
		if len(c.ready) > 0 {
			n := copy(p, c.ready)
			c.ready = c.ready[n:]
			return n, nil
		}

		if c.err != nil {
			return 0, c.err
		}

		n, err := c.ReadCloser.Read(p)
		n = c.take(p[:n])

		if err != nil {
			c.end(err)
		}

		if n > 0 {
			return n, nil
		}
	}
	return 0, nil
}

// take receives a piece of the log. It returns how many bytes of the piece can be passed on at once, which is the usual
// case. Otherwise the text is held, or ready for the next calls.
func (c *checked) take(piece []byte) (passed int) {
	end := bytes.LastIndexByte(piece, '\n') + 1
	if c.plain && end == 0 {
		return len(piece)
	}

	text, wasHeld := piece, len(c.held)
	if wasHeld > 0 {
		text = append(c.held, piece...) //nolint:gocritic // it becomes the text that is ready
	}

	if end > 0 {
		end += wasHeld
	}

	if c.plain = end < len(text) && !canBeMessage(text[end:]); c.plain {
		end = len(text)
	}

	c.held = bytes.Clone(text[end:])
	if wasHeld == 0 {
		return end
	}

	c.ready = text[:end]
	return 0
}

// end receives the error at the end of the log.
func (c *checked) end(err error) {
	c.err = err
	if errors.Is(err, io.EOF) && isMessage(c.held) {
		c.err = &Error{strings.TrimSpace(string(c.held))}
	} else {
		c.ready = append(c.ready, c.held...)
	}

	c.held = nil
}

// canBeMessage reports whether a line begins as a message does.
func canBeMessage(line []byte) bool {
	for _, m := range messages {
		if n := min(len(m), len(line)); string(line[:n]) == m[:n] {
			return len(line) <= maxMessage
		}
	}
	return false
}

func isMessage(line []byte) bool {
	for _, m := range messages {
		if bytes.HasPrefix(line, []byte(m)) {
			return true
		}
	}
	return false
}
