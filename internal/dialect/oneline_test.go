package dialect

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMessagesOfConditionsHaveOneLine checks that the message of a condition has one line, whatever a webhook, a
// kubelet or a program wrote.
func TestMessagesOfConditionsHaveOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"denied:\n- no limits\r\n\t- no owner\n": "denied: - no limits - no owner",
		"a  b":                                   "a  b",
		"\x1b[2J\n":                              `\x1b[2J`,
		"":                                       "",
	} {
		var conditions []metav1.Condition
		PutCondition(&conditions, metav1.Condition{Type: ConditionReady, Status: metav1.ConditionFalse,
			Reason: "Refused", Message: text})

		if got := conditions[0].Message; got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
