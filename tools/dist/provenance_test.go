package main

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// TestProvenance reads the provenance of a release with the types of its specifications. Its subjects are the files of
// SHA256SUMS without itself, and the image.
func TestProvenance(t *testing.T) {
	out := packedRelease(t)

	var statement intoto.Statement
	if err := protojson.Unmarshal([]byte(read(t, filepath.Join(out, provenanceFile))), &statement); err != nil {
		t.Fatal(err)
	}

	want := map[string]string{"docker.io/sparkoperator/sparkctl:v1.2.3": strings.Repeat("12", 32)}
	for line := range strings.Lines(read(t, filepath.Join(out, sumsFile))) {
		if sum, name, _ := strings.Cut(strings.TrimSpace(line), "  "); name != provenanceFile {
			want[name] = sum
		}
	}

	got := map[string]string{}
	for _, subject := range statement.GetSubject() {
		got[subject.GetName()] = subject.GetDigest()["sha256"]
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the subjects differ (-want +got):\n%s", diff)
	}

	text, err := statement.GetPredicate().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}

	var made provenance.Provenance
	if err := protojson.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}

	definition := made.GetBuildDefinition()
	source := definition.GetResolvedDependencies()[0]

	if got := source.GetUri() + " " + source.GetDigest()["gitCommit"]; got != "git+"+repository+" "+strings.Repeat("ab", 20) {
		t.Errorf("the source is %s", got)
	}

	if got := definition.GetExternalParameters().AsMap()["command"]; got != "make dist VERSION=v1.2.3" {
		t.Errorf("the command is %s", got)
	}

	if got := definition.GetInternalParameters().AsMap(); got["go"] != runtime.Version() || got["sourceDateEpoch"] != "1700000000" {
		t.Errorf("the internal parameters are %v", got)
	}

	if err := statement.Validate(); err != nil {
		t.Error(err)
	}
}

// TestProvenanceNeedsACommit refuses a revision that is not the hash of a commit.
func TestProvenanceNeedsACommit(t *testing.T) {
	for _, revision := range []string{"", "main", "abc"} {
		r := &release{version: "v1.2.3", revision: revision}
		if _, err := r.provenance(strings.Repeat("0", 64)+"  file\n", nil); err == nil || !strings.Contains(err.Error(), "gitCommit") {
			t.Errorf("the revision %q: %v", revision, err)
		}
	}
}
