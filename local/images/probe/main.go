// Probe is the program that tests run in pods. It is one static file, so its image is small and starts at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: probe COMMAND
  serve [ADDRESS]        serve HTTP at ADDRESS (:8080): / returns the host name, /env/NAME a variable, /file/PATH a file, /exit/CODE exits
  sleep DURATION         wait, then exit 0; SIGTERM ends it with 143
  exit CODE [TEXT]       write TEXT to standard error, exit with CODE
  lookup NAME            print the addresses of NAME, one per line
  get URL                print the body of URL; exit 1 unless the status is 200
  dial ADDRESS           open a TCP connection and close it
  write FILE TEXT        write TEXT to FILE, creating its directory
  read FILE              print FILE
  id                     print user and group id`

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()

	err := run(ctx, os.Args[1:])
	if code := exitCode(0); errors.As(err, &code) {
		os.Exit(int(code))
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func run(ctx context.Context, args []string) error {
	command, first, second := at(args, 0), at(args, 1), at(args, 2)
	switch command {
	case "serve":
		return serve(ctx, first)
	case "sleep":
		return sleep(ctx, first)
	case "exit":
		code, err := strconv.Atoi(first)
		if err != nil {
			return err
		}

		fmt.Fprintln(os.Stderr, second)
		return exitCode(code)
	case "lookup":
		addresses, err := net.DefaultResolver.LookupHost(ctx, first)
		fmt.Println(strings.Join(addresses, "\n"))
		return err
	case "get":
		return get(ctx, first)
	case "dial":
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", first)
		if err != nil {
			return err
		}
		return conn.Close()
	case "write":
		if err := os.MkdirAll(filepath.Dir(first), 0o777); err != nil {
			return err
		}
		return os.WriteFile(first, []byte(second), 0o666)
	case "read":
		content, err := os.ReadFile(first)
		_, failed := os.Stdout.Write(content)
		return errors.Join(err, failed)
	case "id":
		fmt.Println(os.Getuid(), os.Getgid())
		return nil
	}

	fmt.Fprintln(os.Stderr, usage)
	return exitCode(2)
}

func at(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

func sleep(ctx context.Context, duration string) error {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return err
	}

	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return exitCode(128 + int(syscall.SIGTERM))
	}
}

func get(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		return err
	}

	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

func serve(ctx context.Context, address string) error {
	if address == "" {
		address = ":8080"
	}

	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		host, _ := os.Hostname()
		fmt.Fprintln(w, host)
	})
	mux.HandleFunc("/env/{name}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, os.Getenv(r.PathValue("name"))) })
	mux.HandleFunc("/file/{path...}", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "/"+r.PathValue("path")) })
	mux.HandleFunc("/exit/{code}", func(_ http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		os.Exit(code)
	})

	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		server.Close()
	}()

	fmt.Println("serving", address)

	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
