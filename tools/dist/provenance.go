package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	repository = "https://github.com/sparkoperator/spark-operator"
	// buildType describes how the files are made from the parameters of the provenance.
	buildType = repository + "/blob/main/RELEASE.md#provenance"
	// builder stands for any machine that runs `make dist`, because the bytes of the files do not depend on it. The
	// attestation that the workflow signs names the workflow.
	builder = repository + "/tree/main/tools/dist"
	// predicateType is that of https://slsa.dev/spec/v1.0/provenance.
	predicateType = "https://slsa.dev/provenance/v1"
)

// provenance returns an in-toto statement about the files of a release, whose checksums are given as in SHA256SUMS, and
// about its images by program. It names the commit, the version and the version of Go, which determine each byte. It
// contains neither a time nor a signature, so that two builds of the same sources are equal; the list of checksums,
// which has a signature, covers it.
func (r *release) provenance(sums string, images map[string]string) ([]byte, error) {
	var subjects []*intoto.ResourceDescriptor
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		subjects = append(subjects, &intoto.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": sum}})
	}

	for _, program := range slices.Sorted(maps.Keys(images)) {
		name := image{program: program}.name() + ":" + r.version
		subjects = append(subjects, &intoto.ResourceDescriptor{Name: name,
			Digest: map[string]string{"sha256": strings.TrimPrefix(images[program], "sha256:")}})
	}

	external, err := structpb.NewStruct(map[string]any{"command": "make dist VERSION=" + r.version})
	if err != nil {
		return nil, err
	}

	internal, err := structpb.NewStruct(map[string]any{"go": runtime.Version(), "sourceDateEpoch": fmt.Sprint(r.time.Unix())})
	if err != nil {
		return nil, err
	}

	made := &provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{
			BuildType: buildType, ExternalParameters: external, InternalParameters: internal,
			ResolvedDependencies: []*intoto.ResourceDescriptor{{
				Uri: "git+" + repository, Digest: map[string]string{"gitCommit": r.revision},
			}},
		},
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: builder}},
	}
	if err := made.Validate(); err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}

	predicate := new(structpb.Struct)
	if text, err := protojson.Marshal(made); err != nil {
		return nil, err
	} else if err := protojson.Unmarshal(text, predicate); err != nil {
		return nil, err
	}

	statement := &intoto.Statement{Type: intoto.StatementTypeUri, Subject: subjects, PredicateType: predicateType, Predicate: predicate}
	if err := statement.Validate(); err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}

	text, err := protojson.Marshal(statement)
	if err != nil {
		return nil, err
	}

	// protojson varies its blanks on purpose.
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	return append(out.Bytes(), '\n'), nil
}
