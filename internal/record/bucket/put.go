package bucket

import (
	"bytes"
	"context"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
)

// Put writes an object. The store shows either the whole content or none of it.
type Put func(ctx context.Context, key, contentType string, content []byte) error

// PutterOf returns the function that writes the objects of an opened store. For S3, an object is one request of the
// client. The transfer manager, which gocloud.dev uses, copies the content and has a goroutine for each object. From 16
// MiB on, it also allocates 48 MiB. It is used only for what gocloud.dev adds: encryption parameters and escaped keys.
func PutterOf(b *blob.Bucket, prefix string, u *url.URL) Put {
	var client *s3.Client

	escaped := strings.Contains(prefix, "../") || strings.ContainsFunc(prefix, func(r rune) bool { return r < ' ' })
	if q := u.Query(); escaped || q.Has("ssetype") || q.Has("kmskeyid") || !b.As(&client) {
		return func(ctx context.Context, key, contentType string, content []byte) error {
			return b.Upload(ctx, key, bytes.NewReader(content), &blob.WriterOptions{ContentType: contentType, DisableContentTypeDetection: true})
		}
	}

	name := u.Host
	return func(ctx context.Context, key, contentType string, content []byte) error {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &name, Key: &key, ContentType: &contentType, Body: bytes.NewReader(content)})
		return err
	}
}
