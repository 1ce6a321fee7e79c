package forward

import (
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// OpenBrowser starts the browser in the environment variable BROWSER, or else the system's default browser. It does not
// wait until the browser ends.
func OpenBrowser(address string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}

	if own := os.Getenv("BROWSER"); own != "" {
		command = []string{own}
	}

	browser := exec.Command(command[0], append(command[1:], address)...)

	if err := browser.Start(); err != nil {
		return err
	}
	go func() { _ = browser.Wait() }() // releases the process; the result of a browser does not matter
	return nil
}

// OpenSecret opens an address that has a secret, as OpenBrowser does. All users of a machine can see the arguments of
// its programs. The browser therefore gets the address of a file that only this user can read, whose page leads to the
// secret address. The caller removes the file with the returned function.
func OpenSecret(address string) (remove func(), err error) {
	file, err := os.CreateTemp(pageDir(), "sparkctl-*.html") // with the mode 0600
	if err != nil {
		return func() {}, err
	}

	name := file.Name()
	remove = func() { _ = os.Remove(name) } // the secret is of no use once it was used

	escaped := html.EscapeString(address)
	_, err = fmt.Fprintf(file, "<!DOCTYPE html><meta charset=utf-8><title>sparkctl</title><meta http-equiv=refresh content=\"0; url=%s\"><a href=\"%s\">Open the page</a>\n", escaped, escaped)

	if closed := file.Close(); err == nil {
		err = closed
	}

	if err == nil {
		path := filepath.ToSlash(name)
		if path[0] != '/' { // C:/...
			path = "/" + path
		}

		err = OpenBrowser((&url.URL{Scheme: "file", Path: path}).String())
	}
	return remove, err
}

// pageDir returns the directory of the file that the browser opens. On Linux it is the home directory, because browsers
// in a sandbox (snap) can read neither the machine's /tmp nor hidden directories. Empty: the system's temporary one.
func pageDir() string {
	home, err := os.UserHomeDir()
	if runtime.GOOS != "linux" || err != nil {
		return ""
	}

	if info, err := os.Stat(home); err != nil || !info.IsDir() {
		return ""
	}
	return home
}
