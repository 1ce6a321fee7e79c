//go:build azurite

package logs_test

import (
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

// TestAzurite checks logs, uploads, records and retention with Azurite. It needs the build tag azurite, because the
// project does not require npm.
func TestAzurite(t *testing.T) {
	stores.Azure(t, "container")
	keepsInCloud(t, "azblob://container/of/logs")
}
