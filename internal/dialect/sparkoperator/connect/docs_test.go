package connect

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	machine "github.com/sparkoperator/spark-operator/internal/lifecycle/connect"
	"github.com/sparkoperator/spark-operator/test/kit/checkout"
)

// TestConnectIsDocumented checks that docs/connect.md and connect-reference.md contain the names and numbers that users
// see.
func TestConnectIsDocumented(t *testing.T) {
	page, err := checkout.Docs("connect.md", "connect-reference.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, word := range []string{
		EventConnectTakenOver, EventConnectInvalid, EventConnectSpecChanged, EventConnectRolledOut,
		EventConnectSuspending, EventConnectSuspended,
		EventConnectResuming, EventServerCreated, EventServerReady, EventServerNotReady, EventServerPending,
		EventServerDisrupted, EventServerUnknown,
		EventServerRefused, EventServerFailed, EventServerBackOff, dialect.EventExecutorPending,
		dialect.EventExecutorFailed,
		dialect.ConditionReady, v1alpha1.ConditionServerPodReady, conditionServiceReady, conditionProgressing,
		dialect.ConditionReconciling, dialect.ConditionStalled,
		dialect.ConditionSuspended, dialect.ConditionDegraded, dialect.ConditionExposed, reasonRollingOut,
		reasonStarting, reasonInvalidService, v1alpha1.ReasonServerPodNotReady,
		string(v1alpha1.SparkConnectStateProvisioning), string(v1alpha1.SparkConnectStateReady),
		string(v1alpha1.SparkConnectStateNotReady),
		string(v1alpha1.SparkConnectStateFailed),
	} {
		if !strings.Contains(page, "`"+word+"`") {
			t.Errorf("docs/connect.md and connect-reference.md do not contain %s", word)
		}
	}

	first, longest, settled := machine.FirstInterval.String(), machine.MaxInterval.String(), machine.Settled.String()
	if first != "10s" || longest != "5m0s" || settled != "10m0s" || !strings.Contains(page, "10 s after the end") ||
		!strings.Contains(page, "up to 5 min") ||
		!strings.Contains(page, "Ready for 10 min") {
		t.Errorf("the back-off of %s to %s, forgotten after %s, is not what docs/connect-reference.md says", first, longest,
			settled)
	}
}

// TestConnectExample checks that the SparkConnects in examples/spark-connect.yaml and on docs/connect.md are valid.
func TestConnectExample(t *testing.T) {
	file, err := os.ReadFile("../../../../examples/spark-connect.yaml")
	if err != nil {
		t.Fatal(err)
	}

	page, err := os.ReadFile("../../../../docs/connect.md")
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(page), "```yaml\n")

	inPage, _, _ := strings.Cut(rest, "```")
	for name, text := range map[string]string{"examples/spark-connect.yaml": string(file), "docs/connect.md": inPage} {
		sc := &v1alpha1.SparkConnect{}
		if err := yaml.UnmarshalStrict([]byte(text), sc); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		if wrong := (Connects{}).invalid(sc); wrong != nil || sc.Name != "spark-connect" {
			t.Errorf("%s: %v, name %s", name, wrong, sc.Name)
		}

		if review := (Connects{}).Review(sc); len(review.Faults)+len(review.Warnings) > 0 {
			t.Errorf("%s: %v %v", name, review.Faults, review.Warnings)
		}
	}
}
