package lifecycle

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
)

// attemptSpace is the name space (RFC 9562, section 5.5) of attempt ids: a random UUID that never changes.
var attemptSpace = [16]byte{0x5b, 0x1f, 0x8e, 0x0c, 0x6d, 0x3a, 0x4f, 0x27, 0x9c, 0x41, 0x2e, 0x70, 0xa8, 0xd5, 0x13, 0xf6}

// AttemptID returns the id of an attempt of an application: a UUID of version 5 of the application's UID and the
// attempt's number.
//
// The id is always the same for the same input. If the operator dies after a launch and before the status write, the
// next pass therefore launches the same attempt and no other.
func AttemptID(uid string, attempt int32) string {
	h := sha1.New()
	h.Write(attemptSpace[:])
	h.Write([]byte(uid + "/" + strconv.Itoa(int(attempt))))
	id := h.Sum(nil)[:16]
	id[6] = id[6]&0x0f | 0x50 // version 5
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	text := hex.EncodeToString(id)
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

// Edited reports whether the wanted spec differs from the launched one, by their hashes.
//
// Hashes that cannot be compared, because one is missing or of another version of the algorithm, count as equal. An
// upgrade of the operator therefore restarts nothing.
func Edited(launched, wanted string) bool {
	before, _, ok1 := strings.Cut(launched, ":")
	after, _, ok2 := strings.Cut(wanted, ":")
	return ok1 && ok2 && before == after && launched != wanted
}
