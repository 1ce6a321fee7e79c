package stage

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"gocloud.dev/blob"

	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

// TestGoogle checks how files are staged and deleted in Google Cloud Storage, with the emulator fake-gcs-server.
func TestGoogle(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server for Google Cloud Storage's API")
	}

	stores.Google(t, "bucket")
	storeLife(t, "gs://bucket/files", "gs://bucket/files",
		func() map[string]string { return contents(t, "gs://bucket") })
}

// contents returns the contents of a bucket by their keys below files/.
func contents(t *testing.T, address string) map[string]string {
	t.Helper()

	bucket, err := blob.OpenBucket(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()

	files := map[string]string{}
	for list := bucket.List(nil); ; {
		object, err := list.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return files
		}

		if err != nil {
			t.Fatal(err)
		}

		text, err := bucket.ReadAll(t.Context(), object.Key)
		if err != nil {
			t.Fatal(err)
		}

		files[strings.TrimPrefix(object.Key, "files/")] = string(text)
	}
}

// clearClouds removes the credentials and options of the clouds from the environment of a test.
func clearClouds(t *testing.T) {
	t.Helper()

	for _, name := range []string{
		"GOOGLE_APPLICATION_CREDENTIALS", "STORAGE_EMULATOR_HOST", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY",
		"AZURE_STORAGE_DOMAIN",
		"AZURE_STORAGE_PROTOCOL", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGEBLOB_CONNECTIONSTRING",
		"AZURE_STORAGE_SAS_TOKEN",
	} {
		t.Setenv(name, "")
	}
}

// TestAzureURLs checks from which settings bucket.Open takes the account's name, and which URL Spark uses to read the
// container.
func TestAzureURLs(t *testing.T) {
	for _, test := range []struct {
		store string
		env   map[string]string
		want  string // or a part of the error
	}{
		{"azblob://c/p?storage_account=acc", nil, "abfss://c@acc.dfs.core.windows.net/p"},
		{"azblob://c", map[string]string{"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": "k"},
			"abfss://c@acc.dfs.core.windows.net"},
		{"azblob://c/", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "EndpointSuffix=core.windows.net;AccountName=acc;AccountKey=k=="}, "abfss://c@acc.dfs.core.windows.net"},
		{"azblob://c?storage_account=acc", map[string]string{"AZURE_STORAGE_DOMAIN": "blob.core.usgovcloudapi.net"},
			"abfss://c@acc.dfs.core.usgovcloudapi.net"},
		{"azblob://c", nil, "storage_account=ACCOUNT"},
		{"azblob://c?storage_account=acc", map[string]string{"AZURE_STORAGE_KEY": "k"},
			"set AZURE_STORAGE_ACCOUNT, too"},
		{"azblob://c?storage_account=example.org/", nil, "is not the name of a storage account"},
		{"azblob://c?storage_account=acc&domain=example.org", nil, "takes no parameter domain"},
	} {
		clearClouds(t)

		for name, value := range test.env {
			t.Setenv(name, value)
		}

		_, _, u, err := bucket.Open(t.Context(), test.store, false, hints)
		if err != nil {
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", test.store, err, test.want)
			}
			continue
		}

		if got := readBy(u); got != test.want {
			t.Errorf("%s: Spark reads %s, want %s", test.store, got, test.want)
		}
	}
}

// TestStoreChoosesNoServer checks that openStore rejects URLs that choose a server. An attacker could write such a URL
// into an application's annotation to receive the user's credentials.
func TestStoreChoosesNoServer(t *testing.T) {
	clearClouds(t)

	for _, store := range []string{
		"gs://bucket?universe_domain=example.org", "gs://bucket?private_key_path=/etc/passwd",
		"azblob://c?storage_account=acc&domain=example.org", "azblob://c?storage_account=acc&protocol=http",
		"azblob://c?storage_account=example.org/",
	} {
		if s, err := openStore(t.Context(), store, "", true); err == nil {
			t.Errorf("%s was opened: %+v", store, s)
		}
	}
}

// TestNoCredentials checks that the error about missing credentials says how to provide them.
func TestNoCredentials(t *testing.T) {
	clearClouds(t)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))

	if _, err := openStore(t.Context(), "gs://bucket/p", "", true); err == nil ||
		!strings.Contains(err.Error(), "gcloud auth application-default login") ||
		!strings.Contains(err.Error(), "none.json") {
		t.Errorf("Google: %v", err)
	}

	err := explained(errors.New("x: DefaultAzureCredential: failed to acquire a token.\nAttempted credentials:\n\tEnvironmentCredential"))
	if text := err.Error(); !strings.Contains(text, "az login") || strings.Contains(text, "\n") {
		t.Errorf("Azure: %v", err)
	}
}
