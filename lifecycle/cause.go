package lifecycle

import "strings"

// maxMessage bounds a cause's message, in bytes. A status with a longer one than the API allows in a condition (32768 characters) could not
// be stored, and nothing would ever be remembered.
const maxMessage = 4096

// Bounded is the cause as it may be remembered: with the beginning of a message that is too long.
func (c Cause) Bounded() Cause {
	if len(c.Message) > maxMessage {
		c.Message = strings.ToValidUTF8(c.Message[:maxMessage], "") + "..."
	}
	return c
}
