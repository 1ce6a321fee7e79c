package explain_test

import (
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit"
)

func TestMain(m *testing.M) { kit.MainShared(m) }
