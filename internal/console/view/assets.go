package view

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"
)

// files are the styles and scripts. tools/assets.sh writes those in vendor.
//
//go:embed assets/console.css assets/*.js assets/vendor/*.js
var files embed.FS

// asset is a file that pages load. Its path contains a hash of its content, so browsers keep it for a year.
type asset struct {
	path, kind   string
	plain, small []byte
}

// assets returns the files by name. They are read and compressed at the first page, because sparkctl starts often and
// rarely serves pages.
var assets = sync.OnceValue(func() map[string]*asset {
	all := map[string]*asset{}
	for _, name := range []string{"console.css", "theme.js", "console.js", "vendor/htmx.min.js", "vendor/sse.min.js"} {
		plain, err := files.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // the list and the embedded files differ
		}

		sum := sha256.Sum256(plain)
		base, extension := strings.TrimSuffix(path.Base(name), path.Ext(name)), path.Ext(name)
		all[name] = &asset{
			path: "/assets/" + base + "." + hex.EncodeToString(sum[:6]) + extension, plain: plain, small: compressed(plain),
			kind: map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}[extension],
		}
	}
	return all
})

func compressed(plain []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(plain)                                 // to memory
	_ = w.Close()
	return b.Bytes()
}

// assetPath returns the path of a file.
func assetPath(name string) string { return assets()[name].path }

// Assets serves the styles and scripts below /assets/. They are public: no user has to sign in for them.
func Assets() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, a := range assets() {
			if a.path != r.URL.Path {
				continue
			}

			header := w.Header()
			header.Set("Content-Type", a.kind)
			header.Set("Cache-Control", "public, max-age=31536000, immutable")
			header.Set("Vary", "Accept-Encoding")

			body := a.plain
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				header.Set("Content-Encoding", "gzip")

				body = a.small
			}

			_, _ = w.Write(body) // the browser may have gone
			return
		}

		http.NotFound(w, r)
	})
}
