package isolate

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
)

func TestDoRunsOnOneThread(t *testing.T) {
	thread, err := NewThread(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer thread.Close()

	ids := map[int]bool{}
	for range 50 {
		if err := thread.Do(func() error { ids[ThreadID()] = true; return nil }); err != nil {
			t.Fatal(err)
		}
	}

	if len(ids) != 1 {
		t.Errorf("work was done on the threads %v", ids)
	}

	want := errors.New("no")
	if err := thread.Do(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("Do() = %v, want %v", err, want)
	}
}

func TestNewThreadReturnsTheEnterError(t *testing.T) {
	want := errors.New("enter failed")
	if _, err := NewThread(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("NewThread() = %v, want %v", err, want)
	}
}

func TestProcessesEndWithTheirThread(t *testing.T) {
	thread, err := NewThread(nil)
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command("sleep", "600")
	if err := thread.Launch(cmd); err != nil {
		t.Fatal(err)
	}

	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}

	thread.Close()

	if !id.WaitGone(20 * time.Second) {
		t.Error("the process outlives its thread")
	}

	_ = cmd.Wait()
}

func TestNamespacesBelongToTheThreadOnly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("namespaces need root")
	}

	keep, from, to := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(from+"/inside", nil, 0o644); err != nil {
		t.Fatal(err)
	}

	outside, err := proc.Namespace("self", "net")
	if err != nil {
		t.Fatal(err)
	}

	thread, err := NewThread(func() error { return EnterNamespaces(keep, []Bind{{From: from, To: to}}) })
	if err != nil {
		t.Fatal(err)
	}
	defer thread.Close()

	err = thread.Do(func() error {
		inside, err := proc.Namespace("thread-self", "net")
		if err != nil {
			return err
		}

		if inside == outside {
			return errors.New("the thread has the host's network")
		}

		if _, err := os.Stat(to + "/inside"); err != nil {
			return err
		}

		if entries, err := os.ReadDir("/run"); err != nil || len(entries) != 1 && len(entries) != 0 {
			return errors.New("/run is not empty inside")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}

	if _, err := os.Stat(to + "/inside"); err == nil {
		t.Error("a mount made inside shows on the host")
	}
	// Commands that the thread starts run inside too.
	cmd := exec.Command("ls", to)

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := thread.Launch(cmd); err != nil {
		t.Fatal(err)
	}

	b := make([]byte, 64)

	n, _ := out.Read(b)
	if err := cmd.Wait(); err != nil || string(b[:n]) != "inside\n" {
		t.Errorf("a program inside sees %q, %v", b[:n], err)
	}
}

func TestReaperReapsAtTheSecondCall(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	id := proc.ID{PID: cmd.Process.Pid}

	dead := func() bool {
		for _, child := range proc.DeadChildren(os.Getpid()) {
			if child.PID == id.PID {
				return true
			}
		}
		return false
	}
	for end := time.Now().Add(20 * time.Second); !dead(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("true does not end")
		}
	}
	var reaper Reaper
	reaper.Reap()

	if !dead() {
		t.Fatal("the first call reaped a child that its parent may be about to wait for")
	}

	reaper.Reap()

	if dead() {
		t.Error("the second call did not reap it")
	}

	_ = cmd.Wait()
}
