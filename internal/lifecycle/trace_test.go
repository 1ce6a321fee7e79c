package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// TestLastWordsAreCheapToRead checks the time that reading one last output takes. The pod informer reads the last
// outputs of all pods in all namespaces, one after the other.
func TestLastWordsAreCheapToRead(t *testing.T) {
	const most = 20 * time.Millisecond // with regular expressions: up to 43 ms
	for _, line := range []string{"\n", "a\n", "x at \n", "(a.java:1)\n", "Error\n", " Error (a.a.a.a.a.java:",
		"Error at \n", "... 1", strings.Repeat(" ", 100)} {
		for _, head := range []string{"", "Error\n"} {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{ExitExceptionAnnotation: head +
					strings.Repeat(line, 250<<10/len(line))}},
				Status: corev1.PodStatus{Phase: corev1.PodFailed,
					ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}}},
			}

			pod.Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
			if spent := worst.CPU(5, func() { DriverFacts(pod, "c") }); spent > most {
				t.Errorf("%s: %v", fmt.Sprintf("%q after %q", line, head), spent)
			}
		}
	}
}
