package schedule

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"
)

// Precision is the unit in which a run's name counts its tick, from the beginning of 1970.
type Precision string

// The precisions. Seconds tell all ticks apart, and leave as much room for the schedule's name as any.
const (
	Nanos   Precision = "nanos"
	Micros  Precision = "micros"
	Millis  Precision = "millis"
	Seconds Precision = "seconds"
	Minutes Precision = "minutes"
)

// units are the precisions with the lengths that their numbers have: from September of 2001 to the year 2286, and those of minutes from 1989 to 2160, no
// two have the same.
var units = []struct {
	precision Precision
	unit      time.Duration
	digits    int
}{{Nanos, time.Nanosecond, 19}, {Micros, time.Microsecond, 16}, {Millis, time.Millisecond, 13}, {Seconds, time.Second, 10}, {Minutes, time.Minute, 8}}

const (
	// maxRunName is how long an application's name may be, as that of every application: a DNS label (RFC 1035), since Services are named after it. The
	// driver pod's is longer by "-driver", which a pod's name may be; the kubelet cuts its host name, by which nobody looks for it.
	maxRunName = 63
	// suffix is the length of what a run's name has after the schedule's, where it is short: a number of seconds, or a request's digest.
	suffix = len("-1234567890")
	// MaxName is how long a schedule's name may be, so that every run of it has a name that an application may have.
	MaxName = maxRunName - suffix
	// requestMark is in the name of a run that was asked for.
	requestMark = "-now-"
)

// RunName is the name of the run of a tick: the schedule's, and the tick in the unit of the precision. A unit that is too coarse for the tick, or
// that makes the name too long, is not used: seconds are then, so that no two ticks have the same name.
func RunName(name string, tick time.Time, precision Precision) string {
	for _, u := range units {
		number := "-" + strconv.FormatInt(tick.UnixNano()/int64(u.unit), 10)
		if u.precision == precision && tick.UnixNano()%int64(u.unit) == 0 && len(name)+len(number) <= maxRunName {
			return name + number
		}
	}
	return name + "-" + strconv.FormatInt(tick.Unix(), 10)
}

// TickOf reads the tick from a run's name, in whichever precision, and as exactly as a status can hold it; the zero time where the name tells none.
func TickOf(name, run string) time.Time {
	number, found := strings.CutPrefix(run, name+"-")
	if !found || strings.Trim(number, "0123456789") != "" {
		return time.Time{}
	}
	for _, u := range units {
		n, err := strconv.ParseInt(number, 10, 64)
		if err == nil && len(number) == u.digits && number[0] != '0' && n <= math.MaxInt64/int64(u.unit) {
			return time.Unix(0, 0).UTC().Add(time.Duration(n) * u.unit).Truncate(time.Microsecond)
		}
	}
	return time.Time{}
}

// RequestName is the name of the run that a request asks for. The schedule's UID is in its digest: one that was deleted and made again starts
// another run for the same request.
func RequestName(name, uid, request string) string {
	sum := sha256.Sum256([]byte(uid + "/" + request))
	return name + requestMark + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:suffix-len(requestMark)])
}

// maxRequest bounds what is remembered of a request, in bytes.
const maxRequest = 256

// Request is a request's value as it is remembered: itself, or a digest of one that is long.
func Request(value string) string {
	if len(value) <= maxRequest {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:])
}
