package stores

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// Google starts fake-gcs-server, an emulator of Google Cloud Storage, with an empty bucket. It sets the address in the
// environment.
func Google(t *testing.T, bucket string) {
	t.Helper()

	server := gobuild.Must(t, "tools/gcs", "github.com/fsouza/fake-gcs-server")
	address := kit.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	Start(t, address, exec.Command(server, "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-public-host", address,
		"-backend", "memory"))
	t.Setenv("STORAGE_EMULATOR_HOST", address)

	answer, err := http.Post("http://"+address+"/storage/v1/b?project=p", "application/json",
		strings.NewReader(`{"name": "`+bucket+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()

	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
}

// azurite is the version of Azurite that Azure installs.
const azurite = "azurite@3.37.0"

// Azure starts Azurite, Microsoft's emulator of Azure Blob Storage, with an empty container, and returns its address.
// It sets the address and the credentials of the account "tester" in the environment. Azurite is a program for Node.js,
// and is installed with npm into the user's cache directory. Tests that use it have the build tag azurite, because the
// project does not require npm.
func Azure(t *testing.T, name string) (address string) {
	t.Helper()

	address = kit.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	const account, key = "tester", "c2VjcmV0LW9mLXRoZS10ZXN0ZXI="
	cmd := exec.Command(installAzurite(t), "--blobHost", "127.0.0.1", "--blobPort", port, "--inMemoryPersistence",
		"--skipApiVersionCheck", "--disableTelemetry")

	cmd.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+account+":"+key)
	Start(t, address, cmd)

	t.Setenv("AZURE_STORAGE_ACCOUNT", account)
	t.Setenv("AZURE_STORAGE_KEY", key)
	t.Setenv("AZURE_STORAGE_DOMAIN", address)
	t.Setenv("AZURE_STORAGE_PROTOCOL", "http")
	t.Setenv("AZURE_STORAGE_IS_LOCAL_EMULATOR", "true") // the account is in the path, and the protocol is allowed

	opened, err := blob.OpenBucket(t.Context(), "azblob://"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()

	var c *container.Client
	if !opened.As(&c) {
		t.Fatal("the bucket is no container")
	}

	if _, err := c.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return address
}

// installAzurite installs Azurite, unless the cache has it, and returns the path of the program.
func installAzurite(t *testing.T) string {
	t.Helper()

	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(cache, "sparklocal", azurite)

	program := filepath.Join(dir, "node_modules", ".bin", "azurite-blob")
	if _, err := os.Stat(program); err == nil {
		return program
	}

	install := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", azurite)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
