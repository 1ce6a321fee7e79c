// Package loads holds the descriptions of load that scenarios send.
package loads

import _ "embed"

// Lives are whole lives of a driver and five executors, faster than they can be carried.
//
//go:embed lives.yaml
var Lives []byte

// Burst are drivers alone, all at once.
//
//go:embed burst.yaml
var Burst []byte
