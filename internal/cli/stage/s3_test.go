package stage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

// TestS3 checks how files are staged and deleted in S3. The server is versitygw, which stores objects as local files.
func TestS3(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an S3 server")
	}

	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}

	address := stores.S3(t, root)
	url := "s3://bucket/files?region=us-east-1&use_path_style=true&endpoint=http://" + address
	t.Setenv(storeVariable, url)
	storeLife(t, url, "s3a://bucket/files", func() map[string]string {
		files := map[string]string{}
		for path, text := range stored(t, filepath.Join(root, "bucket")) {
			files[strings.TrimPrefix(path, "files/")] = text
		}
		return files
	})
	t.Run("faults", func(t *testing.T) { storeFaults(t, address) })
}

// storeFaults checks that for each fault of a store, the error is one line that says what to do.
func storeFaults(t *testing.T, address string) {
	const parameters = "?region=us-east-1&use_path_style=true&endpoint=http://"
	dir := write(t, map[string]string{"app.py": "main"})
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true") // it would be queried for credentials

	for _, test := range []struct {
		name, url string
		env       map[string]string
		want      string
	}{
		{"missing bucket", "s3://missing" + parameters + address, nil,
			"the store answers NoSuchBucket: The specified bucket does not exist; create the bucket, or correct its name in --stage"},
		{"unknown key", "s3://bucket" + parameters + address, map[string]string{"AWS_ACCESS_KEY_ID": "stranger"},
			"the store answers XAdminUserNotFound: No user exists with the provided access key ID; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"},
		{"wrong secret", "s3://bucket" + parameters + address, map[string]string{"AWS_SECRET_ACCESS_KEY": "wrong"},
			"the store answers SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. Check your key and signing method; set AWS_ACCESS_KEY_ID"},
		{"no credentials", "s3://bucket" + parameters + address,
			map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "HOME": dir},
			"there are no credentials for the store; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"},
		{"unknown profile", "s3://bucket" + parameters + address + "&profile=nobody", map[string]string{"HOME": dir},
			"there are no credentials for the store; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"},
		{"no region", "s3://bucket?use_path_style=true&endpoint=http://" + address,
			map[string]string{"HOME": dir, "AWS_REGION": ""},
			`the region "" is wrong; expecting "us-east-1"; set the region of the bucket with ?region=REGION in the URL of --stage, or with AWS_REGION`},
		{"no server", "s3://bucket" + parameters + "127.0.0.1:1", nil,
			"the store is not reachable: dial tcp 127.0.0.1:1: connect: connection refused; correct the endpoint in --stage, or check the network"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for key, value := range test.env {
				t.Setenv(key, value)
			}

			app := appWith(dir, "file:DIR/app.py", v1beta2.Dependencies{})
			set := found(t, app)

			s, err := openStore(t.Context(), test.url, "", true)
			if err == nil {
				defer func() { _ = s.Close() }()

				_, err = s.Upload(t.Context(), set, "jobs", func(*localFile, int64, bool) {})
			} else {
				err = explained(err)
			}

			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want %q in it", err, test.want)
			}
		})
	}
}
