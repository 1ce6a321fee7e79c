package lifecycle

import (
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// MaxMessage is the maximum length of a cause's message, in bytes, without the CutMark of a cut message. The API server
// accepts at most 32768 characters in the message of a condition, and would reject a status with a longer message.
const MaxMessage = 4096

// Bounded returns the cause with a message that is cut to MaxMessage. Any status can store it, and any terminal can
// show it: characters that cannot be printed are replaced by escapes. A cause that was bounded before is not changed
// again.
func (c Cause) Bounded() Cause {
	c.Reason, c.Message, c.Log = bounds.Line(c.Reason), bounds.Text(c.Message), bounds.Text(c.Log)
	if len(strings.TrimSuffix(c.Message, CutMark)) > MaxMessage {
		c.Message = Cut(c.Message, MaxMessage)
	}
	return c
}

// CutMark marks the end of a text that was cut.
const CutMark = "..."

// Cut returns a text of at most limit bytes unchanged. It returns the first limit bytes of a longer text, followed by
// CutMark. It leaves out bytes that are not UTF-8, such as the part of a character at the limit.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + CutMark
}

// Logs says where the logs of an attempt are kept, or why one of them is not.
type Logs struct {
	Attempt int32
	Place   string
	KeptAt  time.Time // when the driver's log was kept; zero before
	Cause   Cause     // why a log is not kept; zero if nothing is missing
}
