package store

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/sparkoperator/spark-operator/internal/record/bucket"
)

// Logs is a place of the logs of attempts.
type Logs interface {
	// Index returns the index of an attempt; nil if nothing of the attempt is kept.
	Index(ctx context.Context, a Attempt) (*Index, error)
	// Save writes files by their names, and then the index that lists them.
	Save(ctx context.Context, index *Index, files map[string][]byte) error
	// Open returns the content of a file, which is compressed with gzip.
	Open(ctx context.Context, a Attempt, file string) (io.ReadCloser, error)
	// Attempts returns the numbers of the attempts of a custom resource that have an index, in ascending order.
	Attempts(ctx context.Context, a Attempt) ([]int32, error)
	// Place returns where the logs of an attempt are, for users.
	Place(a Attempt) string
}

// Bucket is an object store. Its keys begin after the prefix of the store's URL.
type Bucket struct {
	bucket *blob.Bucket
	put    bucket.Put
	prefix string
	url    string // without the query
	hints  bucket.Hints
}

var _ Logs = &Bucket{}

// OpenBucket opens the store that a URL names: s3://, gs://, azblob:// or file://. It sends no request.
func OpenBucket(ctx context.Context, store string, hints bucket.Hints) (*Bucket, error) {
	opened, prefix, u, err := bucket.Open(ctx, store, true, hints)
	if err != nil {
		return nil, bucket.Explain(err, hints)
	}

	if prefix != "" {
		prefix += "/"
	}
	return &Bucket{bucket: opened, put: bucket.PutterOf(opened, prefix, u), prefix: prefix, url: withoutQuery(u), hints: hints}, nil
}

func withoutQuery(u *url.URL) string {
	plain := *u
	plain.RawQuery = ""
	return strings.TrimSuffix(plain.String(), "/")
}

// Close releases the connections of the store.
func (b *Bucket) Close() error { return b.bucket.Close() }

// Write stores an object. The store shows either the whole content or none of it.
func (b *Bucket) Write(ctx context.Context, key string, content []byte) error {
	return b.explain(key, b.put(ctx, b.prefix+key, contentType(key), content))
}

func contentType(key string) string {
	if path.Ext(key) == ".json" {
		return "application/json"
	}
	return "application/gzip"
}

// Read returns the content of an object of at most maxBytes, or nil if the object does not exist.
func (b *Bucket) Read(ctx context.Context, key string, maxBytes int64) ([]byte, error) {
	in, err := b.bucket.NewReader(ctx, b.prefix+key, nil)
	if bucket.IsNotFound(err) {
		return nil, nil
	}

	if err != nil {
		return nil, b.explain(key, err)
	}
	defer func() { _ = in.Close() }()

	if in.Size() > maxBytes {
		return nil, fmt.Errorf("%s has %d bytes, and at most %d are read", key, in.Size(), maxBytes)
	}

	content, err := io.ReadAll(in)
	return content, b.explain(key, err)
}

// Object is an object of a store.
type Object struct {
	Key     string
	Size    int64
	ModTime time.Time
}

// List returns the objects whose keys begin with a prefix, in the order of their keys. It reads one page at a time, or
// one directory.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if strings.HasPrefix(b.url, "file:") {
			b.listDirectory(ctx, prefix, yield)
			return
		}

		for token := blob.FirstPageToken; len(token) > 0; {
			page, next, err := b.bucket.ListPage(ctx, token, pageSize, &blob.ListOptions{Prefix: b.prefix + prefix})
			if err != nil {
				yield(Object{}, b.explain(prefix, err))
				return
			}

			for _, found := range page {
				if !yield(b.objectOf(found), nil) {
					return
				}
			}

			token = next
		}
	}
}

func (b *Bucket) objectOf(found *blob.ListObject) Object {
	return Object{Key: strings.TrimPrefix(found.Key, b.prefix), Size: found.Size, ModTime: found.ModTime}
}

// pageSize is the number of objects in a page of a list, and maxReads the number of times that a directory is read.
const pageSize, maxReads = 1000, 100

// listDirectory passes the objects of a directory and of those below it. It reads each directory as a whole, because
// the package fileblob walks by names, in which pi is before pi-2, and finds the next page by keys, in which pi/ is
// after pi-2/. So its pages lack objects. It reports whether the list continues.
func (b *Bucket) listDirectory(ctx context.Context, prefix string, yield func(Object, error) bool) bool {
	entries, err := b.readDirectory(ctx, prefix)
	if err != nil {
		yield(Object{}, b.explain(prefix, err))
		return false
	}

	slices.SortFunc(entries, func(x, y *blob.ListObject) int { return strings.Compare(x.Key, y.Key) })

	for _, entry := range entries {
		if entry.IsDir && !b.listDirectory(ctx, entry.Key, yield) {
			return false
		}

		if !entry.IsDir && !yield(b.objectOf(entry), nil) {
			return false
		}
	}
	return true
}

// readDirectory returns the files and directories in a directory, in one page. It reads the directory again with a page
// of twice the size if there are more. It also does so if a file disappears while the directory is read, such as the
// temporary file of another process that writes an object. The package fileblob returns an error then.
func (b *Bucket) readDirectory(ctx context.Context, prefix string) ([]*blob.ListObject, error) {
	size := pageSize

	for reads := 1; ; reads++ {
		entries, next, err := b.bucket.ListPage(ctx, blob.FirstPageToken, size, &blob.ListOptions{Prefix: prefix, Delimiter: "/"})

		switch {
		case err == nil && len(next) == 0:
			return entries, nil
		case err == nil:
			size *= 2
		case !bucket.IsNotFound(err) || reads >= maxReads:
			return nil, err
		}
	}
}

// Delete deletes an object. It is no error if the object does not exist.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	err := b.bucket.Delete(ctx, b.prefix+key)
	if bucket.IsNotFound(err) {
		return nil
	}
	return b.explain(key, err)
}

// Index implements Logs.
func (b *Bucket) Index(ctx context.Context, a Attempt) (*Index, error) {
	content, err := b.Read(ctx, a.Dir()+IndexFile, MaxIndex)
	if content == nil || err != nil {
		return nil, err
	}
	return decode(content, a)
}

// Save implements Logs.
func (b *Bucket) Save(ctx context.Context, index *Index, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := b.Write(ctx, index.Dir()+name, files[name]); err != nil {
			return err
		}
	}

	text, err := index.encode()
	if err != nil {
		return err
	}
	return b.Write(ctx, index.Dir()+IndexFile, text)
}

// Open implements Logs.
func (b *Bucket) Open(ctx context.Context, a Attempt, file string) (io.ReadCloser, error) {
	in, err := b.bucket.NewReader(ctx, b.prefix+a.Dir()+file, nil)
	if bucket.IsNotFound(err) { // also of the bucket, but the index was read from it before
		return nil, fmt.Errorf("%s/%s does not exist any more; its retention may be over", b.url, a.Dir()+file)
	}

	if err != nil {
		return nil, b.explain(a.Dir()+file, err)
	}
	return in, nil
}

// Attempts implements Logs.
func (b *Bucket) Attempts(ctx context.Context, a Attempt) (numbers []int32, _ error) {
	for object, err := range b.List(ctx, a.Resource()) {
		if err != nil {
			return nil, err
		}

		number, file, _ := strings.Cut(strings.TrimPrefix(object.Key, a.Resource()), "/")
		if n, err := strconv.ParseInt(number, 10, 32); err == nil && file == IndexFile {
			numbers = append(numbers, int32(n))
		}
	}

	slices.Sort(numbers)
	return numbers, nil
}

// Place implements Logs. The URL has no query, because its parameters are settings of the platform.
func (b *Bucket) Place(a Attempt) string { return b.url + "/" + strings.TrimSuffix(a.Dir(), "/") }

// String returns the URL without its query.
func (b *Bucket) String() string { return b.url }

func (b *Bucket) explain(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s/%s: %w", b.url, key, bucket.Explain(err, b.hints))
}
