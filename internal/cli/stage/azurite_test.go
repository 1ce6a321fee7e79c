//go:build azurite

package stage

import (
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

// TestAzure checks how files are staged and deleted in Azure Blob Storage. It uses Azurite, Microsoft's emulator, and
// needs the build tag azurite, because the project does not require npm.
func TestAzure(t *testing.T) {
	address := stores.Azure(t, "container")
	list := func() map[string]string { return contents(t, "azblob://container") }
	storeLife(t, "azblob://container/files", "abfss://container@tester."+address+"/files", list)
}
