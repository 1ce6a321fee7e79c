// Package bucket opens object stores by their URLs, and explains their errors to users.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // Azure Blob Storage: azblob://
	_ "gocloud.dev/blob/fileblob"  // a directory: file://
	_ "gocloud.dev/blob/gcsblob"   // Google Cloud Storage: gs://
	_ "gocloud.dev/blob/s3blob"    // S3 and compatible stores: s3://
	"gocloud.dev/gcp"
)

// The parameters of the URLs of Google Cloud Storage and of Azure Blob Storage.
const (
	AnonymousParameter = "anonymous"
	AccountParameter   = "storage_account"
)

// Parse checks the URL of a store, such as s3://BUCKET/PREFIX?region=REGION, without any request.
func Parse(store string) (*url.URL, error) {
	u, err := url.Parse(store)
	if err != nil || u.Scheme == "" {
		return nil, fmt.Errorf("%q is not the URL of a store; write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX or file:///DIRECTORY", store)
	}

	if u.User != nil {
		return nil, errors.New("the URL of a store must not contain a password, because others can read it; set the credentials in the environment")
	}
	return u, nil
}

// Open opens the store that a URL names. The argument create says whether a missing directory is created. Open returns
// three results: the bucket, the prefix of the keys, which is empty for a directory, and the URL, which names the
// storage account of Azure even if only the environment had it.
func Open(ctx context.Context, store string, create bool, h Hints) (_ *blob.Bucket, prefix string, _ *url.URL, _ error) {
	u, err := Parse(store)
	if err != nil {
		return nil, "", nil, err
	}

	switch u.Scheme {
	case "gs":
		err = prepareGoogle(ctx, u, h)
	case "azblob":
		err = prepareAzure(u, h)
	}

	if err != nil {
		return nil, "", nil, err
	}

	target := *u
	if u.Scheme == "file" {
		query := u.Query()
		query.Set("create_dir", strconv.FormatBool(create))
		query.Set("no_tmp_dir", "true")
		query.Set("metadata", "skip")
		target.RawQuery = query.Encode()
	} else {
		prefix, target.Path = strings.Trim(u.Path, "/"), ""
	}

	opened, err := blob.OpenBucket(ctx, target.String())
	return opened, prefix, u, err
}

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
func prepareGoogle(ctx context.Context, u *url.URL, h Hints) error {
	if err := onlyParameters(u, AnonymousParameter, "GOOGLE_CLOUD_UNIVERSE_DOMAIN"); err != nil {
		return err
	}

	if u.Query().Get(AnonymousParameter) == "true" || os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return nil
	}

	if _, err := gcp.DefaultCredentials(ctx); err != nil {
		return fmt.Errorf("no credentials for Google Cloud Storage; %s: %w", h.Google, err)
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
func prepareAzure(u *url.URL, h Hints) error {
	if err := onlyParameters(u, AccountParameter, "AZURE_STORAGE_DOMAIN, AZURE_STORAGE_PROTOCOL"); err != nil {
		return err
	}

	if os.Getenv("AZURE_STORAGE_KEY") != "" && os.Getenv("AZURE_STORAGE_ACCOUNT") == "" {
		return errors.New("AZURE_STORAGE_KEY is the key of an account; set AZURE_STORAGE_ACCOUNT, too")
	}

	account := cmp.Or(u.Query().Get(AccountParameter), os.Getenv("AZURE_STORAGE_ACCOUNT"))
	if account == "" {
		text := cmp.Or(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), os.Getenv("AZURE_STORAGEBLOB_CONNECTIONSTRING"))
		if match := accountInString.FindStringSubmatch(text); match != nil {
			account = match[1]
		}
	}

	if account == "" {
		return errors.New("no storage account; write azblob://CONTAINER/PREFIX?storage_account=ACCOUNT, or set AZURE_STORAGE_ACCOUNT; for credentials, " + h.Azure)
	}

	if !accountName.MatchString(account) {
		return fmt.Errorf("%q is not the name of a storage account, which has 3 to 24 small letters and digits", account)
	}

	u.RawQuery = url.Values{AccountParameter: {account}}.Encode()
	return nil
}
