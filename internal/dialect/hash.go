package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// SpecHash returns a hash of a spec, with the version of the algorithm that chose the parts of the spec. Hashes of
// different versions are never compared (lifecycle.Edited).
func SpecHash(version int, spec any) string {
	text, err := json.Marshal(spec)
	if err != nil {
		text = []byte(err.Error()) // a template without valid JSON, which no API server stores
	}

	sum := sha256.Sum256(text)
	return strconv.Itoa(version) + ":" + hex.EncodeToString(sum[:12])
}
