//go:build azurite

package stage

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

// azurite is the version of Azurite that TestAzure installs.
const azurite = "azurite@3.37.0"

// TestAzure checks how files are staged and deleted in Azure Blob Storage. It uses Azurite, Microsoft's emulator.
// Azurite is a program for Node.js, and the test installs it with npm into the user's cache directory. The test needs
// the build tag azurite, because the project does not require npm.
func TestAzure(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "sparklocal", azurite)
	program := filepath.Join(dir, "node_modules", ".bin", "azurite-blob")
	if _, err := os.Stat(program); err != nil {
		install := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit",
			"--no-fund", azurite)
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	address := kit.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	const account, key = "tester", "c2VjcmV0LW9mLXRoZS10ZXN0ZXI="
	cmd := exec.Command(program, "--blobHost", "127.0.0.1", "--blobPort", port, "--inMemoryPersistence",
		"--skipApiVersionCheck", "--disableTelemetry")
	cmd.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+account+":"+key)
	stores.Start(t, address, cmd)
	t.Setenv("AZURE_STORAGE_ACCOUNT", account)
	t.Setenv("AZURE_STORAGE_KEY", key)
	t.Setenv("AZURE_STORAGE_DOMAIN", address)
	t.Setenv("AZURE_STORAGE_PROTOCOL", "http")
	bucket, err := blob.OpenBucket(t.Context(), "azblob://container")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	var c *container.Client
	if !bucket.As(&c) {
		t.Fatal("the bucket is no container")
	}
	if _, err := c.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	list := func() map[string]string { return contents(t, "azblob://container") }
	storeLife(t, "azblob://container/files", "abfss://container@tester."+address+"/files", list)
}
