package lifecycle

import "strings"

// MaxMessage limits a cause's message in bytes, without the suffix that marks a cut. The API allows 32768 characters in
// a condition. A status with a longer message could not be stored, and nothing would ever be remembered.
const MaxMessage = 4096

// Bounded returns the cause in the form that a status can store: a message that is too long is cut.
func (c Cause) Bounded() Cause {
	if len(c.Message) > MaxMessage {
		c.Message = strings.ToValidUTF8(c.Message[:MaxMessage], "") + "..."
	}
	return c
}
