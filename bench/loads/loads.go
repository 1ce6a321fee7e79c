// Package loads holds the descriptions of load that scenarios send.
package loads

import _ "embed"

// Lives are whole lives of a driver and five executors.
//
//go:embed lives.yaml
var Lives []byte
