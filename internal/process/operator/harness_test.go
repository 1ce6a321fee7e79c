package operator_test

import (
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/test/kit"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // for code without the operator's logger, such as an informer
	kit.Main(m)
}
