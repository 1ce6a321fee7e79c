package arch

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestSecurityPageNamesExistingTests checks that each test that SECURITY.md names exists. The page is the list of
// defences, and a defence whose test was renamed or deleted would look tested.
func TestSecurityPageNamesExistingTests(t *testing.T) {
	page, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}

	text, err := exec.Command("git", "-C", "../..", "grep", "-hoE", "--untracked", `^func (Test|Benchmark)\w+\(`, "--",
		"*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}

	exists := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		exists[lines.Text()[len("func "):len(lines.Text())-1]] = true
	}

	named := regexp.MustCompile("`(Test[A-Z]\\w*)[^`]*`").FindAllSubmatch(page, -1)
	if len(named) < 30 {
		t.Fatalf("the page names %d tests, but it has a table with more", len(named))
	}

	for _, name := range named {
		if !exists[string(name[1])] {
			t.Errorf("SECURITY.md names the test %s, which does not exist", name[1])
		}
	}
}
