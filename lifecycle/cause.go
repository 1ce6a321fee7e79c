package lifecycle

import "strings"

// MaxMessage is the maximum length of a cause's message in bytes, without the suffix that marks a cut. The API server
// accepts at most 32768 characters in the message of a condition. With a longer message, no status could be stored any
// more.
const MaxMessage = 4096

// Bounded returns the cause in a form that a status can store: a message that is too long is cut.
func (c Cause) Bounded() Cause {
	if len(c.Message) > MaxMessage {
		c.Message = strings.ToValidUTF8(c.Message[:MaxMessage], "") + "..."
	}
	return c
}
