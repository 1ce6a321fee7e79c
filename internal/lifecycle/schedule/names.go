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

// Precision is the time unit of the number in a run's name. The number is the run's tick, counted from the start of
// 1970.
type Precision string

// The precisions. Seconds are the default, because they distinguish all ticks and their numbers are short.
const (
	Nanos   Precision = "nanos"
	Micros  Precision = "micros"
	Millis  Precision = "millis"
	Seconds Precision = "seconds"
	Minutes Precision = "minutes"
)

// units lists each precision with its unit and the number of digits in a name. The number of digits identifies the
// precision from September 2001 to 2286 (for minutes, from 1989 to 2160).
var units = []struct {
	precision Precision
	unit      time.Duration
	digits    int
}{{Nanos, time.Nanosecond, 19}, {Micros, time.Microsecond, 16}, {Millis, time.Millisecond, 13}, {Seconds, time.Second, 10}, {Minutes, time.Minute, 8}}

const (
	// maxRunName is the maximum length of an application's name. The name is a DNS label (RFC 1035), because the names
	// of Services contain it. The name of the driver pod has "-driver" in addition, which is valid for a pod. The
	// kubelet cuts the pod's host name, but nothing resolves the host name.
	maxRunName = 63
	// suffix is the length of the shortest suffix that a run's name adds to the schedule's name: a number of seconds,
	// or a request's digest.
	suffix = len("-1234567890")
	// MaxName is the maximum length of a schedule's name, so that every run has a valid application name.
	MaxName = maxRunName - suffix
	// requestMark is part of the name of a requested run.
	requestMark = "-now-"
)

// RunName returns the name of the run of a tick. It consists of the schedule's name and the tick in units of the
// precision. If the tick is not a multiple of the unit, or if the name would be too long, RunName uses seconds. No two
// ticks have the same name.
func RunName(name string, tick time.Time, precision Precision) string {
	for _, u := range units {
		number := "-" + strconv.FormatInt(tick.UnixNano()/int64(u.unit), 10)
		if u.precision == precision && tick.UnixNano()%int64(u.unit) == 0 && len(name)+len(number) <= maxRunName {
			return name + number
		}
	}
	return name + "-" + strconv.FormatInt(tick.Unix(), 10)
}

// TickOf returns the tick that a run's name contains, whatever its precision. It rounds the tick down to microseconds,
// the precision of times in a status. It returns the zero time if the name contains no tick.
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

// RequestName returns the name of the run that a request starts. The name contains a digest of the request and the
// schedule's UID. A schedule that was deleted and created again has another UID, so it starts another run for the same
// request.
func RequestName(name, uid, request string) string {
	sum := sha256.Sum256([]byte(uid + "/" + request))
	return name + requestMark + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:suffix-len(requestMark)])
}

// maxRequest is the maximum length, in bytes, of a request that the memory stores as it is.
const maxRequest = 256

// Request returns the form in which the memory stores a request: the value itself, or a digest if the value is longer
// than maxRequest.
func Request(value string) string {
	if len(value) <= maxRequest {
		return value
	}

	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:])
}
