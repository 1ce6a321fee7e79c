package audit

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// ReadFile reads a log's file with one of the functions that read a log.
func ReadFile[T any](file string, of Scope, read func(io.Reader, Scope) (T, error)) (T, error) {
	return ReadFileFrom(file, 0, of, read)
}

// ReadFileFrom does so from about an offset on (End): from the next line that begins there or after it.
func ReadFileFrom[T any](file string, offset int64, of Scope, read func(io.Reader, Scope) (T, error)) (seen T, err error) {
	log, err := os.Open(file)
	if err != nil {
		return seen, err
	}
	defer log.Close()
	if offset == 0 {
		return read(log, of)
	}
	if _, err := log.Seek(offset-1, io.SeekStart); err != nil {
		return seen, err
	}
	lines := bufio.NewReader(log)
	if _, err := lines.ReadString('\n'); err != nil && !errors.Is(err, io.EOF) { // the rest of the line in which the offset may be
		return seen, err
	}
	return read(lines, of)
}

// End is where a log's file ends by now.
func End(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
