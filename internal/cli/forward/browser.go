package forward

import (
	"os"
	"os/exec"
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
