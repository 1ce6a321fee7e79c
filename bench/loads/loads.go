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

// Standing are applications that go on running.
//
//go:embed standing.yaml
var Standing []byte

// Finished are applications that are soon over.
//
//go:embed finished.yaml
var Finished []byte

// Probe are short whole lives that come one after the other.
//
//go:embed probe.yaml
var Probe []byte
