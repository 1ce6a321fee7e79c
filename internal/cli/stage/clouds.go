package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	_ "gocloud.dev/blob/azureblob" // Azure Blob Storage: azblob://
	_ "gocloud.dev/blob/gcsblob"   // Google Cloud Storage: gs://
	"gocloud.dev/gcp"
)

// The parameters of the URLs of Google Cloud Storage and of Azure Blob Storage.
const (
	anonymousParameter = "anonymous"
	accountParameter   = "storage_account"
)

// onlyParameters returns an error if a store's URL has a parameter other than the allowed one. Such parameters could
// name a server. When the verb delete opens the store, it reads the URL from an annotation of the application, and a
// foreign URL must not send the user's credentials to another server. So only the environment can choose the server.
func onlyParameters(u *url.URL, allowed, environment string) error {
	for name := range u.Query() {
		if name != allowed {
			return fmt.Errorf("%s:// takes no parameter %s, only %s; to use another server, set environment variables (%s)", u.Scheme, name, allowed, environment)
		}
	}
	return nil
}

// prepareGoogle checks that credentials for Google Cloud Storage exist. Without this check, the client library would
// print a warning to the standard output, and each request would fail with an obscure error of Google's OAuth client.
func prepareGoogle(ctx context.Context, u *url.URL) error {
	if err := onlyParameters(u, anonymousParameter, "GOOGLE_CLOUD_UNIVERSE_DOMAIN"); err != nil {
		return err
	}

	if u.Query().Get(anonymousParameter) == "true" || os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return nil
	}

	if _, err := gcp.DefaultCredentials(ctx); err != nil {
		return fmt.Errorf("no credentials for Google Cloud Storage; run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS: %w", err)
	}
	return nil
}

var (
	// accountInString matches the name of an account in a connection string of Azure.
	accountInString = regexp.MustCompile(`(?:^|;)AccountName=([^;]+)`)
	// accountName matches the names of storage accounts. The name becomes a part of the host name, so other text could
	// send requests to another host.
	accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
)

// prepareAzure writes the name of the storage account into the URL. Spark needs this name. The application keeps the
// URL, so the verb delete finds the account even if the environment has changed.
func prepareAzure(u *url.URL) error {
	if err := onlyParameters(u, accountParameter, "AZURE_STORAGE_DOMAIN, AZURE_STORAGE_PROTOCOL"); err != nil {
		return err
	}

	if os.Getenv("AZURE_STORAGE_KEY") != "" && os.Getenv("AZURE_STORAGE_ACCOUNT") == "" {
		return errors.New("AZURE_STORAGE_KEY is the key of an account; set AZURE_STORAGE_ACCOUNT, too")
	}

	account := cmp.Or(u.Query().Get(accountParameter), os.Getenv("AZURE_STORAGE_ACCOUNT"))
	if account == "" {
		text := cmp.Or(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), os.Getenv("AZURE_STORAGEBLOB_CONNECTIONSTRING"))
		if match := accountInString.FindStringSubmatch(text); match != nil {
			account = match[1]
		}
	}

	if account == "" {
		return errors.New("no storage account; write azblob://CONTAINER/PREFIX?storage_account=ACCOUNT, or set AZURE_STORAGE_ACCOUNT; for credentials, " + azureCredentials)
	}

	if !accountName.MatchString(account) {
		return fmt.Errorf("%q is not the name of a storage account, which has 3 to 24 small letters and digits", account)
	}

	u.RawQuery = url.Values{accountParameter: {account}}.Encode()
	return nil
}

// azureReadBy returns the prefix of the URLs that Spark needs to read the files of an Azure container. Hadoop's client
// for Azure uses the endpoint of Data Lake Storage. Accounts without a hierarchical namespace have this endpoint, too.
func azureReadBy(u *url.URL) string {
	domain := strings.Replace(cmp.Or(os.Getenv("AZURE_STORAGE_DOMAIN"), "blob.core.windows.net"), "blob.", "dfs.", 1)
	return strings.TrimSuffix("abfss://"+u.Host+"@"+u.Query().Get(accountParameter)+"."+domain+u.Path, "/")
}

// azureCredentials are the ways to give sparkctl credentials for Azure.
const azureCredentials = "run az login, or set AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_SAS_TOKEN, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY"
