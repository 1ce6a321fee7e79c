package lifecycle

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
)

// attemptSpace is the name space (RFC 9562, section 5.5) of the IDs of attempts. It is a random UUID and must never
// change.
var attemptSpace = [16]byte{0x5b, 0x1f, 0x8e, 0x0c, 0x6d, 0x3a, 0x4f, 0x27, 0x9c, 0x41, 0x2e, 0x70, 0xa8, 0xd5, 0x13, 0xf6}

// AttemptID returns the id of an attempt of an application. The id is a UUID of version 5, computed from the
// application's UID and the attempt's number.
//
// The same input always gives the same id. If the operator dies between a launch and the status write, the next pass
// therefore launches the same attempt and not another one.
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

// Edited reports whether the hash of the wanted spec says that the spec differs from the launched one.
//
// Hashes cannot be compared if one of them is missing, or if they come from different versions of the algorithm. Such
// hashes count as equal, so that an upgrade of the operator restarts nothing.
func Edited(launched, wanted string) bool {
	before, _, ok1 := strings.Cut(launched, ":")
	after, _, ok2 := strings.Cut(wanted, ":")
	return ok1 && ok2 && before == after && launched != wanted
}
