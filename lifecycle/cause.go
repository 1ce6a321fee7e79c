package lifecycle

import "strings"

// MaxMessage bounds a cause's message, in bytes, less what tells that there was more. A status with a longer one than the API allows in a condition (32768 characters) could not
// be stored, and nothing would ever be remembered.
const MaxMessage = 4096

// Bounded is the cause as it may be remembered: with the beginning of a message that is too long.
func (c Cause) Bounded() Cause {
	if len(c.Message) > MaxMessage {
		c.Message = strings.ToValidUTF8(c.Message[:MaxMessage], "") + "..."
	}
	return c
}
