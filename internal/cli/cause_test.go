package cli

import (
	"compress/gzip"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// findsCause checks that wait, status and explain search the log of a failed driver for its cause, if the pod's status
// has only stack frames, and that they still work if the pod is gone.
func (u *user) findsCause() {
	packed, err := os.Open("../lifecycle/testdata/endings/py-s3noconnector.1.log.gz")
	if err != nil {
		u.t.Fatal(err)
	}
	defer packed.Close()

	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		u.t.Fatal(err)
	}

	log, err := io.ReadAll(unpacked)
	if err != nil {
		u.t.Fatal(err)
	}

	node := startKubelet(u.t, "cause-"+u.Namespace)
	u.runs("broken", node)
	node.logs("broken-driver", string(log))

	frames := scene.Exited(3, strings.Repeat("\tat a.B.c(B.java:1)\n", 80))
	frames.Terminated.Reason = "Error"
	u.driver("broken", corev1.PodFailed, frames)

	const line = "driver container failed with exit code 3: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"
	for _, has := range []string{"FAILED, FileSystemMissing: " + line, "do: add the connector"} {
		u.does(exit.Failed, has, "wait", "broken")
	}

	for _, verb := range []string{"status", "explain"} {
		for _, has := range []string{"FileSystemMissing: " + line, "hadoop-aws for s3a://"} {
			u.does(exit.OK, has, verb, "broken")
		}
	}

	u.Remove(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: "broken-driver"}})
	u.does(exit.OK, "sparkctl log app/broken", "explain", "broken")
}
