// Package terminal runs a shell in a real terminal, through tmux, and reads the screen as a user sees it.
package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Prompt is the prompt of the shell. Continuation is the shell's prompt for the next line of an incomplete command.
const (
	Prompt       = "$"
	Continuation = ">"
)

// configuration is tmux's configuration: no status line, and a history that is longer than any log of a test.
const configuration = "set -g status off\nset -g history-limit 20000\nset -g default-terminal tmux-256color\n"

// Terminal is a terminal with a shell.
type Terminal struct {
	program, dir string
	env          []string
}

// Open opens a terminal of the given size. The argument program is the path of tmux, dir is the directory in which the
// shell starts, and env is added to the environment.
func Open(ctx context.Context, program, dir string, columns, rows int, env ...string) (*Terminal, error) {
	own, err := os.MkdirTemp("", "tmux-") // a short path, because the path of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}

	t := &Terminal{program: program, dir: own, env: append(append(os.Environ(), "LC_ALL=C.UTF-8"), env...)}

	t.env = append(t.env, "ENV="+t.file("shell")) // the shell of root ignores the prompt of its environment
	for name, text := range map[string]string{"conf": configuration, "shell": "PS1='" + Prompt + " ' PS2='" + Continuation + " '\n"} {
		if err := os.WriteFile(t.file(name), []byte(text), 0o600); err != nil {
			return nil, errors.Join(err, t.Close(ctx))
		}
	}

	_, err = t.tmux(ctx, "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "-c", dir, "/bin/sh")
	if err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

func (t *Terminal) file(name string) string { return filepath.Join(t.dir, name) }

// Enter types a line and the Enter key.
func (t *Terminal) Enter(ctx context.Context, line string) error {
	if _, err := t.tmux(ctx, "send-keys", "-l", "--", line); err != nil {
		return err
	}
	return t.Press(ctx, "Enter")
}

// Press presses a key, which has the name that tmux gives it, such as C-c.
func (t *Terminal) Press(ctx context.Context, key string) error {
	_, err := t.tmux(ctx, "send-keys", key)
	return err
}

// Screen returns the lines that the terminal shows, and those that have scrolled away. A line that is longer than the
// terminal is wide is one line of the result, although it occupies several rows of the terminal.
func (t *Terminal) Screen(ctx context.Context) (string, error) {
	text, err := t.tmux(ctx, "capture-pane", "-p", "-J", "-S", "-")
	if err != nil {
		return "", err
	}

	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n"), nil
}

// Coloured returns the visible rows of the terminal with the escape sequences of their colours.
func (t *Terminal) Coloured(ctx context.Context) (string, error) {
	return t.tmux(ctx, "capture-pane", "-p", "-e")
}

// Idle reports whether a screen ends with an empty prompt, so that the shell waits for a command.
func Idle(screen string) bool { return screen == Prompt || strings.HasSuffix(screen, "\n"+Prompt) }

// Continues reports whether a screen ends with an empty prompt for the next line of a command.
func Continues(screen string) bool { return strings.HasSuffix(screen, "\n"+Continuation) }

// Close ends the shell and tmux.
func (t *Terminal) Close(ctx context.Context) error {
	var err error
	if _, missing := os.Stat(t.file("socket")); missing == nil {
		_, err = t.tmux(ctx, "kill-server")
	}
	return errors.Join(err, os.RemoveAll(t.dir))
}

func (t *Terminal) tmux(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, t.program, append([]string{"-u", "-f", t.file("conf"), "-S", t.file("socket")}, args...)...)
	cmd.Env = t.env
	var out, stderr bytes.Buffer

	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("tmux %s: %w\n%s", args[0], err, stderr.String())
	}
	return out.String(), nil
}
