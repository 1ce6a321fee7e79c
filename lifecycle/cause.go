package lifecycle

import "strings"

// MaxMessage is the maximum length of a cause's message, in bytes, without the suffix "..." of a cut message. The API
// server accepts at most 32768 characters in the message of a condition, and would reject a status with a longer
// message.
const MaxMessage = 4096

// Bounded returns the cause with a message that is cut to MaxMessage. Any status can store it. A message that was cut
// before is not changed again.
func (c Cause) Bounded() Cause {
	if len(strings.TrimSuffix(c.Message, "...")) > MaxMessage {
		c.Message = strings.ToValidUTF8(c.Message[:MaxMessage], "") + "..."
	}
	return c
}
