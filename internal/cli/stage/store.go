package stage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/record/bucket"
)

// filesAnnotation is the annotation of an application that names the store and the keys of the application's staged
// files.
const filesAnnotation = "sparkoperator.dev/staged-files"

// objectStore is a store for staged files.
type objectStore struct {
	bucket *blob.Bucket
	url    string
	prefix string
	readAs string
}

// schemes maps the scheme of a store's URL to the scheme by which Spark reads the store.
var schemes = map[string]string{"s3": "s3a"}

// openStore opens the store that a URL such as s3://BUCKET/PREFIX?region=REGION names. The argument create says whether
// a missing directory is created. The argument readAs is the beginning of the URLs by which Spark reads the files. If
// readAs is empty, openStore derives it from the store's URL:
//
//   - s3://BUCKET/PREFIX becomes s3a://BUCKET/PREFIX.
//   - azblob://CONTAINER/PREFIX becomes abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX.
//   - file:///DIRECTORY becomes local:///DIRECTORY. The pods have to mount the directory at the same path.
func openStore(ctx context.Context, store, readAs string, create bool) (*objectStore, error) {
	defer Quiet()()

	opened, prefix, u, err := bucket.Open(ctx, store, create, hints)
	if err != nil {
		return nil, err
	}

	s := &objectStore{bucket: opened, url: recorded(u.String()), prefix: prefix, readAs: strings.TrimSuffix(readAs, "/")}
	if s.readAs == "" {
		s.readAs = readBy(u)
	}
	return s, nil
}

// Quiet silences the clients of stores until the caller calls the result. The client of S3 logs its warnings, such as
// one about the metadata of EC2, to the os.Stderr of this moment. They are no errors, and nothing else can turn them
// off.
//
// Calls can overlap: the first one sets os.Stderr, and the last one restores it. A program that opens stores while
// other goroutines run calls Quiet before it starts them, so that os.Stderr does not change while they may read it.
func Quiet() func() {
	quiet.Lock()
	defer quiet.Unlock()

	if quiet.calls++; quiet.calls == 1 {
		quiet.stderr = os.Stderr
		if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
			os.Stderr = null
		}
	}
	return sync.OnceFunc(restoreStderr)
}

// quiet has the os.Stderr from before the first call of Quiet that has not ended, and the number of these calls.
var quiet struct {
	sync.Mutex
	calls  int
	stderr *os.File
}

func restoreStderr() {
	quiet.Lock()
	defer quiet.Unlock()

	if quiet.calls--; quiet.calls > 0 {
		return
	}

	if null := os.Stderr; null != quiet.stderr {
		os.Stderr = quiet.stderr
		_ = null.Close() // nothing is written to it any more
	}
}

var hints = Hints("--stage")

// Hints returns the settings of sparkctl's user in messages about stores. The argument is the option that has the URL.
func Hints(option string) bucket.Hints {
	return bucket.Hints{
		Setting: option,
		AWS:     "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
		Google:  "run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS",
		Azure:   "run az login, or set AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_SAS_TOKEN, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY",
	}
}

func explained(err error) error { return bucket.Explain(err, hints) }

// readBy returns the beginning of the URLs by which Spark reads a store.
func readBy(u *url.URL) string {
	if u.Scheme == "file" {
		return "local://" + strings.TrimSuffix(u.Path, "/")
	}

	if u.Scheme == "azblob" {
		return azureReadBy(u)
	}

	scheme := u.Scheme
	if other := schemes[scheme]; other != "" {
		scheme = other
	}
	return strings.TrimSuffix(scheme+"://"+u.Host+u.Path, "/")
}

// azureReadBy returns the prefix of the URLs that Spark needs to read the files of an Azure container. Hadoop's client
// for Azure uses the endpoint of Data Lake Storage. Accounts without a hierarchical namespace have this endpoint, too.
func azureReadBy(u *url.URL) string {
	domain := strings.Replace(cmp.Or(os.Getenv("AZURE_STORAGE_DOMAIN"), "blob.core.windows.net"), "blob.", "dfs.", 1)
	return strings.TrimSuffix("abfss://"+u.Host+"@"+u.Query().Get(bucket.AccountParameter)+"."+domain+u.Path, "/")
}

// Close releases the connections of the store.
func (s *objectStore) Close() error { return s.bucket.Close() }

// staged is the content of the application's annotation (filesAnnotation). The annotation stores it as JSON.
type staged struct {
	// Store is the URL of the store.
	Store string `json:"store"`
	// Keys are the keys of the files in the store.
	Keys []string `json:"keys"`
}

// key returns the key of a file, which begins with the namespace of its application. So only applications of the same
// namespace share a file.
func (s *objectStore) key(namespace string, f *localFile) string {
	return path.Join(s.prefix, namespace, f.Digest[:32], f.Name())
}

// Use changes an application so that it reads the files of the set from the store. The application needs a namespace.
func (s *objectStore) Use(set *fileSet, app *v1beta2.SparkApplication) error {
	record := staged{Store: s.url}
	for _, f := range set.Files {
		record.Keys = append(record.Keys, s.key(app.Namespace, f))
	}

	text, err := json.Marshal(record)
	if err != nil {
		return err
	}

	if app.Annotations == nil {
		app.Annotations = map[string]string{}
	}

	app.Annotations[filesAnnotation] = string(text)

	name := func(f *localFile) string { return strings.TrimPrefix(s.key(app.Namespace, f), s.prefix+"/") }
	if directory, mounted := strings.CutPrefix(s.readAs, "local://"); mounted {
		return set.useDirectory(app, directory, name)
	}
	return set.rewrite(app, func(_ string, f *localFile) string { return s.readAs + "/" + name(f) })
}

// progressFunc is called with the progress of one file: the number of bytes that were sent, and whether the store
// already had the file. The number equals the file's size only after the store has confirmed the file.
type progressFunc func(f *localFile, stored int64, existed bool)

// Upload stores the files of the set that the store does not have, and returns their keys.
func (s *objectStore) Upload(ctx context.Context, set *fileSet, namespace string, progress progressFunc) (keys []string, err error) {
	for _, f := range set.Files {
		key := s.key(namespace, f)

		attributes, err := s.bucket.Attributes(ctx, key)
		if err == nil && attributes.Size == f.Size {
			progress(f, f.Size, true)
			continue
		}
		// A store may answer "forbidden" for a missing object. If it does not answer at all, it cannot store the file.
		if bucket.Answered(err) || err == nil || gcerrors.Code(err) == gcerrors.NotFound {
			err = s.upload(ctx, key, f, progress)
		}

		if err != nil {
			return keys, fmt.Errorf("%s was not stored in %s: %w", f.Path, s.url, explained(err))
		}

		keys = append(keys, key)
	}
	return keys, nil
}

func (s *objectStore) upload(ctx context.Context, key string, f *localFile, progress progressFunc) error {
	in, err := os.Open(f.Path)
	if err != nil {
		return readError(err)
	}
	defer in.Close()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // Close of the writer stores nothing after the context is canceled.

	out, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "application/octet-stream", DisableContentTypeDetection: true})
	if err != nil {
		return err
	}
	var done int64
	counted := writerFunc(func(part []byte) (int, error) {
		n, err := out.Write(part)
		if done += int64(n); done < f.Size {
			progress(f, done, false)
		}
		return n, err
	})

	hash := sha256.New()
	if _, err = io.Copy(io.MultiWriter(counted, hash), in); err == nil && hex.EncodeToString(hash.Sum(nil)) != f.Digest {
		err = errors.New("the file was changed while it was read; submit again")
	}

	if err != nil {
		cancel()

		_ = out.Close() // err is the cause
		return err
	}

	if err := out.Close(); err != nil {
		return err
	}

	progress(f, f.Size, false)
	return nil
}

// writerFunc makes a function an io.Writer.
type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(part []byte) (int, error) { return w(part) }

// removeFiles deletes the staged files of a deleted application. It keeps each file that a remaining application of the
// namespace names too. It returns the number of deleted files.
func removeFiles(ctx context.Context, app client.Object, remaining []client.Object) (int, error) {
	record, ok := recordOf(app)
	if !ok {
		return 0, nil
	}

	store, err := trusted(record.Store)
	if err != nil {
		return 0, err
	}

	s, err := openStore(ctx, store, "", false)
	if err != nil {
		return 0, explained(err)
	}
	defer func() { _ = s.Close() }()
	return s.remove(ctx, app, record.Keys, remaining)
}

// parameters maps the scheme of a store's URL to the parameters that an application keeps. All others choose what is
// the user's alone, such as the profile of the AWS command line (profile), or a file of the user's machine.
var parameters = map[string][]string{
	"s3": {"endpoint", "region", "use_path_style", "s3ForcePathStyle"}, "gs": {bucket.AnonymousParameter}, "azblob": {bucket.AccountParameter},
}

// recorded returns the URL of a store as an application keeps it.
func recorded(store string) string {
	u, err := url.Parse(store)
	if err != nil {
		return store
	}

	query := u.Query()
	maps.DeleteFunc(query, func(name string, _ []string) bool { return !slices.Contains(parameters[u.Scheme], name) })
	u.RawQuery = query.Encode()
	return u.String()
}

// trusted returns the URL of an application's store. It takes the parameters that only the user may choose from the URL
// of the user's own store.
//
// Everybody who may write the application can write its URL. Therefore trusted returns an error if the URL has such
// parameters. It also returns an error if the URL names a server on which the user's own store is not: the S3 client
// would send signed requests and the user's session token to the server.
func trusted(store string) (string, error) {
	u, err := url.Parse(store)
	if err != nil {
		return "", errors.New("the URL of the application's store is invalid")
	}

	own, err := url.Parse(os.Getenv(storeVariable))
	if err != nil {
		own = &url.URL{}
	}

	query, kept := u.Query(), parameters[u.Scheme]
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(kept, name) {
			return "", fmt.Errorf("the application's annotation %s sets the parameter %s of the store, which only you may choose; delete the files yourself", filesAnnotation, name)
		}
	}

	server := query.Get("endpoint")
	if server == "" || server == own.Query().Get("endpoint") {
		for name, values := range own.Query() {
			if own.Scheme == u.Scheme && !slices.Contains(kept, name) {
				query[name] = values
			}
		}

		u.RawQuery = query.Encode()
		return u.String(), nil
	}
	return "", fmt.Errorf("sparkctl does not send your credentials to the server %s, because only the application names this server; "+
		"if you trust the server, delete the files yourself, and set %s to the URL of the store, so that sparkctl can delete the files of other applications", server, storeVariable)
}

// remove deletes the files with the given keys, and returns the number of deleted files. It keeps files that another
// application of the namespace names, and files of other namespaces.
func (s *objectStore) remove(ctx context.Context, app client.Object, keys []string, remaining []client.Object) (int, error) {
	var inUse []string
	for _, other := range remaining {
		if kept, ok := recordOf(other); ok && (app.GetUID() == "" || other.GetUID() != app.GetUID()) && recorded(kept.Store) == s.url {
			inUse = append(inUse, kept.Keys...)
		}
	}

	deleted := 0
	for _, key := range keys {
		if slices.Contains(inUse, key) || !s.owns(key, app.GetNamespace()) {
			continue
		}

		err := s.bucket.Delete(ctx, key)
		if gcerrors.Code(err) == gcerrors.NotFound { // somebody else deleted it
			continue
		}

		if err != nil {
			return deleted, fmt.Errorf("%s in %s was not deleted: %w", key, s.url, explained(err))
		}
		deleted++
	}
	return deleted, nil
}

// stagedKey matches the part of a key after the namespace.
var stagedKey = regexp.MustCompile(`^[0-9a-f]{32}/[^/]+$`)

// owns reports whether a key is one that this package writes for a namespace. The annotation of an application could
// also name other objects of the store, and a user must not delete them by accident.
func (s *objectStore) owns(key, namespace string) bool {
	rest, ok := strings.CutPrefix(key, path.Join(s.prefix, namespace)+"/")
	return ok && stagedKey.MatchString(rest)
}

// recordOf returns the content of an application's annotation.
func recordOf(app client.Object) (record staged, ok bool) {
	text := app.GetAnnotations()[filesAnnotation]
	return record, text != "" && utiljson.Unmarshal([]byte(text), &record) == nil
}
