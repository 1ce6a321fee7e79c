package supervise

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	// logCap is the size above which a log is rotated: its content moves to NAME.log.1, and the log is empty again.
	logCap = 32 << 20
	// tailWindow is the number of bytes at the end of a log that Tail reads.
	tailWindow = 64 << 10
)

// LogFile returns the path of a component's log.
func LogFile(dir, name string) string { return filepath.Join(dir, "logs", name+".log") }

// openLog opens a log for appending. In append mode a writer continues at the new end of the file if the file is
// truncated.
func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create the log directory: %w", err)
	}

	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return f, nil
}

// capLog rotates a log that is larger than limit. It copies and truncates the file instead of renaming it, because the
// component has the file open. Lines that are written between the copy and the truncation are lost.
func capLog(path string, limit int64) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= limit {
		return nil
	}

	from, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("rotate the log: %w", err)
	}
	defer func() { _ = from.Close() }()

	to, err := os.Create(path + ".1")
	if err != nil {
		return fmt.Errorf("rotate the log: %w", err)
	}

	_, err = io.Copy(to, from)
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}

	if err == nil {
		err = os.Truncate(path, 0)
	}

	if err != nil {
		return fmt.Errorf("rotate the log: %w", err)
	}
	return nil
}

// Tail returns the last lines of a log without the final newline. If the log is unreadable, Tail returns the text of
// the error in parentheses.
func Tail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer func() { _ = f.Close() }()

	if info, err := f.Stat(); err == nil && info.Size() > tailWindow {
		if _, err := f.Seek(-tailWindow, io.SeekEnd); err != nil {
			return "(no log: " + err.Error() + ")"
		}
	}

	b, err := io.ReadAll(f)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}

	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
